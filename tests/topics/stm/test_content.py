"""Words of topics that depend on a column: the regressions by a general minimiser, planted effects, threads, prediction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.stm import content_kernels as kernels
from nlpkit.topics.stm.content import (
    Content,
    ContentModel,
    content_from_arrays,
    content_terms,
    fit_content,
    levels_of,
    update_content,
)
from nlpkit.topics.stm.fit import StmFit, fit_stm
from nlpkit.topics.stm.fitter import StmFitter, as_mixture
from nlpkit.topics.stm.options import StmOptions
from tests.reference import poisson_lasso as plain
from tests.strategies import token_table

K, V, D = 3, 60, 400
PLANTED = {(1, None, 0): 1.5, (1, 1, 25): 2.0, (0, 2, 45): 1.5}  # level, topic (all where None), term → κ


@pytest.fixture(scope="module")
def planted() -> tuple[TokenTable, Content, np.ndarray]:
    """Tokens of topics on blocks of words, a few of which are more frequent at one of two levels; and φ (A, K, V)."""
    rng = np.random.default_rng(0)
    phi = np.full((K, V), 0.1)
    for k in range(K):
        phi[k, k * 20 : (k + 1) * 20] += rng.gamma(1.0, size=20) * 10
    kappa = np.zeros((2, K, V))
    for (a, k, v), value in PLANTED.items():
        kappa[a, slice(None) if k is None else k, v] = value
    phi = phi * np.exp(kappa)
    phi /= phi.sum(axis=2, keepdims=True)
    level = (np.arange(D) % 2).astype(np.int32)
    theta = rng.dirichlet(np.full(K, 0.5), D)
    docs = [rng.choice(V, size=80, p=row @ phi[a]).tolist() for row, a in zip(theta, level, strict=True)]
    return token_table(docs, [f"w{v}" for v in range(V)]), Content("party", ("left", "right"), level), phi


@pytest.fixture(scope="module")
def fit(planted: tuple[TokenTable, Content, np.ndarray]) -> StmFit:
    tokens, content, _ = planted
    return fit_stm(tokens, K, StmOptions(content="party", tolerance=1e-6), Execution(1), content=content)


@pytest.mark.parametrize("cells", [True, False])
def test_regressions_are_those_of_a_general_minimiser(cells: bool) -> None:
    rng = np.random.default_rng(3)
    A, n = 2, 2 * K
    X = plain.design(K, A, cells=cells)
    rates = rng.gamma(2.0, 10.0, n)
    y = rng.poisson(rates * np.exp(rng.normal(size=n))).astype(float)
    for penalty in (0.5, 3.0, 20.0):
        topic, level, cell, mu = np.zeros(K), np.zeros(A), np.zeros(n if cells else 0), rates.copy()
        kernels.descend(y, mu, topic, level, cell, penalty, 1e-14)
        got, expected = np.concatenate([topic, level, cell]), plain.regression(y, rates, X, penalty)
        np.testing.assert_allclose(mu, rates * np.exp(X @ expected), rtol=1e-3)
        least = plain.objective(expected, y, rates, X, penalty)
        assert plain.objective(got, y, rates, X, penalty) == pytest.approx(least, abs=1e-4)
    most = kernels.greatest_penalty(y, rates, K, cells)
    assert not plain.regression(y, rates, X, most * 1.001).round(6).any()
    assert plain.regression(y, rates, X, most * 0.99).round(6).any()


def test_the_effects_of_the_least_criterion_are_kept() -> None:
    counts = (
        np.random.default_rng(0).poisson([[3.0, 30, 3, 30]], (1, 4)).astype(float)
    )  # one term, two topics, two levels
    totals = np.full(4, 100.0)
    share = np.array([counts.sum() / totals.sum()])
    best = kernels.Effects(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 4)))
    kernels.fit_terms(counts, share, totals, kernels.Path(250, 0.001, 1e-7), 0, 1, best)
    X = plain.design(2, 2, cells=True)
    rates, criteria = share[0] * totals, []
    for step in range(1, 250, 31):
        penalty = kernels.greatest_penalty(counts[0], rates, 2, True) * 0.001 ** (step / 249)
        kappa = plain.regression(counts[0], rates, X, penalty)
        mu = rates * np.exp(X @ kappa)
        criteria.append(kernels.deviance(counts[0], mu) + 2 * (np.abs(kappa) > 1e-5).sum())
    kappa = np.concatenate([best.topic[0], best.level[0], best.cell[0]])
    criterion = kernels.deviance(counts[0], rates * np.exp(X @ kappa)) + 2 * np.count_nonzero(kappa)
    assert criterion <= min(criteria) + 0.1
    assert best.topic[0].any()
    assert not best.level[0].any()


@pytest.mark.parametrize("interactions", [True, False])
def test_planted_effects_come_back(
    planted: tuple[TokenTable, Content, np.ndarray], fit: StmFit, interactions: bool
) -> None:
    tokens, content, phi = planted
    if not interactions:
        options = StmOptions(content="party", interactions=False)
        fit = fit_stm(tokens, K, options, Execution(1), content=content)
    model = fit.model.content
    assert model is not None
    assert fit.converged
    _, order = linear_sum_assignment(phi.mean(axis=0) @ model.mean_phi.T, maximize=True)
    got = model.phi[:, order]
    np.testing.assert_allclose(got.sum(axis=2), 1)
    ratio, true = np.log(got[1] / got[0]), np.log(phi[1] / phi[0])
    assert ratio[0, 0] == pytest.approx(true[0, 0], abs=0.25), ratio[:, 0]
    assert (ratio[:, 0] > 0).all()
    assert (model.level == 0).mean() > 0.5
    if interactions:
        assert model.cell is not None
        assert ratio[1, 25] > 1.2
        assert ratio[2, 45] < -0.8
        others = np.delete(ratio, [0, 25, 45], axis=1)
        assert np.mean(np.abs(others) < 0.4) > 0.9
        assert np.abs(got - phi).sum(axis=2).max() < 0.15
    else:
        assert model.cell is None
        logs = np.log(model.phi) - np.log(model.baseline)
        apart = (logs[1] - logs[0]) - (logs[1] - logs[0])[:, :1]  # of topics alike, but for what makes rows sum to 1
        np.testing.assert_allclose(apart, np.broadcast_to(apart[0], apart.shape), atol=1e-9)
    np.testing.assert_allclose(fit.model.phi, model.mean_phi)


def test_words_that_set_a_level_apart(fit: StmFit) -> None:
    model = fit.model.content
    assert model is not None
    rows = content_terms(model, 5)
    k = int(model.mean_phi[:, 25].argmax())
    here = (rows.topic == k) & (rows.level == 1)
    assert 25 in rows.term[here & (rows.contrast_rank <= 2)]
    assert rows.rank[here].tolist() == sorted(rows.rank[here])
    assert (rows.rank[here] <= 5).sum() == 5
    np.testing.assert_allclose(rows.weight[here], model.phi[1, k, rows.term[here]])


def test_the_same_bytes_on_any_number_of_threads(planted: tuple[TokenTable, Content, np.ndarray]) -> None:
    tokens, content, _ = planted
    options = StmOptions(content="party", iterations=2)
    a, b = (fit_stm(tokens, K, options, Execution(1, n), content=content).model for n in (1, 3))
    assert a.content is not None
    assert b.content is not None
    assert a.eta.tobytes() == b.eta.tobytes()
    assert all(x.tobytes() == b.content.arrays()[name].tobytes() for name, x in a.content.arrays().items())


def test_new_documents_by_their_level(planted: tuple[TokenTable, Content, np.ndarray], fit: StmFit) -> None:
    tokens, content, _ = planted
    mixture = as_mixture(fit, tokens)
    again = content_from_arrays(mixture.arrays)
    assert again is not None
    np.testing.assert_array_equal(again.phi, fit.model.content.phi)  # type: ignore[union-attr]
    infer = StmFitter(StmOptions(content="party")).inference_of(mixture, 1)
    theta = infer(tokens.offsets, tokens.term_ids, None, content.numbers)
    np.testing.assert_allclose(theta, fit.model.theta, atol=0.003)
    average = infer(tokens.offsets, tokens.term_ids, None, np.full(D, -1, np.int32))
    assert np.abs(average - theta).max() > 0.006
    part = infer(tokens.offsets[10:21], tokens.term_ids, None, content.numbers[10:20])
    np.testing.assert_allclose(part, theta[10:20], atol=1e-4)


def test_other_numbers_of_the_topics(fit: StmFit) -> None:
    other = fit.model.renumbered(np.array([2, 0, 1])).content
    assert isinstance(other, ContentModel)
    np.testing.assert_array_equal(other.phi, fit.model.content.phi[:, [2, 0, 1]])  # type: ignore[union-attr]


def test_levels() -> None:
    content = fit_content("x", np.array([10.0, 9, 10]))
    assert content.levels == ("9", "10")
    assert content.numbers.tolist() == [1, 0, 1]
    assert levels_of(content.levels, ["10", None, "new"]).tolist() == [1, -1, -1]
    with pytest.raises(InputError, match="'x' has no value in 1 of 3 documents"):
        fit_content("x", ["a", None, "b"])
    with pytest.raises(InputError, match="'x' has 1 level, but 2 to 50 are possible; leave"):
        fit_content("x", ["a", "a"])
    with pytest.raises(InputError, match="'x' has 51 levels"):
        fit_content("x", np.arange(51.0))
    with pytest.raises(UsageError, match="needs `content`"):
        StmOptions(interactions=False)


def test_levels_and_topics_without_words() -> None:
    counts = np.zeros((2, 3, 4))
    counts[0, :2, :3] = [[9, 1, 0], [1, 9, 4]]
    model = update_content(counts, np.array([0.4, 0.4, 0.2, 0.0]), np.array([1.0, 0.0]), interactions=True)
    assert np.isfinite(model.phi).all()
    np.testing.assert_allclose(model.phi.sum(axis=2), 1)
    assert not model.phi[..., 3].any()
