"""Heaps' law: how the vocabulary grows with the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.types import FloatArray, LongArray

GROWTH_POINTS = 1000


@dataclass(frozen=True, slots=True)
class HeapsFit:
    """V(n) = K n^beta, and r2, the share of the variance of ln V that it explains; nan where the curve has too few points."""

    k: float
    beta: float
    r2: float


def growth_curve(first_seen: LongArray, n_tokens: int, n_points: int = GROWTH_POINTS) -> tuple[LongArray, LongArray]:
    """Return n (P,) and V(n) (P,): how many different words the first n tokens hold, at evenly spaced n up to the last.

    Args:
        first_seen: (V,) ascending, the place 1 … N of the first occurrence of each word.
        n_tokens: N.
        n_points: P; fewer when there are fewer tokens.
    """
    steps = np.arange(1, n_points + 1, dtype=np.int64)
    n = np.unique(-(-n_tokens * steps // n_points)) if n_tokens else np.zeros(0, np.int64)
    return n, np.searchsorted(first_seen, n, side="right").astype(np.int64)


def fit_heaps(n: LongArray, v: LongArray) -> HeapsFit:
    """Return Heaps' law V(n) = K n^β by least squares on the logarithms (lecture).

        ln V = ln K + β ln n

    With evenly spaced n most points lie where the text is long: there the law is to hold, and there it is used. The
    first few hundred words of any text are nearly all new and follow no law.

    Args:
        n: (P,) tokens, v: (P,) different words among them, both at least 1.
    """
    if len(n) < 2:
        return HeapsFit(float("nan"), float("nan"), float("nan"))
    x, y = np.log(n.astype(np.float64)), np.log(v.astype(np.float64))
    dx, dy = x - x.mean(), y - y.mean()
    beta = float((dx * dy).sum() / (dx**2).sum())
    total = float((dy**2).sum())
    r2 = 1 - float(((dy - beta * dx) ** 2).sum()) / total if total > 0 else float("nan")
    return HeapsFit(float(np.exp(y.mean() - beta * x.mean())), beta, r2)


def heaps_curve(fit: HeapsFit, n: LongArray) -> FloatArray:
    """Return K n^β at n (P,)."""
    curve: FloatArray = fit.k * n.astype(np.float64) ** fit.beta
    return curve
