"""Sentiment scores and predictions against the labels of the documents: classes, or a correlation with numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nlpkit import wording
from nlpkit.classify.lexicon import SentimentClasses
from nlpkit.evaluation.labels import LabelledPredictions
from nlpkit.evaluation.predictions import DEFAULT_CLASSIFICATION, add_classification
from nlpkit.evaluation.results import Evaluation, TargetResult
from nlpkit.metrics.bootstrap import Interval
from nlpkit.metrics.classification import encode_labels
from nlpkit.metrics.score import METRICS, Score, Uncertainty
from nlpkit.types import FloatArray, IntArray


def numbers_of(labels: Sequence[str | None]) -> FloatArray | None:
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
    how: Uncertainty,
) -> Evaluation:
    """Return the scores of predictions (D,), places in classes.names, against labels."""
    found = [classes.names[i] for i in predictions.tolist()]
    names, true, codes = encode_labels(labels, found)
    data = LabelledPredictions(None, true, codes, names, names, None, sum(v is None for v in labels))
    result = TargetResult(name, f"sentiment against '{label_col}'")
    add_classification(result, data, DEFAULT_CLASSIFICATION, how, beta=1.0)
    return Evaluation([result])


def scored_numbers(name: str, label_col: str, labels: FloatArray, scores: FloatArray, how: Uncertainty) -> Evaluation:
    """Return how scores (D,) correlate with labels (D,) that are numbers, NaN where missing.

    Intervals: Fisher's z with a variance of 1/(n - 3) for Pearson's r, (1 + r²/2)/(n - 3) for Spearman's rho (Bonett & Wright 2000).
    """
    from scipy.stats import rankdata

    kept = np.isfinite(labels)
    x, y = scores[kept], labels[kept]
    n = len(x)
    result = TargetResult(name, f"sentiment against the numbers of '{label_col}'")
    for metric, a, b, spread in (
        (METRICS["pearson"], x, y, lambda r: 1.0),
        (METRICS["spearman"], rankdata(x), rankdata(y), lambda r: 1 + r * r / 2),
    ):
        r = _correlation(a, b)
        if r is None:
            why = "scores or labels are all alike" if n > 1 else "one document has no correlation"
            result.add(Score(metric, None, "documents", n, why=why))
            continue
        result.add(Score(metric, r, "documents", n, interval=_fisher(r, n, spread(r), how.level)))
    if n < len(labels):
        result.notes.append(f"{wording.counted(len(labels) - n, 'row')} without a label, left out")
    return Evaluation([result])


def _correlation(a: FloatArray, b: FloatArray) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    below = math.sqrt(float((a * a).sum()) * float((b * b).sum()))
    return max(-1.0, min(1.0, float((a * b).sum()) / below)) if below > 0 else None


def _fisher(r: float, n: int, spread: float, level: float | None) -> Interval | None:
    if level is None or n < 4 or abs(r) >= 1:
        return None
    from statistics import NormalDist

    z, half = math.atanh(r), NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(spread / (n - 3))
    return Interval(math.tanh(z - half), math.tanh(z + half), level, "Fisher's z")
