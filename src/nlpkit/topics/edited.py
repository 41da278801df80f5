"""Topics on embeddings after an edit: documents moved, topics merged and split, and all that is said of them worked out again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nlpkit.errors import InputError
from nlpkit.topics.assign import nearest_topics, topic_centroids
from nlpkit.topics.choose import merge_classes
from nlpkit.topics.clustering import Points
from nlpkit.topics.description import DistinctTexts, Membership, with_cores
from nlpkit.topics.edits import EditPlan, NewTopic, joined_topics, new_numbers, new_topics
from nlpkit.topics.fit_sample import by_neighbours
from nlpkit.topics.kmeans import KMeansFits, plain_view, smoothed
from nlpkit.topics.neighbours import nearest_neighbours
from nlpkit.types import NO_TOPIC, Float32Array, FloatArray, IntArray
from nlpkit.weighting.dtm import group_rows


@dataclass(frozen=True, slots=True)
class EditedTopics:
    """Topics after an edit, by their new numbers, and the topics of the points (U,).

    merges: pairs that `reduce` merged, as sources of both, and their similarity. outliers_moved: documents that were given a topic
    by `max_outliers`.
    """

    topics: tuple[NewTopic, ...]
    members: Membership
    merges: tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...]
    outliers_moved: int


def edited_topics(points: Points, distinct: DistinctTexts, members: Membership, K: int, plan: EditPlan) -> EditedTopics:
    """Return the topics of points after an edit of their K topics.

    Raises:
        InputError: a topic has fewer different documents than parts.
    """
    topics, into = new_topics(plan, K)
    before, members = members, members.renumbered(into)
    for k, parts in plan.split.items():
        inside = before.labels == k
        chosen = inside[points.fitted]
        part = np.full(len(chosen), NO_TOPIC, np.int32)
        part[chosen] = split_topic(points.embeddings[points.fitted[chosen]], parts, k, points)
        part = np.maximum(by_neighbours(points, part), 0)  # the largest part, where no neighbour is in the topic
        number = np.concatenate([[into[k]], len(topics) + np.arange(parts - 1)]).astype(np.int32)
        of_point = np.where(inside, number[part], NO_TOPIC).astype(np.int32)
        members = Membership(
            *(np.where((z >= 0) & (of_point >= 0), of_point, z) for z in (members.core, members.joined, members.labels))
        )
        topics += [replace(topics[int(into[k])], part=i) for i in range(1, parts)]
    merges: tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...] = ()
    if plan.reduce is not None and plan.reduce < len(topics):
        frozen = [i for i, topic in enumerate(topics) if topic.is_pinned]
        pairs, steps = merge_classes(group_rows(points.counts, members.labels, len(topics)), plan.reduce, frozen)
        merges = tuple((topics[a].sources, topics[b].sources, similarity) for a, b, similarity in steps)
        members, topics = members.renumbered(pairs), joined_topics(topics, pairs)
    members = with_cores(members, len(topics))
    moved = 0
    if plan.max_outliers is not None:
        members, moved = _with_fewer_outliers(points, distinct, members, len(topics), plan.max_outliers)
    of_document = distinct.spread(members.labels)
    size = np.bincount(of_document[of_document >= 0], minlength=len(topics))
    rank = new_numbers(topics, size, plan.reorder)
    ordered = tuple(topics[i] for i in np.argsort(rank))
    return EditedTopics(ordered, members.renumbered(rank), merges, moved)


def split_topic(embeddings: Float32Array, parts: int, number: int, points: Points) -> IntArray:
    """Return the part of each document of a topic (n,), the largest part 0: k-means as in the fit, within the topic alone.

    Args:
        embeddings: (n, E) of its different documents; number: of the topic, for messages.

    Raises:
        InputError: there are fewer documents than parts.
    """
    n = len(embeddings)
    few = InputError(
        f"topic {number} has {n} different document{'' if n == 1 else 's'}: it cannot be split into {parts}",
        parameter="edits",
    )
    if n < parts:
        raise few
    neighbours = nearest_neighbours(embeddings, k=points.options.n_neighbors - 1, threads=points.execution.n_threads())
    labels, _ = KMeansFits(plain_view(smoothed(embeddings, neighbours)), seed=points.execution.seed).fit(parts)
    sizes = np.bincount(labels, minlength=parts)
    if not sizes.all():
        raise few
    rank = np.empty(parts, np.int32)
    rank[np.lexsort((np.arange(parts), -sizes))] = np.arange(parts, dtype=np.int32)
    return rank[labels]


def _with_fewer_outliers(
    points: Points, distinct: DistinctTexts, members: Membership, K: int, share: float
) -> tuple[Membership, int]:
    """Give documents without a topic the nearest one, largest margin first, until at most a share of those with text has none."""
    copies = np.bincount(distinct.of_document[distinct.of_document >= 0], minlength=points.n)
    without = np.flatnonzero(members.labels == NO_TOPIC)
    centroids = topic_centroids(points.embeddings, members.core, K)
    nearest, _, margin = nearest_topics(points.embeddings, centroids, threads=points.execution.n_threads())
    order = without[np.lexsort((without, -margin[without]))]
    excess = int(copies[without].sum()) - math.floor(share * int(copies.sum()))
    before = np.cumsum(copies[order]) - copies[order]  # documents that were moved already
    chosen = order[before < excess]
    labels = members.labels.copy()
    labels[chosen] = nearest[chosen]
    return replace(members, labels=labels), int(copies[chosen].sum())


def remembered_stability(
    layers: Sequence[tuple[IntArray, FloatArray]],
) -> Callable[[IntArray, int], FloatArray]:
    """Return a function that gives topics of points (U,) the stability they have in a run, NaN for those with other documents.

    A topic may be in several layers of the run: the layer of as many topics counts, else the first.

    Args:
        layers: topics of the points (U,) and their stability (K,) at each resolution of the run, the topics themselves first.
    """
    known: dict[tuple[int, bytes], float] = {}
    for labels, values in layers:
        for k, value in enumerate(values):
            members = np.flatnonzero(labels == k).tobytes()
            known.setdefault((len(values), members), float(value))
            known.setdefault((0, members), float(value))

    def stability(labels: IntArray, K: int) -> FloatArray:
        members = [np.flatnonzero(labels == k).tobytes() for k in range(K)]
        return np.array([known.get((K, one), known.get((0, one), np.nan)) for one in members])

    return stability


def finer_division(labels: IntArray) -> IntArray:
    """Return labels (U,) of a finer layer as a division of all points: those without a topic there are a part of their own."""
    return np.where(labels >= 0, labels, labels.max(initial=-1) + 1).astype(np.int32)
