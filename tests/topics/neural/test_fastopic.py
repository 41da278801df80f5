"""FASTopic: transport plans by linear programming and by what defines them, the loss of the authors' module, planted topics."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.metrics import adjusted_rand_score

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.topics.neural.fastopic import (
    FastopicFitter,
    Objective,
    adam_step,
    fit_fastopic,
    infer_theta,
    pull_back,
    start_weights,
    topic_mass,
    transport,
)
from nlpkit.topics.neural.options import FastopicOptions
from tests.refusals import refuses
from tests.strategies import token_table
from tests.topics.test_gsdmm import short_texts

TOKENS, LABELS = short_texts(D=240)


def embedded(labels: Any, E: int = 16) -> np.ndarray:
    """Embeddings around one point for each label."""
    rng = np.random.default_rng(3)
    return (rng.normal(size=(4, E))[labels] + 0.2 * rng.normal(size=(len(labels), E))).astype(np.float32)


@pytest.fixture(scope="module")
def fit() -> Any:
    return fit_fastopic(TOKENS, 4, FastopicOptions(iterations=100), embeddings=embedded(LABELS))


def problem(n: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs (n, K), masses of the rows and of the columns."""
    rng = np.random.default_rng(seed)
    return rng.random((n, K)), rng.dirichlet(np.full(n, 5.0)), rng.dirichlet(np.full(K, 5.0))


@pytest.mark.parametrize("strength", [0.1, 3.0, 40.0])
@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_a_plan_is_what_defines_it(strength: float, scale: float) -> None:
    """Its marginals are those given, and ln π + α M is a sum of a row and a column, which no other plan is."""
    costs, rows, columns = problem(30, 5)
    costs *= scale if strength < 1 else 1.0
    plan = transport(costs, rows, columns, strength, np.zeros(5)).plan
    np.testing.assert_allclose(plan.sum(axis=1), rows, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), columns, atol=1e-6)
    potentials = np.log(plan) + strength * costs
    centred = potentials - potentials.mean(axis=0) - potentials.mean(axis=1, keepdims=True) + potentials.mean()
    np.testing.assert_allclose(centred, 0, atol=1e-9)


def test_with_little_entropy_a_plan_is_that_of_linear_programming() -> None:
    costs, rows, columns = problem(8, 4, seed=2)
    solved = transport(costs, rows, columns, 2000.0, np.zeros(4))
    sums = np.vstack([np.kron(np.eye(8), np.ones(4)), np.kron(np.ones(8), np.eye(4))])
    best = optimize.linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([rows, columns]))
    np.testing.assert_allclose(solved.plan, best.x.reshape(8, 4), atol=1e-4)
    assert float((solved.plan * costs).sum()) == pytest.approx(best.fun, abs=1e-4)


def test_where_it_starts_changes_the_rounds_and_not_the_plan() -> None:
    costs, rows, columns = problem(30, 5)
    cold = transport(costs, rows, columns, 3.0, np.zeros(5))
    warm = transport(costs, rows, columns, 3.0, cold.potentials)
    assert warm.rounds == 0 < cold.rounds
    far = transport(costs, rows, columns, 3.0, np.array([900.0, 0, 0, 0, -900.0]))  # exp(-900) is 0
    for other in (warm, far):
        np.testing.assert_allclose(other.plan, cold.plan, atol=1e-7)


def test_gradients_through_a_plan_are_those_of_differences() -> None:
    costs, rows, columns = problem(6, 3)
    slopes = np.random.default_rng(1).normal(size=(6, 3))

    def loss(costs: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> float:
        return float((slopes * transport(costs, rows, columns, 2.0, np.zeros(3)).plan).sum())

    plan = transport(costs, rows, columns, 2.0, np.zeros(3)).plan
    pulled = pull_back(plan, slopes * plan, rows, columns, 2.0)
    step = 1e-4
    for i, k in np.ndindex(6, 3):
        moved = step * np.outer(np.eye(6)[i], np.eye(3)[k])
        slope = (loss(costs + moved, rows, columns) - loss(costs - moved, rows, columns)) / (2 * step)
        assert pulled.costs[i, k] == pytest.approx(slope, abs=2e-3)
    to = step * np.array([1, -1, 0, 0, 0, 0])  # mass from one to another
    slope = (loss(costs, rows + to, columns) - loss(costs, rows - to, columns)) / (2 * step)
    assert pulled.rows[0] - pulled.rows[1] == pytest.approx(slope, abs=2e-3)
    slope = (loss(costs, rows, columns + to[:3]) - loss(costs, rows, columns - to[:3])) / (2 * step)
    assert pulled.columns[0] - pulled.columns[1] == pytest.approx(slope, abs=2e-3)


def test_loss_and_gradient_are_those_of_the_authors() -> None:
    """Of the module of fastopic 1.0.1 in float64 on the same weights, with iterations up to an error of 1e-12."""
    rng = np.random.default_rng(7)
    D, V, K, E = 12, 9, 3, 5
    X = rng.normal(size=(D, E)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    names = ("topics", "words", "topic_weights", "word_weights")
    shapes = ((K, E), (V, E), (K,), (V,))
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in zip(names, shapes, strict=True)}
    bow = rng.poisson(1.0, size=(D, V))
    bow[:, 0] += 1
    with ThreadPoolExecutor(2) as pool:
        objective = Objective(sparse.csr_array(bow), X, FastopicOptions(), K, pool)
        point, gradients = objective(weights, 1)
    loss = point.document_cost + point.word_cost - point.log_likelihood * bow.sum() / D
    assert loss == pytest.approx(63.514654, abs=2e-5)
    expected = {
        "topics": ([1.648088, 3.171027, -5.451532, -9.191903, -4.506285, -2.931368], 360.863245),
        "words": ([0.607843, -2.040075, -0.851206, 1.403993, 2.379471, -1.558873], 249.371163),
        "topic_weights": ([-1.221989, 0.3654, 0.856589], 2.360518),
        "word_weights": ([-1.669222, -1.409224, 0.517196, -1.473058, 7.527765, -0.904302], 85.016627),
    }
    for name, (first, squares) in expected.items():
        np.testing.assert_allclose(gradients[name].ravel()[:6], first, atol=1e-4)
        assert float((gradients[name] ** 2).sum()) == pytest.approx(squares, rel=1e-4)
    phi = [7e-07, 0.0169978, 0.0013216, 0.0024888, 0.7175442, 0.0003452, 0.0033177, 0.1089139, 0.1490702]
    np.testing.assert_allclose(K * objective.word_plan[:, 0], phi, atol=1e-6)
    weights["topic_mass"] = topic_mass(weights["topics"], X, 1.0)
    theta = [[0.513787, 0.4823089, 0.0039041], [0.1809618, 0.8164191, 0.0026191]]
    np.testing.assert_allclose(infer_theta(weights, 3 * X[:2], 1.0), theta, atol=1e-6)


def test_adam_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values, mean, square = rng.normal(size=5).astype(np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    tensor = torch.nn.Parameter(torch.tensor(values))
    adam = torch.optim.Adam([tensor], lr=0.01)
    for step in range(1, 8):
        gradient = rng.normal(size=5).astype(np.float32)
        tensor.grad = torch.tensor(gradient)
        adam.step()
        adam_step(values, gradient, mean, square, step, 0.01)
    np.testing.assert_allclose(values, tensor.detach().numpy(), rtol=1e-5)


def test_planted_topics_come_back(fit: Any) -> None:
    assert adjusted_rand_score(LABELS, fit.doc_topic.toarray().argmax(axis=1)) > 0.95
    top = np.argsort(-fit.model.phi, axis=1)[:, :6]
    assert sorted({row[0] // 10 for row in top.tolist()}) == [0, 1, 2, 3]
    assert np.mean([v // 10 == row[0] // 10 for row in top.tolist() for v in row]) > 0.9
    np.testing.assert_allclose(fit.model.phi.sum(axis=1), 1)
    assert max(point.error for point in fit.trace) <= 2e-7
    assert fit.numbers["log_likelihood_per_token"] > fit.trace[-1].log_likelihood > fit.trace[0].log_likelihood
    # θ of the documents of the fit is that of new ones, and topics are in the order of their size
    theta = FastopicFitter(FastopicOptions()).theta(fit.weights, sparse.csr_array((240, 40)), embedded(LABELS))
    np.testing.assert_allclose(fit.doc_topic.toarray(), theta * np.diff(TOKENS.offsets)[:, None], atol=1e-5)
    sizes = np.bincount(theta.argmax(axis=1), minlength=4)
    assert list(sizes) == sorted(sizes, reverse=True)


def test_the_seed_decides_and_threads_do_not() -> None:
    def weights(seed: int, threads: int) -> dict[str, Any]:
        few = FastopicOptions(iterations=3)
        return dict(fit_fastopic(TOKENS, 3, few, Execution(seed, threads), embeddings=embedded(LABELS)).weights)

    a, b, c = weights(1, 1), weights(1, 3), weights(2, 1)
    assert all(a[name].tobytes() == b[name].tobytes() for name in a)
    assert a["topics"].tobytes() != c["topics"].tobytes()


def test_documents_without_words_have_no_topic_and_one_topic_takes_all() -> None:
    tokens = token_table([[], *[[0, 1, d % 3] for d in range(12)], []], ["a", "b", "c", "nowhere"])
    vectors = np.random.default_rng(0).normal(size=(14, 4)).astype(np.float32)
    vectors[3] = 0.0
    for K in (1, 2):
        fit = fit_fastopic(tokens, K, FastopicOptions(iterations=2), embeddings=vectors)
        np.testing.assert_allclose(fit.doc_topic.sum(axis=1), np.diff(tokens.offsets), atol=1e-5)
        assert not fit.model.phi[:, 3].any()
    start = start_weights(np.random.default_rng(0), 3, 50, 8)
    np.testing.assert_allclose(np.linalg.norm(start["words"], axis=1), 1, rtol=1e-6)


def test_what_cannot_be_fitted_is_refused() -> None:
    for name in ("dt_alpha", "tw_alpha", "theta_temp", "rate"):
        with refuses(name):
            FastopicOptions(**{name: 0.0})
    with pytest.raises(UsageError, match=r"the vectors diverged in step"):
        fit_fastopic(TOKENS, 2, FastopicOptions(rate=1e30), embeddings=embedded(LABELS))
    with pytest.raises(InputError, match="10 documents with words or more"):
        fit_fastopic(token_table([[0, 1]] * 9, ["a", "b"]), 2, embeddings=np.ones((9, 4), np.float32))
