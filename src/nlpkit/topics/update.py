"""Topics of a run with newer documents: those that fit a topic join it, groups of a matter that the run did not have become topics.

The topics of the run stay; what is new is found in a finer division of all documents together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from nlpkit.topics.assign import rule, topic_centroids, vote
from nlpkit.topics.clustering import Points
from nlpkit.topics.description import Membership
from nlpkit.topics.fit_sample import by_neighbours
from nlpkit.topics.kmeans import KMeansFits, plain_view, smoothed
from nlpkit.topics.neighbours import nearest_neighbours
from nlpkit.topics.novelty import mean_similarity
from nlpkit.types import NO_TOPIC, BoolArray, Float32Array, FloatArray, IntArray

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
    with threadpool_limits(1, user_api="blas"):
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
