"""The topics of a model seen term by term: describing terms by five weightings, and phi.

Parts, in this order:
- The terms that describe the topics of an LDA run, by five weightings, from the sparse counts of topics and terms.
- phi of a mixture model term by term, and work on chunks of documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray
from nlpkit.topics.base import kernels as gibbs_infer
from nlpkit.topics.base.model import MixtureModel
from nlpkit.weights.ctfidf import EPSILON

Weighting: TypeAlias = Literal["probability", "frex", "lift", "relevance", "importance"]
WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)
RELEVANCE_LAMBDA = 0.6  # the best of the user study of Sievert & Shirley 2014
FREX_OMEGA = 0.5  # the default of R's stm


@dataclass(frozen=True, slots=True)
class WeightedTerms:
    """The top terms of each topic: term_ids (K, n) int32, -1 where a topic has fewer; their weights (K, n), NaN there."""

    term_ids: IntArray
    probability: FloatArray
    frex: FloatArray
    lift: FloatArray
    relevance: FloatArray
    importance: FloatArray


def weighted_terms(
    topic_term: CsrMatrix,
    eta: float,
    *,
    n: int = 30,
    by: Weighting = "probability",
    cf: FloatArray | None = None,
    relevance_lambda: float = RELEVANCE_LAMBDA,
    epsilon: float = EPSILON,
    hidden: Sequence[int] = (),
) -> WeightedTerms:
    """Return the n terms of each topic that weigh most, and all weightings of these terms.

        probability  φ_kv = (n_kv + η) / (n_k + V η)                                  (lecture)
        frex         1 / (ω / F_k(φ_kv) + (1 − ω) / F_k(φ_kv / Σ_l φ_lv)),  ω = ½     (Bischof & Airoldi 2012)
        lift         φ_kv / p_v,   p_v = cf_v / Σ_u cf_u                              (Taddy 2012)
        relevance    λ ln φ_kv + (1 − λ) ln(φ_kv / p_v)                               (Sievert & Shirley 2014, section 3.1)
        importance   q_kv [ln(q_kv + ε) − 1/K Σ_l ln(q_lv + ε)],  q_kv = n_kv / n_k   (lecture)

    F_k is the empirical distribution over all V terms of the topic, equal values sharing their mean rank, as in `calcfrex`
    of R's stm without word counts (its `labelTopics` gives them, and so shrinks the shares of rare words first).
    lift is the exponential of stm's `calclift`. importance is that of `nlpkit.weights.ctfidf`; `top.topic.words`
    of R's lda has it with 1e-5 added to n_k. Only terms that occur in a topic are its terms, whatever η; equal weights
    go by term id. Memory: a few arrays of V and of the longest row, nothing dense of K × V.

    Args:
        topic_term: (K, V) counts n_kv, CSR, of one state or the mean of several.
        eta: η ≥ 0, of each term.
        n: terms a topic.
        by: the weighting that chooses and orders them.
        cf: (V,) frequency of each term in the corpus; default the sums of `topic_term` over the topics.
        relevance_lambda: λ in [0, 1].
        epsilon: ε > 0.
        hidden: terms that are none of the n, though the weights are those of all terms.

    Raises:
        UsageError: η, ε, λ, n or `by` out of range, counts below 0, or a cf of 0 for a term that occurs.
    """
    _check(eta, n, by, relevance_lambda, epsilon)
    counts = canonical_counts(topic_term)
    K = counts.shape[0]
    corpus = _Corpus.from_counts(counts, eta, cf, epsilon)
    weighted = WeightedTerms(np.full((K, n), -1, np.int32), *(np.full((K, n), np.nan) for _ in WEIGHTINGS))
    for k in range(K):
        topic = _Topic.from_counts(counts, k, corpus, eta)
        if not len(topic.terms):
            continue
        everything = np.arange(len(topic.terms), dtype=np.int64)
        score = (
            topic.counts if by == "probability" else _weigh(by, topic, everything, corpus, relevance_lambda, epsilon)
        )
        chosen = strongest(score, topic.terms, n + len(hidden))
        chosen = chosen[~np.isin(topic.terms[chosen], hidden)][:n] if len(hidden) else chosen
        weighted.term_ids[k, : len(chosen)] = topic.terms[chosen]
        for name in WEIGHTINGS:
            weights = _weigh(name, topic, chosen, corpus, relevance_lambda, epsilon)
            getattr(weighted, name)[k, : len(chosen)] = weights
    return weighted


def strongest(score: FloatArray, terms: IntArray, n: int) -> LongArray:
    """Return the places of the n highest scores (m,), highest first, ties by the lower term id."""
    places: LongArray = np.arange(len(score), dtype=np.int64)
    if len(score) > 4 * n:  # sort the few that can be among the first; ties with the n-th stay in
        places = places[score >= np.partition(score, len(score) - n)[len(score) - n]]
    return places[np.lexsort((terms[places], -score[places]))[:n]]


def topic_scale(counts: CsrMatrix, eta: float) -> FloatArray:
    """Return 1 / (n_k + V η) (K,), by which n_kv + η becomes φ_kv; 0 for an empty topic where η is 0."""
    tokens = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    total = tokens + counts.shape[1] * eta
    scale: FloatArray = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
    return scale


def probability_mass(counts: CsrMatrix, eta: float, scale: FloatArray) -> FloatArray:
    """Return Σ_l φ_lv (V,), the share of a term in all topics, each topic counting alike."""
    mass = np.full(counts.shape[1], eta * scale.sum())
    for k in range(counts.shape[0]):
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        mass[counts.indices[row]] += counts.data[row] * scale[k]
    return mass


@dataclass(frozen=True, slots=True)
class _Corpus:
    """Values of all topics that a weighting needs: scale (K,), and of each term (V,) its mass, ln p and mean ln(q + ε) − ln ε."""

    scale: FloatArray
    mass: FloatArray
    log_p: FloatArray
    above: FloatArray

    @classmethod
    def from_counts(cls, counts: CsrMatrix, eta: float, cf: FloatArray | None, epsilon: float) -> _Corpus:
        K, V = counts.shape
        scale = topic_scale(counts, eta)
        frequency, above = np.zeros(V), np.zeros(V)
        for k in range(K):
            row = slice(counts.indptr[k], counts.indptr[k + 1])
            terms, values = counts.indices[row], counts.data[row]
            frequency[terms] += values
            above[terms] += np.log1p(values / values.sum() / epsilon) if len(values) else 0.0
        return cls(scale, probability_mass(counts, eta, scale), _log_shares(frequency, cf), above / max(K, 1))


def _log_shares(topic_cf: FloatArray, cf: FloatArray | None) -> FloatArray:
    """Return ln p_v (V,), -inf for a term that never occurs."""
    frequency = topic_cf if cf is None else np.asarray(cf, np.float64)
    if frequency.shape != topic_cf.shape:
        raise UsageError(f"cf needs the frequency of each of the {len(topic_cf)} terms, got {frequency.shape}")
    if ((frequency <= 0) & (topic_cf > 0)).any():
        term = int(np.flatnonzero((frequency <= 0) & (topic_cf > 0))[0])
        raise UsageError(
            f"cf of term {term} is {frequency[term]:g}, but the topics hold it; give the frequencies of this corpus"
        )
    log_p: FloatArray = np.log(frequency, out=np.full(len(frequency), -np.inf), where=frequency > 0)
    log_p -= np.log(frequency.sum()) if len(frequency) and frequency.any() else 0.0
    return log_p


@dataclass(frozen=True, slots=True)
class _Topic:
    """The terms of one topic (m,), ascending, with their counts and φ; and the φ of every other term."""

    terms: IntArray
    counts: FloatArray
    phi: FloatArray
    phi_absent: float

    @classmethod
    def from_counts(cls, counts: CsrMatrix, k: int, corpus: _Corpus, eta: float) -> _Topic:
        row = slice(counts.indptr[k], counts.indptr[k + 1])
        values = counts.data[row].astype(np.float64)
        scale = float(corpus.scale[k])
        return cls(counts.indices[row], values, (values + eta) * scale, eta * scale)


def _weigh(
    name: Weighting, topic: _Topic, at: LongArray, corpus: _Corpus, relevance_lambda: float, epsilon: float
) -> FloatArray:
    """Return one weighting of the terms of a topic at some places (m,)."""
    phi, terms = topic.phi[at], topic.terms[at]
    if name == "probability":
        return phi
    if name == "lift":
        return phi / np.exp(corpus.log_p[terms])
    if name == "relevance":
        log_phi = np.log(phi)
        return relevance_lambda * log_phi + (1.0 - relevance_lambda) * (log_phi - corpus.log_p[terms])
    if name == "importance":
        q: FloatArray = topic.counts[at] / topic.counts.sum()
        score: FloatArray = q * (np.log1p(q / epsilon) - corpus.above[terms])
        return score
    return _frex(topic, at, corpus)


def _frex(topic: _Topic, at: LongArray, corpus: _Corpus) -> FloatArray:
    V = len(corpus.mass)
    present = np.sort(topic.counts)
    frequency = (V - len(present) + _mean_rank(present, topic.counts[at])) / V
    share = np.divide(topic.phi_absent, corpus.mass, out=np.zeros(V), where=corpus.mass > 0)
    share[topic.terms] = topic.phi / corpus.mass[topic.terms]
    exclusivity = share.astype(np.float32)  # so that no rounding error of a sum tells equal shares apart
    rank = _mean_rank(np.sort(exclusivity), exclusivity[topic.terms[at]]) / V
    frex: FloatArray = 1.0 / (FREX_OMEGA / frequency + (1.0 - FREX_OMEGA) / rank)
    return frex


def _mean_rank(ascending: FloatArray | Float32Array, values: FloatArray | Float32Array) -> FloatArray:
    """Return the ranks from 1 of values among sorted ones that hold them; equal values share the mean of their ranks."""
    below = np.searchsorted(ascending, values, side="left")
    ranks: FloatArray = (below + np.searchsorted(ascending, values, side="right") + 1) / 2.0
    return ranks


def canonical_counts(topic_term: CsrMatrix) -> CsrMatrix:
    """Return counts whose rows hold each of their terms once, ascending, and no zeros; a copy only where they do not."""
    counts = sparse.csr_array(topic_term)
    if len(counts.data) and counts.data.min() < 0:
        raise UsageError(f"topic_term holds the count {counts.data.min():g}; counts are 0 or more")
    if not counts.has_canonical_format or (counts.data == 0).any():
        counts = counts.copy()
        counts.sum_duplicates()
        counts.eliminate_zeros()
    return counts


def _check(eta: float, n: int, by: str, relevance_lambda: float, epsilon: float) -> None:
    if not eta >= 0:
        raise UsageError(f"`eta={eta}`: the prior of terms in topics needs a number of 0 or more")
    if not epsilon > 0:
        raise UsageError(f"`epsilon={epsilon}`: the importance score needs a number above 0, such as {EPSILON}")
    if not 0 <= relevance_lambda <= 1:
        raise UsageError(
            f"`relevance_lambda={relevance_lambda}`: relevance needs a number from 0 (lift) to 1 (probability)"
        )
    if n < 1:
        raise UsageError(f"a topic needs at least 1 term, got {n}", parameter="n")
    if by not in WEIGHTINGS:
        raise UsageError(f"terms are ordered by one of {', '.join(WEIGHTINGS)}; got '{by}'", parameter="by")


# ------------------------------------------------------------------------------------------------------------------------
# phi of a mixture model term by term, and work on chunks of documents.

CHUNK = 64  # documents that a thread takes at a time


def words_of(model: MixtureModel) -> gibbs_infer.Words:
    """Return phi_kv = (n_kv + η) / (n_k + Vη) by word, for `infer_topics` batch after batch: 12 bytes per count n_kv > 0."""
    by_word = sparse.csc_array(model.topic_term)
    by_word.sort_indices()
    start, topics = by_word.indptr.astype(np.int64), by_word.indices.astype(np.int32)
    inverse = topic_scale(model.topic_term, model.eta)
    alpha = np.asarray(model.alpha, np.float64)
    parts, base = by_word.data * inverse[topics], model.eta * inverse
    smooth = gibbs_infer.smooth_sums(start, topics, parts, alpha)
    return gibbs_infer.Words(start, topics, parts, smooth, base, alpha, np.cumsum(alpha * base))


def entries_by_term(dtm: CsrMatrix) -> tuple[IntArray, IntArray, LongArray]:
    """Return starts (V + 1,), documents (N,) and places (N,) in the matrix of the counts of each term, by document."""
    places = np.arange(dtm.nnz, dtype=np.int64)
    by_term = sparse.csc_array((places, dtm.indices, dtm.indptr), shape=dtm.shape[::-1]).tocsr()
    # (D, V) in CSR read as (V, D) in CSC: rows of the transpose are the terms
    by_term.sort_indices()
    return by_term.indptr, by_term.indices, by_term.data


def in_chunks(function: Callable[[int, int], None], n_docs: int, threads: int) -> None:
    """Call function(begin, end) for chunks of 64 documents, as many at a time as there are threads."""

    def call(begin: int) -> None:
        with np.errstate(over="ignore"):  # hashes wrap around, which NumPy tells of where kernels are not compiled
            function(begin, min(begin + CHUNK, n_docs))

    starts = range(0, n_docs, CHUNK)
    if threads <= 1 or len(starts) <= 1:
        for begin in starts:
            call(begin)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="infer") as pool:
        list(pool.map(call, starts))


def check_ids(words: gibbs_infer.Words, term_ids: IntArray) -> None:
    """Raise UsageError for a term id that the model does not have."""
    V = len(words.smooth)
    if len(term_ids) and not 0 <= term_ids.min() <= term_ids.max() < V:
        raise UsageError(
            f"term ids must be from 0 to {V - 1}, found {term_ids.min()} to {term_ids.max()}; leave out words that the "
            "model does not know"
        )
