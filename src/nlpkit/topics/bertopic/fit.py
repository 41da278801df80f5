"""Topics from embeddings and words: neighbours, clusters by one of two engines, c-tf-idf (Grootendorst 2022).

`fit_topics` takes matrices and returns a record of arrays; reading, writing and printing are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nlpkit.cluster.assign import nearest_topics, rule, topic_centroids, vote
from nlpkit.cluster.hierarchy import agreement, topic_stability
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.errors import InputError
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform.options import Execution
from nlpkit.platform.types import NO_TOPIC, BoolArray, Float32Array, IntArray, LongArray, TokenTable
from nlpkit.topics.base.options import LEAST_FITTED, BertopicOptions
from nlpkit.topics.bertopic import engine
from nlpkit.topics.bertopic.clustering import (
    Clock,
    Clustering,
    Points,
    by_neighbours,
    for_all,
    neighbours_among,
    sample_size,
    sampling_order,
)
from nlpkit.topics.bertopic.density import density_clusters, partition
from nlpkit.topics.bertopic.description import (
    DistinctTexts,
    FitSample,
    Membership,
    Surroundings,
    TopicModel,
    describe_topics,
    distinct_texts,
)
from nlpkit.topics.bertopic.guided import PredefinedTopics, with_predefined_topics
from nlpkit.topics.bertopic.library import library_clusters
from nlpkit.weights.dtm import count_terms, group_rows

METHODS: dict[str, Callable[[Points], Clustering]] = {
    **dict.fromkeys(engine.METHODS, partition),
    "hdbscan": density_clusters,
}


def fit_topics(
    embeddings: Float32Array, tokens: TokenTable, usable: BoolArray, options: BertopicOptions, **settings: Any
) -> TopicModel:
    """Find topics in documents with embeddings (D, E), of which (D,) are usable, as they have text; see `fit_distinct`.

    Documents with the same embedding are one point, so that a text repeated a thousand times does not make a topic of its
    own by repetition; all its copies share a topic. Unusable documents have topic -1.
    """
    distinct = distinct_texts(embeddings, usable, each=options.like is not None)
    return fit_distinct(distinct.rows(embeddings), distinct, tokens, options, **settings)


def fit_distinct(
    X: Float32Array,
    distinct: DistinctTexts,
    tokens: TokenTable,
    options: BertopicOptions,
    *,
    rows: Float32Array | None = None,
    predefined: PredefinedTopics | None = None,
    execution: Execution | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> TopicModel:
    """Find topics in documents with these different embeddings.

    Args:
        X: (U, E) float32, rows L2-normalised.
        distinct: which of them each document has (D,).
        tokens: (D,) documents as term ids.
        options: see `BertopicOptions`.
        rows: (D, F) of unit length that are clustered in place of the embeddings, such as those of `nlpkit.topics.bertopic.guided`.
        predefined: topics that come first, with these names.
        execution: seed and threads.
        progress: called with a stage and its share done.

    Raises:
        InputError: fewer than ten different documents, or no topics as asked for.
    """
    clock, execution = Clock(), execution or Execution()
    if distinct.n < LEAST_FITTED:
        D = len(distinct.of_document)
        equal = "; equal texts have one embedding and are one document here. `fit_lda()` finds topics in the words of so few"
        raise InputError(
            f"finding topics needs at least {LEAST_FITTED} different documents with text; found {distinct.n} "
            f"among {D} document{'' if D == 1 else 's'}{equal if distinct.n < D else ''}"
        )
    progress = progress or (lambda stage, share: None)
    progress("neighbours", 0.0)
    vectors = X if rows is None else rows[distinct.first]
    size, order = sample_size(options, distinct.n), np.arange(distinct.n)
    if size < distinct.n:
        order = sampling_order(X, seed=execution.seed)
    fitted = np.sort(order[:size])
    neighbours = neighbours_among(X, fitted, k=options.n_neighbors - 1, threads=execution.n_threads())
    clock.lap("neighbours")
    dtm = count_terms(tokens)
    counts = group_rows(dtm, distinct.of_document, distinct.n)
    points = Points(X, neighbours, counts, dtm, options, execution, progress, clock, fitted)
    clustering = _clustered(points, vectors, predefined)
    clock.lap("choice")
    sample = None
    if size < distinct.n:
        sample = _compared(points, vectors, order, clustering, predefined)
        clustering = for_all(clustering, points)
        clock.lap("second fit")
    members = _membership(points, clustering.labels)
    if options.like is None:
        members = members.renumbered(_by_size(members.labels, distinct, len(clustering.names)))
    K = max(int(members.labels.max(initial=-1)) + 1, len(clustering.names))
    around = Surroundings(
        names=(*clustering.names, *[""] * (K - len(clustering.names))),
        stability=lambda labels, k: topic_stability(labels, k, clustering.repeats(k)),
        agreement=agreement(members.labels, clustering.repeats(K)),
        coarser=clustering.coarser,
        divisions=clustering.divisions,
        candidates=clustering.candidates,
        merges=clustering.merges,
        min_topic_size=clustering.min_topic_size,
        sample=sample,
    )
    model = describe_topics(tokens.terms, distinct, points, members, around)
    if clustering.prob is None:
        return model
    return replace(model, topic_prob=distinct.spread(clustering.prob, np.float32(0.0)))


def _clustered(points: Points, vectors: Float32Array, predefined: PredefinedTopics | None) -> Clustering:
    """Return topics of the fitted points (F,), found by their vectors (U, F), as if there were no others."""
    if points.options.like is not None:
        return library_clusters(points, vectors)
    some = points.of_fitted()
    if vectors is not points.embeddings:
        X = vectors[points.fitted]
        near = nearest_neighbours(X, k=points.options.n_neighbors - 1, threads=points.execution.n_threads())
        some = replace(some, embeddings=X, neighbours=near)
    cluster = METHODS[points.options.cluster]
    return cluster(some) if predefined is None else with_predefined_topics(some, predefined, cluster)


def _compared(
    points: Points,
    vectors: Float32Array,
    order: LongArray,
    first: Clustering,
    predefined: PredefinedTopics | None,
) -> FitSample:
    """Return how far a fit to a sample agrees with a second one to as many documents again, on these.

    Args:
        order: (U,) points in the order of samples; first: the clustering of those that were fitted.
    """
    points.progress("sample", 0.0)
    options, n, K = points.options, len(points.fitted), int(first.labels.max(initial=-1)) + 1
    both, held_out = np.sort(order[: 2 * n]), np.sort(order[n : 2 * n])
    if options.cluster != "hdbscan":
        options = replace(options, k=max(K, len(first.names)), grain="middle")
    X = points.embeddings[both]
    again = replace(
        points,
        embeddings=X,
        neighbours=nearest_neighbours(X, k=options.n_neighbors - 1, threads=points.execution.n_threads()),
        counts=points.counts[both],
        options=options,
        progress=lambda stage, share: None,
        clock=Clock(),
        fitted=np.arange(len(both)),
    )
    try:
        second = _clustered(again, X if vectors is points.embeddings else vectors[both], predefined)
    except InputError:  # so many topics cannot be made of these documents
        return FitSample(n, points.n - n, len(held_out), np.nan)
    by_first = by_neighbours(points, first.labels)[held_out]
    by_second = second.labels[np.searchsorted(both, held_out)]
    return FitSample(n, points.n - n, len(held_out), adjusted_mutual_information(by_first, by_second))


def _membership(points: Points, clusters: IntArray) -> Membership:
    """Return the topics of points that were clustered (U,), with those that join them afterwards."""
    options, joined = points.options, clusters
    if options.join_neighbors:
        joined = np.where(clusters == NO_TOPIC, rule(vote(points.neighbours, clusters))[0], clusters).astype(np.int32)
    assigned = joined
    if options.assign_outliers:
        centroids = topic_centroids(points.embeddings, clusters, int(clusters.max()) + 1)
        closest, _, _ = nearest_topics(points.embeddings, centroids, threads=points.execution.n_threads())
        assigned = np.where(joined == NO_TOPIC, closest, joined).astype(np.int32)
    return Membership(clusters, joined, assigned)


def _by_size(labels: IntArray, distinct: DistinctTexts, predefined: int) -> IntArray:
    """Return the new number of each topic (K,): those predefined keep theirs, the others follow by size, ties by the first document."""
    K = max(int(labels.max(initial=-1)) + 1, predefined)
    sizes = np.bincount(distinct.spread(labels)[distinct.spread(labels) >= 0], minlength=K)
    first = [np.flatnonzero(labels == k)[0] for k in range(predefined, K)]
    rank = np.arange(K, dtype=np.int32)
    rank[predefined + np.lexsort((first, -sizes[predefined:]))] = np.arange(predefined, K, dtype=np.int32)
    return rank
