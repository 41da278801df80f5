"""Topics from embeddings and words: neighbours, clusters by one of two engines, c-tf-idf (Grootendorst 2022).

`fit_topics` takes matrices and returns a record of arrays; reading, writing and printing are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.coherence import npmi_by_document
from nlpkit.metrics.diversity import exclusivity, unique_share
from nlpkit.parameters import Execution
from nlpkit.topics import engine
from nlpkit.topics.assign import (
    TopicVotes,
    nearest_topics,
    rule,
    topic_centroids,
    vote,
)
from nlpkit.topics.choose import COHERENCE_TERMS, Candidate
from nlpkit.topics.clustering import Clock, Clustering, Points
from nlpkit.topics.density import density_clusters
from nlpkit.topics.evidence import NumberEvidence
from nlpkit.topics.guided import PredefinedTopics, with_predefined_topics
from nlpkit.topics.layers import layers_around, topic_tree
from nlpkit.topics.naming import topic_names
from nlpkit.topics.neighbours import distinct_rows, nearest_neighbours
from nlpkit.topics.novelty import least_similarity, mean_similarity
from nlpkit.topics.options import BertopicOptions
from nlpkit.topics.partition import partition
from nlpkit.topics.stability import agreement, topic_stability
from nlpkit.topics.words import share_in_topic, topic_terms
from nlpkit.types import NO_TOPIC, BoolArray, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.weighting.ctfidf import TopTerms, class_tfidf, top_terms, values_of
from nlpkit.weighting.dtm import count_terms, group_rows

MIN_DOCS = 10
STORED_TERMS = 30
REPRESENTATIVES = 3
METHODS: dict[str, Callable[[Points], Clustering]] = {
    **dict.fromkeys(engine.METHODS, partition),
    "hdbscan": density_clusters,
}


@dataclass(frozen=True, slots=True)
class DescribedLayer:
    """A layer: topics (D,) and parent (K,) as in `Layer`; size, stability, labels (K,), terms (K, 10). chosen: the topics of the fit."""

    topics: IntArray
    parent: IntArray
    size: IntArray
    stability: FloatArray
    labels: tuple[str, ...]
    term_ids: IntArray
    chosen: bool


@dataclass(frozen=True, slots=True)
class TopicModel:
    """Result of `fit_topics`. Topics are numbered by size, 0 the largest, after those given beforehand, which may have no document.

    Documents (D,): topic (-1 none), topic_prob (its share of the neighbours' votes, 0 for none), nearest_topic and
    margin (closest centroid, and its lead over the next in cosine). votes: the distributions behind topic_prob.
    Topics (K,): size, label, npmi, exclusivity, words (their number of tokens); terms (K, 30), their plain_weights (c-tf-idf) and
    counts in all documents of the topics, and count_shares, the share of each topic in the counts of all;
    representatives (K, 3) document numbers, -1 for none.
    outliers_joined, outliers_assigned: how many documents were given a topic after clustering, by which of the two rules.
    rule_agreement: share of documents for which the rule for new text, without the document itself, gives the fit's topic.
    stability (K,): how well each topic comes back in a second fit; agreement: AMI with it, NaN where there is none.
    layers: coarser and finer topics, coarsest first; tree (K - 1, 4): Ward's tree of the topics, in scipy's form.
    similarity (D,): mean cosine to the neighbours that vote, 0 for unusable documents; new text under least_similarity is
    unlike all that has a topic.
    """

    topics: IntArray
    topic_prob: Float32Array
    nearest_topic: IntArray
    margin: Float32Array
    votes: TopicVotes
    size: IntArray
    labels: tuple[str, ...]
    terms: TopTerms
    plain_weights: FloatArray
    counts: FloatArray
    count_shares: FloatArray
    words: LongArray
    npmi: FloatArray
    exclusivity: FloatArray
    diversity: float
    representatives: IntArray
    centroids: Float32Array
    outliers_joined: int
    outliers_assigned: int
    rule_agreement: float
    similarity: Float32Array
    least_similarity: float
    min_topic_size: int | None
    stability: FloatArray
    agreement: float
    layers: tuple[DescribedLayer, ...]
    tree: FloatArray
    candidates: tuple[Candidate | NumberEvidence, ...]
    merges: tuple[tuple[int, int, float], ...]
    seconds: dict[str, float]

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.size)

    @property
    def unassigned(self) -> float:
        """Share of documents without a topic."""
        return float((self.topics == NO_TOPIC).mean())


def fit_topics(
    embeddings: Float32Array,
    tokens: TokenTable,
    usable: BoolArray,
    options: BertopicOptions,
    *,
    rows: Float32Array | None = None,
    predefined: PredefinedTopics | None = None,
    execution: Execution | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> TopicModel:
    """Find topics in documents.

    Documents with the same embedding are one point, so that a text repeated a thousand times does not make a topic of its
    own by repetition; all its copies share a topic. Unusable documents (no text) have topic -1.

    Args:
        embeddings: (D, E) float32, rows L2-normalised.
        tokens: (D,) documents as term ids.
        usable: (D,) whether a document has text.
        options: see `BertopicOptions`.
        rows: (D, F) of unit length that are clustered in place of the embeddings, such as those of `nlpkit.topics.guided`.
        predefined: topics that come first, with these names.
        execution: seed and threads.
        progress: called with a stage and its share done.

    Raises:
        InputError: fewer than ten different documents, or no topics as asked for.
    """
    clock, execution = Clock(), execution or Execution()
    distinct = _distinct(embeddings, usable)
    if distinct.n < MIN_DOCS:
        raise InputError(
            f"finding topics needs at least {MIN_DOCS} different documents with text; found {distinct.n} "
            f"among {len(usable)} document{'' if len(usable) == 1 else 's'}"
        )
    progress = progress or (lambda stage, share: None)
    progress("neighbours", 0.0)
    X = embeddings[distinct.first]
    neighbours = nearest_neighbours(X, k=options.n_neighbors - 1, threads=execution.n_threads())
    clock.lap("neighbours")
    dtm = count_terms(tokens)
    counts = group_rows(dtm, distinct.of_document, distinct.n)
    points = Points(X, neighbours, counts, dtm, options, execution, progress, clock)
    clustered = points
    if rows is not None:
        near = nearest_neighbours(rows[distinct.first], k=options.n_neighbors - 1, threads=execution.n_threads())
        clustered = replace(points, embeddings=rows[distinct.first], neighbours=near)
    cluster = METHODS[options.cluster]
    clustering = cluster(clustered) if predefined is None else with_predefined_topics(clustered, predefined, cluster)
    clock.lap("choice")
    return _describe(tokens.terms, distinct, points, clustering)


def _describe(vocabulary: tuple[str, ...], distinct: _Distinct, points: Points, clustering: Clustering) -> TopicModel:
    """Number the topics by size and work out all that is said about them."""
    options, neighbours, X = points.options, points.neighbours, points.embeddings
    threads, labels = points.execution.n_threads(), clustering.labels
    joined = labels
    if options.join_neighbors:
        joined = np.where(labels == NO_TOPIC, rule(vote(neighbours, labels))[0], labels).astype(np.int32)
    assigned = joined
    if options.assign_outliers:
        closest, _, _ = nearest_topics(X, topic_centroids(X, labels, int(labels.max()) + 1), threads=threads)
        assigned = np.where(joined == NO_TOPIC, closest, joined).astype(np.int32)
    rank = _by_size(assigned, distinct, len(clustering.names))
    K = len(rank)
    cluster_topics, joined, labels = (_renumber(x, rank) for x in (labels, joined, assigned))
    centroids = topic_centroids(X, cluster_topics, K)
    nearest, cosine, margin = nearest_topics(X, centroids, threads=threads)

    every = group_rows(points.counts, labels, K)  # of all documents that have the topic in the end
    every.sort_indices()
    worded = cluster_topics if options.core_terms else labels  # the core is there before anybody joins
    terms = _terms(points, worded, K)
    counts = group_rows(points.counts, cluster_topics, K)
    coherence_terms = terms.term_ids[:, :COHERENCE_TERMS]
    similarity = mean_similarity(neighbours)
    bound = least_similarity(similarity, labels, options.novelty_quantile)
    loo, _ = rule(vote(neighbours, joined))
    rule_agreement = float((np.where(similarity < bound, NO_TOPIC, loo) == joined).mean())

    none_found, none_joined, none_left = (
        int((distinct.spread(x, 0) == NO_TOPIC).sum()) for x in (cluster_topics, joined, labels)
    )
    topics = distinct.spread(labels)
    point_votes = vote(neighbours, labels, self_topics=labels)
    votes = distinct.spread_votes(point_votes)
    points.clock.lap("description")
    repeats, tree = clustering.repeats(K), topic_tree(centroids)
    names = (*clustering.names, *topic_names(terms.term_ids, vocabulary)[len(clustering.names) :])
    layers = tuple(
        replace(layer, labels=names) if layer.chosen else layer
        for layer in _layers(vocabulary, terms, distinct, points, clustering, topics, tree)
    )
    points.clock.lap("layers")
    return TopicModel(
        topics=topics,
        topic_prob=np.where(topics >= 0, votes.prob_of(topics), 0.0).astype(np.float32),
        nearest_topic=distinct.spread(nearest),
        margin=distinct.spread(margin, np.float32(0.0)),
        votes=votes,
        size=np.bincount(topics[topics >= 0], minlength=K).astype(np.int32),
        labels=names,
        terms=terms,
        plain_weights=values_of(class_tfidf(every), terms.term_ids),
        counts=values_of(every, terms.term_ids),
        count_shares=share_in_topic(terms.term_ids, every),
        words=np.asarray(every.sum(axis=1)).ravel(),
        npmi=npmi_by_document(coherence_terms, points.reference),
        exclusivity=exclusivity(coherence_terms, share_in_topic(coherence_terms, counts)),
        diversity=unique_share(coherence_terms),
        representatives=_representatives(labels, nearest, cosine, K, distinct),
        centroids=centroids,
        outliers_joined=none_found - none_joined,
        outliers_assigned=none_joined - none_left,
        rule_agreement=rule_agreement,
        similarity=distinct.spread(similarity, np.float32(0.0)),
        least_similarity=bound,
        min_topic_size=clustering.min_topic_size,
        stability=topic_stability(labels, K, repeats),
        agreement=agreement(labels, repeats),
        layers=layers,
        tree=tree,
        candidates=clustering.candidates,
        merges=clustering.merges,
        seconds=points.clock.laps,
    )  # fmt: skip


def _terms(points: Points, topics: IntArray, K: int) -> TopTerms:
    """Return the stored terms of topics (U,)."""
    if not points.options.core_terms:
        return top_terms(class_tfidf(group_rows(points.counts, topics, K)), STORED_TERMS)
    return topic_terms(points.embeddings, points.neighbours, points.counts, topics, K, STORED_TERMS)


def _layers(
    vocabulary: tuple[str, ...],
    terms: TopTerms,
    distinct: _Distinct,
    points: Points,
    clustering: Clustering,
    topics: IntArray,
    tree: FloatArray,
) -> tuple[DescribedLayer, ...]:
    """Return the layers around the topics (D,), which have the terms, with names, words and the stability that second fits tell."""
    layers, at = layers_around(
        topics, tree, coarser=clustering.coarser, divisions=[distinct.spread(z) for z in clustering.divisions]
    )
    described = []
    for number, layer in enumerate(layers):
        K, of_points = layer.n_topics, layer.topics[distinct.first]
        term_ids = (terms if number == at else _terms(points, of_points, K)).term_ids
        described.append(
            DescribedLayer(
                layer.topics,
                layer.parent,
                np.bincount(layer.topics[layer.topics >= 0], minlength=K).astype(np.int32),
                topic_stability(of_points, K, clustering.repeats(K)),
                topic_names(term_ids, vocabulary),
                term_ids[:, :COHERENCE_TERMS],
                number == at,
            )
        )
    return tuple(described)


@dataclass(frozen=True, slots=True)
class _Distinct:
    """Distinct embeddings: first (U,) the document of each, of_document (D,) the point of each document or -1."""

    first: IntArray
    of_document: IntArray

    @property
    def n(self) -> int:
        return len(self.first)

    def spread(self, values: Any, missing: Any = NO_TOPIC) -> Any:
        """Values of points (U,) to documents (D,)."""
        return np.where(self.of_document >= 0, values[self.of_document], missing).astype(values.dtype)

    def spread_votes(self, votes: TopicVotes) -> TopicVotes:
        lengths = np.where(self.of_document >= 0, np.diff(votes.offsets)[self.of_document], 0)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        where = np.repeat(votes.offsets[:-1][self.of_document], lengths) + inside
        return TopicVotes(
            offsets, votes.topic[where], votes.prob[where], self.spread(votes.unassigned, np.float32(1.0))
        )


def _distinct(embeddings: Float32Array, usable: BoolArray) -> _Distinct:
    of_document = np.full(len(usable), -1, np.int32)
    documents = np.flatnonzero(usable)
    first, inverse = distinct_rows(embeddings[documents])
    of_document[documents] = inverse
    return _Distinct(documents[first].astype(np.int32), of_document)


def _by_size(labels: IntArray, distinct: _Distinct, predefined: int) -> IntArray:
    """Return the new number of each topic (K,): those predefined keep theirs, the others follow by size, ties by the first document."""
    K = max(int(labels.max(initial=-1)) + 1, predefined)
    sizes = np.bincount(distinct.spread(labels)[distinct.spread(labels) >= 0], minlength=K)
    first = [np.flatnonzero(labels == k)[0] for k in range(predefined, K)]
    rank = np.arange(K, dtype=np.int32)
    rank[predefined + np.lexsort((first, -sizes[predefined:]))] = np.arange(predefined, K, dtype=np.int32)
    return rank


def _renumber(labels: IntArray, rank: IntArray) -> IntArray:
    return np.where(labels >= 0, rank[labels], NO_TOPIC).astype(np.int32)


def _representatives(
    labels: IntArray, nearest: IntArray, cosine: Float32Array, K: int, distinct: _Distinct
) -> IntArray:
    """The documents of each topic that are closest to its centroid, those first whose nearest topic it is."""
    representatives = np.full((K, REPRESENTATIVES), -1, np.int32)
    for k in range(K):
        members = np.flatnonzero(labels == k)
        order = np.lexsort((members, -cosine[members], nearest[members] != k))[:REPRESENTATIVES]
        representatives[k, : len(order)] = distinct.first[members[order]]
    return representatives
