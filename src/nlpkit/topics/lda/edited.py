"""An LDA model after an edit of its topics, and the counts of words expected in some documents.

Parts, in this order:
- An LDA model after an edit of its topics: merged topics are the sums of their counts and priors, dropped ones go.
- How often a topic has a word in some documents, expected from the mixtures of these and the words of the topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.topics.base.model import MixtureModel, main_topics
from nlpkit.topics.bertopic.choose import merge_classes
from nlpkit.topics.edit.edits import EditPlan, NewTopic, joined_topics, new_numbers, new_topics


@dataclass(frozen=True, slots=True)
class EditedModel:
    """A model after an edit: topics by their new numbers, doc_topic (D, K') n_dk, into (K,) what each topic became, -1 for none.

    merges: pairs that `reduce` merged, as sources of both, and their similarity.
    """

    model: MixtureModel
    doc_topic: CsrMatrix
    topics: tuple[NewTopic, ...]
    into: IntArray
    merges: tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...]


def edited_model(model: MixtureModel, doc_topic: CsrMatrix, plan: EditPlan) -> EditedModel:
    """Return a model whose topics are merged, dropped and renumbered.

    A merged topic has the sums of the counts and of α of its parts: n_kv and n_dk add up, so that θ of a document adds up exactly,
    and φ is that of the tokens of both. Where topics are dropped, θ is that of the tokens that are left.

    Args:
        doc_topic: (D, K) n_dk.
    """
    topics, into = new_topics(plan, model.n_topics)
    merges: tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...] = ()
    if plan.reduce is not None and plan.reduce < len(topics):
        frozen = [i for i, topic in enumerate(topics) if topic.is_pinned]
        counts = _sums(into, len(topics)) @ model.topic_term
        pairs, steps = merge_classes(sparse.csr_array(counts), plan.reduce, frozen)
        merges = tuple((topics[a].sources, topics[b].sources, similarity) for a, b, similarity in steps)
        into, topics = np.where(into >= 0, pairs[into], -1).astype(np.int32), joined_topics(topics, pairs)
    alpha = _sums(into, len(topics)) @ model.alpha
    main = main_topics(_columns(doc_topic, into, len(topics)), alpha).topic
    rank = new_numbers(topics, np.bincount(main[main >= 0], minlength=len(topics)), plan.reorder)
    into = np.where(into >= 0, rank[into], -1).astype(np.int32)
    summed = _sums(into, len(topics))
    topic_term = sparse.csr_array(summed.astype(model.topic_term.dtype) @ model.topic_term)
    topic_term.sort_indices()
    edited = MixtureModel(model.terms, topic_term, np.asarray(summed @ model.alpha), model.eta)
    return EditedModel(
        edited, _columns(doc_topic, into, len(topics)), tuple(topics[i] for i in np.argsort(rank)), into, merges
    )


def _sums(into: IntArray, K: int) -> CsrMatrix:
    """Return the matrix (K', K) that adds up what becomes one topic."""
    old = np.flatnonzero(into >= 0)
    return sparse.csr_array((np.ones(len(old)), (into[old], old)), shape=(K, len(into)))


def _columns(doc_topic: CsrMatrix, into: IntArray, K: int) -> CsrMatrix:
    """Return n_dk (D, K') of the new topics."""
    columns = sparse.csr_array(doc_topic @ _sums(into, K).T.astype(doc_topic.dtype))
    columns.sort_indices()
    return columns


def edited_assignments(assignments: IntArray, into: Sequence[int] | IntArray) -> IntArray:
    """Return the topics of tokens (N,) after an edit."""
    return np.asarray(into, np.int32)[assignments]


# ------------------------------------------------------------------------------------------------------------------------
# How often a topic has a word in some documents, expected from the mixtures of these and the words of the topics.

LEAST_SHARE = 0.01  # of an occurrence that is counted for a topic


class ExpectedCounts:
    """Sums n_ckv = Σ_d∈c tf_dv p(k | d, v) over classes c of documents, batch by batch.

        p(k | d, v) = θ_dk φ_kv / Σ_j θ_dj φ_jv,   φ_kv = (n_kv + η) / (n_k + V η)

    The E step of EM for LDA (Hofmann 1999, eq. 3; Blei et al. 2003, eq. 6), over the topics that θ lists for the document; shares
    under a hundredth are left out.
    """

    def __init__(self, model: MixtureModel) -> None:
        """Start with the words of a model (K, V)."""
        counts = sparse.csr_array(model.topic_term, dtype=np.float64)
        counts.sort_indices()
        self._V, self._eta = model.n_terms, model.eta
        rows = np.repeat(np.arange(counts.shape[0], dtype=np.int64), np.diff(counts.indptr))
        self._places: LongArray = rows * self._V + counts.indices
        self._counts: FloatArray = counts.data
        self._length: FloatArray = np.asarray(counts.sum(axis=1), np.float64).ravel() + self._V * self._eta
        self._keys: list[LongArray] = []
        self._values: list[FloatArray] = []

    def add(self, classes: LongArray, theta: CsrMatrix, counts: CsrMatrix) -> None:
        """Add documents: classes (D, ) -1 for none, of which topic k has class c · K + k; theta (D, K) CSR; counts (D, V) CSR."""
        lengths = np.diff(counts.indptr)
        document = np.repeat(np.arange(len(lengths)), lengths)
        used = np.flatnonzero(classes[document] >= 0)
        document, term, tf = document[used], counts.indices[used].astype(np.int64), counts.data[used].astype(np.float64)
        listed = np.diff(theta.indptr)[document]
        entry = np.repeat(np.arange(len(document)), listed)
        first = np.repeat(np.cumsum(listed) - listed, listed)
        at = theta.indptr[document][entry] + np.arange(len(entry)) - first
        topic = theta.indices[at].astype(np.int64)
        weight = theta.data[at] * self._phi(topic, term[entry])
        total = np.bincount(entry, weights=weight, minlength=len(document))
        share = weight / np.maximum(total[entry], 1e-300)
        kept = share >= LEAST_SHARE
        entry, topic, share = entry[kept], topic[kept], share[kept]
        keys = (classes[document[entry]] * theta.shape[1] + topic) * self._V + term[entry]
        distinct, place = np.unique(keys, return_inverse=True)
        self._keys.append(distinct)
        values: FloatArray = np.bincount(place, weights=tf[entry] * share, minlength=len(distinct)).astype(np.float64)
        self._values.append(values)

    def _phi(self, topic: LongArray, term: LongArray) -> FloatArray:
        """Return φ_kv of pairs of topics and terms."""
        keys = topic * self._V + term
        at = np.minimum(np.searchsorted(self._places, keys), max(len(self._places) - 1, 0))
        n = np.where(self._places[at] == keys, self._counts[at], 0.0) if len(self._places) else np.zeros(len(keys))
        return np.asarray((n + self._eta) / self._length[topic], np.float64)

    def finish(self, order: LongArray) -> CsrMatrix:
        """Return the sums (R, V) float64 CSR of the rows c · K + k that are asked for, which ascend."""
        keys = np.concatenate([np.zeros(0, np.int64), *self._keys])
        values = np.concatenate([np.zeros(0), *self._values])
        row = np.searchsorted(order, keys // self._V)
        asked = (
            (row < len(order)) & (order[np.minimum(row, max(len(order) - 1, 0))] == keys // self._V)
            if len(order)
            else row < 0
        )
        places = (row[asked], keys[asked] % self._V)
        matrix = sparse.coo_array((values[asked], places), shape=(len(order), self._V)).tocsr()
        matrix.sort_indices()
        return matrix
