"""Calibration of scores: scikit-learn's, by hand, and what must not change it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.svm import LinearSVC

from nlpkit.classify.calibration import calibrator_from, fit_calibrator
from nlpkit.classify.classifier import Learner
from nlpkit.classify.configs import ClassifierConfig, FeatureSources
from nlpkit.classify.dataset import Labels
from nlpkit.classify.fit import balanced_weights
from nlpkit.classify.kinds import ModelOptions
from nlpkit.errors import InputError, SchemaError
from tests.refusals import refuses

METHODS = ("sigmoid", "isotonic", "temperature")


def scores(J: int, D: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Return overconfident scores of J classes and the true ones."""
    rng = np.random.default_rng(J)
    y = rng.integers(0, J, D).astype(np.int32)
    return 4 * (rng.normal(size=(D, J)) + np.eye(J)[y]), y


@pytest.mark.parametrize("J", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_equals_scikit_learn(J: int, method: Any) -> None:
    rng = np.random.default_rng(7)
    y = rng.integers(0, J, 500).astype(np.int32)
    X = rng.normal(np.eye(J)[y], 1.2)
    machine = LinearSVC(random_state=0).fit(X[:200], y[:200])
    peer = CalibratedClassifierCV(FrozenEstimator(machine), method=method).fit(X[200:], y[200:])
    decision = machine.decision_function(X)
    if J == 2:
        decision = decision[:, None] * np.array([-0.5, 0.5])
    found = fit_calibrator(method, decision[200:], y[200:]).probabilities(decision)
    assert found == pytest.approx(peer.predict_proba(X), abs=1e-4 if method == "sigmoid" else 1e-9)


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator")
@pytest.mark.parametrize("J", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_weights_are_the_sample_weights_of_scikit_learn(J: int, method: Any) -> None:
    rng = np.random.default_rng(11)
    y = np.concatenate([np.arange(J), rng.choice(J, 597, p=[0.9, *[0.1 / (J - 1)] * (J - 1)])]).astype(np.int32)
    X = rng.normal(np.eye(J)[y], 1.2)
    machine = LinearSVC(random_state=0).fit(X[:200], y[:200])
    weights = balanced_weights(y[200:], J)
    peer = CalibratedClassifierCV(FrozenEstimator(machine), method=method).fit(X[200:], y[200:], sample_weight=weights)
    decision = machine.decision_function(X)
    if J == 2:
        decision = decision[:, None] * np.array([-0.5, 0.5])
    found = fit_calibrator(method, decision[200:], y[200:], weights=weights).probabilities(decision)
    assert found == pytest.approx(peer.predict_proba(X), abs=1e-4 if method == "sigmoid" else 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_of_two_is_a_document_twice(method: Any) -> None:
    decision, y = scores(3)
    weights = np.random.default_rng(5).integers(1, 4, len(y))
    twice = fit_calibrator(method, np.repeat(decision, weights, axis=0), np.repeat(y, weights))
    found = fit_calibrator(method, decision, y, weights=weights.astype(np.float64))
    assert found.probabilities(decision) == pytest.approx(twice.probabilities(decision), abs=1e-7)


@pytest.mark.parametrize("kind", ["logreg", "svm"])
@pytest.mark.parametrize("method", METHODS)
def test_calibration_keeps_the_balance_of_the_classes(kind: str, method: Any) -> None:
    """With the shares of the documents, 1 in 10 here, it would give the small class far less than the balanced fit does."""
    rng = np.random.default_rng(3)
    codes = (rng.uniform(size=1500) < 0.1).astype(np.int32)
    X = rng.normal(np.eye(2)[codes], 1.0).astype(np.float32)
    sources = FeatureSources(len(codes), embeddings=X)
    labels, train = Labels(("no", "yes"), np.ones(1500, bool), codes), np.arange(1000)
    recall = []
    for calibrate in (None, method):
        config = ClassifierConfig(kind, ModelOptions(kind, balanced=True), None, calibrate=calibrate)
        fitted = Learner(sources, labels, 0).fit(train, config)
        recall.append(float((fitted.predict(np.arange(1000, 1500)).codes == 1)[codes[1000:] == 1].mean()))
    assert abs(recall[1] - recall[0]) < 0.1
    assert recall[0] > 0.6


def test_isotonic_counts_equal_scores_together() -> None:
    rng = np.random.default_rng(0)
    score = rng.integers(0, 12, 300).astype(np.float64)
    y = (rng.uniform(size=300) < score / 12).astype(np.int32)
    found = fit_calibrator("isotonic", score[:, None], (y == 1)[:, None])
    new = np.linspace(-3, 15, 80)
    peer = IsotonicRegression(out_of_bounds="clip").fit(score, y)
    assert found.probabilities(new[:, None])[:, 0] == pytest.approx(peer.predict(new), abs=1e-9)


def test_the_temperature_has_the_least_cross_entropy() -> None:
    decision, y = scores(3)
    found = fit_calibrator("temperature", decision, y)

    def loss(inverse: float) -> float:
        z = decision * inverse
        return float((np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y]).sum())

    best = float(found.arrays()["inverse"][0])
    assert best < 0.5  # scores were 4 times too sure
    assert all(loss(best) < loss(best * (1 + e)) for e in (-1e-3, 1e-3))
    assert (found.probabilities(decision).argmax(axis=1) == decision.argmax(axis=1)).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("J", [2, 5])
def test_probabilities_are_as_often_right_as_they_say(method: Any, J: int) -> None:
    decision, y = scores(J, 6000)
    p = fit_calibrator(method, decision[:3000], y[:3000], link="softmax").probabilities(decision[3000:])
    assert p.sum(axis=1) == pytest.approx(np.ones(3000))
    sure = p.max(axis=1)
    right = p.argmax(axis=1) == y[3000:]
    assert abs(sure.mean() - right.mean()) < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_of_the_document_says_nothing(method: Any) -> None:
    decision, y = scores(3)
    shifted = decision - np.random.default_rng(0).uniform(100, 4000, (len(y), 1))  # as long documents have
    p = fit_calibrator(method, decision, y, link="softmax").probabilities(decision)
    assert fit_calibrator(method, shifted, y, link="softmax").probabilities(shifted) == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_labels_are_calibrated_each_for_itself(method: Any) -> None:
    rng = np.random.default_rng(1)
    Y = rng.uniform(size=(3000, 3)) < [0.5, 0.2, 0.7]
    decision = 3 * (rng.normal(size=Y.shape) + np.where(Y, 1.0, -1.0))
    p = fit_calibrator(method, decision, Y, link="sigmoid").probabilities(decision)
    assert ((p >= 0) & (p <= 1)).all()
    if method != "temperature":  # one number for all labels cannot know their shares
        assert p.mean(axis=0) == pytest.approx(Y.mean(axis=0), abs=0.03)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("multi_label", [False, True])
def test_a_copy_is_equal_to_the_bit(method: Any, multi_label: bool) -> None:
    decision, y = scores(4)
    calibrator = fit_calibrator(method, decision, y[:, None] == np.arange(4) if multi_label else y, link="softmax")
    copy = calibrator_from(calibrator.config(), calibrator.arrays())
    assert (copy.probabilities(decision) == calibrator.probabilities(decision)).all()


@pytest.mark.parametrize("method", METHODS)
def test_extremes_stay_finite(method: Any) -> None:
    y = np.array([0, 0, 1, 1], np.int32)
    apart = np.array([[9.0, -9], [8, -8], [-9, 9], [-8, 8]])
    equal = np.zeros((4, 2))
    wrong = -apart
    absent = np.concatenate((apart, np.full((4, 1), -1.0)), axis=1)  # a third class that no document has
    for decision in (apart, equal, wrong, absent, apart * 1e6, apart[:, :2] * 1e-9):
        p = fit_calibrator(method, decision, y).probabilities(np.concatenate((decision, decision * 1e3)))
        assert np.isfinite(p).all()
        assert p.sum(axis=1) == pytest.approx(np.ones(8))


def test_what_cannot_be_calibrated() -> None:
    decision, y = scores(2, 10)
    bad: Any = "platt"
    with refuses("calibrate"):
        fit_calibrator(bad, decision, y)
    for scores_, classes in ((decision, y[:3]), (decision[:0], y[:0]), (decision * np.nan, y), (decision, y + 1)):
        with pytest.raises(InputError):
            fit_calibrator("sigmoid", scores_, classes)
    calibrator = fit_calibrator("sigmoid", decision, y)
    with pytest.raises(InputError, match="of 2 classes"):
        calibrator.probabilities(np.zeros((1, 3)))
    with pytest.raises(SchemaError):
        calibrator_from(calibrator.config(), {"slope": np.ones(2)})
    with pytest.raises(SchemaError):
        calibrator_from({**calibrator.config(), "method": "platt"}, calibrator.arrays())
