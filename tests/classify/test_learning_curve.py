"""The learning curve: its parts, its scores by scikit-learn, and its end."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import f1_score

from nlpkit.classify.choose import DRAWS, in_nested_order, learning_curve, score_of_draws
from nlpkit.classify.classifier import Learner
from nlpkit.classify.configs import ClassifierConfig, FeatureSources
from nlpkit.classify.dataset import TEST, TRAIN, LabelledDataset, Labels, encode_single, stratified_folds
from nlpkit.classify.kinds import ModelOptions
from nlpkit.classify.prediction_values import Predicted
from nlpkit.classify.scores import score_predictions
from nlpkit.metrics.score import Uncertainty


def test_every_beginning_has_the_classes_in_their_shares() -> None:
    strata = np.repeat(np.arange(3), [60, 30, 10]).astype(np.int32)
    order = in_nested_order(strata, np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(100))
    for n in (10, 20, 50, 80):
        assert np.bincount(strata[order[:n]], minlength=3) == pytest.approx(n * np.array([0.6, 0.3, 0.1]), abs=1)
    assert order.tolist() != in_nested_order(strata, np.random.default_rng(1)).tolist()


def dataset(*, folds: int, D: int = 300, sets: bool = False) -> tuple[LabelledDataset, FeatureSources]:
    rng = np.random.default_rng(4)
    y = rng.choice(3, D, p=[0.5, 0.3, 0.2]).astype(np.int32)
    X = rng.normal(0.7 * np.eye(3, 20)[y], 1.0).astype(np.float32)
    names = [str(code) for code in y]
    labels = encode_single(names, np.ones(D, bool))
    raw: list[object] = list(names)
    if sets:
        has = np.stack([y == 0, y != 1, X[:, 1] > 0], axis=1)
        labels = Labels(("a", "b", "c"), np.ones(D, bool), None, has)
        raw = [[n for n, yes in zip("abc", row, strict=True) if yes] for row in has]
    split = np.where(np.arange(D) < D // 2, TRAIN, TEST).astype(np.int32)
    if folds:
        split = stratified_folds(y, folds, seed=0)
    return LabelledDataset(pa.table({"id": [str(i) for i in range(D)]}), raw, labels, split, folds), FeatureSources(
        D, embeddings=X
    )


@pytest.mark.parametrize(("folds", "sets"), [(0, True), (3, False)])
def test_more_documents_score_better_and_the_end_is_the_score(folds: int, sets: bool) -> None:
    data, sources = dataset(folds=folds, sets=sets)
    config = ClassifierConfig("logreg", ModelOptions("logreg"), None)
    uncertainty = Uncertainty(0.95, 1)
    learner = Learner(sources, data.labels, 1)
    predicted, _ = learner.cross_predict(data.rounds, config)
    whole = score_predictions(data, predicted, None, uncertainty).model.scores["macro_f1"]
    calls: list[int] = []
    points = learning_curve(data, learner, config, whole, uncertainty, done=calls.append)
    assert [p.share for p in points] == [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert [p.documents for p in points] == pytest.approx([(200 if folds else 150) * p.share for p in points])
    assert points[-1].score is whole
    assert calls == list(range(1, 5 * DRAWS * max(folds, 1) + 1))
    values = [p.score.value for p in points]
    assert values[0] is not None
    assert values[-1] is not None
    assert values[0] + 0.05 < values[-1]
    for point in points:
        interval = point.score.interval
        assert interval is not None
        assert point.score.value is not None
        assert interval.low < point.score.value < interval.high


def test_a_score_is_the_mean_of_those_of_scikit_learn() -> None:
    data, _ = dataset(folds=0)
    rows = data.labelled(data.tested())
    rng = np.random.default_rng(2)
    y = data.labels.codes
    assert y is not None
    predictions = []
    for r in range(3):
        codes = np.where(rng.random(300) < 0.6, y, rng.integers(0, 3 - (r == 1), 300)).astype(np.int32)
        predictions.append(Predicted(np.zeros((300, 3)), None, codes))
    score = score_of_draws(data, predictions, rows, Uncertainty(0.9, 0))
    expected = np.mean([f1_score(y[rows], p.codes[rows], average="macro") for p in predictions if p.codes is not None])
    assert score.value == pytest.approx(expected)
    # three times the same prediction is one prediction, with its interval
    same = score_of_draws(data, predictions[:1] * 3, rows, Uncertainty(0.9, 0))
    one = score_of_draws(data, predictions[:1], rows, Uncertainty(0.9, 0))
    assert same.interval == one.interval


def test_parts_of_few_documents_are_left_out() -> None:
    data, sources = dataset(folds=0, D=60)
    config = ClassifierConfig("nb", ModelOptions("nb"), None)
    sources = FeatureSources(60, embeddings=np.abs(sources.embeddings))  # type: ignore[arg-type]
    learner = Learner(sources, data.labels, 1)
    predicted, _ = learner.cross_predict(data.rounds, config)
    whole = score_predictions(data, predicted, None, Uncertainty(None, 1)).model.scores["macro_f1"]
    points = learning_curve(data, learner, config, whole, Uncertainty(None, 1))
    assert [p.share for p in points] == [0.4, 0.6, 0.8, 1.0]
    assert all(p.score.interval is None for p in points)
