"""An LDA model after an edit of its topics: merged topics are the sums of their counts and priors, dropped ones go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.topics.choose import merge_classes
from nlpkit.topics.edits import EditPlan, NewTopic, joined_topics, new_numbers, new_topics
from nlpkit.topics.mixtures.model import MixtureModel, main_topics
from nlpkit.types import CsrMatrix, IntArray


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
