"""Labels that a topic model predicts from the topics of a document."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.labelled import read_labels
from nlpkit.classify.prediction_values import Predicted
from nlpkit.classify.tables import prediction_columns
from nlpkit.platform import reporting, wording
from nlpkit.platform.types import BoolArray, Float32Array, FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class LabelPredictor(ABC):
    """Predicts the label of documents from their topics. names: of the classes, () for numbers; alpha (K,): prior of the topics."""

    names: tuple[str, ...]
    alpha: FloatArray

    @abstractmethod
    def scores(self, theta: Float32Array, lengths: LongArray) -> FloatArray:
        """Return the number (D, 1), or the probability of each class (D, C), of documents of so many known tokens (D,)."""

    def quality(self, separator: str | None) -> PredictionQuality:
        """Return what compares predictions with labels. separator: between several labels in a text, None where a document has one."""
        return PredictionQuality(self, separator)

    def columns(self, theta: Float32Array, lengths: LongArray, *, probabilities: bool) -> dict[str, pa.Array]:
        """Return prediction, and of classes prediction_prob and, if asked for, probabilities; null without a known token."""
        scores, known = self.scores(theta, lengths), lengths > 0
        if not self.names:
            return {"prediction": pa.array(scores[:, 0], pa.float64(), mask=~known)}
        codes = np.where(known, scores.argmax(axis=1), -1).astype(np.int32)
        scores[~known] = np.nan
        return prediction_columns(self.names, Predicted(scores, scores, codes), probabilities=probabilities)

    def schema(self, *, probabilities: bool) -> pa.Schema:
        """Return the names and types of these columns."""
        nothing = np.zeros((0, len(self.alpha)), np.float32)
        columns = self.columns(nothing, np.zeros(0, np.int64), probabilities=probabilities)
        return pa.schema([(name, column.type) for name, column in columns.items()])


class PredictionQuality:
    """Predictions against the labels of documents that are not of the fit; of several labels, one of them is right."""

    def __init__(self, predictor: LabelPredictor, separator: str | None) -> None:
        """Take the predictor. separator: between several labels in a text, None where a document has one."""
        self.predictor, self.separator = predictor, separator
        self.right, self.true, self.predicted = 0, list[float](), list[float]()
        self.n, self.unknown = 0, 0

    def add(self, labels: pa.Array, prediction: pa.Array, *, among: BoolArray) -> None:
        """Count documents with a label and a prediction, among some (n,)."""
        true = read_labels(pa.chunked_array([labels]), self.separator)
        for label, value, counts in zip(true, prediction.to_pylist(), among, strict=True):
            if not counts or label is None or value is None:
                continue
            if self.predictor.names:
                true_ones = label if isinstance(label, list) else [label]
                self.right += value in true_ones
                self.unknown += not set(true_ones) & set(self.predictor.names)
                self.n += 1
            else:
                self._add_number(label, value)

    def _add_number(self, label: str, value: float) -> None:
        try:
            self.true.append(float(label))
        except ValueError:
            return
        self.predicted.append(value)
        self.n += 1

    def summary(self) -> dict[str, Any]:
        """Return the accuracy, or R² and the mean absolute error, and of how many documents."""
        if not self.n:
            return {}
        if self.predictor.names:
            return {"labelled": self.n, "accuracy": round(self.right / self.n, 6)}
        true, predicted = np.array(self.true), np.array(self.predicted)
        spread = float(true.var())
        r2 = round(1.0 - float(np.mean((true - predicted) ** 2)) / spread, 6) if spread > 0 else None
        return {"labelled": self.n, "r2": r2, "mae": round(float(np.abs(true - predicted).mean()), 6)}

    def report(self, other_labels: str = "") -> None:
        """Say how good the predictions are, and of labels of another column than that of the fit, which these are."""
        got = self.summary()
        if not got:
            return
        scores = (
            f"accuracy {got['accuracy']:.3f}"
            if "accuracy" in got
            else f"R² {'not defined' if got['r2'] is None else format(got['r2'], '.3f')}, mean absolute error {got['mae']:.3g}"
        )
        unknown = f"; the fit had no label of {wording.count(self.unknown)} of them" if self.unknown else ""
        reporting.note(
            f"predictions against the labels of {wording.counted(got['labelled'], 'new document')}: {scores}{unknown}{other_labels}"
        )
