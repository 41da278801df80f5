"""Do the counts scatter around an LDA model as a multinomial does? More says that topics are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nlpkit.errors import InputError
from nlpkit.types import CsrMatrix, FloatArray

BLOCK = 64  # documents whose expected counts are held at a time, fewer where these are more than CELLS
CELLS = 1 << 21
TOLERANCE = 0.01  # expected count from which a cell is one that could have been seen


@dataclass(frozen=True, slots=True)
class Residuals:
    """dispersion = statistic / degrees of freedom, 1 for a model that fits; p_value of the χ² test that it is not above 1."""

    dispersion: float
    statistic: float
    degrees: float
    p_value: float
    n_docs: int


def residual_dispersion(
    counts: CsrMatrix, theta: Callable[[slice], FloatArray], phi: FloatArray, *, share: float = 1.0
) -> Residuals:
    """Return the dispersion of the multinomial residuals of some documents (Taddy 2012).

        X² = Σ (x_dv − m_d q_dv)² / (m_d q_dv (1 − q_dv)) over the cells with m_d q_dv > 0.01,   q_dv = Σ_k θ_dk φ_kv
        σ² = X² / (N̂ − d),   N̂ the number of these cells,   d = D (K − 1) + K (V − 1)

    Taddy, "On Estimation and Selection for Topic Models", AISTATS 2012; the `checkResiduals` of R's stm is built on it, but sums over
    all cells and subtracts V twice, so its dispersion is larger and not comparable. The sum here leaves out the cells that N̂ leaves
    out: each adds 1 on average, and vocabularies are almost all such cells. σ² above 1 says that the words vary more than topics of
    this number explain; it is a test of fit, not of meaning.

    Args:
        counts: (D, V) counts x_dv, CSR; documents without tokens are left out.
        theta: gives θ (rows, K) of some rows of counts.
        phi: (K, V), rows sum to 1.
        share: of the documents of the fit that counts holds; only that share of the parameters φ is theirs.

    Raises:
        InputError: there are fewer cells than parameters.
    """
    from scipy.stats import chi2
    from threadpoolctl import threadpool_limits

    K, V = phi.shape
    D, cells, used = 0.0, 0, 0
    block = max(1, min(BLOCK, CELLS // V))
    with threadpool_limits(1):  # products of several threads are rounded differently
        for begin in range(0, counts.shape[0], block):
            rows = slice(begin, begin + block)
            x = counts[rows].toarray().astype(np.float64)
            m = x.sum(axis=1, keepdims=True)
            full = m[:, 0] > 0
            q = (np.asarray(theta(rows)) @ phi)[full]
            x, m = x[full], m[full]
            expected = m * q
            likely = expected > TOLERANCE
            cells += int(np.count_nonzero(likely))
            squares = (x - expected) ** 2 / np.where(likely, expected * (1 - q), np.inf)
            D += float(squares.sum())
            used += int(full.sum())
    degrees = cells - used * (K - 1) - share * K * (V - 1)
    if degrees <= 0:
        raise InputError(
            f"residuals: {used:,} documents have {cells:,} words that {K} topics expect, too few for the number of parameters "
            "of such a model; fit fewer topics, or more or longer documents"
        )
    return Residuals(D / degrees, D, float(degrees), float(chi2.sf(D, degrees)), used)
