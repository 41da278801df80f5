"""GSDMM: its conditional by gamma functions, planted groups, topics that empty out, new documents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.gsdmm import kernels as kernel
from nlpkit.topics.gsdmm.model import assign, fit_gsdmm
from nlpkit.topics.gsdmm.options import GsdmmOptions
from nlpkit.weights.dtm import count_terms
from tests.reference import gsdmm as plain
from tests.refusals import refuses
from tests.strategies import token_table


def short_texts(K: int = 4, D: int = 300, seed: int = 0) -> tuple[TokenTable, list[int]]:
    """Texts of 3 to 8 words, most of one group of ten words."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, K, D)
    docs = [
        [int(v) if u < 0.95 else int(rng.integers(10 * K)) for v, u in zip(10 * k + rng.integers(0, 10, n), rng.random(n), strict=True)]
        for k, n in zip(labels, rng.integers(3, 9, D), strict=True)
    ]  # fmt: skip
    return token_table(docs, [f"w{v}" for v in range(10 * K)]), labels.tolist()


def state(K: int, seed: int = 1) -> tuple[sparse.csr_array, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    counts = sparse.csr_array(rng.poisson(0.8, (25, 7)).astype(np.int32))
    counts = sparse.csr_array(counts[np.diff(counts.indptr) > 0])
    topics = rng.integers(0, K, counts.shape[0]).astype(np.int32)
    n_kv = np.array([counts.toarray()[topics == k].sum(axis=0) for k in range(K)], np.int32)
    return (
        counts,
        topics,
        np.bincount(topics, minlength=K),
        n_kv.sum(axis=1, dtype=np.int64),
        np.ascontiguousarray(n_kv.T),
    )


@pytest.mark.parametrize("K", [2, 5])
def test_the_conditional_is_that_of_gamma_functions(K: int) -> None:
    counts, topics, sizes, n_k, n_vk = state(K)
    theta = np.empty((counts.shape[0], K))
    kernel.probabilities(counts.indptr, counts.indices, counts.data, topics, sizes, n_k, n_vk, 0.3, 0.2, theta)
    dense = counts.toarray()
    for d in range(len(topics)):
        np.testing.assert_allclose(theta[d], plain.conditional(dense, topics, d, K, 0.3, 0.2), rtol=1e-9)
    np.testing.assert_array_equal(n_vk.T, [dense[topics == k].sum(axis=0) for k in range(K)])  # as it was


def test_a_sweep_is_that_of_the_plain_version() -> None:
    counts, topics, sizes, n_k, n_vk = state(4)
    uniforms = np.random.default_rng(5).random(len(topics))
    expected = plain.sweep(counts.toarray(), topics, 4, 0.3, 0.2, uniforms)
    moved = kernel.sweep(
        counts.indptr, counts.indices, counts.data, topics, sizes, n_k, n_vk, 0.3, 0.2, uniforms, np.empty(4)
    )
    np.testing.assert_array_equal(topics, expected)
    assert 0 < moved <= len(topics)
    dense = counts.toarray()
    np.testing.assert_array_equal(n_vk.T, [dense[topics == k].sum(axis=0) for k in range(4)])
    np.testing.assert_array_equal(sizes, np.bincount(topics, minlength=4))
    np.testing.assert_array_equal(n_k, n_vk.sum(axis=0))


@pytest.mark.parametrize("most", [8, 60])
def test_planted_groups_come_back_and_empty_topics_go(most: int) -> None:
    tokens, labels = short_texts()
    fit = fit_gsdmm(tokens, most, GsdmmOptions(iterations=60))
    assert fit.trace[-1].topics == fit.model.n_topics <= most
    assert most < 60 or fit.model.n_topics < 20
    assert (fit.arrays["sizes"] > 0).all()
    assert adjusted_rand_score(labels, fit.doc_topic.toarray().argmax(axis=1)) > 0.9
    main = np.bincount(fit.doc_topic.toarray().argmax(axis=1), minlength=fit.model.n_topics)
    assert list(main) == sorted(main, reverse=True)


def test_long_texts_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    tokens = token_table(
        [(10 * (d % 2) + rng.integers(0, 10, 3000)).tolist() for d in range(12)], [f"w{v}" for v in range(20)]
    )
    fit = fit_gsdmm(tokens, 6, GsdmmOptions(iterations=30))
    assert np.isfinite(fit.doc_topic.data).all()
    main = fit.doc_topic.toarray().argmax(axis=1)
    assert all(
        len({d % 2 for d in np.flatnonzero(main == k)}) <= 1 for k in range(6)
    )  # no topic has documents of both kinds


def test_new_documents_get_the_topic_of_their_words() -> None:
    tokens, _ = short_texts()
    fit = fit_gsdmm(tokens, 20, GsdmmOptions(iterations=40))
    theta = assign(fit.model, fit.arrays["sizes"], 0.1, tokens.offsets, tokens.term_ids)
    assert np.mean(theta.argmax(axis=1) == fit.doc_topic.toarray().argmax(axis=1)) > 0.95
    part = assign(fit.model, fit.arrays["sizes"], 0.1, tokens.offsets[20:31], tokens.term_ids)
    np.testing.assert_array_equal(part, theta[20:30])


def test_the_seed_decides_and_threads_do_not() -> None:
    tokens, _ = short_texts()
    a, b, c = (fit_gsdmm(tokens, 9, execution=Execution(seed, threads)) for seed, threads in ((1, 1), (1, 3), (2, 1)))
    np.testing.assert_array_equal(a.doc_topic.toarray(), b.doc_topic.toarray())
    assert a.doc_topic.shape != c.doc_topic.shape or (a.doc_topic.toarray() != c.doc_topic.toarray()).any()


def test_documents_without_words_have_no_topic() -> None:
    tokens = token_table([[], [0, 1], [], [1, 0]], ["a", "b"])
    fit = fit_gsdmm(tokens, 3)
    assert np.diff(count_terms(tokens).indptr).tolist() == [0, 2, 0, 2]
    assert np.diff(fit.doc_topic.indptr)[[0, 2]].tolist() == [0, 0]


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_gsdmm(token_table([[]], ["a"]), 2)
    for name in ("alpha", "eta"):
        with refuses(name):
            GsdmmOptions(**{name: 0.0})
