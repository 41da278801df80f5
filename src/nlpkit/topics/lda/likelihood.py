"""Log-likelihoods of LDA from counts."""

from __future__ import annotations

import numpy as np

from nlpkit.types import CsrMatrix, FloatArray


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
