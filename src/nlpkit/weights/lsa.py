"""Latent semantic analysis and principal components of a weighted document-term matrix (lecture).

Both are a truncated singular value decomposition, of the matrix as it is and around the mean of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import CsrMatrix, FloatArray


@dataclass(frozen=True, slots=True)
class Lsa:
    """X - 1 mᵀ ≈ U_L Σ_L W_Lᵀ, where m is 0 in a latent semantic analysis and the mean of the rows in a PCA.

    documents (D, L) = U Σ, the rows of X - 1 mᵀ in the space of W; terms (V, L) = W, columns of length 1; singular_values (L,),
    descending; explained_variance_ratio (L,): variance of a column of `documents` over the summed variance of the columns
    of X; center (L,) = Wᵀ m. The entry of largest size in each column of W is positive.
    """

    documents: FloatArray
    terms: FloatArray
    singular_values: FloatArray
    explained_variance_ratio: FloatArray
    center: FloatArray


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
    return _decomposition(weights, n_components, "lsa", seed)


def pca(weights: CsrMatrix, n_components: int, *, seed: int) -> Lsa:
    """Return the first principal components of a sparse matrix, which is centred inside the products and never made dense.

    Agrees with scikit-learn's `PCA(svd_solver="full")` of the dense matrix but for the signs, which are those of `lsa`; see there for
    the rest.

    Args:
        weights: (D, V) CSR float64.
        n_components: L, at least 1 and less than D and V.

    Raises:
        UsageError: L is not less than D and V; InputError: all weights are 0, or all rows are equal.
    """
    return _decomposition(weights, n_components, "pca", seed)


def _decomposition(weights: CsrMatrix, n_components: int, method: str, seed: int) -> Lsa:
    X: CsrMatrix = sparse.csr_array(weights, dtype=np.float64)
    D, V = X.shape
    if not X.data.any():
        raise InputError("no singular vectors: all weights are 0; use a weighting without idf (`idf=none`)")
    total = _total_variance(X)
    if method == "pca" and not total:
        raise InputError("no principal components: all documents have the same weights")
    if not 1 <= n_components < min(D, V):
        raise UsageError(
            f"`{method}={n_components}`: there must be fewer dimensions than documents ({D:,}) and than terms ({V:,}); "
            f"give {min(D, V) - 1} at most",
            parameter=method,
        )
    mean = np.bincount(X.indices, weights=X.data, minlength=V) / D if method == "pca" else np.zeros(V)
    rng = np.random.default_rng(seed)
    with one_thread():
        start = rng.uniform(-1.0, 1.0, min(D, V))
        A = _around(X, mean) if method == "pca" else X
        _, sigma, terms = singular_vectors(A, n_components, start=start, rng=rng)
        order = np.argsort(-sigma, kind="stable")
        sigma, terms = sigma[order], terms[order]
        kept = sigma > sigma[0] * max(D, V) * np.finfo(float).eps
        sigma, terms = sigma[kept], np.ascontiguousarray(terms[kept].T)
        terms *= np.sign(terms[np.argmax(np.abs(terms), axis=0), np.arange(len(sigma))])
        center: FloatArray = mean @ terms
        documents: FloatArray = X @ terms - center
        share = documents.var(axis=0) / total if total else np.zeros(len(sigma))
    return Lsa(documents, terms, sigma, share, center)


def singular_vectors(
    A: Any, k: int, *, start: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U (D, k), the k largest singular values, ascending, and Vᵀ (k, V), as scipy's `svds` by ARPACK has them.

    ARPACK begins anew at random where a start spans too few directions, as where singular values are equal or the rank is low.
    `svds` of scipy 1.17 keeps its `rng` from it, so that a seed gives other bytes each time; here it is handed on.

    Args:
        A: (D, V) sparse matrix or LinearOperator. start (min(D, V),): the first vector.
    """
    from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh

    A = aslinearoperator(A)
    wide = A.shape[0] < A.shape[1]
    B = A.H if wide else A
    square = LinearOperator(
        (len(start), len(start)),
        dtype=np.float64,
        matvec=lambda v: B.rmatvec(B.matvec(v)),
        matmat=lambda M: B.rmatmat(B.matmat(M)),
    )
    basis = np.linalg.qr(eigsh(square, k=k, v0=start, rng=rng)[1])[0]
    left, values, right = np.linalg.svd(B.matmat(basis), full_matrices=False)
    left, values, right = left[:, ::-1], values[::-1], right[::-1] @ basis.T
    return (right.T, values, left.T) if wide else (left, values, right)


def _around(X: CsrMatrix, mean: FloatArray) -> Any:
    """Return the products of X - 1 mᵀ, without the matrix."""
    from scipy.sparse.linalg import LinearOperator

    ones = np.ones(X.shape[0])
    return LinearOperator(
        X.shape,
        dtype=np.float64,
        matvec=lambda v: X @ v.ravel() - ones * (mean @ v.ravel()),
        rmatvec=lambda u: X.T @ u.ravel() - mean * u.sum(),
        matmat=lambda v: X @ v - np.outer(ones, mean @ v),
        rmatmat=lambda u: X.T @ u - np.outer(mean, u.sum(axis=0)),
    )


def _total_variance(X: CsrMatrix) -> float:
    """Return the summed variance of the columns, zeros included; 0 when it is nothing but rounding."""
    D, V = X.shape
    means = np.bincount(X.indices, weights=X.data, minlength=V) / D
    zeros = D - np.bincount(X.indices, minlength=V)
    total = float(((X.data - means[X.indices]) ** 2).sum() + (zeros * means**2).sum())
    return total / D if total > np.finfo(float).eps * float((X.data**2).sum()) else 0.0
