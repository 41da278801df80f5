"""Predictions of a classifier for documents, and the score of them that choices among classifiers look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.classify.dataset import Labels
from nlpkit.metrics.labels.classification import averages, confusion_matrix
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predictions for documents. decision (D, J), -inf for classes unseen in training; probabilities (D, J) or None;
    codes (D,) int32 of one label each, or sets (D, J) bool; neither for numbers, which decision (D, 1) holds."""

    decision: FloatArray
    probabilities: FloatArray | None
    codes: IntArray | None
    sets: BoolArray | None = None

    @property
    def values(self) -> FloatArray | None:
        """The numbers (D,) that were predicted, NaN for none; None of classes."""
        return self.decision[:, 0] if self.codes is None and self.sets is None else None

    @property
    def confidence(self) -> FloatArray | None:
        """Probability (D,) of what was predicted; of a set of labels, as if they were independent."""
        p = self.probabilities
        if p is None:
            return None
        if self.sets is not None:
            product: FloatArray = np.where(self.sets, p, 1 - p).prod(axis=1)
            return product
        assert self.codes is not None
        of_codes: FloatArray = p[np.arange(len(p)), self.codes]
        return of_codes

    def take(self, rows: LongArray) -> Predicted:
        """Return the predictions of some of the documents."""
        parts = (self.decision, self.probabilities, self.codes, self.sets)
        return Predicted(*(None if part is None else part[rows] for part in parts))  # type: ignore[arg-type]

    def fill(self, rows: LongArray, predicted: Predicted) -> None:
        """Put the predictions for some documents into those for all."""
        for name in ("decision", "probabilities", "codes", "sets"):
            whole, part = getattr(self, name), getattr(predicted, name)
            if whole is not None and part is not None:
                whole[rows] = part


def joined(parts: Sequence[Predicted]) -> Predicted:
    """Return the predictions of parts that follow one another."""
    columns = ([getattr(part, name) for part in parts] for name in ("decision", "probabilities", "codes", "sets"))
    return Predicted(*(None if column[0] is None else np.concatenate(column) for column in columns))  # type: ignore[arg-type]


def objective(labels: Labels) -> str:
    """Return the metric that values are chosen by, and that learning curves show: macro_f1, of numbers mae, of ranks rank_mae."""
    return "mae" if labels.numbers is not None else "rank_mae" if labels.scale else "macro_f1"


def objective_score(labels: Labels, rows: LongArray, predicted: Predicted) -> float:
    """Return the score of that metric of the predictions for some documents, all of them with labels of training."""
    if labels.numbers is not None:
        assert predicted.values is not None
        return float(np.abs(predicted.values - labels.numbers[rows]).mean())
    if labels.scale:
        assert predicted.codes is not None
        rank = np.array([labels.scale.index(name) for name in labels.names])
        return float(np.abs(rank[predicted.codes] - rank[labels.targets(rows)]).mean())
    return score_rows(labels, rows, predicted)[0]


def score_rows(labels: Labels, rows: LongArray, predicted: Predicted) -> tuple[float, float]:
    """Return macro F1 and accuracy (of several labels: exactly the right ones) of the predictions for some documents."""
    if labels.sets is not None:
        assert predicted.sets is not None
        true, assigned = labels.sets[rows], predicted.sets
        hits = (true & assigned).sum(axis=0)
        total = true.sum(axis=0) + assigned.sum(axis=0)
        there = total > 0
        return float((2 * hits[there] / total[there]).mean()) if there.any() else 0.0, float(
            (true == assigned).all(axis=1).mean()
        )
    assert predicted.codes is not None
    scores = averages(confusion_matrix(labels.targets(rows), predicted.codes, len(labels.names)))
    return float(scores["macro_f1"]), float(scores["accuracy"])
