"""Association of two events, each a number of four counts: collocations of words, phrases, key words of a corpus.

Arguments are arrays of one shape, or numbers: n_xy, observations with both; n_x, those with x; n_y, those with y; n, all. They stand
for the table

               y                not y
    x          n_xy             n_x - n_xy
    not x      n_y - n_xy       n - n_x - n_y + n_xy

of observed counts O_ij; those expected of independence are E_ij = (sum of row i) (sum of column j) / n. Logarithms are natural, but
for log-Dice. Evert (2005), The Statistics of Word Cooccurrences, §3.1, names O and E like this.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nlpkit.platform.types import FloatArray

Counts = npt.NDArray[np.int64] | npt.NDArray[np.float64] | float


def expected(n_x: Counts, n_y: Counts, n: Counts) -> FloatArray:
    """Return E = n_x n_y / n, the observations with both that chance alone makes; 0 where there is no observation."""
    product, total = np.broadcast_arrays(np.asarray(n_x, np.float64) * n_y, np.asarray(n, np.float64))
    by_chance: FloatArray = np.divide(product, total, out=np.zeros_like(product), where=total > 0)
    return by_chance


def pmi(n_xy: Counts, n_x: Counts, n_y: Counts, n: Counts) -> FloatArray:
    """Return PMI = ln(n_xy n / (n_x n_y)) = ln(P(x, y) / (P(x) P(y))), in nats; log₂ is this / ln 2 (Church & Hanks 1990).

    All counts are above 0.
    """
    result: FloatArray = np.log(n_xy) + np.log(n) - np.log(n_x) - np.log(n_y)
    return result


def npmi(n_xy: Counts, n_x: Counts, n_y: Counts, n: Counts) -> FloatArray:
    """Return PMI / -ln P(x, y), in [-1, 1]; 1 where all observations have both (Bouma 2009). All counts are above 0."""
    information = np.asarray(np.log(n) - np.log(n_xy))
    result: FloatArray = np.divide(
        pmi(n_xy, n_x, n_y, n), information, out=np.ones_like(information), where=information > 0
    )
    return result


def log_likelihood(n_xy: Counts, n_x: Counts, n_y: Counts, n: Counts) -> FloatArray:
    """Return ± G² = ± 2 Σ_ij O_ij ln(O_ij / E_ij) of all four cells, negative where x and y are together less than by chance.

    0 · ln 0 = 0. Dunning (1993), §5; NLTK's `BigramAssocMeasures.likelihood_ratio`, which has no sign.
    """
    both, x, y, total = (np.asarray(a, np.float64) for a in np.broadcast_arrays(n_xy, n_x, n_y, n))
    sums = (x, total - x), (y, total - y)
    g2 = np.zeros_like(both)
    for row, column, seen in ((0, 0, both), (0, 1, x - both), (1, 0, y - both), (1, 1, total - x - y + both)):
        by_chance = expected(sums[0][row], sums[1][column], total)
        g2 += seen * np.log(np.divide(seen, by_chance, out=np.ones_like(both), where=seen > 0))
    return np.where(both * total >= x * y, 2 * g2, -2 * g2)


def t_score(n_xy: Counts, n_x: Counts, n_y: Counts, n: Counts) -> FloatArray:
    """Return t = (O - E) / √O with O = n_xy > 0 (Church, Gale, Hanks & Hindle 1991); NLTK's `student_t`."""
    result: FloatArray = (n_xy - expected(n_x, n_y, n)) / np.sqrt(n_xy)
    return result


def dice(n_xy: Counts, n_x: Counts, n_y: Counts) -> FloatArray:
    """Return 2 n_xy / (n_x + n_y), in [0, 1] (Dice 1945; Smadja 1996); n_x + n_y is above 0."""
    return np.asarray(2 * np.asarray(n_xy, np.float64) / (np.asarray(n_x, np.float64) + n_y))


def log_dice(n_xy: Counts, n_x: Counts, n_y: Counts) -> FloatArray:
    """Return 14 + log₂ Dice, at most 14, whatever the size of the corpus (Rychlý 2008, §3); n_xy is above 0."""
    return np.asarray(14 + np.log2(dice(n_xy, n_x, n_y)))
