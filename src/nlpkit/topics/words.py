"""The words of topics: over-represented in typical documents, and near the topic in the space of the embeddings."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.topics.assign import similarity_to_topic, topic_centroids, vote
from nlpkit.topics.neighbours import Neighbours, unit_rows
from nlpkit.types import BoolArray, CsrMatrix, Float32Array, FloatArray, IntArray
from nlpkit.weighting.ctfidf import TopTerms, class_tfidf, top_terms
from nlpkit.weighting.dtm import group_rows, scale_rows

TYPICALITY_POWER = 4
LEAST_NEARNESS = 0.01  # of a term that points away from its topic, so that no topic is without words
TERM_SHARE = 0.02
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
    """Return the n terms of each topic (K, n) of highest c-tf-idf in its typical documents times `nearness`, and `few_core_terms` (K,).

    Against c-tf-idf alone, words that occur in documents of every kind give way to words of the topic: coherence and diversity
    both rise (docs/benchmarks/topic-words.md). A topic of a few texts that are there again and again has hardly a term that two
    different ones of them hold: its terms are those of c-tf-idf alone.

    Args:
        embeddings: (U, E) rows L2-normalised; counts: (U, V) counts; topics: (U,) topic of each document or -1, each of K there.
    """
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
    scores = np.where(best.term_ids >= 0, best.weights * near, -1.0)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    term_ids = np.take_along_axis(best.term_ids, order, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    return TopTerms(term_ids, np.where(term_ids >= 0, ranked, 0.0).astype(np.float32)), few


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

    Left out are terms that fewer than one in fifty documents of a topic hold (at least two, if there are two): a word that one
    long document repeats does not describe a topic.

    Args:
        counts: (U, V); topics: (U,) topic of each document or -1; typical: (U,) `typicality` of each document.
    """
    weights = class_tfidf(group_rows(scale_rows(counts, typical), topics, K))
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
    """Return tf_kv / Σ_l tf_lv of given terms of each topic (K, n), 0 where there is no term (-1)."""
    totals = np.asarray(counts.sum(axis=0)).ravel()
    matrix = sparse.csr_array(counts)
    matrix.sort_indices()
    shares = np.zeros(term_ids.shape)
    for k, row in enumerate(term_ids):
        terms = matrix.indices[matrix.indptr[k] : matrix.indptr[k + 1]]
        present = row >= 0
        at = np.searchsorted(terms, row[present])
        shares[k, present] = matrix.data[matrix.indptr[k] + at] / totals[row[present]]
    return shares
