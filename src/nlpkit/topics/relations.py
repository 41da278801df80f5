"""How topics relate: cosines of their words, correlations over documents."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.topics.prevalence import Membership
from nlpkit.types import CsrMatrix, FloatArray


def cosines(rows: CsrMatrix, others: CsrMatrix) -> FloatArray:
    """Return the cosine of each row (K, V) to each other row (L, V), as (K, L); 0 where a row is empty."""
    return np.asarray((_unit(rows) @ _unit(others).T).toarray(), np.float64)


def _unit(matrix: CsrMatrix) -> CsrMatrix:
    rows = sparse.csr_array(matrix, dtype=np.float64)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
    data = rows.data * np.repeat(scale, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def correlations(membership: Membership) -> FloatArray:
    """Return Pearson's correlation of the probabilities of each two topics over the documents that have any (K, K).

        r_jk = cov_d(θ_dj, θ_dk) / (s_j s_k)

    stm's topicCorr(method = "simple") before its threshold. Probabilities of a document sum to 1, so that of K topics that have
    nothing to do with each other two have about -1 / (K - 1), not 0. NaN for a topic that is the same everywhere.
    """
    U, scale = membership.parts()
    kept = np.flatnonzero(~membership.none)
    U, scale = U[kept], scale[kept]
    prior = np.zeros(U.shape[1]) if membership.prior is None else membership.prior
    D = max(len(kept), 1)
    mean = np.asarray(U.sum(axis=0)).ravel() / D + prior * (scale.sum() / D)
    crossed = np.outer(prior, U.T @ scale)
    products = (U.T @ U).toarray() + crossed + crossed.T + np.outer(prior, prior) * (scale @ scale)
    covariance = products / D - np.outer(mean, mean)
    deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    scale = np.outer(deviation, deviation)
    r = np.divide(covariance, scale, out=np.full(covariance.shape, np.nan), where=scale > 1e-15)
    return np.asarray(np.clip(r, -1, 1), np.float64)
