"""Dirichlet priors from counts: known ones come back, the likelihood is highest there and never falls on the way."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits

from nlpkit.topics.base.heldout import dirichlet_multinomial
from nlpkit.topics.lda import priors
from nlpkit.topics.lda.priors import estimate_alpha, estimate_eta
from tests.strategies import repeatable


def simulated(rng: np.random.Generator, alpha: Any, lengths: Any) -> Any:
    """Counts (R, C) CSR int32 of rows drawn from Dirichlet(alpha), then multinomial, of these lengths."""
    theta = rng.dirichlet(alpha, len(lengths))
    return sparse.csr_array(rng.multinomial(lengths, theta).astype(np.int32))


def slopes(counts: Any, alpha: Any) -> Any:
    """d log p / d log alpha_k, by differences."""
    step = 1e-4
    out = []
    for k in range(len(alpha)):
        up, down = alpha.copy(), alpha.copy()
        up[k], down[k] = up[k] * np.exp(step), down[k] * np.exp(-step)
        out.append((dirichlet_multinomial(counts, up) - dirichlet_multinomial(counts, down)) / (2 * step))
    return np.array(out)


def test_a_known_alpha_comes_back() -> None:
    alpha = np.array([0.05, 0.1, 0.3, 0.8, 2.0])
    rng = np.random.default_rng(1)
    counts = simulated(rng, alpha, rng.integers(20, 200, 20_000))
    assert estimate_alpha(counts, np.full(5, 0.2)) == pytest.approx(alpha, rel=0.04)


def test_a_known_symmetric_alpha_comes_back() -> None:
    rng = np.random.default_rng(2)
    counts = simulated(rng, np.full(8, 0.25), rng.integers(20, 200, 10_000))
    found = estimate_alpha(counts, np.full(8, 2.0), symmetric=True)
    assert found == pytest.approx(np.full(8, 0.25), rel=0.02)
    assert np.ptp(found) == 0


def test_a_known_eta_comes_back() -> None:
    rng = np.random.default_rng(3)
    counts = simulated(rng, np.full(2000, 0.03), np.full(50, 20_000))
    assert estimate_eta(counts, 0.5) == pytest.approx(0.03, rel=0.02)


def test_the_likelihood_is_highest_at_the_alpha_found() -> None:
    rng = np.random.default_rng(4)
    counts = simulated(rng, np.array([0.1, 0.4, 1.0]), rng.integers(5, 60, 2000))
    found = estimate_alpha(counts, np.full(3, 0.5))
    at_start = slopes(counts, np.full(3, 0.5))
    # 100 steps from afar: what is left of the slope is a thousandth of the one at the start
    assert np.abs(slopes(counts, found)).max() < 1e-3 * np.abs(at_start).max()
    assert all(
        dirichlet_multinomial(counts, found * factor) < dirichlet_multinomial(counts, found) for factor in (0.95, 1.05)
    )


def test_the_likelihood_is_highest_at_the_symmetric_alpha_found() -> None:
    rng = np.random.default_rng(5)
    counts = simulated(rng, np.array([0.1, 0.4, 1.0]), rng.integers(5, 60, 2000))
    best = minimize_scalar(
        lambda log_a: -dirichlet_multinomial(counts, np.full(3, np.exp(log_a))), bounds=(-5, 3), method="bounded"
    )
    found = estimate_alpha(counts, np.full(3, 0.05), symmetric=True)
    assert found == pytest.approx(np.full(3, np.exp(best.x)), rel=1e-3)


def test_the_likelihood_is_highest_at_the_eta_found() -> None:
    rng = np.random.default_rng(6)
    counts = simulated(rng, rng.gamma(0.3, 1, 400) + 1e-3, np.full(10, 500))
    best = minimize_scalar(
        lambda log_eta: -dirichlet_multinomial(counts, float(np.exp(log_eta))), bounds=(-8, 3), method="bounded"
    )
    assert estimate_eta(counts, 1.0) == pytest.approx(np.exp(best.x), rel=1e-3)


@repeatable
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_likelihood_never_falls(seed: int, symmetric: bool) -> None:
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 6))
    counts = simulated(rng, rng.gamma(0.5, 1, K) + 0.01, rng.integers(0, 30, 40))
    steps = [rng.gamma(1, 1) + 0.01 + np.zeros(K)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "STEPS", 1)
        for _ in range(30):
            steps.append(estimate_alpha(counts, steps[-1], symmetric=symmetric))
    values = [dirichlet_multinomial(counts, alpha) for alpha in steps]
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(values))
    assert not symmetric or np.ptp(steps[-1]) == 0


@repeatable
@given(st.integers(0, 2**32 - 1))
def test_the_likelihood_of_eta_never_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = simulated(rng, rng.gamma(0.5, 1, 20) + 0.01, rng.integers(1, 80, 4))
    steps = [float(rng.gamma(1, 1)) + 0.01]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "STEPS", 1)
        for _ in range(30):
            steps.append(estimate_eta(counts, steps[-1]))
    values = [dirichlet_multinomial(counts, eta) for eta in steps]
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(values))


def test_one_step_by_hand() -> None:
    # two documents of counts (1, 1) and (2, 0) at alpha (1, 1), where psi(n + 1) - psi(1) = 1 + 1/2 + … + 1/n:
    # below: 2 · (psi(4) - psi(2)) = 2 · (1/2 + 1/3) = 5/3; above: 1 + 3/2 and 1
    counts = sparse.csr_array(np.array([[1, 1], [2, 0]]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(priors, "STEPS", 1)
        assert estimate_alpha(counts, np.ones(2)) == pytest.approx([2.5 / (5 / 3), 1 / (5 / 3)])
        assert estimate_alpha(counts, np.ones(2), symmetric=True) == pytest.approx(np.full(2, 1.75 / (5 / 3)))
        # as topics and terms: (1 + 1 + 3/2) / (2 · 5/3)
        assert estimate_eta(counts, 1.0) == pytest.approx(3.5 / (10 / 3))


def test_documents_without_tokens_say_nothing() -> None:
    rng = np.random.default_rng(7)
    counts = simulated(rng, np.array([0.2, 0.6]), rng.integers(1, 40, 300))
    with_empty = sparse.csr_array(sparse.vstack([counts, sparse.csr_array((50, 2), dtype=np.int32)]))
    start = np.array([0.5, 0.5])
    assert estimate_alpha(with_empty, start) == pytest.approx(estimate_alpha(counts, start), rel=1e-12)


def test_nothing_to_learn_from_leaves_the_priors_as_they_are() -> None:
    for counts in (sparse.csr_array((0, 3), dtype=np.int32), sparse.csr_array((4, 3), dtype=np.int32)):
        np.testing.assert_array_equal(estimate_alpha(counts, np.array([0.1, 0.2, 0.3])), [0.1, 0.2, 0.3])
        assert estimate_eta(counts, 0.3) == 0.3


def test_a_topic_without_tokens_keeps_a_prior() -> None:
    counts = sparse.csr_array(np.array([[3, 2, 0], [1, 6, 0], [4, 0, 0]], np.int32))
    found = estimate_alpha(counts, np.full(3, 0.5))
    assert found[2] == priors.LEAST
    assert (found > 0).all()


def test_counts_of_weighted_tokens() -> None:
    # half tokens: no outcome of a multinomial, but the same function of counts
    rng = np.random.default_rng(9)
    counts = simulated(rng, np.array([0.2, 0.6, 0.4]), rng.integers(1, 40, 300)) * 0.5
    start = np.full(3, 0.5)
    found = estimate_alpha(counts, start)
    assert np.abs(slopes(counts, found)).max() < 1e-3 * np.abs(slopes(counts, start)).max()


def test_the_given_alpha_stays_as_it_is() -> None:
    start = np.array([1.0, 2.0])
    estimate_alpha(sparse.csr_array(np.array([[5, 1], [0, 3]])), start)
    assert start.tolist() == [1.0, 2.0]


def test_symmetric_is_one_value_from_an_asymmetric_start_too() -> None:
    rng = np.random.default_rng(8)
    counts = simulated(rng, np.array([0.1, 0.4, 1.0]), rng.integers(5, 60, 500))
    found = estimate_alpha(counts, np.array([0.1, 0.5, 0.9]), symmetric=True)
    assert found == pytest.approx(estimate_alpha(counts, np.full(3, 0.5), symmetric=True), rel=1e-3)


def test_the_sums_do_not_depend_on_the_threads_of_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "STEPS", 3)
    rng = np.random.default_rng(10)
    counts = sparse.csr_array(rng.gamma(1.0, 5.0, (60_000, 2)))  # weighted tokens: no two documents are as long
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            alpha = estimate_alpha(counts, np.full(2, 0.5))
            found.append([*alpha, estimate_eta(counts, 0.3), dirichlet_multinomial(counts, alpha)])
            found[-1].append(dirichlet_multinomial(counts, 0.3))
    assert found[0] == found[1] == found[2]


def test_alpha_of_one_document_stays_small() -> None:
    counts = sparse.csr_array(np.array([[40, 35, 25]]))
    free, held = np.full(3, 0.3), np.full(3, 0.3)
    for _ in range(50):
        free, held = estimate_alpha(counts, free), estimate_alpha(counts, held, rate=priors.PRIOR_RATE)
    assert free.sum() > 1000  # equal shares of all documents have no alpha of highest likelihood
    assert held.sum() < 3
