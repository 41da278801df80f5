"""Dirichlet priors of LDA estimated from counts, and a test whether topics are missing.

Parts, in this order:
- The priors.
- Do the counts scatter around an LDA model as a multinomial does? More says that topics are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nlpkit.errors import InputError
from nlpkit.platform.types import CsrMatrix, FloatArray, LongArray

LEAST = 1e-5  # no prior falls below: a topic that is empty now can come back
PRIOR_RATE = 1.0
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


def estimate_alpha(
    documents: TopicHistogram | CsrMatrix, alpha: FloatArray, *, symmetric: bool = False, rate: float = 0.0
) -> FloatArray:
    """Return the alpha (K,) of highest p(z | alpha), by Minka's fixed point from the given one.

    α_k ← α_k · Σ_d [ψ(n_dk + α_k) − ψ(α_k)] / (r + Σ_d [ψ(N_d + Σα) − ψ(Σα)]) (Minka 2000, eq. 55; Wallach 2008, ch. 2). An
    asymmetric alpha with a symmetric eta is what Wallach, Mimno & McCallum (2009) advise.

    Args:
        documents: n_dk (D, K) CSR, or its histogram; documents without tokens say nothing.
        symmetric: one value for all topics.
        rate: r of an exponential prior of each α_k. Without one, alpha grows without bound where all documents have equal shares,
            as a single one has. `PRIOR_RATE` is the 1 of MALLET, whose code subtracts it where the posterior adds it. It matters
            for few documents alone.
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
        below = rate + (times * (psi(lengths + whole) - psi(whole))).sum()  # not np.dot: BLAS sums on several threads
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


# ------------------------------------------------------------------------------------------------------------------------
# Do the counts scatter around an LDA model as a multinomial does? More says that topics are missing.

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
    counts: CsrMatrix,
    theta: Callable[[slice], FloatArray],
    phi: FloatArray,
    *,
    share: float = 1.0,
    as_stm: bool = False,
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
        as_stm: sum and subtract as checkResiduals of R's stm does.

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
            squares = (x - expected) ** 2 / np.where(likely | as_stm, expected * (1 - q), np.inf)
            D += float(squares.sum())
            used += int(full.sum())
    degrees = cells - used * (K - 1) - share * K * (V - 1) - as_stm * V
    if degrees <= 0:
        raise InputError(
            f"residuals: {used:,} documents have {cells:,} words that {K} topics expect, too few for the number of parameters "
            "of such a model; fit fewer topics, or more or longer documents"
        )
    return Residuals(D / degrees, D, float(degrees), float(chi2.sf(D, degrees)), used)
