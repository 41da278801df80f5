"""Wordfish: the kernel beside plain Newton, the mode, quanteda's figures, planted positions and the coverage of intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from nlpkit.scale.kernels import fit_regressions
from nlpkit.scale.wordfish import wordfish
from tests.reference import wordfish as plain
from tests.scale.lbg import COUNTS, MATRIX

FIGURES = {  # what quanteda.textmodels 0.9.8 prints for textmodel_wordfish(data_dfm_lbgexample, dir = c(1, 5))
    "theta": [-1.29056981, -0.61643907, 0.03350982, 0.70961244, 1.52333687, -0.35945025],
    "se": [0.01448422, 0.01059613, 0.01085375, 0.01214106, 0.01744178, 0.01070073],
    "alpha": [-4.558205, 1.303010, 3.307253, 1.688789, -4.270413, 2.529567],
}


def simulated(D: int, V: int, length: int, seed: int, *, spread: float = 0.5) -> tuple[np.ndarray, sparse.csr_array]:
    """Return positions (D,) with mean 0 and standard deviation 1, and counts of words whose frequencies fall as in texts."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=D)
    theta = (theta - theta.mean()) / theta.std(ddof=1)
    rates = np.exp(
        rng.normal(0, 0.3, D)[:, None] - np.log(np.arange(1, V + 1)) + np.outer(theta, rng.normal(0, spread, V))
    )
    counts = rng.poisson(rates * length * D / rates.sum())
    return theta, sparse.csr_array(counts[:, counts.sum(axis=0) > 0])


def test_kernel_is_newtons_method() -> None:
    rng = np.random.default_rng(3)
    offsets, x = rng.normal(0, 0.5, 40), rng.normal(size=40)
    y = rng.poisson(np.exp(offsets + rng.normal(0, 1, (6, 1)) + np.outer([0.0, 1.0, -2.0, 0.5, 3.0, 0.1], x)))
    y[5] = 0
    y[5, 7] = 1
    a, b = np.zeros(6), np.zeros(6)
    totals = y.sum(axis=1).astype(float)
    fit_regressions(totals, y @ x, offsets, x, a, b, 1 / 9, 0, 6, 100, 1e-12)
    for j in range(6):
        assert (a[j], b[j]) == pytest.approx(plain.regression(y[j], offsets, x, 1 / 9), abs=1e-8)


def test_a_part_changes_nothing_else_and_a_bad_start_is_no_matter() -> None:
    x, offsets = np.linspace(-2, 2, 9), np.zeros(9)
    y = np.exp(1.0 + 0.7 * x)
    a, b = np.array([5.0, 9.0]), np.array([-30.0, 9.0])
    fit_regressions(np.full(2, y.sum()), np.full(2, y @ x), offsets, x, a, b, 1e-9, 0, 1, 500, 1e-12)
    assert (a[0], b[0]) == pytest.approx((1.0, 0.7), abs=1e-6)
    assert (a[1], b[1]) == (9.0, 9.0)


def test_as_quanteda_gives_the_figures_that_it_prints() -> None:
    model = wordfish(MATRIX, as_quanteda=True)
    sign = np.sign(model.theta[4] - model.theta[0])
    assert sign * model.theta == pytest.approx(FIGURES["theta"], abs=5e-8)
    assert model.se == pytest.approx(FIGURES["se"], abs=5e-8)
    assert model.alpha == pytest.approx(FIGURES["alpha"], abs=5e-6)
    assert sign * model.beta[[0, 18, 36]] == pytest.approx([-8.4452617, -0.2889734, 7.3723185], abs=5e-7)
    assert model.psi[[0, 18, 36]] == pytest.approx([-6.6414630, 1.7502790, -6.9825744], abs=5e-7)


def test_the_estimate_is_the_mode() -> None:
    """No general optimiser finds a higher posterior, from the estimate or from elsewhere."""
    _, counts = simulated(8, 40, 150, seed=4)
    Y, V = counts.toarray(), counts.shape[1]
    model = wordfish(counts)

    def loss(parameters: np.ndarray) -> float:
        alpha, theta, psi, beta = np.split(parameters, [8, 16, 16 + V])
        return -plain.posterior(Y, alpha, psi, beta, theta, 3.0)

    estimate = np.concatenate([model.alpha, model.theta, model.psi, model.beta])
    rng = np.random.default_rng(1)
    elsewhere = estimate + rng.normal(0, 0.3, len(estimate))
    found = optimize.minimize(loss, elsewhere, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6})
    assert loss(estimate) <= found.fun + 1e-3
    theta = found.x[8:16]
    theta = (theta - theta.mean()) / theta.std(ddof=1)
    assert abs(theta @ model.theta) / 7 == pytest.approx(1.0, abs=1e-3)


def test_rounds_never_leave_the_mode_on_texts_that_words_keep_apart() -> None:
    """There the estimate of quanteda goes on to drift; the posterior of the mode is higher than where that ends."""
    mode, ended = wordfish(MATRIX), wordfish(MATRIX, as_quanteda=True)
    values = [plain.posterior(COUNTS, m.alpha, m.psi, m.beta, m.theta, 3.0) for m in (mode, ended)]
    assert values[0] > values[1]
    assert mode.converged


def test_planted_positions_come_back_with_their_intervals() -> None:
    covered, correlations = list[np.ndarray](), list[float]()
    for seed in range(30):
        theta, counts = simulated(20, 300, 2000, seed)
        model = wordfish(counts)
        sign = np.sign(model.theta @ theta)
        covered.append(np.abs(sign * model.theta - theta) < 1.959964 * model.se)
        correlations.append(float(np.corrcoef(model.theta, sign * theta)[0, 1]))
        assert model.dispersion == pytest.approx(1.0, abs=0.1)
    assert min(correlations) > 0.995
    assert 0.90 < np.mean(covered) < 0.97  # 600 positions; words are held, so a little below 95 %


def test_threads_change_no_bit() -> None:
    _, counts = simulated(30, 200, 300, seed=9)
    one, two = wordfish(counts, threads=1), wordfish(counts, threads=3)
    assert one.theta.tobytes() == two.theta.tobytes()
    assert one.beta.tobytes() == two.beta.tobytes()
    assert one.se.tobytes() == two.se.tobytes()


def test_counts_that_vary_more_than_poisson_are_told() -> None:
    rng = np.random.default_rng(6)
    counts = rng.negative_binomial(1.0, 0.1, (25, 200))
    assert wordfish(sparse.csr_array(counts)).dispersion > 3


def test_two_documents_lie_on_either_side() -> None:
    model = wordfish(sparse.csr_array([[5, 1, 2], [1, 5, 2]]))
    assert np.abs(model.theta) == pytest.approx([0.5**0.5] * 2)
