"""Latent semantic analysis: the truncated singular value decomposition of a weighted document-term matrix (lecture L2268)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.types import CsrMatrix, FloatArray


@dataclass(frozen=True, slots=True)
class Lsa:
    """X ≈ U_L Σ_L W_Lᵀ.

    documents (D, L) = U Σ, the rows of X in the space of W; terms (V, L) = W, columns of length 1; singular_values (L,),
    descending; explained_variance_ratio (L,): variance of a column of `documents` over the summed variance of the columns
    of X. The entry of largest size in each column of W is positive.
    """

    documents: FloatArray
    terms: FloatArray
    singular_values: FloatArray
    explained_variance_ratio: FloatArray


def lsa(weights: CsrMatrix, n_components: int, *, seed: int) -> Lsa:
    """Return the first singular vectors of a sparse matrix, by ARPACK from a start vector drawn with `seed`.

    Agrees with scikit-learn's `TruncatedSVD(algorithm="arpack")`, signs included. Components whose singular value is zero
    within rounding are left out: there are as many as the rank of X at most. One thread: how BLAS divides sums among
    threads would change their last bits.

    Args:
        weights: (D, V) CSR float64.
        n_components: L, at least 1 and less than D and V.

    Raises:
        UsageError: L is not less than D and V; InputError: all weights are 0.
    """
    from scipy.sparse.linalg import svds
    from threadpoolctl import threadpool_limits

    X: CsrMatrix = sparse.csr_array(weights, dtype=np.float64)
    D, V = X.shape
    if not X.data.any():
        raise InputError("no singular vectors: all weights are 0; take a weighting without idf (`idf=none`)")
    if not 1 <= n_components < min(D, V):
        raise UsageError(
            f"`lsa={n_components}`: there must be fewer dimensions than documents ({D:,}) and than terms ({V:,}); "
            f"give {min(D, V) - 1} at most"
        )
    rng = np.random.default_rng(seed)
    with threadpool_limits(limits=1):
        start = rng.uniform(-1.0, 1.0, min(D, V))
        _, sigma, terms = svds(X, k=n_components, v0=start, solver="arpack", rng=rng)
        order = np.argsort(-sigma, kind="stable")
        sigma, terms = sigma[order], terms[order]
        kept = sigma > sigma[0] * max(D, V) * np.finfo(float).eps
        sigma, terms = sigma[kept], np.ascontiguousarray(terms[kept].T)
        terms *= np.sign(terms[np.argmax(np.abs(terms), axis=0), np.arange(len(sigma))])
        documents: FloatArray = X @ terms
        total = _total_variance(X)
        share = documents.var(axis=0) / total if total else np.zeros(len(sigma))
    return Lsa(documents, terms, sigma, share)


def _total_variance(X: CsrMatrix) -> float:
    """Return the summed variance of the columns, zeros included; 0 when it is nothing but rounding."""
    D, V = X.shape
    means = np.bincount(X.indices, weights=X.data, minlength=V) / D
    zeros = D - np.bincount(X.indices, minlength=V)
    total = float(((X.data - means[X.indices]) ** 2).sum() + (zeros * means**2).sum())
    return total / D if total > np.finfo(float).eps * float((X.data**2).sum()) else 0.0
