"""PMI-SVD: singular vectors of the positive pointwise mutual information of words and contexts."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.types import CsrMatrix, FloatArray
from nlpkit.weighting.lsa import lsa


def shifted_ppmi(X: CsrMatrix, *, smoothing: float, shift: float) -> CsrMatrix:
    """Return max(0, ln(p(w, c) / (p(w) p_s(c))) - ln k) of the cells above 0 (V, V) CSR, without those that are 0.

    With n_c = Σ_w X_wc: p_s(c) = n_c^s / Σ_c n_c^s, context distribution smoothing; k: the shift.

    Source: Levy, Goldberg & Dagan (2015), "Improving Distributional Similarity with Lessons Learned from Word Embeddings",
    TACL 3, §2.1 and §3.2; Levy & Goldberg (2014) for the shift.
    """
    of_words, of_contexts = np.asarray(X.sum(axis=1)).ravel(), np.asarray(X.sum(axis=0)).ravel()
    smoothed = of_contexts**smoothing
    cells = X.tocoo()
    # p(w, c) / p(w) is X_wc / n_w
    pmi = np.log(cells.data / of_words[cells.row]) - np.log(smoothed[cells.col] / smoothed.sum()) - np.log(shift)
    kept = pmi > 0
    return sparse.csr_array((pmi[kept], (cells.row[kept], cells.col[kept])), shape=X.shape)


def fit_pmi_svd(
    X: CsrMatrix, *, dimensions: int, smoothing: float, shift: float, power: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the vectors of words and of contexts (V, E): U Σ^p and V Σ^p of the shifted PPMI ≈ U Σ Vᵀ; see `shifted_ppmi`.

    There are as many dimensions as its rank, at most. Signs and determinism: as `nlpkit.weighting.lsa.lsa`.

    Args:
        X: (V, V) CSR float64, as `cooccurrences` returns it; V > dimensions.
        power: p, the weight of the singular values: 1, 0.5, or 0 for none.

    Raises:
        InputError: no pair of words is together more often than by chance.

    Source: Levy, Goldberg & Dagan (2015), §2.2 and §3.3.
    """
    M = shifted_ppmi(X, smoothing=smoothing, shift=shift)
    if not M.nnz:
        raise InputError(
            "no two words co-occur more often than by chance, so all PMI are 0; lower `min_count` or `shift`, or "
            "give more texts"
        )
    decomposition = lsa(M, dimensions, seed=seed)
    sigma = decomposition.singular_values
    return decomposition.documents * sigma ** (power - 1), decomposition.terms * sigma**power
