"""The structural topic model: derivatives by differences, modes by SciPy, plain versions, planted effects, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.effects.design import fit_design
from nlpkit.topics.effects.formula import parse_formula
from nlpkit.topics.effects.regression import cases, compared_rows, regress_draws
from nlpkit.topics.stm import kernels
from nlpkit.topics.stm.fit import fit_stm
from nlpkit.topics.stm.fitter import as_mixture, infer_theta
from nlpkit.topics.stm.model import (
    Prior,
    as_counts,
    covariance_of,
    draw_thetas,
    expected_counts,
    infer_posteriors,
    kernel_model,
    regress,
    softmax,
)
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.start import anchor_start, anchors, cooccurrences, normalized
from nlpkit.weights.dtm import count_terms
from tests.reference import stm as plain
from tests.strategies import token_table


def problem(seed: int, K: int = 4, V: int = 12, D: int = 7) -> tuple[np.ndarray, np.ndarray, Prior]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(K - 1, K - 1))
    prior = Prior(rng.normal(size=(D, K - 1)), root @ root.T + np.eye(K - 1))
    return rng.poisson(1.5, (D, V)).astype(float), rng.dirichlet(np.full(V, 0.3), K), prior


def planted(
    seed: int, *, D: int = 400, K: int = 3, V: int = 60, length: int = 80
) -> tuple[TokenTable, np.ndarray, np.ndarray]:
    """Tokens of topics on blocks of words; the first topic is more frequent where x is 1, and goes together with the second."""
    rng = np.random.default_rng(seed)
    phi = np.full((K, V), 0.1)
    for k in range(K):
        phi[k, k * V // K : (k + 1) * V // K] += rng.gamma(1.0, size=V // K) * 10
    phi /= phi.sum(axis=1, keepdims=True)
    x = np.arange(D) % 2
    sigma = np.array([[1.0, 0.7], [0.7, 1.0]])
    eta = np.column_stack([1.5 * x, np.zeros(D)]) + rng.multivariate_normal([0, 0], sigma, D)
    theta = np.exp(np.column_stack([eta, np.zeros(D)]))
    theta /= theta.sum(axis=1, keepdims=True)
    docs = [rng.choice(V, size=length, p=row @ phi).tolist() for row in theta]
    return token_table(docs, [f"w{v}" for v in range(V)]), x, theta


def test_derivatives_are_those_of_the_objective() -> None:
    counts, phi, prior = problem(0)
    rng = np.random.default_rng(1)
    csr = as_counts(sparse.csr_array(counts))
    model = kernel_model(phi, prior)
    room = kernels.room_for(csr.indptr, 0, len(counts), len(phi))
    for d, row in enumerate(counts):
        eta = rng.normal(size=3)
        arguments = (row, phi, prior.mean[d], prior.covariance)
        words = slice(csr.indptr[d], csr.indptr[d + 1])
        kernels.softmax(eta, room.theta)
        kernels.derivatives(eta, prior.mean[d], csr.indices[words], csr.data[words], model, room)
        differences = optimize.approx_fprime(eta, plain.objective, 1e-6, *arguments)
        np.testing.assert_allclose(room.gradient, differences, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(room.gradient, plain.gradient(eta, *arguments), rtol=1e-10)
        second = np.array(
            [optimize.approx_fprime(eta, lambda e, i=i, a=arguments: plain.gradient(e, *a)[i], 1e-6) for i in range(3)]
        )
        np.testing.assert_allclose(np.tril(room.hessian), np.tril(second), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(np.tril(room.hessian), np.tril(plain.hessian(eta, *arguments)), rtol=1e-9, atol=1e-9)


def test_modes_covariances_and_bounds_are_those_of_scipy() -> None:
    counts, phi, prior = problem(2)
    counts[3] = 0
    got = infer_posteriors(as_counts(sparse.csr_array(counts)), phi, prior)
    covariance = np.zeros((3, 3))
    for d, row in enumerate(counts):
        arguments = (row, phi, prior.mean[d], prior.covariance)
        if not row.any():
            np.testing.assert_array_equal(got.eta[d], prior.mean[d])
            assert got.bounds[d] == 0
            continue
        best = optimize.minimize(
            plain.objective, np.zeros(3), arguments, jac=plain.gradient, method="BFGS", options={"gtol": 1e-9}
        )
        np.testing.assert_allclose(got.eta[d], best.x, atol=1e-4)
        assert got.bounds[d] == pytest.approx(plain.bound(best.x, *arguments), abs=1e-6)
        covariance += np.linalg.inv(plain.hessian(best.x, *arguments))
    np.testing.assert_allclose(got.covariance, covariance, rtol=1e-4)
    assert got.unsettled == 0


def test_modes_are_reached_from_where_the_hessian_is_not_positive_definite() -> None:
    phi, prior = np.array([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]]), Prior(np.zeros((1, 1)), np.array([[50.0]]))
    counts = np.array([[60.0, 40.0, 5.0]])
    start = np.array([[-12.0]])
    assert plain.hessian(np.array([-3.5]), counts[0], phi, np.zeros(1), prior.covariance)[0, 0] < 0
    for eta in (start, -start, start / 3.4):
        got = infer_posteriors(as_counts(sparse.csr_array(counts)), phi, prior, start=eta)
        assert plain.gradient(got.eta[0], counts[0], phi, np.zeros(1), prior.covariance) == pytest.approx(0, abs=1e-4)
        assert got.unsettled == 0


@pytest.mark.parametrize("seed", [0, 2])
def test_every_mode_is_reached_from_the_wide_prior_of_the_first_step(seed: int) -> None:
    """Twenty topics in the documents and five in the start, Σ = 20 I: where the hessian is not positive definite, steps stay long."""
    rng = np.random.default_rng(seed)
    K, V, D = 5, 300, 100
    zipf = 1 / (np.arange(V) + 2.7)
    topics = np.array([rng.dirichlet(0.05 * V * zipf / zipf.sum()) for _ in range(20)])
    theta = rng.dirichlet(np.full(20, 0.1), D)
    counts = np.array(
        [rng.multinomial(n, row @ topics) for n, row in zip(rng.integers(20, 800, D), theta, strict=True)]
    )
    phi = anchor_start(as_counts(sparse.csr_array(counts)), K).phi
    prior = Prior(np.zeros((1, K - 1)), 20 * np.eye(K - 1))
    got = infer_posteriors(as_counts(sparse.csr_array(counts)), phi, prior)
    assert got.unsettled == 0
    left = []
    for d, row in enumerate(counts):
        arguments = (row, phi, prior.mean[0], prior.covariance)
        slope, curvature = plain.gradient(got.eta[d], *arguments), plain.hessian(got.eta[d], *arguments)
        assert np.linalg.eigvalsh(curvature).min() > 0
        left.append(slope @ np.linalg.solve(curvature, slope) / 2)
        assert got.bounds[d] == pytest.approx(plain.bound(got.eta[d], *arguments), abs=1e-6)
    assert max(left) < 1.1e-10  # the docstring's promise


@pytest.mark.parametrize("K", [3, 5])
def test_a_saddle_between_equal_topics_is_left(K: int) -> None:
    """At η = 0 the gradient keeps topics of the same words alike, and alike they are no mode but a saddle."""
    phi = np.full((K, 4), 0.05)
    phi[:-1, 0], phi[-1, 1] = 0.85, 0.85
    prior, counts = Prior(np.zeros((1, K - 1)), 20 * np.eye(K - 1)), np.array([[60.0, 0, 1, 1]])
    even = optimize.minimize_scalar(
        lambda x: plain.objective(np.full(K - 1, x), counts[0], phi, np.zeros(K - 1), prior.covariance)
    )
    saddle = np.full(K - 1, even.x)
    arguments = (counts[0], phi, np.zeros(K - 1), prior.covariance)
    np.testing.assert_allclose(plain.gradient(saddle, *arguments), 0, atol=1e-3)
    assert np.linalg.eigvalsh(plain.hessian(saddle, *arguments)).min() < 0
    for start in (np.zeros((1, K - 1)), saddle[None, :]):
        got = infer_posteriors(as_counts(sparse.csr_array(counts)), phi, prior, start=start)
        assert got.unsettled == 0
        np.testing.assert_allclose(plain.gradient(got.eta[0], *arguments), 0, atol=1e-4)
        assert np.linalg.eigvalsh(plain.hessian(got.eta[0], *arguments)).min() > 0
        assert plain.objective(got.eta[0], *arguments) < even.fun - 0.1


def test_expected_counts_regression_and_weights_equal_the_plain_versions() -> None:
    counts, phi, _ = problem(3)
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(4), 7)
    np.testing.assert_allclose(
        expected_counts(as_counts(sparse.csr_array(counts)), theta, phi),
        plain.expected_counts(counts, theta, phi),
        rtol=1e-12,
    )
    X = np.column_stack([np.ones(50), rng.normal(size=(50, 3))])
    eta = X @ rng.normal(size=(4, 2)) + rng.normal(size=(50, 2))
    gamma = regress(eta, X)
    np.testing.assert_allclose(gamma, np.column_stack([plain.regression(eta[:, k], X) for k in range(2)]), rtol=1e-10)
    assert np.abs(gamma - np.linalg.lstsq(X, eta, rcond=None)[0]).max() < 0.1
    vectors, gram = rng.dirichlet(np.ones(60), 9), rng.dirichlet(np.full(60, 0.2), 3)
    out = np.empty((9, 3))
    kernels.simplex_weights(vectors @ gram.T, gram @ gram.T, 0, 9, out)
    np.testing.assert_allclose(out, [plain.simplex_weights(gram, y) for y in vectors], rtol=1e-9, atol=1e-12)


def test_the_covariance_is_shrunk_to_its_diagonal() -> None:
    eta, nu = np.random.default_rng(0).normal(size=(20, 2)), np.array([[4.0, 1.0], [1.0, 2.0]])
    whole = covariance_of(eta, np.zeros((1, 2)), nu)
    np.testing.assert_allclose(whole, (eta.T @ eta + nu) / 20)
    half = covariance_of(eta, np.zeros((1, 2)), nu, shrinkage=0.5)
    np.testing.assert_allclose(half, np.diag(np.diag(whole)) / 2 + whole / 2)


def test_anchors_without_the_matrix_of_cooccurrences() -> None:
    tokens, _, _ = planted(0, D=80)
    counts = np.zeros((80, 60))
    np.add.at(counts, (np.repeat(np.arange(80), 80), tokens.term_ids), 1)
    counts[5] = 0
    counts[6] = np.eye(60)[3]  # one token has no pair
    csr, Q = as_counts(sparse.csr_array(counts)), plain.cooccurrences(counts)
    pairs = cooccurrences(csr)
    np.testing.assert_allclose(pairs.rows(np.arange(60)), Q, atol=1e-12)
    np.testing.assert_allclose(pairs.times(np.eye(60)), Q, atol=1e-12)
    chosen = anchors(pairs, 5, np.ones(60, bool), pairs.squares())
    assert chosen.tolist() == plain.anchors(Q, 5)
    weights = np.array([plain.simplex_weights(Q[chosen], Q[v]) for v in range(60)])
    weights[chosen] = np.eye(5)
    expected = (weights * counts.sum(axis=0)[:, None]).T
    np.testing.assert_allclose(anchor_start(csr, 5).phi, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)


def test_anchors_are_frequent_words_as_long_as_these_span_enough() -> None:
    tokens, _, _ = planted(0, D=80)
    pairs = cooccurrences(as_counts(count_terms(tokens)))
    squares = pairs.squares()
    every = anchors(pairs, 5, np.ones(60, bool), squares)
    frequent = np.ones(60, bool)
    frequent[every] = False
    assert not set(anchors(pairs, 5, frequent, squares)) & set(every)
    two = np.arange(60) < 2
    chosen = anchors(pairs, 5, two, squares)
    assert set(chosen[:2]) == {0, 1}
    assert len(set(chosen)) == 5
    with pytest.raises(InputError, match="independent kinds"):
        anchors(pairs, 61, two, squares)


def test_the_start_keeps_a_topic_that_anchors_among_all_words_lose() -> None:
    """100 documents of 60 words, whose frequencies are Zipf's: in three of 40 such corpora the first start loses a topic."""
    rng = np.random.default_rng(17)
    base = rng.permutation(1 / (np.arange(200) + 2.7))
    base /= base.sum()
    phi = 0.95 * np.array([rng.dirichlet(20 * base) for _ in range(3)]) + 0.05 * base
    theta = softmax(rng.multivariate_normal(np.zeros(2), np.array([[1.0, 0.3], [0.3, 1.0]]), 100))
    docs = [rng.choice(200, 60, p=row @ phi).tolist() for row in theta]
    tokens = token_table(docs, [f"w{v}" for v in range(200)])
    start = anchor_start(as_counts(count_terms(tokens)), 3).phi
    first, fitted = (fit_stm(tokens, 3, phi=begin) for begin in (start, None))
    likeness = [np.sqrt(phi) @ np.sqrt(fit.model.phi).T for fit in (first, fitted)]
    least = [each[optimize.linear_sum_assignment(each, maximize=True)].min() for each in likeness]
    assert least[0] < 0.85 < 0.9 < least[1]
    assert fitted.bound > first.bound


@pytest.mark.parametrize("start", ["spectral", "anchors", "lda"])
def test_planted_effects_and_correlations_come_back(start: str) -> None:
    tokens, x, theta = planted(1)
    X = np.column_stack([np.ones(len(x)), x])
    fit = fit_stm(tokens, 3, StmOptions(start=start), Execution(3, 2), X=X)
    assert fit.converged
    assert np.diff([point.bound for point in fit.trace]).min() > -1e-6
    model = fit.model
    correlation = np.corrcoef(model.theta.T, theta.T)[:3, 3:]
    match = correlation.argmax(axis=1)
    assert sorted(match) == [0, 1, 2]
    assert correlation.max(axis=1).min() > 0.9
    rng = np.random.default_rng(0)
    effects = regress_draws(draw_thetas(model.eta, model.noise, model.prior.covariance, X, rng, 25), X, ("one", "x"))
    true = np.linalg.lstsq(X, theta, rcond=None)[0][1]
    got = effects.coefficients[:, 1]
    np.testing.assert_allclose(got, true[match], atol=0.06)
    first = int(np.flatnonzero(match == 0)[0])
    assert effects.p[first, 1] < 1e-6
    order = np.argsort(match)
    assert model.renumbered(order).prior.covariance[0, 1] > 0.3  # 0.7 was planted


def test_renumbered_topics_are_the_same_model() -> None:
    tokens, x, _ = planted(2, D=60)
    model = fit_stm(tokens, 3, StmOptions(iterations=5), X=np.column_stack([np.ones(60), x])).model
    other = model.renumbered(np.array([2, 0, 1]))
    np.testing.assert_allclose(other.theta, model.theta[:, [2, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(other.phi, model.phi[[2, 0, 1]])
    counts = as_counts(np.random.default_rng(0).poisson(1, (60, 60)))
    for prior, changed in ((model.prior, other.prior), (model.average_prior(), other.average_prior())):
        a, b = (infer_posteriors(counts, m.phi, p) for m, p in ((model, prior), (other, changed)))
        np.testing.assert_allclose(b.bounds, a.bounds, atol=1e-6)
    back = other.renumbered(np.array([1, 2, 0]))
    np.testing.assert_allclose(back.eta, model.eta, atol=1e-12)
    np.testing.assert_allclose(back.gamma, model.gamma, atol=1e-12)


def test_the_same_bytes_on_any_number_of_threads() -> None:
    tokens, x, _ = planted(3, D=200)
    X = np.column_stack([np.ones(200), x])
    for start in ("spectral", "anchors", "random", "lda"):
        a, b = (fit_stm(tokens, 4, StmOptions(start=start, iterations=6), Execution(1, n), X=X) for n in (1, 3))
        assert a.bound == b.bound
        assert a.model.topic_term.tobytes() == b.model.topic_term.tobytes()
        assert a.model.eta.tobytes() == b.model.eta.tobytes()
        assert a.model.noise.tobytes() == b.model.noise.tobytes()


def test_without_spread_effects_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(3), 40)
    X = np.column_stack([np.ones(40), rng.normal(size=40)])
    effects = regress_draws([theta] * 5, X, ("one", "x"))
    for k in range(3):
        coefficients = np.linalg.lstsq(X, theta[:, k], rcond=None)[0]
        np.testing.assert_allclose(effects.coefficients[k], coefficients)
        others = [
            np.arange(40) != d for d in range(40)
        ]  # HC3 is what leaving out each document does to the coefficients
        changes = np.array([np.linalg.lstsq(X[d], theta[d, k], rcond=None)[0] - coefficients for d in others])
        np.testing.assert_allclose(effects.covariance[k], changes.T @ changes)
    several = regress_draws([theta, theta[::-1]], X, ("one", "x"))
    a, b = (regress_draws([t], X, ("one", "x")) for t in (theta, theta[::-1]))
    difference = (a.coefficients - b.coefficients)[0]
    expected = (a.covariance[0] + b.covariance[0]) / 2 + 1.5 * np.outer(difference, difference) / 2
    np.testing.assert_allclose(several.covariance[0], expected)


def test_a_document_alone_in_its_group_has_the_mean_variance_of_all() -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(3), 12)
    X = np.column_stack([np.ones(12), np.arange(12) == 0])
    effects = regress_draws([theta], X, ("one", "alone"))
    rest = theta[1:] - theta[1:].mean(axis=0)
    np.testing.assert_allclose(effects.coefficients[:, 1], theta[0] - theta[1:].mean(axis=0))
    variance = (rest**2).sum(axis=0) / 10 + (rest**2).sum(
        axis=0
    ) / 10**2  # of the document, and of the mean of the others by HC3
    np.testing.assert_allclose(effects.covariance[:, 1, 1], variance)


def test_draws_with_the_mean_covariance_have_the_information_of_the_words_alone() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(2, 2))
    noise = root @ root.T / 9
    sigma = noise + np.array([[1.0, 0.3], [0.3, 0.6]])
    X = np.column_stack([np.ones(50), rng.normal(size=50)])
    eta = rng.normal(size=(50, 2))
    slope = np.linalg.pinv(X)[1]
    logs = [slope @ np.log(theta[:, :-1] / theta[:, -1:]) for theta in draw_thetas(eta, noise, sigma, X, rng, 10_000)]
    np.testing.assert_allclose(np.mean(logs, axis=0), slope @ eta, atol=0.01)
    between = np.cov(np.array(logs).T)  # with Σ within each draw, Louis's Σ (Σ - ν)⁻¹ Σ in all, each times (XᵀX)⁻¹
    missing = sigma @ np.linalg.inv(sigma - noise) @ sigma - sigma
    np.testing.assert_allclose(between, np.linalg.inv(X.T @ X)[1, 1] * missing, rtol=0.08)


def test_cases_and_contrasts() -> None:
    data: dict[str, Any] = {"party": ["a", "a", "b", "b", "a", "b", "a"], "x": np.array([1.0, 2, 3, 4, 5, 6, 9])}
    design = fit_design(parse_formula("party*x"), data)
    values, X = cases(design, "party")
    assert values == ["a", "b"]
    np.testing.assert_array_equal(X, [[1, 0, 4, 0], [1, 1, 4, 4]])
    values, X = cases(design, "x")
    assert (values[0], values[-1], len(values)) == (1.0, 9.0, 100)
    np.testing.assert_allclose(X[-1], [1, 0, 9, 0])
    np.testing.assert_array_equal(np.subtract(*compared_rows(design, "party", "b", "a")), [0, 1, 0, 4])
    np.testing.assert_array_equal(np.subtract(*compared_rows(design, "x", "3", "1")), [0, 0, 2, 0])
    with pytest.raises(UsageError, match="are both 'a'"):
        compared_rows(design, "party", "a", "a")


def test_new_documents_have_the_topics_of_the_fit() -> None:
    tokens, _, _ = planted(5, D=150)
    fit = fit_stm(tokens, 3, StmOptions(tolerance=1e-7))
    mixture = as_mixture(fit, tokens)
    prior = Prior(mixture.arrays["average_mean"][None, :], mixture.arrays["average_covariance"])
    np.testing.assert_allclose(
        infer_theta(fit.model.phi, prior, tokens.offsets, tokens.term_ids), fit.model.theta, atol=0.01
    )
    part = infer_theta(fit.model.phi, prior, tokens.offsets[10:21], tokens.term_ids)
    np.testing.assert_allclose(part, fit.model.theta[10:20], atol=0.01)


def test_documents_without_words_take_no_part() -> None:
    docs = [[0, 0, 1], [], [2, 3, 2], [0, 1], [2, 3], []]
    terms = list("abcd")
    fit = fit_stm(token_table(docs, terms), 2, StmOptions(start="random", iterations=8), Execution(1))
    other = fit_stm(
        token_table([d for d in docs if d], terms), 2, StmOptions(start="random", iterations=8), Execution(1)
    )
    assert fit.bound == other.bound
    np.testing.assert_array_equal(fit.model.eta[1], fit.model.prior.mean[0])
    assert as_mixture(fit, token_table(docs, terms)).doc_topic[[1]].nnz == 0


def test_bad_input() -> None:
    tokens = token_table([[0, 1], [1, 2], [0, 0]], list("abc"))
    for K in (0, 1, 7):
        with pytest.raises(UsageError, match="from 2 to 6 topics"):
            fit_stm(tokens, K)
    with pytest.raises(UsageError, match="no tokens"):
        fit_stm(token_table([[]], []), 2)
    with pytest.raises(InputError, match="need more terms than the 3 topics"):
        fit_stm(tokens, 3)
    with pytest.raises(InputError, match="independent kinds of co-occurrence, fewer than the"):
        fit_stm(token_table([[0, v] for v in (1, 2, 3, 4)] * 5, list("abcde")), 3)
    with pytest.raises(UsageError, match="not known"):
        StmOptions(start="svd")
    with pytest.raises(UsageError, match="names no column"):
        StmOptions(prevalence="1")
    assert normalized(np.array([[0.0, 0], [1, 3]])).tolist() == [[0.5, 0.5], [0.25, 0.75]]
