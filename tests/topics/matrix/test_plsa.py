"""pLSA: the lecture's example, a plain version, scikit-learn's factorisation of the same loss, tempering, folding in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import NMF

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.model import theta_of
from nlpkit.topics.matrix import plsa as module
from nlpkit.topics.matrix.options import PlsaOptions
from nlpkit.topics.matrix.plsa import PlsaFitter, PlsaPoint, fit_plsa, fold_in
from nlpkit.weights.dtm import count_terms
from tests.reference import plsa as plain
from tests.refusals import refuses
from tests.strategies import token_table

ANIMALS = ["lion", "tiger", "cheetah", "jaguar", "porsche", "ferrari"]
LECTURE = np.array(
    [
        [2, 2, 1, 2, 0, 0],
        [2, 3, 3, 3, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [2, 2, 2, 3, 1, 1],
        [0, 0, 0, 1, 1, 1],
        [0, 0, 0, 2, 1, 2],
    ]
)  # lecture L2346
LONG = {"iterations": 3000, "tolerance": 0.0}


def documents(counts: Any) -> list[list[int]]:
    return [np.repeat(np.arange(len(row)), row).tolist() for row in counts]


def lecture() -> TokenTable:
    return token_table(documents(LECTURE), ANIMALS)


def drawn(seed: int = 0, D: int = 200, K: int = 4, words: int = 12) -> TokenTable:
    """A corpus of topics with words of their own, one or two a document."""
    rng = np.random.default_rng(seed)
    docs = []
    for _ in range(D):
        topics = rng.choice(K, 2)
        docs.append([int(k * words + rng.integers(words)) for k in rng.choice(topics, rng.integers(5, 40))])
    return token_table(docs, [f"w{v}" for v in range(K * words)])


@pytest.mark.parametrize(("start", "seed"), [("svd", 42), *(("random", seed) for seed in range(6))])
def test_the_example_of_the_lecture(start: str, seed: int) -> None:
    fit = fit_plsa(lecture(), 2, PlsaOptions(start=start, **LONG), Execution(seed))
    assert fit.numbers["log_likelihood"] == pytest.approx(-58.0484, abs=5e-5)
    phi = fit.model.phi
    cats, cars = phi[phi[:, 0].argmax()], phi[phi[:, 4].argmax()]
    assert cats[:4].sum() == pytest.approx(1, abs=1e-6)
    assert cars[:3].sum() == pytest.approx(0, abs=1e-6)


def test_the_factors_that_the_lecture_prints_are_a_little_worse() -> None:
    phi = np.array([[1 / 4] * 4 + [0, 0], [0, 0, 0, 1 / 3, 1 / 3, 1 / 3]])
    # U Σ of the slide: (2, 3, 1, 2, 0, 0) / 8 · 8 / 11 and (0, 0, 0, 1, 1, 2) / 4 · 3 / 11
    joint = np.array([[2, 0], [3, 0], [1, 0], [2, 0.75], [0, 0.75], [0, 1.5]])
    theta = joint / joint.sum(axis=1, keepdims=True)
    assert plain.log_likelihood(theta, phi, LECTURE) == pytest.approx(-58.2095, abs=5e-5)


@pytest.mark.parametrize("beta", [1.0, 0.7])
def test_a_step_is_that_of_the_plain_version(beta: float) -> None:
    counts = count_terms(drawn(3, D=30)).toarray()
    counts[4] = 0
    tokens = token_table(documents(counts), [f"w{v}" for v in range(counts.shape[1])])
    rng = np.random.default_rng(1)
    theta, phi = rng.dirichlet(np.ones(3), 30), rng.dirichlet(np.ones(counts.shape[1]), 3)
    state = module._State(theta.copy(), np.ascontiguousarray(phi.T))
    with ThreadPoolExecutor(2) as pool:
        expected = module.ExpectedCounts(count_terms(tokens), pool)
        for _ in range(3):
            before = module._step(state, expected, beta)
            if beta == 1.0:
                assert before == pytest.approx(plain.log_likelihood(theta, phi, counts))
            theta, phi = plain.step(theta, phi, counts, beta)
    np.testing.assert_allclose(state.theta, theta, atol=1e-12)
    np.testing.assert_allclose(state.phi.T, phi, atol=1e-12)


def test_the_likelihood_never_falls() -> None:
    trace: list[PlsaPoint] = []
    fit_plsa(drawn(), 6, PlsaOptions(iterations=60, tolerance=0.0), progress=lambda n, point: trace.append(point))
    values = [point.log_likelihood for point in trace]
    assert [point.step for point in trace] == list(range(60))
    assert all(b >= a - 1e-12 for a, b in pairwise(values))


def test_the_optimum_is_that_of_nmf_under_kullback_leibler() -> None:
    """Gaussier & Goutte 2005: from the same start both end at the same products, up to the sums of the rows."""
    tokens = drawn(1)
    counts = count_terms(tokens).toarray().astype(float)
    fit = fit_plsa(tokens, 4, PlsaOptions(iterations=5000, tolerance=1e-12))
    nmf = NMF(4, init="nndsvda", solver="mu", beta_loss="kullback-leibler", max_iter=5000, tol=1e-9, random_state=0)
    W = nmf.fit_transform(counts)
    p = W @ nmf.components_
    best = float((counts * np.log(np.where(counts > 0, p / p.sum(axis=1, keepdims=True), 1.0))).sum())
    assert fit.numbers["log_likelihood"] == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("start", ["svd", "random"])
def test_planted_topics_come_back(start: str) -> None:
    fit = fit_plsa(drawn(2, D=400), 4, PlsaOptions(start=start))
    owner = fit.model.phi.reshape(4, 4, 12).sum(axis=2)
    assert sorted(owner.argmax(axis=1)) == [0, 1, 2, 3]
    assert owner.max(axis=1).min() > 0.9


def test_the_same_bytes_on_any_number_of_threads() -> None:
    fits = [fit_plsa(drawn(), 5, PlsaOptions(start="random"), Execution(7, threads)) for threads in (1, 2, 5)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.model.topic_term.toarray(), fits[0].model.topic_term.toarray())
        np.testing.assert_array_equal(other.doc_topic.toarray(), fits[0].doc_topic.toarray())
    different = fit_plsa(drawn(), 5, PlsaOptions(start="random"), Execution(8))
    assert different.numbers != fits[0].numbers


def test_counts_are_expected_ones_and_topics_go_by_size() -> None:
    tokens = drawn(5)
    fit = fit_plsa(tokens, 4)
    lengths = np.diff(tokens.offsets)
    np.testing.assert_allclose(fit.doc_topic.sum(axis=1), lengths, rtol=1e-5)
    np.testing.assert_allclose(fit.model.topic_term.sum(), lengths.sum(), rtol=1e-4)
    main = np.bincount(fit.doc_topic.toarray().argmax(axis=1), minlength=4)
    assert list(main) == sorted(main, reverse=True)
    theta = theta_of(fit.doc_topic, fit.model.alpha, slice(None))
    p = plain.log_likelihood(theta, fit.model.phi, count_terms(tokens).toarray())
    assert p == pytest.approx(fit.numbers["log_likelihood"], rel=1e-4)


def test_tempering_falls_while_it_helps_and_holds_against_overfitting() -> None:
    """More topics than there are fit noise: tempered, documents that were held out are more probable."""
    rng = np.random.default_rng(0)
    tokens = token_table([rng.integers(0, 60, 15).tolist() for _ in range(150)], [f"w{v}" for v in range(60)])
    trace: list[PlsaPoint] = []
    options = PlsaOptions(start="random", tempered=True)
    tempered = fit_plsa(tokens, 10, options, Execution(1), progress=lambda n, point: trace.append(point))
    betas = [point.beta for point in trace]
    assert betas[0] == 1.0
    assert tempered.numbers["beta"] < 1
    assert all(b == a or b == pytest.approx(a * 0.9) for a, b in pairwise(betas) if b <= a)
    free = fit_plsa(tokens, 10, PlsaOptions(start="random"), Execution(1))
    assert tempered.numbers["log_likelihood"] < free.numbers["log_likelihood"]
    uniform = np.full(60, 1 / 60)
    away = [np.abs(fit.model.phi - uniform).sum(axis=1).mean() for fit in (tempered, free)]
    assert away[0] < away[1]


def test_new_documents_are_folded_in_alone() -> None:
    tokens = drawn(2, D=100)
    fit = fit_plsa(tokens, 4, PlsaOptions(iterations=500))
    phi = np.ascontiguousarray(fit.model.phi.T)
    theta = fold_in(phi, tokens.offsets, tokens.term_ids, threads=3)
    fitted = theta_of(fit.doc_topic, fit.model.alpha, slice(None))
    assert np.abs(theta - fitted).sum(axis=1).mean() < 0.05
    part = fold_in(phi, tokens.offsets[40:61], tokens.term_ids)
    np.testing.assert_array_equal(part, theta[40:60])
    np.testing.assert_array_equal(fold_in(phi, np.zeros(3, np.int64), tokens.term_ids[:0]), np.full((2, 4), 0.25))


def test_a_document_without_words_and_more_topics_than_documents() -> None:
    tokens = token_table([[], [0, 1], [1, 1, 2], []], ["a", "b", "c", "unused"])
    for start in ("svd", "random"):
        fit = fit_plsa(tokens, 4, PlsaOptions(start=start))
        assert np.isfinite(fit.model.topic_term.data).all()
        assert fit.doc_topic[[0]].nnz == 0
        np.testing.assert_allclose(fit.model.phi.sum(axis=1)[fit.model.topic_totals > 0], 1)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_plsa(token_table([[]], ["a"]), 1)
    with refuses("k"):
        fit_plsa(token_table([[0, 0]], ["a"]), 3)
    with refuses("start"):
        PlsaOptions(start="svg")


def test_fits_of_one_number_of_topics_are_several_where_the_seed_matters() -> None:
    assert PlsaFitter(PlsaOptions()).seeds == 1
    assert PlsaFitter(PlsaOptions(start="random")).seeds == 3
