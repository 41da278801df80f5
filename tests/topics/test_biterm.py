"""The biterm topic model: its conditional by the joint probability, planted topics, topics of documents."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.topics.biterm import kernels as kernel
from nlpkit.topics.biterm.model import assign, biterms_of, fit_biterm, log_likelihood
from nlpkit.topics.biterm.options import BitermOptions
from tests.reference import biterm as plain
from tests.refusals import refuses
from tests.strategies import token_table
from tests.topics.test_gsdmm import short_texts

DOCS = [[0, 1, 2, 1], [3], [], [2, 2], [4, 0, 4, 3, 1, 1], [1, 0]]
ALPHA, BETA, V = 0.7, 0.2, 5
TERMS = [f"w{v}" for v in range(V)]


def state(K: int, window: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    pairs = biterms_of(token_table(DOCS, TERMS), window)
    topics = np.random.default_rng(K).integers(0, K, len(pairs)).astype(np.int32)
    n_vk = np.zeros((V, K), np.int32)
    for side in (0, 1):
        np.add.at(n_vk, (pairs[:, side], topics), 1)
    return pairs, topics, np.bincount(topics, minlength=K), n_vk


@pytest.mark.parametrize("window", [2, 3, 50])
def test_biterms_are_pairs_of_different_words_in_a_window(window: int) -> None:
    listed = [pair for doc in plain.biterms(DOCS, window) for pair in doc]
    np.testing.assert_array_equal(biterms_of(token_table(DOCS, TERMS), window), listed)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_the_conditional_is_that_of_the_joint_probability(K: int) -> None:
    pairs, topics, n_z, n_vk = state(K)
    shares, weights = np.array([kernel.share(n, V, ALPHA, BETA) for n in n_z]), np.empty(K)
    for b, (v, w) in enumerate(pairs.tolist()):
        kernel.move(pairs, b, topics[b], -1, n_z, n_vk, shares, ALPHA, BETA)
        total = kernel.weigh(v, w, n_vk, shares, BETA, weights)
        expected = plain.conditional(pairs.tolist(), topics, b, K, V, ALPHA, BETA)
        np.testing.assert_allclose(weights / total, expected, rtol=1e-9)
        kernel.move(pairs, b, topics[b], 1, n_z, n_vk, shares, ALPHA, BETA)
    expected = plain.joint(pairs.tolist(), topics, K, V, ALPHA, BETA)
    assert log_likelihood(n_z, n_vk, ALPHA, BETA) == pytest.approx(expected)


def test_a_sweep_is_that_of_the_plain_version() -> None:
    pairs, topics, n_z, n_vk = state(4)
    uniforms = np.random.default_rng(5).random(len(topics))
    expected = plain.sweep(pairs.tolist(), topics, 4, V, ALPHA, BETA, uniforms)
    moved = kernel.sweep(pairs, 0, len(pairs), topics, n_z, n_vk, ALPHA, BETA, uniforms, np.empty(4), np.empty(4))
    np.testing.assert_array_equal(topics, expected)
    assert 0 < moved <= len(topics)
    np.testing.assert_array_equal(n_z, np.bincount(topics, minlength=4))
    np.testing.assert_array_equal(n_vk.sum(axis=0), 2 * n_z)


def test_planted_groups_come_back() -> None:
    tokens, labels = short_texts()
    fit = fit_biterm(tokens, 4, BitermOptions(iterations=60, alpha=1.0))
    assert adjusted_rand_score(labels, fit.doc_topic.toarray().argmax(axis=1)) > 0.9
    top = np.sort(np.argsort(-fit.model.phi, axis=1)[:, :10], axis=1)
    assert sorted(row[0] for row in top.tolist()) == [0, 10, 20, 30]
    assert all(row[-1] - row[0] == 9 for row in top.tolist())
    np.testing.assert_allclose(fit.arrays["shares"].sum(), 1)
    assert fit.trace[-1].log_likelihood > fit.trace[0].log_likelihood - 0.05
    assert [point.sweep for point in fit.trace] == [10, 20, 30, 40, 50, 60]
    main = np.bincount(fit.doc_topic.toarray().argmax(axis=1), minlength=4)
    assert list(main) == sorted(main, reverse=True)


def test_topics_of_documents_are_means_over_their_biterms() -> None:
    tokens = token_table(DOCS, TERMS)
    fit = fit_biterm(tokens, 3, BitermOptions(iterations=5, window=3))
    shares, phi = fit.arrays["shares"], fit.model.phi
    theta = assign(fit.model, shares, 3, tokens.offsets, tokens.term_ids)
    for d, doc in enumerate(DOCS):
        np.testing.assert_allclose(theta[d], plain.document(doc, 3, shares, phi), rtol=1e-6)
    part = assign(fit.model, shares, 3, tokens.offsets[3:6], tokens.term_ids)  # a batch from the midst
    np.testing.assert_array_equal(part, theta[3:5])
    lengths = np.diff(tokens.offsets)
    np.testing.assert_allclose(fit.doc_topic.toarray(), theta * lengths[:, None], rtol=1e-6, atol=2e-6)


def test_the_seed_decides_and_threads_do_not() -> None:
    tokens, _ = short_texts()
    a, b, c = (
        fit_biterm(tokens, 4, BitermOptions(iterations=5), Execution(seed, threads))
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    np.testing.assert_array_equal(a.doc_topic.toarray(), b.doc_topic.toarray())
    assert (a.model.phi != c.model.phi).any()


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_biterm(token_table([[]], ["a"]), 2)
    with pytest.raises(InputError, match="no text has two different words"):
        fit_biterm(token_table([[0, 0], [1]], ["a", "b"]), 2)
    with pytest.raises(UsageError, match="at least 1 topic"):
        fit_biterm(token_table([[0, 1]], ["a", "b"]), 0)
    for name in ("alpha", "eta"):
        with refuses(name):
            BitermOptions(**{name: 0.0})
