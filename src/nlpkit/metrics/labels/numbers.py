"""The scores of predicted numbers against true ones: errors and correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels.labels import PredictionTable, count_unlabelled
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Uncertainty, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray
from nlpkit.platform.values import LARGEST, as_label, is_number

_ZERO = 1e-15  # variances of values from -1 to 1 up to here are rounding


def statistics(true: FloatArray, predicted: FloatArray) -> Mapping[str, Statistic]:
    """Return scores of weighted documents by name, each weights (B, n) → (B,).

    rmse, mae; r2 = 1 - Σ(y - ŷ)² / Σ(y - ȳ)²; pearson; spearman: Pearson's r of the ranks, ties having their mean rank. Ranks are
    those of all documents, also in a draw of the bootstrap. A score is NaN where the values are all alike.

    Args:
        true, predicted: (n,).
    """
    true, predicted = np.asarray(true, np.float64), np.asarray(predicted, np.float64)
    error = predicted - true
    y, scale = _centred(true)
    z, _ = _centred(predicted)
    a, b = _centred(_ranks(true))[0], _centred(_ranks(predicted))[0]
    return {
        "rmse": lambda w: np.sqrt(_mean(w, error**2)),
        "mae": lambda w: _mean(w, np.abs(error)),
        "r2": lambda w: 1.0 - _over(_mean(w, (error / scale) ** 2), _variance(w, y)),
        "pearson": lambda w: _pearson(w, y, z),
        "spearman": lambda w: _pearson(w, a, b),
    }


def _centred(values: FloatArray) -> tuple[FloatArray, float]:
    """Return the values about their mean, from -1 to 1, and their unit: so that large and tiny ones lose no digits."""
    if not len(values) or np.ptp(values) == 0:
        return np.zeros(len(values)), 1.0
    centred: FloatArray = values - values.mean()
    unit = float(np.abs(centred).max())
    return centred / unit, unit


def _mean(weights: FloatArray, values: FloatArray) -> FloatArray:
    mean: FloatArray = weights @ values / weights.sum(axis=1)
    return mean


def _variance(weights: FloatArray, values: FloatArray) -> FloatArray:
    variance: FloatArray = _mean(weights, values * values) - _mean(weights, values) ** 2
    return variance


def _pearson(weights: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    both = _mean(weights, a * b) - _mean(weights, a) * _mean(weights, b)
    va, vb = _variance(weights, a), _variance(weights, b)
    return np.where((va > _ZERO) & (vb > _ZERO), _over(both, np.sqrt(np.maximum(va * vb, 0.0))), np.nan)


def _over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    fine = denominator > _ZERO
    return np.where(fine, numerator / np.where(fine, denominator, 1.0), np.nan)


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    ranks: FloatArray = rankdata(values)
    return ranks


# ------------------------------------------------------------------------------------------------------------------------
# Scores of predicted numbers against true ones.

REGRESSION = ("rmse", "mae", "r2", "pearson", "spearman")


def are_numeric(tables: Sequence[PredictionTable]) -> bool:
    """Whether predictions are numbers, some of them with fractions: no classes. Numbers as text must mostly not be labels.

    Beside such a table, others whose predictions and labels are all numbers are compared with it as numbers.
    """
    assigned = [[v for v in table.assigned if v is not None] for table in tables]
    numeric = [_are_numbers(values, table.labels) for values, table in zip(assigned, tables, strict=True)]
    return any(numeric) and all(
        yes or all(is_number(as_label(v) or "") for v in [*values, *(v for v in table.labels if v is not None)])
        for yes, values, table in zip(numeric, assigned, tables, strict=True)
    )


def _are_numbers(predicted: Sequence[Any], labels: Sequence[Any]) -> bool:
    as_text = [v for v in predicted if isinstance(v, str)]
    if len(as_text) < len(predicted) and not all(isinstance(v, float) for v in predicted):
        return False
    numbers = np.array([_number(v) for v in predicted], np.float64)
    if as_text:
        values = set(as_text)
        if np.isnan(numbers).any() or 2 * len(values & {v for v in labels if isinstance(v, str)}) >= len(values):
            return False
    return bool((numbers[np.isfinite(numbers)] % 1 != 0).any())


def numbers_of(table: PredictionTable) -> tuple[FloatArray, FloatArray]:
    """Return true and predicted numbers of the documents, NaN for none. Raises InputError for a label that is none, or one too large."""
    labels = [None if (as_label(v) or "nan").lower() == "nan" else v for v in table.labels]
    count_unlabelled(table, labels, table.assigned)
    true = np.array([np.nan if v is None else _number(v) for v in labels])
    wrong = [i for i, v in enumerate(labels) if v is not None and not np.isfinite(true[i])]
    if wrong:
        first, n_labels = labels[wrong[0]], sum(v is not None for v in labels)
        some = (
            "" if len(wrong) == n_labels else f" (row {wrong[0] + 1:,}; {len(wrong):,} of {n_labels:,} labels are none)"
        )
        raise InputError(
            f"{table.name}: label {first!r:.60} is not a number{some}, but the predictions are numbers; name "
            "the column with `label_col`"
        )
    predicted = np.array([_number(v) for v in table.assigned], np.float64)
    beyond = np.flatnonzero((np.abs(true) > LARGEST) | (np.abs(predicted) > LARGEST))
    if len(beyond):
        raise InputError(
            f"{table.name}: row {beyond[0] + 1:,} has the label {labels[beyond[0]]} and the prediction {table.assigned[beyond[0]]}; "
            f"numbers from -{LARGEST:g} to {LARGEST:g} are needed"
        )
    return true, predicted


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def add_numbers(
    result: TargetResult,
    true: FloatArray,
    predicted: FloatArray,
    uncertainty: Uncertainty,
    names: Sequence[str] = REGRESSION,
) -> None:
    """Add scores of numbers (n,) to a result; documents without a prediction (NaN) are left out."""
    known = np.isfinite(predicted) & np.isfinite(true)
    by_name = statistics(true[known], predicted[known])
    counts = np.ones(int(known.sum()), np.int64)
    for name in names:
        why = _why_undefined(name, true[known], predicted[known])
        result.add(statistic_score(METRICS[name], by_name[name], counts, uncertainty, over="documents", why=why))
    for what, missing in (("label", ~np.isfinite(true)), ("prediction", np.isfinite(true) & ~np.isfinite(predicted))):
        if missing.any():
            result.notes.append(
                f"{wording.counted(int(missing.sum()), 'document')} without a {what}: left out of the scores"
            )


def _why_undefined(name: str, true: FloatArray, predicted: FloatArray) -> str:
    """Return why a score of numbers (n,) is not defined, if it is not: r2 needs different labels, correlations differences in both."""
    if len(true) < 2:
        return f"{'only one' if len(true) else 'no'} document has both a label and a prediction"
    sides = {"labels": true} if name == "r2" else {"labels": true, "predictions": predicted}
    return f"{' and '.join(what for what, values in sides.items() if np.ptp(values) == 0)} are all alike"
