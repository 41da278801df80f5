"""Bias of word vectors: the association of two sets of words with two others, and places of words on a line between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from nlpkit.types import Float32Array, FloatArray
from nlpkit.words.vectors import unit_rows

EXACT = 100_000  # partitions up to which all are looked at
DRAWS = 99_999
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Weat:
    """A word embedding association test: the statistic, the effect size d, the one-sided p-value, the partitions looked at.

    association_x (n,), association_y (m,): s(w, A, B) of each word. exact: all partitions were looked at.
    """

    statistic: float
    effect_size: float
    p_value: float
    partitions: int
    exact: bool
    association_x: FloatArray
    association_y: FloatArray


def associations(words: Float32Array, a: Float32Array, b: Float32Array) -> FloatArray:
    """Return s(w, A, B) = mean_a cos(w, a) - mean_b cos(w, b) of words (n, E) with attributes (·, E), (n,)."""
    units, first, second = (unit_rows(v).astype(np.float64) for v in (words, a, b))
    return np.asarray((units @ first.T).mean(axis=1) - (units @ second.T).mean(axis=1))


def weat(x: Float32Array, y: Float32Array, a: Float32Array, b: Float32Array, *, seed: int) -> Weat:
    """Return whether target words X stand nearer to attribute words A than to B, compared with targets Y.

        statistic    Σ_x s(x, A, B) - Σ_y s(y, A, B)
        effect size  (mean_x s - mean_y s) / sd_{w ∈ X ∪ Y} s,  sd with n - 1
        p-value      share of the partitions of X ∪ Y into sets of |X| and |Y| with a statistic at least as large

    All partitions are looked at where they are 100,000 at most; else 99,999 are drawn, and the partition that is there counts
    as one more. Where all s are alike, the effect size is NaN.

    Args:
        x, y, a, b: (·, E) vectors of two words or more of the targets, one or more of the attributes.

    Source: Caliskan, Bryson & Narayanan (2017), "Semantics derived automatically from language corpora contain human-like biases",
    Science 356, supplement, p. 8 f. They count larger statistics alone, which makes p-values of 0; n - 1 as in May et al. (2019).
    """
    of_x, of_y = associations(x, a, b), associations(y, a, b)
    together = np.concatenate([of_x, of_y])
    n, N = len(of_x), len(together)
    deviation = float(together.std(ddof=1))
    alike = deviation <= _ROUNDING
    effect = float("nan") if alike else (of_x.mean() - of_y.mean()) / deviation
    observed, total = float(of_x.sum()), float(together.sum())
    number, exact = comb(N, n), comb(N, n) <= EXACT
    # Σ_x - Σ_y = 2 Σ_x - Σ of all: partitions are ordered by Σ_x
    if exact:
        sums = np.fromiter((together[list(rows)].sum() for rows in combinations(range(N), n)), np.float64, number)
        share = float((sums >= observed - _ROUNDING).mean())
    else:
        number, rng = DRAWS, np.random.default_rng(seed)
        sums = np.array([together[rng.permutation(N)[:n]].sum() for _ in range(DRAWS)])
        share = float((1 + (sums >= observed - _ROUNDING).sum()) / (DRAWS + 1))
    return Weat(2 * observed - total, float(effect), share, number, exact, of_x, of_y)


def direction(a: Float32Array, b: Float32Array) -> FloatArray:
    """Return the line from the words B to the words A (E,), of length 1: the difference of the means of vectors of length 1.

    0 where the means are equal. Source: Garg, Schiebinger, Jurafsky & Zou (2018), PNAS 115, for means of groups; Bolukbasi et al.
    (2016), §5.1, take the first principal component of differences of pairs, which has nearly this direction.
    """
    line = unit_rows(a).astype(np.float64).mean(axis=0) - unit_rows(b).astype(np.float64).mean(axis=0)
    length = np.linalg.norm(line)
    return np.asarray(line / (length if length > _ROUNDING else 1.0))


def projections(words: Float32Array, line: FloatArray) -> FloatArray:
    """Return the cosine of each word (n, E) with a line of length 1 (n,): above 0 on the side of A."""
    return np.asarray(unit_rows(words).astype(np.float64) @ line)


def pair_direction(a: Float32Array, b: Float32Array) -> FloatArray:
    """Return the first principal component of pairs around their middles (E,), on the side of A; Bolukbasi et al. (2016), §5.1.

    Args:
        a, b: (n, E), the two words of each pair.
    """
    first, second = unit_rows(a).astype(np.float64), unit_rows(b).astype(np.float64)
    middle = (first + second) / 2
    _, _, rows = np.linalg.svd(np.concatenate([first - middle, second - middle]), full_matrices=False)
    line = rows[0]
    return np.asarray(line if ((first - second) @ line).sum() >= 0 else -line)
