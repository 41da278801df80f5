"""Bootstrap intervals and paired comparisons of any score that can be computed from how often each unit is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from nlpkit.types import FloatArray, LongArray

DRAWS = 2000
CELLS = 2_000_000  # numbers of draws · units held at a time

Statistic = Callable[[FloatArray], FloatArray]  # weights (B, U) → values (B,), NaN where one is not defined


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: low ≤ high, at a level such as 0.95, and how it was found.

    error: the standard error that it was made from, None where it was not.
    """

    low: float
    high: float
    level: float
    method: str
    error: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two scores of the same units, first minus second, with its interval and two-sided p-value."""

    difference: float
    interval: Interval | None
    p_value: float | None


def normal_quantile(level: float) -> float:
    """Return the z between whose negative and itself a standard normal variable lies with this probability."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def interval(
    statistic: Statistic,
    counts: LongArray,
    *,
    level: float,
    seed: int,
    draws: int = DRAWS,
    over: str = "units",
) -> Interval | None:
    """Return the BCa bootstrap interval of a score (Efron 1987, "Better Bootstrap Confidence Intervals"), None if undefined.

    Σ counts units are drawn with replacement, and the ends of the interval are the quantiles α of the draws at

        α' = Φ(z0 + (z0 + z_α) / (1 − a (z0 + z_α))),   z0 = Φ⁻¹(share of draws below the score),
        a = Σ_u d_u³ / (6 (Σ_u d_u²)^1.5),   d_u = mean of the jackknife values − value without unit u.

    It agrees with scipy.stats.bootstrap(method="BCa") up to the random draws. Fewer than three units, or a score that no draw
    changes, have no interval.

    Args:
        statistic: the score of weights (B, U), which say how often each unit was drawn; linear in time and memory.
        counts: (U,) how many equal units stand behind each weight: ones, or the cells of a contingency table.
        level: such as 0.95.
        seed: of the draws.
        draws: B.
        over: what is drawn, for the name of the method.
    """
    counts = np.asarray(counts, np.int64)
    if counts.sum() < 3:
        return None
    point = float(statistic(counts[None].astype(np.float64))[0])
    drawn = _draw(statistic, counts, draws, seed)
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(point) or len(drawn) < draws / 2 or drawn.min() == drawn.max():
        return None
    low, high = np.quantile(drawn, _levels(drawn, point, _acceleration(statistic, counts), level))
    return Interval(float(low), float(high), level, f"BCa bootstrap over {over}, {draws} draws")


def compare(
    first: Statistic,
    second: Statistic,
    counts: LongArray,
    *,
    level: float,
    seed: int,
    draws: int = DRAWS,
    over: str = "units",
) -> Comparison:
    """Return the difference of two scores of the same units, with an interval and a p-value.

    Both scores see the same draws, so that what they share cancels. The p-value is two-sided, of the bootstrap moved to no
    difference: (1 + draws with |d* − d| ≥ |d|) / (1 + draws) (Efron & Tibshirani 1993, §16.4).

    Args:
        first, second, counts, level, seed, draws, over: see `interval`.
    """

    difference = difference_of(first, second)
    counts = np.asarray(counts, np.int64)
    d = float(difference(counts[None].astype(np.float64))[0])
    if not np.isfinite(d) or counts.sum() < 3:
        return Comparison(d, None, None)
    drawn = _draw(difference, counts, draws, seed)
    drawn = drawn[np.isfinite(drawn)]
    # a tolerance, since equal models give differences of rounding errors
    extreme = int(np.count_nonzero(np.abs(drawn - d) >= abs(d) - 1e-12))
    return Comparison(
        d,
        interval(difference, counts, level=level, seed=seed, draws=draws, over=over),
        float((1 + extreme) / (1 + len(drawn))),
    )


def compare_means(first: FloatArray, second: FloatArray, *, level: float, seed: int, draws: int = DRAWS) -> Comparison:
    """Return the difference of the means of two independent samples, such as the topics of two models.

    The p-value is that of a permutation test (Fisher; two-sided, `draws` random relabellings), the interval the percentile
    bootstrap of both samples. Values that are NaN are left out.

    Args:
        first, second: (U,), (V,).
        level, seed, draws: see `interval`.
    """
    a, b = first[np.isfinite(first)], second[np.isfinite(second)]
    if not len(a) or not len(b):
        return Comparison(float("nan"), None, None)
    d = float(a.mean() - b.mean())
    if len(a) < 2 or len(b) < 2:
        return Comparison(d, None, None)
    rng = np.random.default_rng(seed)
    both = np.concatenate([a, b])
    extreme = 0
    for _ in range(draws):
        mixed = rng.permutation(both)
        extreme += abs(mixed[: len(a)].mean() - mixed[len(a) :].mean()) >= abs(d) - 1e-12
    differences = np.array(
        [rng.choice(a, len(a)).mean() - rng.choice(b, len(b)).mean() for _ in range(draws)],
    )
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    method = f"percentile bootstrap over both, permutation test, {draws} draws"
    return Comparison(d, Interval(float(low), float(high), level, method), float((1 + extreme) / (1 + draws)))


def difference_of(first: Statistic, second: Statistic) -> Statistic:
    """Return the first statistic minus the second, of the same draws."""

    def statistic(weights: FloatArray) -> FloatArray:
        return first(weights) - second(weights)

    return statistic


def mean_of(values: FloatArray) -> Statistic:
    """Return the mean of values (U,) as a statistic; NaN values are left out of it."""
    known = np.isfinite(values)
    return ratio_of(np.where(known, values, 0.0), known.astype(np.float64))


def ratio_of(numerators: FloatArray, denominators: FloatArray) -> Statistic:
    """Return Σ numerators / Σ denominators as a statistic, such as a log-likelihood per token."""

    def statistic(weights: FloatArray) -> FloatArray:
        return _ratio(weights @ numerators, weights @ denominators)

    return statistic


def pair_mean_of(similarity: FloatArray) -> Statistic:
    """Return the mean over pairs of different units of a symmetric matrix (U, U) as a statistic.

    A unit that was drawn twice is never compared with itself: that would make any model look less diverse.
    """
    apart = np.array(similarity, np.float64)
    np.fill_diagonal(apart, 0.0)
    defined = np.isfinite(apart)
    apart = np.where(defined, apart, 0.0)
    ones = defined.astype(np.float64)
    np.fill_diagonal(ones, 0.0)

    def statistic(weights: FloatArray) -> FloatArray:
        return _ratio(((weights @ apart) * weights).sum(axis=1), ((weights @ ones) * weights).sum(axis=1))

    return statistic


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    out: FloatArray = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def _draw(statistic: Statistic, counts: LongArray, draws: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    share = counts / counts.sum()
    parts = [
        statistic(rng.multinomial(int(counts.sum()), share, size=size).astype(np.float64))
        for size in _sizes(draws, len(counts))
    ]
    return np.concatenate(parts)


def _sizes(rows: int, width: int) -> Iterator[int]:
    step = max(1, CELLS // max(width, 1))
    for begin in range(0, rows, step):
        yield min(step, rows - begin)


def _acceleration(statistic: Statistic, counts: LongArray) -> float:
    there = np.flatnonzero(counts)
    values, at = np.empty(len(there)), 0
    for size in _sizes(len(there), len(counts)):
        left = np.repeat(counts[None].astype(np.float64), size, axis=0)
        left[np.arange(size), there[at : at + size]] -= 1
        values[at : at + size] = statistic(left)
        at += size
    weight = counts[there].astype(np.float64)
    fine = np.isfinite(values)
    if not fine.any():
        return 0.0
    d = np.average(values[fine], weights=weight[fine]) - values[fine]
    spread = float((weight[fine] * d**2).sum())
    return float((weight[fine] * d**3).sum() / (6 * spread**1.5)) if spread > 0 else 0.0


def _levels(drawn: FloatArray, point: float, a: float, level: float) -> FloatArray:
    from scipy.special import ndtr, ndtri

    below = (np.count_nonzero(drawn < point) + np.count_nonzero(drawn <= point)) / (2 * len(drawn))
    z0 = ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    z = z0 + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    return np.asarray(ndtr(z0 + z / (1 - a * z)), np.float64)
