"""The significance of topics, and their semantic coherence and exclusivity as in R's stm.

Sparse throughout: what a topic holds is visited once, all else is one number times how often it occurs.

Parts, in this order:
- Significance of topics (AlSumait et al. 2009): distances from a flat topic, from the whole corpus, from one in every
  document.
- Semantic coherence and exclusivity of topics as R's stm has them: the two axes of its plots of models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class TopicSignificance:
    """Scores of K topics (K,) float64, divergences in nats, the higher the less like junk; NaN for a topic without weight.

    kl_uniform: from the flat topic, in [0, ln V]; kl_vacuous: from the corpus, 0 or more, NaN for a topic of no document
    that holds words of no other one; kl_background: of its documents
    from all alike, in [0, ln D], NaN without documents; effective_words: 1 / Σ_v φ_kv², in [1, V]; perplexity:
    exp(-Σ_v φ_kv ln φ_kv), in [1, V], both the number of words of a flat topic that is as wide.
    """

    kl_uniform: FloatArray
    kl_vacuous: FloatArray
    kl_background: FloatArray
    effective_words: FloatArray
    perplexity: FloatArray


def topic_significance(
    topic_term: CsrMatrix,
    *,
    eta: float = 0.0,
    corpus: FloatArray | None = None,
    doc_topic: CsrMatrix | None = None,
    alpha: FloatArray | None = None,
) -> TopicSignificance:
    """Return the divergences of topics from the three junk topics of AlSumait, Barbará, Gentle & Domeniconi (2009).

        kl_uniform     Σ_v φ_kv ln(φ_kv V),           φ_kv = (n_kv + η) / (n_k + V η)
        kl_vacuous     Σ_v φ_kv ln(φ_kv / p_v),       p_v = Σ_l p(l) φ_lv
        kl_background  Σ_d ϑ_dk ln(ϑ_dk D),           ϑ_dk = θ_dk / Σ_c θ_ck,  θ_dk = (n_dk + α_k) / (N_d + Σ_l α_l)

    with p(l) the share of topic l in all documents (in `topic_term` without them). Their W-Uniform, W-Vacuous and
    D-BGround by the divergence they call KL, before it is normed over the topics and weighed into one significance.

    With η = 0, uniform, corpus and 1 / Σ φ² are MALLET's uniform_dist, corpus_dist and eff_num_words
    (`topics.lda.diagnostics`). OCTIS (topic_significance_metrics.py) gives the mean over the topics alone, adds 1e-5 to every
    probability without norming again, which takes up to several tenths of a nat off where topics are sparse, and makes a topic
    without weight a flat one. Its p(l) is the mean of θ over the documents, as here when `doc_topic` holds θ.

    Args:
        topic_term: (K, V) CSR, counts n_kv or probabilities φ_kv, 0 or more.
        eta: η ≥ 0 of each term; 0 where probabilities are given.
        corpus: (V,) frequency of each term, in place of the mixture p_v.
        doc_topic: (D, K) CSR, probabilities θ_dk, or counts n_dk with `alpha`.
        alpha: (K,) α_k ≥ 0, to smooth counts; without it `doc_topic` is taken as θ.

    Raises:
        UsageError: shapes that do not belong together, negative weights, a term in a topic whose frequency in `corpus` is 0.
    """
    counts = _canonical(topic_term, "topic_term")
    documents = None if doc_topic is None else _canonical(doc_topic, "doc_topic")
    _check(counts, documents, eta, corpus, alpha)
    K, V = counts.shape
    n_k = np.asarray(counts.sum(axis=1), np.float64).ravel()
    alive = n_k > 0
    scale = np.divide(1.0, n_k + V * eta, out=np.zeros(K), where=alive)
    topic = np.repeat(np.arange(K), np.diff(counts.indptr))
    phi, absent = (counts.data + eta) * scale[topic], eta * scale
    others = V - np.diff(counts.indptr)  # words that a topic does not hold

    held = np.bincount(topic, phi * np.log(phi), K) + others * _xlogx(absent)
    share = n_k if documents is None else np.asarray(documents.sum(axis=0), np.float64).ravel()
    p_v = _corpus(counts, phi, absent, share, corpus)
    log_p = np.log(p_v, out=np.zeros(V), where=p_v > 0)
    of_held = np.bincount(topic, log_p[counts.indices], K)
    expected = np.bincount(topic, phi * log_p[counts.indices], K) + absent * (log_p.sum() - of_held)
    covered = np.bincount(topic, p_v[counts.indices] <= 0, K) + (absent > 0) * np.count_nonzero(p_v <= 0) == 0
    squares = np.bincount(topic, phi * phi, K) + others * absent**2
    background = np.full(K, np.nan) if documents is None else _background(documents, alpha)
    return TopicSignificance(
        kl_uniform=_where(alive, np.maximum(held + np.log(max(V, 1)), 0.0)),
        kl_vacuous=_where(alive & covered, np.maximum(held - expected, 0.0)),
        kl_background=background,
        effective_words=_where(alive, np.divide(1.0, squares, out=np.zeros(K), where=alive)),
        perplexity=_where(alive, np.exp(-held)),
    )


def _corpus(
    counts: CsrMatrix, phi: FloatArray, absent: FloatArray, share: FloatArray, corpus: FloatArray | None
) -> FloatArray:
    """Return p_v (V,)."""
    if corpus is not None:
        p_v: FloatArray = np.asarray(corpus, np.float64) / np.sum(corpus)
        used = np.bincount(counts.indices, minlength=len(p_v)) > 0 if not absent.any() else np.ones(len(p_v), bool)
        if (missing := np.flatnonzero(used & (p_v <= 0))).size:
            raise UsageError(
                f"term {missing[0]} has the frequency 0 in the corpus, but topics hold it ({missing.size} such terms); "
                "give the frequencies of the corpus the model was made of"
            )
        return p_v
    p_k = share / share.sum() if share.sum() > 0 else np.zeros(len(share))
    topic = np.repeat(np.arange(len(p_k)), np.diff(counts.indptr))
    mixed = np.bincount(counts.indices, (phi - absent[topic]) * p_k[topic], counts.shape[1])
    return np.asarray(mixed + float(absent @ p_k), np.float64)


def _background(documents: CsrMatrix, alpha: FloatArray | None) -> FloatArray:
    """Return Σ_d ϑ_dk ln(ϑ_dk D) (K,)."""
    D, K = documents.shape
    held = np.asarray(documents.sum(axis=0), np.float64).ravel() > 0
    theta, topic = documents.data.astype(np.float64), documents.indices
    total, log_total = np.zeros(K), np.zeros(K)  # Σ_d θ_dk and Σ_d θ_dk ln θ_dk
    if alpha is not None:
        length = np.asarray(documents.sum(axis=1), np.float64).ravel()
        per = np.divide(1.0, length + alpha.sum(), out=np.zeros(D), where=length + alpha.sum() > 0)
        mine = np.repeat(per, np.diff(documents.indptr))
        theta = (theta + alpha[topic]) * mine
        # of the documents without the topic θ is α_k times a number that is the document's own
        rest = per.sum() - np.bincount(topic, mine, K)
        log_rest = _xlogx(per).sum() - np.bincount(topic, _xlogx(mine), K)
        total += alpha * rest
        log_total += _xlogx(alpha) * rest + alpha * log_rest
    total += np.bincount(topic, theta, K)
    log_total += np.bincount(topic, _xlogx(theta), K)
    divergence = np.divide(log_total, total, out=np.zeros(K), where=total > 0)
    divergence -= np.log(total, out=np.zeros(K), where=total > 0)
    return _where(held, np.maximum(divergence + np.log(max(D, 1)), 0.0))


def _xlogx(x: FloatArray) -> FloatArray:
    """Return x ln x, 0 for 0."""
    result: FloatArray = x * np.log(x, out=np.zeros_like(x), where=x > 0)
    return result


def _where(alive: BoolArray, values: FloatArray) -> FloatArray:
    result: FloatArray = np.where(alive, values, np.nan)
    return result


def _canonical(matrix: CsrMatrix, name: str) -> CsrMatrix:
    """Return a copy with each entry once and no zeros."""
    copied = sparse.csr_array(matrix, copy=True)
    copied.sum_duplicates()
    copied.eliminate_zeros()
    if copied.nnz and not copied.data.min() >= 0:
        raise UsageError(f"{name} holds the weight {copied.data.min():g}; weights are 0 or more")
    return copied


def _check(
    counts: CsrMatrix, documents: CsrMatrix | None, eta: float, corpus: FloatArray | None, alpha: FloatArray | None
) -> None:
    K, V = counts.shape
    if not eta >= 0:
        raise UsageError(f"eta {eta}: the prior of terms in topics needs a number of 0 or more", parameter="eta")
    if corpus is not None and np.shape(corpus) != (V,):
        raise UsageError(
            f"corpus needs the frequency of each of the {V} terms, got {np.shape(corpus)}", parameter="corpus"
        )
    if documents is not None and documents.shape[1] != K:
        raise UsageError(f"doc_topic of shape {documents.shape} does not fit {K} topics", parameter="doc_topic")
    if alpha is not None and (documents is None or np.shape(alpha) != (K,) or not (np.asarray(alpha) >= 0).all()):
        raise UsageError(
            f"alpha smooths counts in doc_topic: it needs {K} numbers of 0 or more, got {alpha}", parameter="alpha"
        )


# ------------------------------------------------------------------------------------------------------------------------
# Semantic coherence and exclusivity of topics as R's stm has them: the two axes of its plots of models.

TOP = 10  # M of both functions
FREX_WEIGHT = 0.7  # of exclusivity against frequency, frexw


def semantic_coherence(words: IntArray | LongArray, counts: CsrMatrix) -> FloatArray:
    """Return the coherence of the top words of each topic (K,), at most 0; NaN for a topic with fewer than two.

        Σ over pairs (m, l) of log (D(m, l) + .01) - log (D(l, l) + .01),   D: documents with both words

    As semanticCoherence of R's stm 1.3.7, after Mimno et al. (2011), with its order of the two words of a pair: l is the one that
    appears first among the words of all topics, topic by topic, and not the more probable one of the topic.

    Args:
        words: (K, M) term ids, the best first, -1 where a topic has fewer; counts: (D, V) of the documents of the fit.
    """
    different, first = np.unique(words[words >= 0], return_index=True)
    order = different[np.argsort(first)]
    holds = sparse.csr_array(counts)[:, order].sign()
    together = (holds.T @ holds).toarray()
    place = np.empty(counts.shape[1], np.int64)
    place[order] = np.arange(len(order))
    values = np.log(together + 0.01) - np.log(np.diag(together) + 0.01)  # row m, column l
    pairs = (np.sort(place[row[row >= 0]]) for row in words)
    return np.array([np.tril(values[np.ix_(row, row)], -1).sum() if len(row) > 1 else np.nan for row in pairs])


def frex_exclusivity(phi: FloatArray, *, top: int = TOP, weight: float = FREX_WEIGHT) -> FloatArray:
    """Return the sum of FREX over the most probable words of each topic (K,), from 0 to `top`.

    As exclusivity of R's stm 1.3.7 (Airoldi and Bischof 2016), which shrinks nothing.

    Args:
        phi: (K, V).
    """
    return np.asarray(np.take_along_axis(frex(phi, weight=weight), top_words(phi, top), axis=1).sum(axis=1))


def frex(phi: FloatArray, *, weight: float = 0.5, cf: FloatArray | None = None) -> FloatArray:
    """Return FREX of all words (K, V), between 0 and 1.

        FREX_kv = 1 / (w / F_k(p_kv) + (1 - w) / F_k(φ_kv)),   p_kv = φ_kv / Σ_l φ_lv
        with cf: λ_v / K + (1 - λ_v) p_kv in place of p_kv,   λ_v = min(1, Σ_k p_kv (1 - p_kv) / (cf_v - 1) / Σ_k (p_kv - 1/K)²)

    F_k is the rank among the V terms / V, ties at their mean rank. The shrinkage (James and Stein; Hausser and Strimmer 2009) draws rare
    words to 1/K, and those that occur once are there. So does labelTopics of R's stm 1.3.7 (`js.estimate`), with w = ½.

    Args:
        phi: (K, V). cf: (V,) tokens of each word in the corpus; None: no shrinkage.
    """
    from scipy.stats import rankdata  # a third of a second, which a report without FREX has no use for

    exclusive: FloatArray = phi / np.maximum(phi.sum(axis=0), 1e-300)
    if cf is not None:
        K = len(phi)
        with np.errstate(divide="ignore"):  # by logarithms, as R has it: rounding then tells no shares next to 1 apart
            log_phi = np.log(phi)
        exclusive = np.exp(log_phi - np.logaddexp.reduce(log_phi, axis=0))
        variance = (exclusive * (1 - exclusive)).sum(axis=0) / np.maximum(cf - 1, 1e-300)
        away = ((exclusive - 1 / K) ** 2).sum(axis=0)
        shrunk = np.minimum(np.divide(variance, away, out=np.zeros(len(away)), where=away > 0), 1.0)
        shrunk[cf <= 1] = 1.0
        exclusive = shrunk / K + (1 - shrunk) * exclusive
    V = phi.shape[1]
    ranks: list[FloatArray] = [rankdata(each, axis=1) / V for each in (exclusive, phi)]
    return 1 / (weight / ranks[0] + (1 - weight) / ranks[1])


def top_words(weights: FloatArray, n: int) -> LongArray:
    """Return the n terms of each topic that weigh most (K, n), ties by the lower term id."""
    return np.argsort(-weights, axis=1, kind="stable")[:, :n]
