"""The words, names and descriptions of topics, and the test whether two topics are one.

Parts, in this order:
- Topics that tell the same in two places: pairs to join, and what joining changes under a Dirichlet prior of the words.
- The words of topics: over-represented in typical documents, and near the topic in the space of the embeddings.
- Names of topics from their top terms.
- Description of the topics of an LDA model: sizes, names, words, scores, typical documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from nlpkit.metrics.topics.coherence import npmi_by_document, postings
from nlpkit.metrics.topics.diversity import exclusivity, unique_share
from nlpkit.platform.types import BoolArray, CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.text.normalize import same_word
from nlpkit.topics.base.by_term import WeightedTerms, weighted_terms
from nlpkit.topics.base.diagnostics import TopicDiagnostics, topic_diagnostics
from nlpkit.topics.base.model import MainTopics, MixtureModel, main_topics
from nlpkit.weights.ctfidf import TopTerms, class_tfidf, top_terms, values_of
from nlpkit.weights.dtm import count_terms, group_rows, scale_rows, without_terms

if TYPE_CHECKING:
    from nlpkit.cluster.neighbours import Neighbours


def joined(n_kv: IntArray, eta: float, gain: Callable[[int, int], float]) -> LongArray:
    """Return for each topic (K,) the one that it is joined to, itself for most.

    A topic is joined to the one whose words are most like its own (cosine of counts), the most alike pairs first and a topic once at
    most, where that raises log p(w | z) and all else by more than 0.

    Args:
        n_kv: (K, V) counts. gain: change of all else when two topics become one.
    """
    into = np.arange(len(n_kv))
    if len(n_kv) < 2:
        return into
    counts = sparse.csr_array(n_kv.astype(np.float64))
    cosine = (counts @ counts.T).toarray()
    lengths = np.sqrt(np.maximum(np.diag(cosine), 1e-300))  # of a topic without words: alike to none
    cosine /= lengths * lengths[:, None]
    np.fill_diagonal(cosine, -1.0)
    nearest, taken = cosine.argmax(axis=1), np.zeros(len(n_kv), bool)
    for a in np.argsort(-cosine.max(axis=1), kind="stable"):
        b = nearest[a]
        if not (taken[a] or taken[b]) and gain(a, b) + gain_of_words(n_kv[a], n_kv[b], eta) > 0:
            into[max(a, b)] = min(a, b)
            taken[[a, b]] = True
    return into


def gain_of_words(one: IntArray, other: IntArray, eta: float) -> float:
    """Return the change of log p(w | z) when two topics of counts n_kv (V,) become one."""
    from scipy.special import gammaln

    both = np.flatnonzero((one > 0) & (other > 0))
    words = gammaln(one[both] + other[both] + eta) - gammaln(one[both] + eta) - gammaln(other[both] + eta)
    a, b, V = one.sum(), other.sum(), len(one)
    totals = gammaln(a + b + V * eta) - gammaln(a + V * eta) - gammaln(b + V * eta) + gammaln(V * eta)
    return float(words.sum() + len(both) * gammaln(eta) - totals)


# ------------------------------------------------------------------------------------------------------------------------
# The words of topics: over-represented in typical documents, and near the topic in the space of the embeddings.

TYPICALITY_POWER = 4
LEAST_NEARNESS = 0.01  # of a term that points away from its topic, so that no topic is without words
TERM_SHARE = 0.02
LEAD_POWER = 0.5  # of share_of_best
FEWEST_CORE_TERMS = 5
CANDIDATE_TERMS = 100


def topic_terms(
    embeddings: Float32Array, neighbours: Neighbours, counts: CsrMatrix, topics: IntArray, K: int, n: int
) -> TopTerms:
    """Return the terms of `terms_of_cores`."""
    return terms_of_cores(embeddings, neighbours, counts, topics, K, n)[0]


def terms_of_cores(
    embeddings: Float32Array, neighbours: Neighbours, counts: CsrMatrix, topics: IntArray, K: int, n: int
) -> tuple[TopTerms, BoolArray]:
    """Return the n terms of each topic (K, n) of highest weight, and `few_core_terms` (K,).

    The weight is c-tf-idf in the typical documents of a topic times `nearness` times the root of `share_of_best`.

    Against c-tf-idf alone, words that occur in documents of every kind give way to words of the topic: coherence and diversity
    both rise (docs/benchmarks/topic-words.md). A topic of a few texts that are there again and again has hardly a term that two
    different ones of them hold: its terms are those of c-tf-idf alone.

    Args:
        embeddings: (U, E) rows L2-normalised; counts: (U, V) counts; topics: (U,) topic of each document or -1, each of K there.
    """
    from nlpkit.cluster.assign import similarity_to_topic, topic_centroids

    centroids = topic_centroids(embeddings, topics, K)
    typical = typicality(topics, similarity_to_topic(embeddings, centroids, topics), neighbours)
    core = core_term_weights(counts, topics, typical, K)
    every = group_rows(counts, topics, K)
    few = few_core_terms(core, every)
    keep, fill = (sparse.diags_array(chosen.astype(np.float64)) for chosen in (~few, few))
    weights = sparse.csr_array(keep @ core + fill @ class_tfidf(every)) if few.any() else core
    best = top_terms(weights, max(CANDIDATE_TERMS, n))
    near = np.maximum(nearness(embeddings, counts, best.term_ids, centroids), LEAST_NEARNESS)
    near[few] = 1.0
    scores = np.where(best.term_ids >= 0, best.weights * near, 0.0)
    lead = share_of_best(scores, best.term_ids, counts.shape[1]) ** LEAD_POWER
    lead[few] = 1.0
    scores = np.where(best.term_ids >= 0, scores * lead, -1.0)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    term_ids = np.take_along_axis(best.term_ids, order, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    return TopTerms(term_ids, np.where(term_ids >= 0, ranked, 0.0).astype(np.float32)), few


def share_of_best(scores: FloatArray, term_ids: IntArray, V: int) -> FloatArray:
    """Return the score of terms in a topic as a share of that in the topic where it is highest (K, n), in [0, 1].

    Scores count relative to the ten highest of their topic, so that topics of many words do not win. Terms of several topics
    thereby come later in all but one of them.

    Args:
        scores: (K, n) of at least 0; term_ids: (K, n), of V terms, -1 for none, whose score is 0.
    """
    ten_best = np.sort(scores, axis=1)[:, -10:].sum(axis=1, keepdims=True)
    relative = np.divide(scores, ten_best, out=np.zeros_like(scores), where=ten_best > 0)
    best = np.zeros(V)
    np.maximum.at(best, term_ids, relative)
    highest = best[term_ids]
    share: FloatArray = np.divide(relative, highest, out=np.zeros_like(scores), where=highest > 0)
    return share


def nearness(embeddings: Float32Array, counts: CsrMatrix, term_ids: IntArray, centroids: Float32Array) -> FloatArray:
    """Return the nearness of terms to their topics (K, n), in [-1, 1]; 1 for a topic that is the mean of all documents.

    The vector t of a term is the mean embedding of the n documents that hold it, c that of a topic, m that of all N:

        (t - m) · (c - m) / (|c - m| √(|t - m|² + r²)),   r² = (1/n - 1/N) (1 - |m|²)

    This is a cosine, lower for a term whose vector is no longer than that of n documents drawn at random, which is r in
    expectation. It tells what a word means in this corpus, in whatever language, without asking the encoder, whose vectors
    of single words are of their general meaning only.

    Args:
        embeddings: (U, E) rows L2-normalised; counts: (U, V); term_ids: (K, n), -1 for none; centroids: (K, E).
    """
    from nlpkit.cluster.neighbours import unit_rows

    used = np.unique(term_ids[term_ids >= 0])
    if not len(used):
        return np.ones(term_ids.shape)
    held = sparse.csc_array(counts)[:, used].T.tocsr()
    held.data = np.ones(len(held.data), np.float32)
    mean = embeddings.mean(axis=0, dtype=np.float64)
    n = np.diff(held.indptr)[:, None]
    vectors = np.asarray(held @ embeddings) / n - mean
    chance = (1 / n - 1 / len(embeddings)) * max(1 - mean @ mean, 0.0)
    length = np.sqrt((vectors**2).sum(axis=1, keepdims=True) + chance)
    vectors = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-6)
    directions = centroids - mean
    place = np.searchsorted(used, np.maximum(term_ids, 0))
    near = np.empty(term_ids.shape)
    for k, direction in enumerate(unit_rows(directions)):
        near[k] = np.einsum("ne,e->n", vectors[place[k]], direction)
    return np.where(np.linalg.norm(directions, axis=1)[:, None] > 1e-6, near, 1.0)


def core_term_weights(counts: CsrMatrix, topics: IntArray, typical: FloatArray, K: int) -> CsrMatrix:
    """Return the c-tf-idf weights (K, V) of topics whose documents count by how typical they are.

    A term that a document has tf times counts ln(1 + tf) there. Left out are terms that fewer than one in fifty documents of a
    topic hold (at least two, if there are two): a word that one long document repeats does not describe a topic.

    Args:
        counts: (U, V); topics: (U,) topic of each document or -1; typical: (U,) `typicality` of each document.
    """
    damped = sparse.csr_array((np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape)
    weights = class_tfidf(group_rows(scale_rows(damped, typical), topics, K))
    present = sparse.csr_array((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)
    holders = group_rows(present, topics, K)
    size = np.bincount(topics[topics >= 0], minlength=K)
    least = np.minimum(np.maximum(2, np.ceil(TERM_SHARE * size)), size)
    holders.data = (holders.data >= np.repeat(least, np.diff(holders.indptr))).astype(np.float64)
    return sparse.csr_array(weights.multiply(holders))


def few_core_terms(core: CsrMatrix, counts: CsrMatrix) -> BoolArray:
    """Return which topics (K,) have fewer than five terms left by `core_term_weights`, and under half of those they hold.

    Args:
        core: (K, V) weights that `core_term_weights` returns; counts: (K, V) counts in all documents of the topics.
    """
    left, held = ((matrix > 0).sum(axis=1) for matrix in (core, counts))
    return np.asarray((left < FEWEST_CORE_TERMS) & (2 * left < held))


def typicality(labels: IntArray, cosine: Float32Array, neighbours: Neighbours) -> FloatArray:
    """Return how much each point counts for the words of its topic (U,), 1 on average in a topic: (p · s)⁴.

    p is the share of its neighbours' votes for its topic, s its cosine to the centroid. Words then come from the core of a
    topic, not from its rim: on news corpora both NPMI and diversity rise against counting all documents alike.
    """
    from nlpkit.cluster.assign import vote

    share = vote(neighbours, labels, self_topics=labels).prob_of(labels).astype(np.float64)
    weight = np.where(labels >= 0, (share * np.maximum(cosine, 0.0)) ** TYPICALITY_POWER, 0.0)
    K = int(labels.max()) + 1
    assigned = labels >= 0
    sums = np.bincount(labels[assigned], weights=weight[assigned], minlength=K)
    mean = sums / np.maximum(np.bincount(labels[assigned], minlength=K), 1)
    scale = np.divide(1.0, mean, out=np.ones(K), where=mean > 0)
    even = mean == 0  # no document agrees with the centroid: all count alike
    return np.where(assigned, np.where(even[labels], 1.0, weight * scale[labels]), 0.0)


def leading_term(top_terms: IntArray) -> tuple[int, int] | None:
    """Return the term that comes first in more than a quarter of the topics, and in at least two, and in how many; else None.

    Args:
        top_terms: (K, n) terms of each topic, best first, -1 for none.
    """
    if not top_terms.size:
        return None
    first = top_terms[:, 0]
    terms, counts = np.unique(first[first >= 0], return_counts=True)
    if not len(terms):
        return None
    at = int(counts.argmax())
    return (int(terms[at]), int(counts[at])) if counts[at] >= 2 and counts[at] > len(first) / 4 else None


def share_in_topic(term_ids: IntArray, counts: CsrMatrix) -> FloatArray:
    """Return tf_kv / Σ_l tf_lv of given terms of each topic (K, n), 0 where there is no term (-1), or it does not occur."""
    matrix = sparse.csr_array(counts)
    matrix.sort_indices()
    stored, totals = np.nan_to_num(values_of(matrix, term_ids)), np.asarray(counts.sum(axis=0)).ravel()[term_ids]
    shares: FloatArray = np.divide(stored, totals, out=np.zeros(term_ids.shape), where=totals > 0)
    return shares


# ------------------------------------------------------------------------------------------------------------------------
# Names of topics from their top terms.

LABEL_TERMS = 3
EXCLUSIVE_TERMS = 20


def topic_names(term_ids: IntArray, vocabulary: Sequence[str]) -> tuple[str, ...]:
    """Return a name of each topic, its first terms (see `topic_label`): three, or as many as tell it from the other topics.

    Args:
        term_ids: (K, n) terms of the topics, best first, -1 for none.
    """
    rows = [[vocabulary[t] for t in row if t >= 0] for row in term_ids]
    return unique_names(lambda k, n: topic_label(rows[k], n), len(rows), LABEL_TERMS, term_ids.shape[1])


def phrase_names(
    phrases: Sequence[Sequence[str]], before: Sequence[str], *, longest: int, further: int
) -> tuple[str, ...]:
    """Return a name of each topic (K,), its first phrases: as many as have up to `longest` words, or as tell it from the others.

    Args:
        phrases (K,): of each topic, best first; none where the name of before (K,) stays. further: phrases beyond these, at most.
    """

    def name(k: int, n: int) -> str:
        lengths = np.cumsum([len(phrase.split()) for phrase in phrases[k]])
        fitting = max(int((lengths <= longest).sum()), 1)
        return ", ".join(phrases[k][: fitting + n]) if len(lengths) else before[k]

    return unique_names(name, len(before), 0, further)


def unique_names(name: Callable[[int, int], str], n_topics: int, shortest: int, longest: int) -> tuple[str, ...]:
    """Return name(k, n) of each topic k, n as small as tells it from the others; with its number where no n does."""
    names = [name(k, shortest) for k in range(n_topics)]
    for n in range(shortest + 1, longest + 1):
        times = Counter(names)
        names = [name(k, n) if times[of_topic] > 1 else of_topic for k, of_topic in enumerate(names)]
    times = Counter(names)
    return tuple(f"{one or 'topic'} {k}" if not one or times[one] > 1 else one for k, one in enumerate(names))


def exclusive_terms(counts: CsrMatrix, hidden: Sequence[int] = ()) -> IntArray:
    """Return the terms of highest c-tf-idf times share in the topic (K, 20): a word of all topics names none.

    Args:
        counts: (K, V) term counts of the topics. hidden: terms that name no topic.
    """
    counts = without_terms(counts, hidden) if len(hidden) else counts
    best = top_terms(class_tfidf(counts), EXCLUSIVE_TERMS)
    order = np.argsort(-best.weights * share_in_topic(best.term_ids, counts), axis=1, kind="stable")
    return np.take_along_axis(best.term_ids, order, axis=1)


def topic_label(terms: Sequence[str], n: int = LABEL_TERMS) -> str:
    """Return a name of up to n terms, best first, skipping forms of a word that is already in it.

    Two terms are forms of one word when they share a prefix of at least four letters that leaves at most three letters
    of either (rate, rates; bank, banking), or one holds the other whole with at least four letters (court, high-court).
    """
    chosen: list[str] = []
    for term in terms:
        if len(chosen) == n:
            break
        if not any(same_word(term, other) for other in chosen):
            chosen.append(term)
    return ", ".join(chosen)


# ------------------------------------------------------------------------------------------------------------------------
# Description of the topics of an LDA model: sizes, names, words, scores, typical documents.

TERMS = 30
SCORED_TERMS = 10
REPRESENTATIVES = 3


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """Topics (K,) and the main topics of documents (D,).

    size: documents whose main topic it is; share: of the tokens; representatives (K, 3): documents in which the topic has the
    highest theta, -1 for none, as for topics that are the main one of no document; relevant (K, 10): the terms a reader is
    shown, of highest relevance, -1 for none; npmi and exclusivity of the ten most probable terms; diversity: share of
    different ones among them.
    """

    main: MainTopics
    size: LongArray
    share: FloatArray
    labels: tuple[str, ...]
    terms: WeightedTerms
    relevant: IntArray
    npmi: FloatArray
    exclusivity: FloatArray
    diversity: float
    diagnostics: TopicDiagnostics
    representatives: LongArray


def describe_topics(
    model: MixtureModel,
    doc_topic: CsrMatrix,
    tokens: TokenTable,
    *,
    assignments: IntArray | None = None,
    names: tuple[str, ...] = (),
    n_terms: int = TERMS,
    relevance_lambda: float = 0.6,
    hidden_terms: Sequence[int] = (),
) -> TopicDescription:
    """Describe the topics of a model on the corpus it was fitted to.

    Args:
        doc_topic: (D, K) counts n_dk; tokens: the corpus; assignments: (N,) topics of its tokens, for MALLET's diagnostics.
        names: given names of topics, "" where the terms shall name it. hidden_terms: terms that describe no topic.
    """
    K = model.n_topics
    main = main_topics(doc_topic, model.alpha)
    tokens_of_topic = np.asarray(doc_topic.sum(axis=0), np.float64).ravel()
    dtm = count_terms(tokens)
    held = np.asarray(model.topic_term.sum(axis=0)).ravel() > 0
    # a term that only fixed topics hold has no frequency here: it is taken for one that occurs once
    cf = np.maximum(np.bincount(tokens.term_ids, minlength=tokens.n_terms), held).astype(np.float64)
    weigh = partial(
        weighted_terms, model.topic_term, model.eta, cf=cf, relevance_lambda=relevance_lambda, hidden=hidden_terms
    )
    terms, shown = weigh(n=n_terms), weigh(n=SCORED_TERMS, by="relevance")
    size = np.bincount(main.topic[main.topic >= 0], minlength=K)
    representatives = typical_documents(doc_topic, model.alpha, REPRESENTATIVES)
    representatives[size == 0] = -1
    top = np.ascontiguousarray(terms.term_ids[:, :SCORED_TERMS])
    generated = topic_names(exclusive_terms(model.topic_term, hidden_terms), model.terms)
    requested = (*names, *[""] * (K - len(names)))
    return TopicDescription(
        main=main,
        size=size,
        share=tokens_of_topic / max(tokens_of_topic.sum(), 1),
        labels=tuple(name or automatic for name, automatic in zip(requested, generated, strict=True)),
        terms=terms,
        relevant=shown.term_ids,
        npmi=npmi_by_document(top, postings(dtm)),
        exclusivity=exclusivity(top, share_in_topic(top, model.topic_term)),
        diversity=unique_share(top),
        diagnostics=topic_diagnostics(
            model.topic_term, doc_topic, tokens, alpha=model.alpha, eta=model.eta, assignments=assignments
        ),
        representatives=representatives,
    )


def typical_documents(doc_topic: CsrMatrix, alpha: FloatArray, n: int) -> LongArray:
    """Return for each topic the n documents of highest theta that hold it (K, n), ties to the earlier one, -1 for none."""
    lengths = np.asarray(doc_topic.sum(axis=1), np.float64).ravel()
    columns = sparse.csc_array(doc_topic)
    columns.sort_indices()
    typical = np.full((doc_topic.shape[1], n), -1, np.int64)
    for k in range(doc_topic.shape[1]):
        here = slice(columns.indptr[k], columns.indptr[k + 1])
        documents = columns.indices[here]
        theta = (columns.data[here] + alpha[k]) / (lengths[documents] + alpha.sum())
        if len(theta) > n:
            least = np.partition(theta, len(theta) - n)[len(theta) - n]
            best = np.flatnonzero(theta >= least)
            documents, theta = documents[best], theta[best]
        order = np.argsort(-theta, kind="stable")[:n]
        typical[k, : len(order)] = documents[order]
    return typical
