"""Thresholds at a wanted recall or precision: scikit-learn's curves, by hand, and what they may see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from nlpkit.classify.classifier import CALIBRATION_FOLDS, Learner
from nlpkit.classify.configs import ClassifierConfig, FeatureSources
from nlpkit.classify.dataset import Labels, stratified_folds
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.models.linear import sigmoid
from nlpkit.classify.options import Wanted, check_wanted, parse_thresholds
from nlpkit.classify.thresholds import choose_threshold, decision_scores
from tests.refusals import refuses


@pytest.mark.parametrize("measure", ["recall", "precision"])
@pytest.mark.parametrize("value", [0.3, 0.7, 0.95, 1.0])
@pytest.mark.parametrize("digits", [1, 8])
def test_equals_the_curve_of_scikit_learn(measure: str, value: float, digits: int) -> None:
    rng = np.random.default_rng(3)
    positive = rng.random(300) < 0.3
    scores = np.round(rng.normal(positive, 1.0), digits)  # of one digit: many are equal
    scores[scores.argmax()] += 5 * (1 if positive[scores.argmax()] else 0)
    precision, recall, thresholds = precision_recall_curve(positive, scores)
    share = (recall if measure == "recall" else precision)[:-1]
    enough = thresholds[share >= value - 1e-12]
    found = choose_threshold(scores, positive, Wanted(measure, value, "x"))  # type: ignore[arg-type]
    if len(enough):
        assert found.reached
        assert found.score == (enough.max() if measure == "recall" else enough.min())
    else:
        assert not found.reached
        assert found.hits / found.assigned == pytest.approx(share.max())
    at = np.flatnonzero(thresholds == found.score)[0]
    assert found.hits / found.documents == pytest.approx(recall[at])
    assert found.hits / found.assigned == pytest.approx(precision[at])


def test_by_hand() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    positive = np.array([True, False, True, True, False, False])
    recall = choose_threshold(scores, positive, Wanted("recall", 0.6, "x"))
    assert (recall.score, recall.hits, recall.assigned, recall.documents) == (0.7, 2, 3, 3)
    precision = choose_threshold(scores, positive, Wanted("precision", 0.7, "x"))
    assert (precision.score, precision.hits, precision.assigned) == (0.6, 3, 4)
    never = choose_threshold(-scores, positive, Wanted("precision", 0.7, "x"))
    assert (never.score, never.reached, never.hits, never.assigned) == (-0.9, False, 3, 6)


def test_scores_of_classes_that_compete() -> None:
    decision = np.array([[2.0, 2.0, 1.0], [0.5, -1.0, 3.0]])
    assert decision_scores(decision, None, "margin", multiple=False).tolist() == [[0, 0, -1], [-2.5, -4, 2.5]]
    p = np.exp(decision) / np.exp(decision).sum(axis=1, keepdims=True)
    assert decision_scores(decision, None, "softmax", multiple=False) == pytest.approx(np.log(p / (1 - p)))
    assert decision_scores(decision, None, "sigmoid", multiple=True) is decision


def data(D: int = 400, J: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    y = rng.choice(J, D, p=[0.6, 0.3, 0.1][:J] if J == 3 else [0.8, 0.2]).astype(np.int32)
    return rng.normal(1.3 * np.eye(J, 5)[y], 1.0).astype(np.float32), y


@pytest.mark.parametrize("J", [2, 3])
def test_the_threshold_is_that_of_cross_validated_scores(J: int) -> None:
    X, y = data(J=J)
    train, rest = np.arange(0, 400, 2), np.arange(1, 400, 2)
    names = ("a", "b", "c")[:J]
    labels = Labels(names, np.ones(400, bool), y)
    config = ClassifierConfig("logreg", ModelOptions("logreg"), None, wanted=(Wanted("recall", 0.9, "b"),))
    fitted = Learner(FeatureSources(400, embeddings=X), labels, 1).fit(train, config)
    folds = PredefinedSplit(stratified_folds(y[train], CALIBRATION_FOLDS, seed=1))
    peer = LogisticRegression(tol=1e-10, max_iter=5000)
    p = cross_val_predict(peer, X[train].astype(np.float64), y[train], cv=folds, method="predict_proba")[:, 1]
    positive = y[train] == 1
    expected = np.sort(p[positive])[::-1][int(np.ceil(0.9 * positive.sum() - 1e-9)) - 1]
    (threshold,) = fitted.classifier.thresholds
    assert sigmoid(np.array(threshold.score)) == pytest.approx(expected, abs=1e-4)
    # the predictions: b from the threshold on, else the best of the others
    predicted = fitted.predict(rest)
    shares = peer.fit(X[train].astype(np.float64), y[train]).predict_proba(X[rest].astype(np.float64))
    without = np.where(np.arange(J) == 1, -1.0, shares).argmax(axis=1)
    sure = np.abs(shares[:, 1] - expected) > 1e-3
    assert (predicted.codes == np.where(shares[:, 1] >= expected, 1, without))[sure].all()
    assert predicted.codes is not None
    assert (predicted.codes[y[rest] == 1] == 1).mean() > 0.8
    usual = Learner(FeatureSources(400, embeddings=X), labels, 1).fit(train, replace(config, wanted=())).predict(rest)
    assert usual.codes is not None
    assert (usual.codes == 1).sum() < (predicted.codes == 1).sum()


@pytest.mark.parametrize("calibrate", [None, "sigmoid"])
@pytest.mark.parametrize("kind", ["svm", "knn", "nb", "mlp"])
def test_other_labels_of_a_document_stay(kind: str, calibrate: str | None) -> None:
    X, y = data()
    X = np.abs(X)
    sets = np.stack([y == 0, y == 1, X[:, 4] > 1], axis=1)
    labels = Labels(("a", "b", "c"), np.ones(400, bool), None, sets)
    train, rest = np.arange(0, 400, 2), np.arange(1, 400, 2)
    config = ClassifierConfig(kind, ModelOptions(kind, epochs=20), None, calibrate=calibrate)  # type: ignore[arg-type]
    sources = FeatureSources(400, embeddings=X)
    usual = Learner(sources, labels, 1).fit(train, config).predict(rest)
    wanted = (Wanted("recall", 0.99, "b"), Wanted("precision", 0.5, "c"))
    fitted = Learner(sources, labels, 1).fit(train, replace(config, wanted=wanted))
    predicted = fitted.predict(rest)
    assert predicted.sets is not None
    assert usual.sets is not None
    assert (predicted.sets[:, 0] == usual.sets[:, 0]).all()
    assert predicted.sets[:, 1].sum() > usual.sets[:, 1].sum()
    assert [t.documents for t in fitted.classifier.thresholds] == sets[train][:, 1:].sum(axis=0).tolist()
    assert {t.scale for t in fitted.classifier.thresholds} == {
        "probability" if calibrate else {"svm": "margin", "knn": "margin"}.get(kind, "log-odds")
    }


def test_a_class_that_the_documents_lack_has_no_threshold() -> None:
    X, y = data()
    train = np.flatnonzero(y != 2)
    labels = Labels(("a", "b", "c"), np.ones(400, bool), y)
    config = ClassifierConfig("logreg", ModelOptions("logreg"), None, wanted=(Wanted("recall", 0.9, "c"),))
    fitted = Learner(FeatureSources(400, embeddings=X), labels, 1).fit(train, config)
    assert fitted.classifier.thresholds == ()
    assert set(np.unique(fitted.predict(train).codes)) == {0, 1}


def test_what_cannot_be_meant() -> None:
    assert parse_thresholds(["recall=0.9:a:b=c"]) == (Wanted("recall", 0.9, "a:b=c"),)
    for wrong in ("recall=0.9", "f1=0.9:a", "recall=0:a", "recall=1.1:a", "recall=x:a", "recall=0.5:", "nan"):
        with refuses("threshold"):
            parse_thresholds([wrong])
    with refuses("threshold"):
        parse_thresholds(["recall=0.9:a", "precision=0.9:a"])
    with refuses("threshold"):
        check_wanted([Wanted("recall", 0.9, "d")], ("a", "b"), multiple=False)
    two = [Wanted("recall", 0.9, "a"), Wanted("recall", 0.9, "b")]
    with refuses("threshold"):
        check_wanted(two, ("a", "b"), multiple=False)
    check_wanted(two, ("a", "b"), multiple=True)
