"""Scores of sentiment against the labels of documents: classes, or the correlation with numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.classify.lexicon import SentimentClasses
from nlpkit.evaluation.labels import LabelledPredictions
from nlpkit.evaluation.predictions import DEFAULT_CLASSIFICATION, add_classification
from nlpkit.evaluation.regression import add_numbers
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.metrics.classification import encode_labels
from nlpkit.metrics.score import Uncertainty
from nlpkit.types import FloatArray, IntArray


def numeric_labels(labels: Sequence[str | None]) -> FloatArray | None:
    """Return labels as numbers (D,), NaN where missing; None if one is no number, or there are none."""
    try:
        values = np.array([np.nan if v is None else float(v) for v in labels], np.float64)
    except ValueError:
        return None
    return values if np.isfinite(values).any() else None


def scored_classes(
    name: str,
    label_col: str,
    labels: Sequence[str | None],
    predictions: IntArray,
    classes: SentimentClasses,
    uncertainty: Uncertainty,
) -> Evaluation:
    """Return the scores of predictions (D,), places in classes.names, against labels."""
    assigned = [classes.names[i] for i in predictions.tolist()]
    names, true, codes = encode_labels(labels, assigned)
    data = LabelledPredictions(None, true, codes, names, names, None, sum(v is None for v in labels))
    result = TargetResult(name, f"sentiment against '{label_col}'")
    add_classification(result, data, DEFAULT_CLASSIFICATION, uncertainty, beta=1.0)
    return Evaluation([result])


def scored_numbers(
    name: str, label_col: str, labels: FloatArray, scores: FloatArray, uncertainty: Uncertainty
) -> Evaluation:
    """Return how scores (D,) correlate with labels (D,) that are numbers, NaN where missing."""
    result = TargetResult(name, f"sentiment against the numbers of '{label_col}'")
    add_numbers(result, labels, scores, uncertainty, ("pearson", "spearman"))
    return Evaluation([result])
