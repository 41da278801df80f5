"""Errors and correlations of predicted numbers against true ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nlpkit.metrics.bootstrap import Statistic
from nlpkit.types import FloatArray

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
