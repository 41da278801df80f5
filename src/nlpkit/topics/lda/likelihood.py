"""Log-likelihoods of LDA from counts."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.types import BoolArray, CsrMatrix, FloatArray


def dirichlet_multinomial(counts: CsrMatrix, prior: FloatArray | float) -> float:
    """Return Σ_r log p(row r of counts), each row drawn from a multinomial with a Dirichlet prior that is integrated out.

    log p = log Γ(Σ_j a_j) − log Γ(n_r + Σ_j a_j) + Σ_j [log Γ(n_rj + a_j) − log Γ(a_j)], without the multinomial coefficient:
    the probability of one order of the draws. With the words of topics and η it is log p(w | z), with the topics of documents
    and α it is log p(z): together the lecture's joint distribution p(D, T).

    Args:
        counts: (R, C), CSR.
        prior: (C,) or one number for all columns.
    """
    from scipy.special import gammaln

    data = np.asarray(counts.data)
    if not len(data):
        return 0.0
    sizes = np.asarray(counts.sum(axis=1)).ravel().astype(np.float64)
    width = counts.shape[1]
    if np.ndim(prior) == 0:
        a, whole = float(prior), float(prior) * width
        values, times = np.unique(data, return_counts=True)
        inner = float((times * (gammaln(values + a) - gammaln(a))).sum())  # np.dot would sum on several threads
    else:
        each = np.asarray(prior, np.float64)
        whole = float(each.sum())
        of_column = each[counts.indices]
        inner = float(np.sum(gammaln(data + of_column) - gammaln(of_column)))
    return inner + float(np.sum(gammaln(whole) - gammaln(sizes + whole)))


def log_words(counts: CsrMatrix, eta: float, *, fixed: BoolArray, frozen_counts: CsrMatrix | None = None) -> float:
    """Return log p(w | z, eta) of the documents that are sampled, those of frozen ones given: as if they had come before.

    The words of fixed topics have the probabilities that the frozen documents give them.

    Args:
        counts: n_kv (K, V) of all documents; frozen_counts: of the frozen ones, None where there are none.
        fixed: (K,) topics whose words are those of the frozen documents alone.
    """
    free, held = np.flatnonzero(~fixed), np.flatnonzero(fixed)
    words = dirichlet_multinomial(counts[free], eta)
    if frozen_counts is None:
        return words
    sampled = sparse.coo_array(counts[held] - frozen_counts[held])
    of_fixed = 0.0
    if sampled.nnz:
        sizes = np.asarray(frozen_counts.sum(axis=1)).ravel()[held] + counts.shape[1] * eta
        phi = (frozen_counts[held[sampled.row], sampled.col] + eta) / sizes[sampled.row]
        of_fixed = float((sampled.data * np.log(phi)).sum())
    return words + (of_fixed - dirichlet_multinomial(frozen_counts[free], eta))
