"""Dirichlet priors of LDA estimated from counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nlpkit.types import CsrMatrix, FloatArray, LongArray

LEAST = 1e-5  # no prior falls below: a topic that is empty now can come back
STEPS = 100
CLOSE = 1e-5  # relative change at which the iteration ends


@dataclass(frozen=True, slots=True)
class TopicHistogram:
    """How many documents have n tokens of a topic, and how many N tokens in all: what an estimate of alpha needs of documents.

    topics, counts, times (M,): times[i] documents have counts[i] tokens of topics[i], by topic and ascending counts above 0.
    lengths, documents (L,): documents[i] of them have lengths[i] tokens, ascending. n_topics: K.
    """

    n_topics: int
    topics: LongArray
    counts: Any
    times: LongArray
    lengths: Any
    documents: LongArray

    @classmethod
    def of_documents(cls, doc_topic: CsrMatrix) -> Self:
        """Return that of documents, n_dk (D, K) CSR."""
        columns, K = doc_topic.tocsc(), doc_topic.shape[1]
        ends = columns.indptr
        values = [np.unique(columns.data[ends[k] : ends[k + 1]], return_counts=True) for k in range(K)]
        topics = np.repeat(np.arange(K), [len(counts) for counts, _ in values])
        counts = np.concatenate([counts for counts, _ in values]) if K else np.zeros(0)
        times = np.concatenate([times for _, times in values]) if K else np.zeros(0, np.int64)
        lengths, documents = np.unique(np.asarray(doc_topic.sum(axis=1)).ravel(), return_counts=True)
        return cls(K, topics, counts, times, lengths, documents)

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """Return that of all documents from those of several parts of them, which have the same topics."""
        topics, counts, times = (
            np.concatenate([getattr(p, name) for p in parts]) for name in ("topics", "counts", "times")
        )
        order = np.lexsort((counts, topics))
        topics, counts = topics[order], counts[order]
        new = np.flatnonzero((np.diff(topics, prepend=-1) != 0) | (np.diff(counts, prepend=-1) != 0))
        lengths, which = np.unique(np.concatenate([p.lengths for p in parts]), return_inverse=True)
        documents = np.zeros(len(lengths), np.int64)
        np.add.at(documents, which, np.concatenate([p.documents for p in parts]))
        summed = np.add.reduceat(times[order], new) if len(new) else times
        return cls(parts[0].n_topics, topics[new], counts[new], summed, lengths, documents)


def estimate_alpha(documents: TopicHistogram | CsrMatrix, alpha: FloatArray, *, symmetric: bool = False) -> FloatArray:
    """Return the alpha (K,) of highest p(z | alpha), by Minka's fixed point from the given one.

    α_k ← α_k · Σ_d [ψ(n_dk + α_k) − ψ(α_k)] / Σ_d [ψ(N_d + Σα) − ψ(Σα)] (Minka 2000, eq. 55; Wallach 2008, ch. 2). An
    asymmetric alpha with a symmetric eta is what Wallach, Mimno & McCallum (2009) advise.

    Args:
        documents: n_dk (D, K) CSR, or its histogram; documents without tokens say nothing.
        symmetric: one value for all topics.
    """
    from scipy.special import psi

    histogram = documents if isinstance(documents, TopicHistogram) else TopicHistogram.of_documents(documents)
    K, topic, counts, weights = histogram.n_topics, histogram.topics, histogram.counts, histogram.times
    lengths, times = histogram.lengths, histogram.documents
    estimate = np.full(K, alpha.mean()) if symmetric else alpha.astype(np.float64)
    if not len(counts):
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
