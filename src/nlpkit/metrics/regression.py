"""How near predicted numbers are to true ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nlpkit.metrics.bootstrap import Statistic
from nlpkit.types import FloatArray


def statistics(true: FloatArray, found: FloatArray) -> Mapping[str, Statistic]:
    """Return scores of weighted documents by name, each weights (B, n) → (B,).

    rmse, mae; r2 = 1 - Σ(y - ŷ)² / Σ(y - ȳ)²; pearson; spearman: Pearson's r of the ranks, ties having their mean rank. Ranks are
    those of all documents, also in a draw of the bootstrap. A score is NaN where the values are all alike.

    Args:
        true, found: (n,).
    """
    error = found - true
    a, b = _ranks(true), _ranks(found)
    return {
        "rmse": lambda w: np.sqrt(_mean(w, error**2)),
        "mae": lambda w: _mean(w, np.abs(error)),
        "r2": lambda w: 1.0 - _over(_mean(w, error**2), _mean(w, true**2) - _mean(w, true) ** 2),
        "pearson": lambda w: _pearson(w, true, found),
        "spearman": lambda w: _pearson(w, a, b),
    }


def _mean(weights: FloatArray, values: FloatArray) -> FloatArray:
    found: FloatArray = weights @ values / weights.sum(axis=1)
    return found


def _pearson(weights: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    a, b = a - a.mean(), b - b.mean()
    va = _mean(weights, a * a) - _mean(weights, a) ** 2
    vb = _mean(weights, b * b) - _mean(weights, b) ** 2
    return _over(_mean(weights, a * b) - _mean(weights, a) * _mean(weights, b), np.sqrt(np.maximum(va * vb, 0.0)))


def _over(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    fine = denominator > 1e-15
    return np.where(fine, numerator / np.where(fine, denominator, 1.0), np.nan)


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata

    found: FloatArray = rankdata(values)
    return found
