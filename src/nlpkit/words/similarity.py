"""How similar two words are by their vectors, compared with people's ratings; and the word that does not belong to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.metrics.bootstrap import Interval, interval
from nlpkit.metrics.regression import statistics
from nlpkit.types import Float32Array, FloatArray
from nlpkit.words.vectors import WordVectors, unit_rows


@dataclass(frozen=True, slots=True)
class RatedPairs:
    """Pairs of words with ratings (P,) of people, and cosines (P,) of their vectors, NaN where one has none."""

    pairs: Sequence[tuple[str, str]]
    ratings: FloatArray
    cosines: FloatArray

    @property
    def covered(self) -> int:
        """Pairs with two vectors."""
        return int(np.isfinite(self.cosines).sum())

    def correlations(self, *, level: float, seed: int) -> dict[str, tuple[float, Interval | None]]:
        """Return Spearman's rho and Pearson's r of ratings and cosines with their bootstrap intervals; NaN for under three pairs."""
        there = np.isfinite(self.cosines)
        if there.sum() < 3:
            return {"spearman": (float("nan"), None), "pearson": (float("nan"), None)}
        both = statistics(self.ratings[there], self.cosines[there])
        one = np.ones((1, int(there.sum())))
        return {
            name: (
                float(both[name](one)[0]),
                interval(both[name], np.ones(int(there.sum()), np.int64), level=level, seed=seed),
            )
            for name in ("spearman", "pearson")
        }


def cosine(first: Float32Array, second: Float32Array) -> float:
    """Return the cosine of two vectors (E,), 0 where one is zero."""
    a, b = unit_rows(np.stack([first, second])).astype(np.float64)
    return float(np.clip(a @ b, -1.0, 1.0))


def rate_pairs(
    known: WordVectors, pairs: Sequence[tuple[str, str]], ratings: FloatArray, *, lower: bool = True
) -> RatedPairs:
    """Return the cosines of pairs of words beside ratings of people; a word outside the vocabulary has the vector of its n-grams."""
    cosines = np.full(len(pairs), np.nan)
    for i, (first, second) in enumerate(pairs):
        a, b = (known.vector(word, lower=lower) for word in (first, second))
        if a is not None and b is not None:
            cosines[i] = cosine(a, b)
    return RatedPairs(pairs, ratings, cosines)


def odd_one_out(vectors: Float32Array) -> tuple[int, FloatArray]:
    """Return which of some vectors (n, E) is the least like the others, and the cosine of each with the mean of them all (n,).

    The mean is that of the vectors divided by their lengths, as in gensim's `doesnt_match`.
    """
    units = unit_rows(vectors).astype(np.float64)
    mean = units.mean(axis=0)
    length = np.linalg.norm(mean)
    cosines = units @ mean / (length if length > 0 else 1.0)
    return int(np.argmin(cosines)), cosines
