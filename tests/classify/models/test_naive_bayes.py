"""Naive Bayes: by hand, and against scikit-learn on counts and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes as sk

from nlpkit.classify.models.naive_bayes import fit_label_naive_bayes, fit_naive_bayes
from nlpkit.errors import InputError
from tests.refusals import refuses

PEERS = {"nb": sk.MultinomialNB, "bernoulli-nb": sk.BernoulliNB, "complement-nb": sk.ComplementNB}


def corpus(weighted: bool = False, dense: bool = False) -> tuple[Any, np.ndarray]:
    """Return 60 documents of 25 terms in 3 classes of 40, 15 and 5."""
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(3), (40, 15, 5)).astype(np.int32)
    X = rng.poisson(rng.gamma(0.4, 1.5, (3, 25))[y]).astype(np.float64)
    if weighted:
        X *= rng.uniform(0.5, 3.0, 25)
    order = rng.permutation(len(y))
    return (X[order] if dense else sparse.csr_array(X[order])), y[order]


def test_the_formula_of_the_lecture() -> None:
    # two documents "a a b" and "c" in class 0, one document "b c" in class 1; V = 3, so
    # P(a|0) = (2+1)/(3+4), P(b|0) = P(c|0) = 2/7; P(a|1) = 1/5, P(b|1) = P(c|1) = 2/5
    X = sparse.csr_array(np.array([[2, 1, 0], [0, 0, 1], [0, 1, 1]]))
    model = fit_naive_bayes(X, np.array([0, 0, 1], np.int32), 2, kind="nb")
    assert np.exp(model.coef) == pytest.approx(np.array([[3 / 7, 1 / 5], [2 / 7, 2 / 5], [2 / 7, 2 / 5]]))
    assert np.exp(model.intercept) == pytest.approx([2 / 3, 1 / 3])
    joint = np.array([2 / 3 * 3 / 7 * 2 / 7, 1 / 3 * 1 / 5 * 2 / 5])  # a document "a b"
    found = model.probabilities(sparse.csr_array(np.array([[1, 1, 0]])))
    assert found == pytest.approx((joint / joint.sum())[None])
    unknown = model.probabilities(sparse.csr_array((1, 3)))  # no word of the vocabulary: the prior
    assert unknown == pytest.approx(np.array([[2 / 3, 1 / 3]]))


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize("alpha", [1.0, 0.01, 7.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_equals_scikit_learn(kind: str, alpha: float, weighted: bool, dense: bool) -> None:
    X, y = corpus(weighted, dense)
    model, peer = fit_naive_bayes(X, y, 3, kind=kind, alpha=alpha), PEERS[kind](alpha=alpha).fit(X, y)
    assert model.decision(X) == pytest.approx(peer.predict_joint_log_proba(X), abs=1e-9, rel=1e-11)
    assert model.probabilities(X) == pytest.approx(peer.predict_proba(X), abs=1e-9)
    assert (model.decision(X).argmax(axis=1) == peer.predict(X)).all()
    if kind == "nb":
        assert model.coef == pytest.approx(peer.feature_log_prob_.T, abs=1e-9)


@pytest.mark.parametrize("kind", ["nb", "bernoulli-nb"])
@pytest.mark.parametrize("priors", ["uniform", (0.2, 0.3, 0.5)])
def test_priors_equal_scikit_learn(kind: str, priors: Any) -> None:
    X, y = corpus()
    given = {"fit_prior": False} if priors == "uniform" else {"class_prior": priors}
    peer = PEERS[kind](**given).fit(X, y)
    model = fit_naive_bayes(X, y, 3, kind=kind, priors=priors)
    assert model.decision(X) == pytest.approx(peer.predict_joint_log_proba(X), abs=1e-9, rel=1e-11)


def test_two_classes_equal_scikit_learn() -> None:
    X, y = corpus()
    X, y = X[y < 2], y[y < 2]
    for kind, peer in PEERS.items():
        found = fit_naive_bayes(X, y, 2, kind=kind).probabilities(X)
        assert found == pytest.approx(peer().fit(X, y).predict_proba(X), abs=1e-9)


def test_counts_of_any_integer_type() -> None:
    X, y = corpus()
    expected = fit_naive_bayes(X, y, 3, kind="nb").decision(X)
    for dtype in (np.uint8, np.int32, np.int64, np.float32):
        model = fit_naive_bayes(X.astype(dtype), y, 3, kind="nb")
        assert (model.decision(X.astype(dtype)) == expected).all()


@pytest.mark.parametrize("kind", PEERS)
@pytest.mark.parametrize("priors", ["empirical", "uniform", (0.1, 0.6)])
def test_labels_are_two_classes_each(kind: str, priors: Any) -> None:
    X, y = corpus(weighted=True)
    Y = np.stack([y == 1, y != 2], axis=1)
    if kind == "complement-nb" and priors != "empirical":
        with refuses("priors"):
            fit_label_naive_bayes(X, Y, kind=kind, priors=priors)
        return
    model = fit_label_naive_bayes(X, Y, kind=kind, priors=priors)
    found = model.probabilities(X)
    assert found is not None
    for j in range(2):
        own = (1 - priors[j], priors[j]) if isinstance(priors, tuple) else priors
        alone = fit_naive_bayes(X, Y[:, j].astype(np.int32), 2, kind=kind, priors=own)
        assert found[:, j] == pytest.approx(alone.probabilities(X)[:, 1], abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", PEERS)
def test_alpha_is_above_0(kind: str, alpha: float) -> None:
    X, y = corpus()
    with refuses("alpha"):
        fit_naive_bayes(X, y, 3, kind=kind, alpha=alpha)


def test_what_cannot_be_meant() -> None:
    X, y = corpus()
    for kind in ("nb", "complement-nb"):
        with refuses("model"):
            fit_naive_bayes(-X, y, 3, kind=kind)
    assert np.isfinite(fit_naive_bayes(-X, y, 3, kind="bernoulli-nb").coef).all()
    for priors in ((0.5, 0.5), (0.5, 0.5, 0.5), (1.0, 0.0, 0.0)):
        with refuses("priors"):
            fit_naive_bayes(X, y, 3, kind="nb", priors=priors)
    with pytest.raises(InputError, match="finite"):
        fit_naive_bayes(X * float("nan"), y, 3, kind="nb")
