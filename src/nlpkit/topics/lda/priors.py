"""Dirichlet priors of LDA estimated from counts."""

from __future__ import annotations

import numpy as np

from nlpkit.types import CsrMatrix, FloatArray

LEAST = 1e-5  # no prior falls below: a topic that is empty now can come back
STEPS = 100
CLOSE = 1e-5  # relative change at which the iteration ends


def estimate_alpha(doc_topic: CsrMatrix, alpha: FloatArray, *, symmetric: bool = False) -> FloatArray:
    """Return the alpha (K,) of highest p(z | alpha), by Minka's fixed point from the given one.

    α_k ← α_k · Σ_d [ψ(n_dk + α_k) − ψ(α_k)] / Σ_d [ψ(N_d + Σα) − ψ(Σα)] (Minka 2000, eq. 55; Wallach 2008, ch. 2). An
    asymmetric alpha with a symmetric eta is what Wallach, Mimno & McCallum (2009) advise.

    Args:
        doc_topic: (D, K) counts; documents without tokens say nothing.
        symmetric: one value for all topics.
    """
    from scipy.special import psi

    columns = doc_topic.tocsc()
    n_docs, K = doc_topic.shape
    lengths, times = np.unique(np.asarray(doc_topic.sum(axis=1)).ravel(), return_counts=True)
    values = [np.unique(columns.data[columns.indptr[k] : columns.indptr[k + 1]], return_counts=True) for k in range(K)]
    bounds = np.concatenate([[0], np.cumsum([len(v) for v, _ in values])])
    counts = np.concatenate([v for v, _ in values]) if K else np.zeros(0)
    weights = np.concatenate([w for _, w in values]) if K else np.zeros(0)
    topic = np.repeat(np.arange(K), np.diff(bounds))
    estimate = np.full(K, alpha.mean()) if symmetric else alpha.astype(np.float64)
    if not n_docs or not len(counts):
        return estimate
    for _ in range(STEPS):
        whole = estimate.sum()
        below = (times * (psi(lengths + whole) - psi(whole))).sum()  # not np.dot: BLAS sums on several threads
        above = np.bincount(topic, weights * (psi(counts + estimate[topic]) - psi(estimate[topic])), K)
        together = np.full(K, above.sum() / K) if symmetric else above
        after = np.maximum(estimate * together / below, LEAST)
        change = np.max(np.abs(after - estimate) / estimate)
        estimate = after
        if change < CLOSE:
            break
    return estimate


def estimate_eta(topic_term: CsrMatrix, eta: float) -> float:
    """Return the eta of highest p(w | z, eta), by Minka's fixed point from the given one.

    η ← η · Σ_kv [ψ(n_kv + η) − ψ(η)] / (V · Σ_k [ψ(n_k + Vη) − ψ(Vη)]).

    Args:
        topic_term: (K, V) counts.
    """
    from scipy.special import psi

    values, times = np.unique(topic_term.data, return_counts=True)
    sizes = np.asarray(topic_term.sum(axis=1)).ravel()
    V = topic_term.shape[1]
    if not len(values):
        return eta
    for _ in range(STEPS):
        above = float((times * (psi(values + eta) - psi(eta))).sum())
        below = V * float(np.sum(psi(sizes + V * eta) - psi(V * eta)))
        after = max(eta * above / below, LEAST)
        change, eta = abs(after - eta) / eta, after
        if change < CLOSE:
            break
    return eta
