"""Intervals of shares, and of scores at the end of their range, where a bootstrap says nothing: no draw changes them.

A classifier that is right on all of 10 documents may well be wrong on the next: how often, the Wilson interval of 10 of 10 tells,
[0.72, 1] at 95 %. Whatever is a share of documents has that interval, and a mean of values between two bounds that all lie on one
of them has it, too, stretched to the bounds: such values can lie there no more often than those of a share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from nlpkit.metrics.bootstrap import Interval, normal_quantile
from nlpkit.types import FloatArray

METHOD = "Wilson"


def wilson(successes: float, n: float, *, level: float) -> Interval | None:
    """Return the Wilson score interval of a share k/n (Wilson 1927; Brown, Cai & DasGupta 2001), None for n = 0.

        (p̂ + z²/2n ± z sqrt(p̂ (1 - p̂)/n + z²/4n²)) / (1 + z²/n),   z the normal quantile of the level

    scipy.stats.binomtest(k, n).proportion_ci(method="wilson"). Of n right ones it is [n / (n + z²), 1].
    """
    if not n > 0:
        return None
    z, p = normal_quantile(level), successes / n
    middle, reach = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    low, high = (middle - reach) / (1 + z**2 / n), (middle + reach) / (1 + z**2 / n)
    # the ends are the share itself where it is 0 or 1, but for rounding
    return Interval(float(max(low, 0.0)) if p > 0 else 0.0, float(min(high, 1.0)) if p < 1 else 1.0, level, METHOD)


def wilson_bounds(shares: FloatArray, n: FloatArray, *, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper ends of the intervals of `wilson` for many shares of n, NaN for n = 0."""
    z = normal_quantile(level)
    n = np.where(n > 0, n, np.nan)
    middle = shares + z**2 / (2 * n)
    reach = z * np.sqrt(np.maximum(shares * (1 - shares), 0.0) / n + z**2 / (4 * n**2))
    low, high = (middle - reach) / (1 + z**2 / n), (middle + reach) / (1 + z**2 / n)
    return np.where(shares > 0, np.maximum(low, 0.0), low * 0), np.where(
        shares < 1, np.minimum(high, 1.0), high * 0 + 1
    )


def edge_interval(value: float, n: float, *, low: float, high: float, level: float) -> Interval | None:
    """Return the interval of a mean of n values in [low, high] that all lie at one end, None where the mean lies at neither.

    P(all at the end) ≤ P(one is at the end)ⁿ, and the mean is at most as far from the other end as the share at this one is: the
    interval of that share, n of n, is that of the mean or longer.
    """
    width = high - low
    if not (np.isfinite(width) and width > 0):
        return None
    share = (value - low) / width
    if min(abs(share), abs(1 - share)) > 1e-12:
        return None
    share_interval = wilson(n * round(share), n, level=level)
    if share_interval is None:
        return None
    return Interval(
        low + width * share_interval.low,
        low + width * share_interval.high,
        level,
        f"{METHOD}, of values at the end of the range",
    )


def changed_shares(sizes: ArrayLike, *, level: float) -> FloatArray:
    """Return which share of the documents of each class (2, J) may be other than all that were seen of it: two extreme ways.

    Were share e_j of class j wrong, Π (1 - e_j)^n_j would be the probability of seeing no wrong one (Clopper & Pearson 1934 for
    J = 1; Hanley & Lippman-Hand 1983, "If nothing goes wrong, is everything all right?"). Two sets of e_j have the
    probability that the Wilson interval of N of N documents allows:

        row 0   the same e in all classes: the end of the Wilson interval
        row 1   the largest mean of e_j: 1 - e_j = min(1, c n_j), the wrong ones in the smallest classes

    Args:
        sizes: (J,) documents of each class; one without documents changes nothing, e_j = 0.
    """
    n = np.asarray(sizes, np.float64)
    N = float(n.sum())
    stays = N / (N + normal_quantile(level) ** 2)
    some = n[n > 0]
    bar = N * np.log(stays)
    low, high = np.log(1e-300), -np.log(some.min())
    for _ in range(200):  # Σ n_j log min(1, c n_j) rises with c
        log_c = (low + high) / 2
        if float((some * np.minimum(0.0, log_c + np.log(some))).sum()) < bar:
            low = log_c
        else:
            high = log_c
    worst = np.minimum(1.0, np.exp(high) * n)
    return np.where(n > 0, 1 - np.stack([np.full(len(n), stays), worst]), 0.0)


def edge_sums(confusion: ArrayLike, *, level: float) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return what scores need of two confusion matrices that documents may come from of which all, or none, were right.

    The documents of each class change by `changed_shares`: of right ones, that share goes to the other classes by their sizes; of
    wrong ones, it becomes right. A score of the confusion matrix lies between its values there and here. That is no bound for the
    worst of all confusions, such as all into one class, but for these two.

    Args:
        confusion: (J, J) or (J, J+1) counts, rows are true classes; a last column counts documents without a prediction.

    Returns:
        Diagonals (2, J), row sums (2, J) and column sums (2, J+1), as `classification.averages_of_sums` takes them, or None where
        some documents are right and some wrong.
    """
    counts = np.asarray(confusion)
    J = len(counts)
    n, hits = counts.sum(axis=1).astype(np.float64), np.diagonal(counts).astype(np.float64)
    N = float(n.sum())
    if not N or 0 < hits.sum() < N:
        return None
    shares = changed_shares(n, level=level)
    changed, columns = shares * n, np.zeros((2, J + 1))
    if not hits.any():
        columns[:, : counts.shape[1]] = (1 - shares) @ counts
        columns[:, :J] += changed
        return changed, np.stack([n, n]), columns
    rest = N - n
    spread = np.divide(changed, rest, out=np.zeros_like(changed), where=rest > 0)  # a document of each other class
    columns[:, :J] = n - changed + n * (spread.sum(axis=1, keepdims=True) - spread)
    columns[:, J] = np.where(rest > 0, 0.0, changed).sum(axis=1)  # the only class: a wrong document has none
    return n - changed, np.stack([n, n]), columns


def edge_between(value: float, there: FloatArray, *, level: float) -> Interval | None:
    """Return the interval from a score to the farthest of its values (2,) at `edge_sums`, None where these are the same."""
    low, high = min(value, float(there.min())), max(value, float(there.max()))
    if low == high:
        return None
    return Interval(low, high, level, f"{METHOD}, of documents that are all {'right' if low < value else 'wrong'}")
