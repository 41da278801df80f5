"""Predictions of a fine-tuned model for documents, of all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.classify.models.logistic import LEAST, median_class
from nlpkit.classify.prediction_values import Predicted
from nlpkit.finetune.data.answers import MISSING, NONE
from nlpkit.finetune.tasks import FinetuneTask, probabilities, word_labels
from nlpkit.platform.types import FloatArray, LongArray


@dataclass(slots=True)
class TaskPredictions:
    """Predictions for documents (D): of classes as `Predicted`; numbers (D,), NaN for none; labels of words; or answers.

    spans (D, 2) int64: where answers stand in their texts, see `answers`; span_probs (D,).
    """

    predicted: Predicted | None = None
    values: FloatArray | None = None
    tags: list[list[str | None] | None] | None = None
    tag_probs: list[FloatArray | None] | None = None
    spans: LongArray | None = None
    span_probs: FloatArray | None = None

    def fill(self, task: FinetuneTask, rows: LongArray, outputs: Any) -> None:
        """Add the outputs of a network for some rows: (n, J), or of words one array per row."""
        if task.kind == "regression":
            assert self.values is not None
            self.values[rows] = outputs[:, 0] * task.scale + task.mean
        elif task.kind == "answer":
            assert self.spans is not None
            assert self.span_probs is not None
            none = (outputs[:, 2] < 0) & ("none" in task.names)
            self.spans[rows] = np.where(none[:, None], NONE, outputs[:, :2].astype(np.int64))
            self.span_probs[rows] = np.exp(np.where(none, outputs[:, 4], outputs[:, 3]))
        elif task.kind == "tokens":
            assert self.tags is not None
            assert self.tag_probs is not None
            for row, logits in zip(rows.tolist(), outputs, strict=True):
                best, self.tag_probs[row] = word_labels(task, logits)
                self.tags[row] = [task.names[j] if j >= 0 else None for j in best.tolist()]
        else:
            predicted = self.predicted
            assert predicted is not None
            assert predicted.probabilities is not None
            p = probabilities(task, outputs)
            predicted.probabilities[rows] = p
            predicted.decision[rows] = np.log(np.maximum(p, LEAST)) if task.kind == "ordinal" else outputs
            if predicted.sets is not None:
                predicted.sets[rows] = outputs > 0
            else:
                assert predicted.codes is not None
                predicted.codes[rows] = median_class(p) if task.kind == "ordinal" else outputs.argmax(axis=1)


def empty_predictions(task: FinetuneTask, n: int) -> TaskPredictions:
    """Return predictions for n documents of which none is made yet."""
    if task.kind == "regression":
        return TaskPredictions(values=np.full(n, np.nan))
    if task.kind == "answer":
        return TaskPredictions(spans=np.full((n, 2), MISSING, np.int64), span_probs=np.full(n, np.nan))
    if task.kind == "tokens":
        return TaskPredictions(tags=[None] * n, tag_probs=[None] * n)
    J = len(task.names)
    multiple = task.kind == "multi"
    sets = np.zeros((n, J), bool) if multiple else None
    codes = None if multiple else np.full(n, -1, np.int32)
    return TaskPredictions(Predicted(np.full((n, J), np.nan), np.full((n, J), np.nan), codes, sets))


def predictions_of(task: FinetuneTask, outputs: Sequence[Any]) -> TaskPredictions:
    """Return the predictions of outputs (n, J), or of words one array per document."""
    predictions = empty_predictions(task, len(outputs))
    predictions.fill(task, np.arange(len(outputs)), outputs)
    return predictions
