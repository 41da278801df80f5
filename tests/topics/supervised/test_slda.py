"""Supervised LDA: its sweep by the formula, its regressions by scikit-learn, planted coefficients, documents without labels."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.heldout import infer_topics
from nlpkit.topics.base.model import MixtureFit
from nlpkit.topics.supervised import slda_kernels as kernel
from nlpkit.topics.supervised.options import SldaOptions
from nlpkit.topics.supervised.response import Regression, Response, quality, regress
from nlpkit.topics.supervised.slda import fit_slda, shares_of
from tests.reference import supervised as plain
from tests.refusals import refuses
from tests.strategies import token_table

COEF = np.array([3.0, 1.0, -1.0, -3.0])


@cache
def labelled(D: int = 250, seed: int = 0) -> tuple[TokenTable, np.ndarray]:
    """Documents of four topics of eight words, each a mixture of two; shares of the topics (D, 4)."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.3] * 4, D)
    docs = [[int(8 * k + rng.integers(8)) for k in rng.choice(4, 30, p=p)] for p in theta]
    shares = np.array([np.bincount(np.array(doc) // 8, minlength=4) for doc in docs]) / 30
    return token_table(docs, [f"w{v:02d}" for v in range(32)]), shares


def response(kind: str) -> Response:
    _, shares = labelled()
    rng = np.random.default_rng(7)
    y = 10 + shares @ COEF + rng.normal(0, 0.2, len(shares))
    if kind == "real":
        return Response(y)
    if kind == "binary":
        return Response((y > 10).astype(float), ("low", "high"))
    return Response(shares.argmax(axis=1).astype(float), ("a", "b", "c", "d"))


@cache
def fitted(kind: str, seed: int = 42) -> MixtureFit:
    return fit_slda(labelled()[0], 4, response(kind), SldaOptions(iterations=60), Execution(seed, 1))


@pytest.mark.parametrize(
    ("C", "labels"), [(1, [0.7, np.nan, -2.0, 1.0]), (2, [1, 0, np.nan, 1]), (3, [2, 0, 1, np.nan])]
)
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_a_sweep_is_that_of_the_formula(C: int, labels: list[float], scale: float) -> None:
    rng = np.random.default_rng(C)
    K, V = 3, 5
    tokens = token_table([rng.integers(0, V, n).tolist() for n in (6, 1, 9, 4)], list("abcde"))
    coef, intercept = scale * rng.normal(size=(K, C)), rng.normal(size=C)
    z, n_vk, n_k = np.full(20, -1, np.int32), np.zeros((V, K), np.int32), np.zeros(K, np.int64)
    room = kernel.Room(np.zeros(K, np.int64), *np.empty((3, K)), np.empty(C), np.empty((K, C)))
    y, expected = np.array(labels), z
    for _ in range(3):
        uniforms = rng.random(20)
        expected = plain.slda_sweep(
            tokens.offsets, tokens.term_ids, expected, K, V, 0.3, 0.2, coef, intercept, y, 0.5, uniforms
        )
        kernel.sweep(tokens.offsets, tokens.term_ids, z, n_vk, n_k, 0.3, 0.2, coef, intercept, y, 0.5, uniforms, room)
        np.testing.assert_array_equal(z, expected)
    assert n_k.tolist() == np.bincount(z, minlength=K).tolist() == n_vk.sum(axis=0).tolist()


def test_labels_that_topics_cannot_have_leave_numbers_in_order() -> None:
    factors = np.empty(2)
    kernel.class_factors(np.array([0.0, -2000.0]), 1, np.array([[1.0, kernel.LEAST]] * 2), factors)
    assert np.isfinite(factors).all()
    ratios = np.empty((2, 2))
    kernel.fill_ratios(np.array([[5000.0, -5000.0], [0.0, 1.0]]), 1, ratios)
    assert ratios.min() == kernel.LEAST


def test_regressions_are_those_of_scikit_learn() -> None:
    _, shares = labelled()
    y = response("real").y
    ours = regress(shares, y, 0, coef_variance=2.0, variance=0.3)
    theirs = Ridge(alpha=0.3 / (2.0 * y.var())).fit(shares, y)
    np.testing.assert_allclose(ours.coef[:, 0], theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.predict(shares)[:, 0], theirs.predict(shares), rtol=1e-6)
    assert ours.variance == pytest.approx(np.mean((y - theirs.predict(shares)) ** 2))
    codes = response("classes").y
    ours = regress(shares, codes, 4, coef_variance=2.0, variance=1.0)
    logistic = LogisticRegression(C=2.0, tol=1e-10, max_iter=2000).fit(shares, codes)
    np.testing.assert_allclose(ours.predict(shares), logistic.predict_proba(shares), atol=1e-4)


@pytest.mark.parametrize("kind", ["real", "binary", "classes"])
def test_planted_topics_and_coefficients_come_back(kind: str) -> None:
    fit, labels = fitted(kind), response(kind)
    block = np.array([fit.model.topic_term[k].toarray().reshape(4, 8).sum(axis=1) for k in range(4)])
    assert (block.max(axis=1) / block.sum(axis=1) > 0.95).all()
    topic = block.argmax(axis=1)  # the planted topic of each
    assert sorted(topic) == [0, 1, 2, 3]
    coef = fit.arrays["coefficients"]
    if kind == "real":
        assert np.corrcoef(coef[:, 0], COEF[topic])[0, 1] > 0.99
        np.testing.assert_allclose(np.ptp(coef), 6.0, atol=0.7)
    elif kind == "binary":
        assert np.argsort(coef[:, 1]).tolist() == np.argsort(COEF[topic]).tolist()
    else:
        assert coef.argmax(axis=1).tolist() == topic.tolist()
    tokens, _ = labelled()
    theta = infer_topics(fit.model, tokens.offsets, tokens.term_ids, seed=1)
    shares = shares_of(theta, np.diff(tokens.offsets), fit.model.alpha)
    assert quality(Regression(coef, fit.arrays["intercept"]), shares, labels.y) > (0.9 if kind != "classes" else 0.85)
    name = "r2" if kind == "real" else "accuracy"
    assert fit.numbers[f"{name}_in_sample"] == pytest.approx(
        quality(Regression(coef, fit.arrays["intercept"]), shares, labels.y), abs=0.05
    )


def test_labels_move_the_topics() -> None:
    """Documents of the same word: the shares of two topics are those that the label asks for, 20 z̄_1 − 20 z̄_2 = y."""
    tokens, y = token_table([[0] * 40] * 60, ["a"]), np.tile([10.0, -10.0, np.nan], 20)
    rng, z = np.random.default_rng(3), np.full(2400, -1, np.int32)
    n_vk, n_k = np.zeros((1, 2), np.int32), np.zeros(2, np.int64)
    room = kernel.Room(np.zeros(2, np.int64), *np.empty((3, 2)), np.empty(1), np.empty((2, 1)))
    coef, intercept = np.array([[20.0], [-20.0]]), np.zeros(1)
    for _ in range(60):
        kernel.sweep(
            tokens.offsets, tokens.term_ids, z, n_vk, n_k, 5.0, 1.0, coef, intercept, y, 0.05, rng.random(2400), room
        )
    shares = (z.reshape(60, 40) == 0).mean(axis=1)
    np.testing.assert_allclose(shares[0::3], 0.75, atol=0.051)
    np.testing.assert_allclose(shares[1::3], 0.25, atol=0.051)
    assert shares[2::3].std() > 0.05


def test_documents_without_labels_take_part() -> None:
    tokens, _ = labelled()
    y = response("real").y.copy()
    y[::2] = np.nan
    fit = fit_slda(tokens, 4, Response(y), SldaOptions(iterations=60))
    assert fit.numbers["labelled"] == 125
    assert fit.numbers["r2_in_sample"] > 0.9
    assert fit.doc_topic.sum() == len(tokens.term_ids)


def test_the_seed_decides_and_threads_do_not() -> None:
    tokens, labels = labelled()[0], response("classes")
    options = SldaOptions(iterations=20)
    a, b, c = (fit_slda(tokens, 4, labels, options, Execution(*how)) for how in ((1, 1), (1, 3), (2, 1)))
    assert (a.doc_topic != b.doc_topic).nnz == 0
    np.testing.assert_array_equal(a.arrays["coefficients"], b.arrays["coefficients"])
    assert (a.doc_topic != c.doc_topic).nnz


def test_parts_of_labels() -> None:
    labels = Response(np.array([0.0, 2.0, np.nan, 1.0]), ("a", "b", "c"))
    part = labels.take(np.array([1, 2]))
    assert part.names == ("c",)
    np.testing.assert_array_equal(part.y, [0.0, np.nan])
    assert labels.among(np.array([True, True, True, False])).names == ("a", "c")


def test_what_cannot_be_fitted_is_refused() -> None:
    tokens = token_table([[0], [1]], ["a", "b"])
    with pytest.raises(UsageError, match="no tokens"):
        fit_slda(token_table([[]], ["a"]), 2, Response(np.array([1.0])))
    for y, names in (([1.0, 1.0], ()), ([0.0, 0.0], ("a", "b")), ([np.nan, np.nan], ())):
        with pytest.raises(InputError, match="label"):
            fit_slda(tokens, 2, Response(np.array(y), names))
    for name in ("alpha", "eta", "coef_variance"):
        with refuses(name):
            SldaOptions(**{name: 0.0})
    with refuses("response"):
        SldaOptions(response="ordinal")
