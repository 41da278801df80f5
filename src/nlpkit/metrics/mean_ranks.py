"""Mean ranks of methods over blocks, such as data sets or samples, and how far apart they must be to differ (Demšar 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.platform.types import FloatArray


@dataclass(frozen=True, slots=True)
class MeanRanks:
    """Mean ranks (K,) of K methods over B blocks, 1 the best.

    critical_difference: two methods whose mean ranks are at least so far apart differ at the level; p_value: of Friedman's test
    that all methods are alike, None where all have the same rank in every block.
    """

    names: tuple[str, ...]
    ranks: FloatArray
    blocks: int
    critical_difference: float
    p_value: float | None
    level: float


def groups_of(ranks: Sequence[float], difference: float) -> list[tuple[float, float]]:
    """Return the ranges (low, high) of mean ranks less than the difference apart, of two methods at least, none within another."""
    ordered = sorted(ranks)
    groups: list[tuple[float, float]] = []
    for start, low in enumerate(ordered):
        high = max(rank for rank in ordered[start:] if rank - low < difference)
        if start + 1 < len(ordered) and ordered[start + 1] - low < difference and (not groups or high > groups[-1][1]):
            groups.append((low, high))
    return groups


def mean_ranks(names: Sequence[str], scores: FloatArray, *, level: float = 0.95) -> MeanRanks:
    """Return the mean ranks of methods, with Nemenyi's critical difference and Friedman's test.

    In each block the method with the highest score has rank 1, those with the same score share the mean of their ranks r_bk.

        R_k = Σ_b r_bk / B,   CD = q sqrt(K (K + 1) / (6 B)),

    q: the quantile of the studentised range of K groups over √2 (Demšar 2006, §3.2.2). Friedman's statistic, corrected for ties, and
    its p-value by χ² are those of scipy.stats.friedmanchisquare.

    Args:
        names: (K,) of the methods, K ≥ 2. scores: (B, K), higher is better.
    """
    from scipy.special import chdtrc
    from scipy.stats import rankdata, studentized_range

    B, K = scores.shape
    ranks = rankdata(-scores, axis=1)
    q = float(studentized_range.ppf(level, K, np.inf)) / math.sqrt(2)
    total = ranks.sum(axis=0)
    between = 12 * float(((total - B * (K + 1) / 2) ** 2).sum()) / (B * K * (K + 1))
    counts = [np.unique(row, return_counts=True)[1] for row in ranks]
    ties = sum(float((n.astype(float) ** 3 - n).sum()) for n in counts) / (B * K * (K * K - 1))
    p_value = float(chdtrc(K - 1, between / (1 - ties))) if ties < 1 else None
    difference = q * math.sqrt(K * (K + 1) / (6 * B))
    return MeanRanks(tuple(names), total / B, B, difference, p_value, level)


def interval_of_means(
    values: Sequence[float], *, level: float, limits: tuple[float, float]
) -> tuple[float, float] | None:
    """Return Student's interval of the mean of S values, mean ± t sd / √S, within the limits of the score; None for S < 3."""
    from scipy.special import stdtrit

    if len(values) < 3:  # of two, t is 12.7: nearly the whole range
        return None
    S, mean = len(values), float(np.mean(values))
    half = float(stdtrit(S - 1, (1 + level) / 2)) * float(np.std(values, ddof=1)) / math.sqrt(S)
    return max(limits[0], mean - half), min(limits[1], mean + half)
