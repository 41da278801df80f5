"""Logistic regression: the objective and the weights of scikit-learn, its kernels against plain sums, any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from nlpkit.classify.models import kernels as kernel
from nlpkit.classify.models import logistic
from nlpkit.classify.models.logistic import fit_label_logistic, fit_logistic


def corpus(J: int, dense: bool, D: int = 300, V: int = 60) -> tuple[Any, np.ndarray]:
    """Return tf-idf-like rows of length 1 with overlapping classes of unequal size."""
    rng = np.random.default_rng(J)
    y = np.sort(rng.choice(J, D, p=np.arange(1, J + 1) / (J * (J + 1) / 2)).astype(np.int32))
    X = rng.poisson(rng.gamma(0.5, 1.0, (J, V))[y]) * rng.uniform(1, 4, V)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    return (X.astype(np.float32) if dense else sparse.csr_array(X)), y


def objective(coef: np.ndarray, intercept: np.ndarray, X: Any, y: np.ndarray, C: float, s: np.ndarray) -> float:
    """Return C Σ s loss + ½ Σ w², from weights as scikit-learn has them."""
    z = X @ coef.T + intercept
    if len(coef) == 1:
        z = np.concatenate((np.zeros_like(z), z), axis=1)
    loss = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y]
    return float(C * (s * loss).sum() + 0.5 * (coef**2).sum())


@pytest.mark.parametrize("J", [2, 3, 6])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(("C", "balanced"), [(1.0, False), (20.0, False), (0.3, True)])
def test_equals_scikit_learn(J: int, dense: bool, C: float, balanced: bool) -> None:
    X, y = corpus(J, dense)
    s = (len(y) / (J * np.bincount(y)))[y] if balanced else np.ones(len(y))
    peer = LogisticRegression(C=C, tol=1e-9, max_iter=20000, class_weight="balanced" if balanced else None)
    peer.fit(X.astype(np.float64), y)
    model = fit_logistic(X, y, J, C=C, weights=s if balanced else None)
    coef, intercept = model.coef.T, model.intercept
    if J == 2:
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    assert model.converged
    assert coef == pytest.approx(peer.coef_, abs=1e-4)
    assert intercept == pytest.approx(peer.intercept_, abs=1e-4)
    best = objective(peer.coef_, peer.intercept_, X, y, C, s)
    assert objective(coef, intercept, X, y, C, s) <= best * (1 + 1e-8)
    assert model.probabilities(X) == pytest.approx(peer.predict_proba(X.astype(np.float64)), abs=1e-4)


@pytest.mark.parametrize("dense", [False, True])
def test_threads_do_not_change_a_bit(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logistic, "SMALL", 0)
    X, y = corpus(4, dense)
    one, three = (fit_logistic(X, y, 4, threads=threads) for threads in (1, 3))
    assert (one.coef == three.coef).all()
    assert (one.intercept == three.intercept).all()


def test_one_document_a_class_and_terms_of_none() -> None:
    X = sparse.csr_array(np.array([[1.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]))
    model = fit_logistic(X, np.array([0, 1, 2], np.int32), 3)
    assert (model.decision(X).argmax(axis=1) == [0, 1, 2]).all()
    assert (model.coef[3] == 0).all()  # a term in no document
    assert model.coef.sum(axis=1) == pytest.approx(np.zeros(4), abs=1e-12)


def test_classes_that_a_line_parts() -> None:
    X = sparse.csr_array(np.repeat(np.eye(2), 50, axis=0) * 30)
    y = np.repeat([0, 1], 50).astype(np.int32)
    model = fit_logistic(X, y, 2, C=1e6)
    assert np.isfinite(model.coef).all()
    assert (model.decision(X).argmax(axis=1) == y).all()


def test_features_without_meaning_give_the_shares() -> None:
    y = np.array([0, 0, 0, 1, 1, 2], np.int32)
    found = fit_logistic(sparse.csr_array((6, 3)), y, 3).probabilities(sparse.csr_array((1, 3)))
    assert found == pytest.approx(np.array([[1 / 2, 1 / 3, 1 / 6]]), abs=1e-4)


def test_numbers_beyond_what_floats_hold_end() -> None:
    X = np.array([[1e200, 1.0], [-1e200, 0.0], [3e200, 1.0]])
    with np.errstate(all="ignore"):
        model = fit_logistic(X, np.array([0, 1, 1], np.int32), 2)
    assert model.coef.shape == (2, 2)
    large = np.array([[1e5, 1.0], [-1e5, 0.0], [3e5, 1.0]])
    assert fit_logistic(large, np.array([0, 1, 0], np.int32), 2).converged


def test_too_few_steps_are_told() -> None:
    X, y = corpus(3, False)
    assert not fit_logistic(X, y, 3, max_steps=1).converged


def test_labels_are_two_classes_each() -> None:
    X, y = corpus(3, False)
    Y = np.stack([y == 0, y != 1], axis=1)
    weights = np.random.default_rng(0).uniform(0.5, 2, Y.shape)
    model = fit_label_logistic(X, Y, C=2.0, weights=weights, threads=2)
    for j in range(2):
        alone = fit_logistic(X, Y[:, j].astype(np.int32), 2, C=2.0, weights=weights[:, j])
        assert model.probabilities(X)[:, j] == pytest.approx(alone.probabilities(X)[:, 1], abs=1e-12)


@pytest.mark.parametrize("J", [2, 3, 5])
def test_kernels_are_the_sums_they_say(J: int) -> None:
    rng = np.random.default_rng(J)
    D, K = 7, J - 1
    B = np.empty((K, J))  # the rows of B are the images of the unit vectors
    kernel.spread_rows(np.eye(K), B)
    products = B @ B.T
    assert products == pytest.approx(np.eye(K))
    assert B.sum(axis=1) == pytest.approx(np.zeros(K))
    t, s, y, u = rng.normal(size=(D, K)), rng.uniform(size=D), rng.integers(0, J, D), rng.normal(size=(D, K))
    loss, p, out, room = np.empty(D), np.empty((D, J)), np.empty((D, K)), np.empty((D, J))
    kernel.losses(t, y, loss, p, 0, D)
    z = t @ B
    expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert p == pytest.approx(expected)
    assert loss == pytest.approx(-np.log(expected[np.arange(D), y]))
    kernel.residuals(p, y, s, out, 0, D)
    assert out == pytest.approx(s[:, None] * ((p - np.eye(J)[y]) @ B.T))
    H = np.stack([s[d] * B @ (np.diag(p[d]) - np.outer(p[d], p[d])) @ B.T for d in range(D)])
    kernel.curvatures(p, s, u, room, out, 0, D)
    assert out == pytest.approx(np.einsum("dij,dj->di", H, u))
    kernel.diagonals(p, s, out, 0, D)
    assert out == pytest.approx(np.einsum("dii->di", H))


@pytest.mark.parametrize("K", [1, 2, 5])
def test_products_equal_those_of_numpy(K: int) -> None:
    rng = np.random.default_rng(K)
    X = rng.poisson(0.5, (9, 6)) * rng.normal(size=(9, 6))
    rows, W, out = sparse.csr_array(X), rng.normal(size=(6, K)), np.empty((9, K))
    kernel.times(rows.indptr, rows.indices, rows.data, W, out, 0, 9)
    assert out == pytest.approx(X @ W)
    kernel.squares_times(rows.indptr, rows.indices, rows.data, W, out, 0, 9)
    assert out == pytest.approx(X**2 @ W)
    before = out.copy()
    kernel.times(rows.indptr, rows.indices, rows.data, W, out, 3, 5)  # only the rows of the range
    assert (out[[0, 1, 2, 5, 6, 7, 8]] == before[[0, 1, 2, 5, 6, 7, 8]]).all()
