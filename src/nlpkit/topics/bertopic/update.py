"""Topics on embeddings changed after a fit: edited by people, or updated with newer documents.

Parts, in this order:
- Topics on embeddings after an edit: documents moved, topics merged and split, and all that is said of them worked out
  again.
- Topics of a run with newer documents: those that fit a topic join it, groups of a matter that the run did not have
  become topics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from nlpkit.cluster.assign import mean_similarity, nearest_topics, rule, topic_centroids, vote
from nlpkit.cluster.hierarchy import KMeansFits, plain_view, smoothed
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.errors import InputError
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import NO_TOPIC, BoolArray, Float32Array, FloatArray, IntArray
from nlpkit.topics.bertopic.choose import merge_classes
from nlpkit.topics.bertopic.clustering import Points, by_neighbours
from nlpkit.topics.bertopic.description import DistinctTexts, Membership, with_cores
from nlpkit.topics.edit.edits import EditPlan, NewTopic, joined_topics, new_numbers, new_topics
from nlpkit.weights.dtm import group_rows


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


# ------------------------------------------------------------------------------------------------------------------------
# Topics of a run with newer documents: those that fit a topic join it, groups of a matter that the run did not have become topics.
#
# The topics of the run stay; what is new is found in a finer division of all documents together.

FINER = 2  # groups of all documents for each topic of the run
OLD_SHARE = 0.25  # of what the share of old documents in a group would be, above which a group is of a known matter
CHANCE = 0.01  # of one such group among all, if documents old and new were mixed


@dataclass(frozen=True, slots=True)
class UpdatedTopics:
    """Topics of all points, those of the run by their numbers, new ones after them by size.

    n_new: new topics. novel (U,): new points that are unlike all documents of the run and in no new topic.
    """

    members: Membership
    n_new: int
    novel: BoolArray


def updated_topics(
    points: Points, is_new: BoolArray, members: Membership, K: int, *, least_similarity: float
) -> UpdatedTopics:
    """Return the topics of old and new points (U,).

    A new document has the topic that the rule for new text gives it, by its neighbours among the old documents that were fitted, and
    none where it is unlike them. Groups of new matter (`new_groups`) become topics of their own, with the old documents in them.

    Args:
        is_new: (U,) points that are in new documents alone. members: topics of the old points, -1 for new ones; K of them.
        least_similarity: bound of the run, see `novelty.least_similarity`.
    """
    threads, X = points.execution.n_threads(), points.embeddings
    old, new = points.fitted[~is_new[points.fitted]], np.flatnonzero(is_new)
    near = nearest_neighbours(X[new], X[old], k=points.options.n_neighbors - 1, threads=threads)
    topics, _ = rule(vote(near, members.labels[old]))
    unlike = mean_similarity(near) < least_similarity
    joined = members.joined.copy()
    joined[new] = np.where(unlike, NO_TOPIC, topics)
    labels = members.labels.copy()
    labels[new] = joined[new]
    core = members.core.copy()
    if points.options.cluster != "hdbscan":  # there documents between the clusters join afterwards
        core[new] = joined[new]
    fitted = points.fitted
    group = by_neighbours(points, new_groups(points.of_fitted(), is_new[fitted], members.labels[fitted], K))
    n_new = int(group.max(initial=-1)) + 1
    inside = group >= 0
    core, joined, labels = (np.where(inside, K + group, z).astype(np.int32) for z in (core, joined, labels))
    novel = np.zeros(points.n, bool)
    novel[new] = unlike & ~inside[new]
    return UpdatedTopics(Membership(core, joined, labels), n_new, novel)


def new_groups(points: Points, is_new: BoolArray, topics: IntArray, K: int) -> IntArray:
    """Return the groups of new matter (U,), the largest 0, -1 for points in none.

    All points are divided by k-means, as in a fit, into twice as many groups as the run would have topics for so many documents, or √U if
    that is more.
    A group is of new matter where old documents are under a quarter of what their share in all would make them, and so few
    are not to be expected by chance (binomial, 1 % over all groups). Such groups that lie closer to one another than the closest pair
    of topics of the run are one. What has fewer documents than a topic needs is none.

    Args:
        topics: (U,) topics of the old points, -1 for others.
    """
    n_old = int((~is_new).sum())
    parts = min(max(2, round(FINER * K * points.n / max(n_old, 1)), math.isqrt(points.n)), points.n // 2)
    none = np.full(points.n, NO_TOPIC, np.int32)
    if parts < 2 or not is_new.any():
        return none
    with one_thread():
        view = plain_view(smoothed(points.embeddings, points.neighbours))
        labels, _ = KMeansFits(view, seed=points.execution.seed).fit(parts)
    size, old = np.bincount(labels, minlength=parts), np.bincount(labels[~is_new], minlength=parts)
    share = n_old / points.n
    expected = size * share
    is_seed = (old < OLD_SHARE * expected) & (scipy.stats.binom.cdf(old, size, share) < CHANCE / parts)
    if not is_seed.any():
        return none
    group = np.where(is_seed, np.cumsum(is_seed) - 1, NO_TOPIC)[labels].astype(np.int32)
    joined = _joined(topic_centroids(points.embeddings, group, int(is_seed.sum())), closest_topics(points, topics, K))
    group = np.where(group >= 0, joined[group], NO_TOPIC).astype(np.int32)
    sizes = np.bincount(group[group >= 0])
    order = [int(g) for g in np.lexsort((np.arange(len(sizes)), -sizes)) if sizes[g] >= points.smallest_topic]
    rank = np.full(len(sizes), NO_TOPIC, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.where(group >= 0, rank[group], NO_TOPIC).astype(np.int32)


def closest_topics(points: Points, topics: IntArray, K: int) -> float:
    """Return the cosine of the two topics whose centroids are closest, 1 where there is one topic."""
    centroids = topic_centroids(points.embeddings, topics, K)
    centroids = centroids[np.linalg.norm(centroids, axis=1) > 0]
    if len(centroids) < 2:
        return 1.0
    cosine = centroids.astype(np.float64) @ centroids.T
    np.fill_diagonal(cosine, -1.0)
    return float(cosine.max())


def _joined(centroids: Float32Array, least: float) -> IntArray:
    """Return which group each group is part of (G,) when those of a cosine of at least `least` are joined, by single linkage."""
    cosine: FloatArray = centroids.astype(np.float64) @ centroids.T
    into = np.arange(len(centroids), dtype=np.int32)
    for a, b in zip(*np.nonzero(np.triu(cosine >= least, 1)), strict=True):
        into[into == into[b]] = into[a]
    _, group = np.unique(into, return_inverse=True)
    return group.astype(np.int32)
