"""Dispersion: how evenly the occurrences of words are spread over the parts of a corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.types import CsrMatrix, FloatArray, LongArray


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Dispersion of words (V,): dp in [0, 1], 0 = even; dp_norm, dp / its greatest value; juilland_d, 1 = even. nan where undefined.

    range (V,): parts that hold the word.
    """

    dp: FloatArray
    dp_norm: FloatArray
    juilland_d: FloatArray
    range: LongArray


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
    parts = counts[sizes > 0].tocoo()
    n_i = sizes[sizes > 0].astype(np.float64)
    V, n_parts = counts.shape[1], len(n_i)
    tf = np.bincount(parts.col, parts.data, V)
    shares = n_i / max(n_i.sum(), 1.0)
    of_part, of_word = shares[parts.row], parts.data / tf[parts.col]
    # a part without the word adds its share; all shares add up to 1
    dp = 0.5 * (1 + np.bincount(parts.col, np.abs(of_word - of_part) - of_part, V))
    rates = parts.data / n_i[parts.row]
    mean, squares = (np.bincount(parts.col, values, V) / max(n_parts, 1) for values in (rates, rates**2))
    deviation = np.sqrt(np.maximum(squares - mean**2, 0))
    occurs = tf > 0
    undefined = np.full(V, np.nan)
    most = 1 - shares.min(initial=1.0)
    return Dispersion(
        dp=np.where(occurs, np.maximum(dp, 0), np.nan),
        dp_norm=np.where(occurs, np.maximum(dp, 0) / most, np.nan) if most > 0 else undefined,
        juilland_d=1 - np.divide(deviation, mean * np.sqrt(n_parts - 1), out=undefined.copy(), where=occurs)
        if n_parts > 1
        else undefined,
        range=np.bincount(parts.col[parts.data > 0], minlength=V).astype(np.int64),
    )
