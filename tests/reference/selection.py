"""Scores of features by the lecture's formulas (L1974-2060), sum by sum. present[j][v], sizes[j] as in `Contingency`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def log(x: float) -> float:
    """Natural logarithm; minus infinity at 0."""
    return math.log(x) if x > 0 else -math.inf


def xlogx(p: float) -> float:
    """p ln p, 0 at 0."""
    return p * math.log(p) if p > 0 else 0.0


def score(name: str, o: Sequence[int], sizes: Sequence[int]) -> float:
    """Return the score of one term, present in o[j] of the sizes[j] documents of class j."""
    J, M, df = range(len(sizes)), sum(sizes), sum(o)
    J = [j for j in J if sizes[j]]
    functions: dict[str, Callable[..., float]] = {
        "gini": gini, "gini-norm": gini_norm, "entropy": entropy, "pmi-avg": pmi_average, "pmi-max": pmi_maximum,
        "mi": mutual_information, "chi2": chi2, "chi2-presence": chi2_presence, "cramer-v": cramer, "cramer-v-usual": cramer_usual,
    }  # fmt: skip
    return functions[name](J, M, df, o, sizes)


def gini(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    return 1 - sum((o[j] / df) ** 2 for j in J) if df else math.nan


def gini_norm(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    if not df:
        return math.nan
    total = sum(o[s] / df / n[s] for s in J)
    return 1 - sum((o[j] / df / n[j] / total) ** 2 for j in J)


def entropy(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    total = 0.0
    for j in J:
        if df:
            total += df / M * xlogx(o[j] / df)
        if df < M:
            total += (M - df) / M * xlogx((n[j] - o[j]) / (M - df))
    return -total


def pmi_average(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    if not df:
        return math.nan
    more = 1 if any(o[j] == 0 for j in J) else 0  # a document of every class in part
    return sum(n[j] / M * log((o[j] + more * n[j] / M) / (df + more) / (n[j] / M)) for j in J)


def pmi_maximum(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    return max(log(o[j] / df / (n[j] / M)) for j in J) if df else math.nan


def mutual_information(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    total = 0.0
    for j in J:
        if o[j]:
            total += o[j] / M * math.log(o[j] / df / (n[j] / M))
        if n[j] > o[j]:
            total += (n[j] - o[j]) / M * math.log((n[j] - o[j]) / (M - df) / (n[j] / M))
    return total


def chi2_presence(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    return sum((o[j] - df * n[j] / M) ** 2 / (df * n[j] / M) for j in J if df)


def chi2(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    total = 0.0
    for j in J:
        for observed, marginal in ((o[j], df), (n[j] - o[j], M - df)):
            expected = marginal * n[j] / M
            if expected:
                total += (observed - expected) ** 2 / expected
    return total


def cramer(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    return math.sqrt(chi2(J, M, df, o, n) / (M * min(2, len(J))))


def cramer_usual(J: Any, M: int, df: int, o: Any, n: Any) -> float:
    return math.sqrt(chi2(J, M, df, o, n) / (M * (min(2, len(J)) - 1))) if len(J) > 1 else 0.0


def chi2_counts(counts: Any, labels: Sequence[int], v: int) -> float:
    """Return χ² of the summed counts of term v per class against those expected by class size."""
    rows = [d for d, c in enumerate(labels) if c >= 0]
    total = sum(counts[d][v] for d in rows)
    chi2 = 0.0
    for j in sorted({labels[d] for d in rows}):
        members = [d for d in rows if labels[d] == j]
        expected = total * len(members) / len(rows)
        if expected:
            chi2 += (sum(counts[d][v] for d in members) - expected) ** 2 / expected
    return chi2


def anova_f(values: Any, labels: Sequence[int], v: int) -> float:
    """Return F of the values of term v between the classes."""
    rows = [d for d, c in enumerate(labels) if c >= 0]
    classes = sorted({labels[d] for d in rows})
    M, J = len(rows), len(classes)
    if J < 2 or M <= J:
        return math.nan
    mean = sum(values[d][v] for d in rows) / M
    between = within = 0.0
    for j in classes:
        members = [values[d][v] for d in rows if labels[d] == j]
        own = sum(members) / len(members)
        between += len(members) * (own - mean) ** 2
        within += sum((x - own) ** 2 for x in members)
    if within == 0:
        return math.nan if between == 0 else math.inf
    return between / (J - 1) / (within / (M - J))
