"""Do topics rise or fall, do groups differ: a test of each topic, and what the false discovery rate over all of them is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.metrics.false_discovery import benjamini_hochberg
from nlpkit.topics.prevalence import CellSums
from nlpkit.types import FloatArray

LEAST_PERIODS = 3  # with documents: a line through two points leaves nothing to measure the noise by
LEAST_GROUP = 5  # documents of a group that is shown as the one with the largest or the smallest share
_STEPS = 100
_LARGEST = 30.0  # a logit beyond which a share is 0 or 1


@dataclass(frozen=True, slots=True)
class Trends:
    """The trend of each topic, arrays (K+1,), NaN where there is none to test.

    odds_ratio: by which the odds of the topic grow from one period to the next, between low and high; first, last: the
    fitted share in the first and the last period; dispersion: how much more the periods scatter than documents drawn
    independently would; p, q: of the F test, and its false discovery rate.
    """

    odds_ratio: FloatArray
    low: FloatArray
    high: FloatArray
    first: FloatArray
    last: FloatArray
    dispersion: FloatArray
    p: FloatArray
    q: FloatArray


@dataclass(frozen=True, slots=True)
class Differences:
    """Whether groups differ in each topic, arrays (K+1,), NaN where there is nothing to test.

    statistic: χ² of documents with one topic each, F of mixtures; effect: Cramér's V, or η, both the root of the share of the
    variance that lies between groups; least_expected: documents of the topic (or without it) expected in the smallest group: below 5,
    p is rough; NaN for mixtures. lowest, highest: the groups with the smallest and the largest share, of those with LEAST_GROUP documents
    where there are two.
    """

    statistic: FloatArray
    p: FloatArray
    q: FloatArray
    effect: FloatArray
    least_expected: FloatArray
    lowest: np.ndarray
    highest: np.ndarray


def trends(cells: CellSums, *, level: float) -> Trends:
    """Return how the share of each topic changes over periods that follow each other at equal distances.

    A logistic regression of the share on the number of the period, with periods as the units: their scatter, not the number of
    documents, is what a trend is held against, because documents of one month tell of the same events.

        logit μ_t = a + b t,   φ = 1/(T - 2) Σ_t n_t (p_t - μ_t)² / (μ_t (1 - μ_t)),   F = (D_0 - D_1) / φ with 1 and T - 2 degrees

    φ is at least 1 where documents have one topic each. McCullagh & Nelder (1989), §4.5 and §9; for mixtures the fractional
    logit of Papke & Wooldridge (1996). Coefficients, φ and F are those of R's glm(family = quasibinomial) and
    anova(test = "F"), but for the floor. That a period resembles the one before is not modelled: a slow wave that the
    periods cover once looks like a trend.

    Args:
        cells: periods (T,) in order; those without documents keep their place in time.
        level: of the interval.
    """
    from scipy.special import expit, fdtrc, stdtrit

    used = np.flatnonzero(cells.n > 0)
    T, width = len(used), cells.sums.shape[1]
    empty = np.full(width, np.nan)
    if T < LEAST_PERIODS:
        return Trends(*(empty.copy() for _ in range(8)))
    n = cells.n[used].astype(np.float64)[:, None]
    y = cells.sums[used]
    time = used.astype(np.float64)[:, None]
    middle = float((n * time).sum() / n.sum())
    total = y.sum(axis=0) / n.sum()
    varies = (total > 0) & (total < 1) & (np.ptp(y / n, axis=0) > 0)
    t = time - middle
    a, b = _logits(np.clip(total, 1e-12, 1 - 1e-12)), np.zeros(width)
    for _ in range(_STEPS):
        mu = expit(np.clip(a + b * t, -_LARGEST, _LARGEST))
        weight = np.maximum(n * mu * (1 - mu), 1e-12)
        score_a, score_b = (y - n * mu).sum(axis=0), ((y - n * mu) * t).sum(axis=0)
        i_aa, i_ab, i_bb = weight.sum(axis=0), (weight * t).sum(axis=0), (weight * t * t).sum(axis=0)
        determinant = np.maximum(i_aa * i_bb - i_ab**2, 1e-300)
        step_a = np.clip((i_bb * score_a - i_ab * score_b) / determinant, -2, 2)
        step_b = (i_aa * score_b - i_ab * score_a) / determinant
        bound = 4 / max(float(np.ptp(time)), 1.0)
        step_b = np.clip(step_b, -bound, bound)
        a, b = a + step_a, b + step_b
        if max(np.abs(step_a[varies]).max(initial=0), np.abs(step_b[varies]).max(initial=0)) < 1e-10:
            break
    mu = expit(np.clip(a + b * t, -_LARGEST, _LARGEST))
    pearson = ((y - n * mu) ** 2 / np.maximum(n * mu * (1 - mu), 1e-12)).sum(axis=0) / (T - 2)
    phi = pearson if cells.is_mixed else np.maximum(pearson, 1.0)
    gain = _deviance(y, n, np.broadcast_to(total, mu.shape)) - _deviance(y, n, mu)
    F = np.divide(np.maximum(gain, 0.0), phi, out=np.zeros(width), where=phi > 0)
    p = np.where(varies, fdtrc(1, T - 2, F), np.nan)
    error = np.sqrt(phi * i_aa / determinant) * stdtrit(T - 2, (1 + level) / 2)
    ends = expit(a + b * (used[[0, -1]].astype(np.float64)[:, None] - middle))
    with np.errstate(over="ignore"):
        ratio, low, high = (np.where(varies, np.exp(value), np.nan) for value in (b, b - error, b + error))
    first, last, dispersion = (np.where(varies, value, np.nan) for value in (ends[0], ends[1], phi))
    p[-1] = np.nan  # that documents have no topic is no topic
    return Trends(ratio, low, high, first, last, dispersion, p, benjamini_hochberg(p))


def _logits(p: FloatArray) -> FloatArray:
    return np.log(p) - np.log1p(-p)


def _deviance(y: FloatArray, n: FloatArray, mu: FloatArray) -> FloatArray:
    """Return -2 Σ_t (y_t log μ_t + (n_t - y_t) log(1 - μ_t)), the deviance but for a constant, (K+1,)."""
    from scipy.special import xlogy

    likelihood = xlogy(y, np.maximum(mu, 1e-300)) + xlogy(np.maximum(n - y, 0.0), np.maximum(1 - mu, 1e-300))
    return np.asarray(-2 * likelihood.sum(axis=0))


def differences(cells: CellSums) -> Differences:
    """Return whether the shares of each topic differ between groups.

        χ² = Σ_g n_g (p_g - p)² / (p (1 - p))                                       one topic each: Pearson's test, G - 1 degrees
        F  = Σ_g n_g (p_g - p)² / (G - 1)  /  (Σ_g Σ_d (θ_dk - p_g)² / (N - G))     mixtures: analysis of variance, G - 1 and N - G

    F is infinite, and p 0, where the documents of each group have the same share and the groups do not.

    Args:
        cells: groups (G,); those without documents do not count.
    """
    from scipy.special import chdtrc, fdtrc

    used = np.flatnonzero(cells.n > 0)
    G, width = len(used), cells.sums.shape[1]
    n = cells.n[used].astype(np.float64)[:, None]
    N, shares = float(n.sum()), cells.sums[used] / n
    p = cells.sums[used].sum(axis=0) / max(N, 1.0)
    between = (n * (shares - p) ** 2).sum(axis=0)
    total = np.maximum(cells.squares[used].sum(axis=0) - N * p**2, 0.0)
    varies = (total > 1e-12) & (G > 1)
    none = np.full(width, np.nan)
    effect = np.sqrt(np.divide(between, total, out=none.copy(), where=varies))
    if cells.is_mixed:
        inner = np.maximum(total - between, 0.0)
        testable = varies & (N > G)
        statistic = np.where(testable, np.inf, np.nan)
        np.divide(between * (N - G), inner * max(G - 1, 1), out=statistic, where=testable & (inner > 1e-12))
        values = fdtrc(max(G - 1, 1), max(N - G, 1), np.nan_to_num(statistic))
        expected = none
    else:
        statistic = np.divide(between, p * (1 - p), out=none.copy(), where=varies)
        values = chdtrc(max(G - 1, 1), np.nan_to_num(statistic))
        expected = np.where(varies, n.min() * np.minimum(p, 1 - p), np.nan)
    values = np.where(np.isnan(statistic), np.nan, values)
    values[-1] = np.nan
    large = used[cells.n[used] >= LEAST_GROUP]
    compared = large if len(large) > 1 else used
    lowest = highest = np.zeros(width, np.int64)
    if len(compared):
        of_groups = cells.shares[compared]
        lowest, highest = compared[of_groups.argmin(axis=0)], compared[of_groups.argmax(axis=0)]
    return Differences(statistic, values, benjamini_hochberg(values), effect, expected, lowest, highest)
