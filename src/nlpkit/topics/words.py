"""The words of topics: whose documents they come from, and the names made of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.topics.assign import vote
from nlpkit.topics.naming import topic_label
from nlpkit.topics.neighbours import Neighbours
from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray
from nlpkit.weighting.ctfidf import class_tfidf, top_terms
from nlpkit.weighting.dtm import group_rows, scale_rows

TYPICALITY_POWER = 4
TERM_SHARE = 0.05
CANDIDATE_TERMS = 20


def core_term_weights(dtm: CsrMatrix, topics: IntArray, typical: FloatArray, K: int) -> CsrMatrix:
    """Return the c-tf-idf weights (K, V) of topics whose documents count by how typical they are.

    Left out are terms that fewer than one in twenty documents of a topic hold (at least two): a word that one long
    document repeats does not describe a topic.

    Args:
        dtm: (D, V) counts; topics: (D,) topic of each document or -1; typical: (D,) `typicality` of each document.
    """
    weights = class_tfidf(group_rows(scale_rows(dtm, typical), topics, K))
    present = sparse.csr_array((np.ones_like(dtm.data), dtm.indices, dtm.indptr), shape=dtm.shape)
    holders = group_rows(present, topics, K)
    least = np.maximum(2, np.ceil(TERM_SHARE * np.bincount(topics[topics >= 0], minlength=K)))
    holders.data = (holders.data >= np.repeat(least, np.diff(holders.indptr))).astype(np.float64)
    return sparse.csr_array(weights.multiply(holders))


def typicality(labels: IntArray, cosine: Float32Array, neighbours: Neighbours) -> FloatArray:
    """Return how much each point counts for the words of its topic (U,), 1 on average in a topic: (p · s)⁴.

    p is the share of its neighbours' votes for its topic, s its cosine to the centroid. Words then come from the core of a
    topic, not from its rim: on news corpora both NPMI and diversity rise against counting all documents alike.
    """
    share = vote(neighbours, labels, self_topics=labels).prob_of(labels).astype(np.float64)
    weight = np.where(labels >= 0, (share * np.maximum(cosine, 0.0)) ** TYPICALITY_POWER, 0.0)
    K = int(labels.max()) + 1
    assigned = labels >= 0
    mean = np.bincount(labels[assigned], weights=weight[assigned], minlength=K) / np.bincount(
        labels[assigned], minlength=K
    )
    scale = np.divide(1.0, mean, out=np.ones(K), where=mean > 0)
    even = mean == 0  # no document agrees with the centroid: all count alike
    return np.where(assigned, np.where(even[labels], 1.0, weight * scale[labels]), 0.0)


def topic_names(counts: CsrMatrix, vocabulary: tuple[str, ...]) -> tuple[str, ...]:
    """Name topics by the terms of highest c-tf-idf times share in the topic: a word of all topics names none.

    Names come from all documents of a topic, so that they hold for each of them.

    Args:
        counts: (K, V) term counts of the topics.
    """
    best = top_terms(class_tfidf(counts), CANDIDATE_TERMS)
    share = share_in_topic(best.term_ids, counts)
    names = []
    for k, row in enumerate(best.term_ids):
        order = np.argsort(-best.weights[k] * share[k], kind="stable")
        names.append(topic_label([vocabulary[row[i]] for i in order if row[i] >= 0]) or f"topic {k}")
    return tuple(names)


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
