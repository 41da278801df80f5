"""Ordered classes: the regressions between them, their probabilities, and the median."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from nlpkit.classify.fit import fit_model
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.models.logistic import fit_ordinal, median_class


def planted(J: int = 5, D: int = 300, V: int = 30) -> tuple[sparse.csr_array, np.ndarray]:
    """Return features whose sum by fixed weights, and some noise, puts a document into one of J classes in order."""
    rng = np.random.default_rng(8)
    X = sparse.csr_array(sparse.random(D, V, 0.3, random_state=rng))
    height = X @ rng.normal(size=V) + rng.normal(size=D) * 0.3
    return X, np.searchsorted(np.quantile(height, np.arange(1, J) / J), height).astype(np.int32)


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_equals_regressions_of_scikit_learn(C: float) -> None:
    """Each place between two classes is scikit-learn's logistic regression of the documents above it; then Frank & Hall 2001, §2."""
    X, y = planted()
    model = fit_ordinal(X, y, 5, C=C, max_steps=100, threads=2)
    peers = [LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X.toarray(), y > k) for k in range(4)]
    above = np.stack([peer.predict_proba(X.toarray())[:, 1] for peer in peers], axis=1)
    for k in range(1, 4):
        above[:, k] = np.minimum(above[:, k], above[:, k - 1])
    expected = np.stack([1 - above[:, 0], *(above[:, k - 1] - above[:, k] for k in range(1, 4)), above[:, 3]], axis=1)
    assert model.probabilities(X) == pytest.approx(expected, abs=1e-4)
    assert model.converged
    scores, away = (
        model.above.decision(X),
        np.where(y[:, None] > np.arange(4), -1.0, 1.0),
    )  # the objective, to ten digits
    ours = C * np.logaddexp(0, away * scores).sum(axis=0) + 0.5 * (model.above.coef**2).sum(axis=0)
    theirs = [
        C * np.logaddexp(0, away[:, k] * peer.decision_function(X.toarray())).sum() + 0.5 * (peer.coef_**2).sum()
        for k, peer in enumerate(peers)
    ]
    assert ours == pytest.approx(theirs, rel=1e-8)
    assert model.direction == pytest.approx(np.mean([peer.coef_[0] for peer in peers], axis=0), abs=1e-3)


@pytest.mark.parametrize("J", [2, 3, 8])
def test_probabilities_are_of_all_classes(J: int) -> None:
    X, y = planted(J)
    model = fit_model(
        X, y, J, ModelOptions("ordinal", C=1e4)
    )  # weak: regressions of rare classes contradict each other
    p = model.probabilities(X)
    assert p is not None
    assert p.shape == (300, J)
    assert p.sum(axis=1) == pytest.approx(np.ones(300))
    assert (p >= 0).all()
    assert np.isfinite(model.decision(X)).all()
    assert np.abs(median_class(p) - y).mean() < np.abs(int(np.median(y)) - y).mean() / 2


def test_the_median_errs_least() -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(6, 0.4), 200)
    away = np.abs(np.arange(6)[:, None] - np.arange(6))
    assert (median_class(p) == (p @ away).argmin(axis=1)).all()
    assert median_class(np.array([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).tolist() == [0, 0, 2]
    assert median_class(np.ones((3, 1))).tolist() == [0, 0, 0]


def test_threads_and_order_of_classes() -> None:
    X, y = planted()
    one, two = (fit_ordinal(X, y, 5, max_steps=100, threads=threads).probabilities(X) for threads in (1, 2))
    assert (one == two).all()
    turned = fit_ordinal(X, 4 - y, 5, max_steps=100).above
    assert turned.coef[:, ::-1] == pytest.approx(-fit_ordinal(X, y, 5, max_steps=100).above.coef, abs=1e-4)


def test_weights_of_balanced_classes() -> None:
    X, y = planted()
    rare = np.where(y == 4, 4, np.minimum(y, 1))
    rare = np.unique(rare, return_inverse=True)[1].astype(np.int32)
    sizes = np.bincount(rare)
    weights = (300 / (3 * sizes))[rare]
    model = fit_model(X, rare, 3, ModelOptions("ordinal", balanced=True))
    peer = LogisticRegression(tol=1e-10, max_iter=10_000).fit(X.toarray(), rare > 0, sample_weight=weights)
    p = model.probabilities(X)
    assert p is not None
    assert 1 - p[:, 0] == pytest.approx(peer.predict_proba(X.toarray())[:, 1], abs=1e-4)
