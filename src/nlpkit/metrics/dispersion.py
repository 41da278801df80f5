"""Dispersion: how evenly the occurrences of words are spread over the parts of a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Dispersion of words (V,): dp in [0, 1], 0 = even; dp_norm, dp / its greatest value; juilland_d, 1 = even. nan where undefined.

    range (V,): parts that hold the word.
    """

    dp: FloatArray
    dp_norm: FloatArray
    juilland_d: FloatArray
    range: LongArray

    def take(self, words: IntArray | LongArray) -> Dispersion:
        """Return the dispersion of some words."""
        return Dispersion(self.dp[words], self.dp_norm[words], self.juilland_d[words], self.range[words])


def dispersion(counts: CsrMatrix, sizes: LongArray) -> Dispersion:
    """Return the dispersion of words over the parts of a corpus.

        DP_v = ½ Σ_i |tf_iv / tf_v − s_i|,   s_i = n_i / Σ_j n_j,   DPnorm_v = DP_v / (1 − min_i s_i)
        D_v  = 1 − σ_v / (μ_v √(I − 1)),     μ, σ = mean and standard deviation (÷ I) of the rates tf_iv / n_i

    DP: Gries (2008), Int. J. Corpus Linguistics 13, §3; DPnorm: Lijffijt & Gries (2012). D: Juilland & Chang-Rodríguez (1964), with the
    rates of the parts, as these differ in size (Gries 2008, §2). With many parts D is near 1 for all but the rarest words (Biber
    et al. 2016): DP tells them apart. Parts without tokens are none; D needs two parts. A word that does not occur has no value.

    Args:
        counts: (I, V) CSR, tf_iv, the occurrences of each word in each part.
        sizes: (I,) n_i, tokens of each part, also of words that are not in `counts`.
    """
    sums = DispersionSums(np.asarray(counts.sum(axis=0), np.float64).ravel(), sizes)
    sums.add(counts, sizes)
    return sums.result()


class DispersionSums:
    """Sums over the parts of a corpus, of which `dispersion` is made: parts may come a few at a time."""

    def __init__(self, tf: FloatArray, sizes: LongArray) -> None:
        """Take tf (V,) of the whole corpus, and the sizes of all of its parts."""
        self.tf, self.total = np.asarray(tf, np.float64), float(sizes.sum())
        used = sizes[sizes > 0]
        self.n_parts, self.least = len(used), float(used.min(initial=sizes.max(initial=0)))
        self._gaps, self._rates, self._squares = (np.zeros(len(tf)) for _ in range(3))
        self._range: LongArray = np.zeros(len(tf), np.int64)

    def add(self, counts: CsrMatrix, sizes: LongArray) -> None:
        """Add some parts: counts (I, V) CSR, sizes (I,)."""
        parts = counts[sizes > 0].tocoo()
        n_i, V = sizes[sizes > 0].astype(np.float64), len(self.tf)
        of_part = (n_i / max(self.total, 1.0))[parts.row]
        rates = parts.data / n_i[parts.row]
        # a part without the word adds its share; all shares add up to 1
        self._gaps += np.bincount(parts.col, np.abs(parts.data / self.tf[parts.col] - of_part) - of_part, V)
        self._rates += np.bincount(parts.col, rates, V)
        self._squares += np.bincount(parts.col, rates**2, V)
        self._range += np.bincount(parts.col[parts.data > 0], minlength=V)

    def result(self) -> Dispersion:
        """Return the dispersion over the parts that were added."""
        occurs, undefined, n = self.tf > 0, np.full(len(self.tf), np.nan), max(self.n_parts, 1)
        dp = np.where(occurs, np.maximum(0.5 * (1 + self._gaps), 0), np.nan)
        mean = self._rates / n
        deviation = np.sqrt(np.maximum(self._squares / n - mean**2, 0))
        most = 1 - self.least / max(self.total, 1.0)
        d = undefined.copy()
        if self.n_parts > 1:
            d = 1 - np.divide(deviation, mean * np.sqrt(self.n_parts - 1), out=d, where=occurs)
        return Dispersion(dp, dp / most if most > 0 else undefined, d, self._range)
