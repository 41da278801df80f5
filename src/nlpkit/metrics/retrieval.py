"""Quality of a search for the documents of a class: precision and recall with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z95 = 1.959963984540054  # the 0.975 quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Precision, recall and F1 of a search, each nan where it is 0 / 0; low and high ends of the 95 % Wilson intervals."""

    tp: int
    fp: int
    fn: int
    tn: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float


def score_retrieval(*, tp: int, fp: int, fn: int, tn: int) -> Retrieval:
    """Return precision, recall and F1 from counts of documents (lecture).

    precision = tp / (tp + fp), recall = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn)

    Args:
        tp: found and of the class; fp: found but not; fn: of the class but not found; tn: neither.
    """
    f1 = 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else math.nan
    return Retrieval(tp, fp, fn, tn, *wilson_interval(tp, tp + fp), *wilson_interval(tp, tp + fn), f1)


def wilson_interval(successes: int, trials: int, z: float = Z95) -> tuple[float, float, float]:
    """Return a share and the ends of its score interval (Wilson 1927, J. Am. Stat. Assoc. 22); all nan without trials.

    (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n)
    """
    if not trials:
        return math.nan, math.nan, math.nan
    p, n = successes / trials, trials
    middle = p + z**2 / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    # at the ends the formula gives exactly 0 and 1, which rounding misses by a hair
    low = 0.0 if successes == 0 else (middle - half) / scale
    high = 1.0 if successes == trials else (middle + half) / scale
    return p, low, high
