"""All that is said of topics of documents, whoever divided the documents: sizes, words, names, scores, layers.

A fit describes what it has clustered, an edit what it has moved and merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from nlpkit.cluster.assign import (
    TopicVotes,
    least_similarity,
    mean_similarity,
    nearest_topics,
    rule,
    similarity_to_topic,
    topic_centroids,
    vote,
)
from nlpkit.cluster.neighbours import distinct_rows
from nlpkit.metrics.topics.coherence import npmi_by_document
from nlpkit.metrics.topics.diversity import exclusivity, unique_share
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.types import NO_TOPIC, BoolArray, Float32Array, FloatArray, IntArray, LongArray
from nlpkit.topics.base.topic_words import share_in_topic, terms_of_cores, topic_names
from nlpkit.topics.bertopic.choose import COHERENCE_TERMS, Candidate
from nlpkit.topics.bertopic.clustering import Points
from nlpkit.topics.bertopic.density import layers_around, topic_tree
from nlpkit.topics.bertopic.evidence import NumberEvidence
from nlpkit.topics.bertopic.library import class_terms
from nlpkit.weights.ctfidf import TopTerms, class_tfidf, importance, keyness, top_terms, values_of
from nlpkit.weights.dtm import group_rows

STORED_TERMS = 30
REPRESENTATIVES = 3
WAYS = ("cluster", "neighbours", "nearest")  # in which a document comes to its topic


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
class FitSample:
    """A fit to a sample: different documents that were fitted and that got the topic of their neighbours among these.

    agreement: AMI of the topics that n_compared of the others have with those of a second fit to them and the sample together.
    """

    n_fitted: int
    n_assigned: int
    n_compared: int
    agreement: float

    def as_dict(self) -> dict[str, float | None]:
        """Return the fields as a plain dictionary, for the manifest."""
        return {**asdict(self), "agreement": finite_or_none(round(self.agreement, 6))}

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> FitSample:
        """Return what `as_dict` gave; raises LookupError, TypeError, ValueError for other things."""
        fitted, assigned, compared = (int(recorded[name]) for name in ("n_fitted", "n_assigned", "n_compared"))
        agreement = recorded["agreement"]
        return cls(fitted, assigned, compared, np.nan if agreement is None else float(agreement))


@dataclass(frozen=True, slots=True)
class TopicModel:
    """Topics of documents with all that is said of them.

    Those of `fit_topics` are numbered by size, 0 the largest, after those given beforehand, which may have no document.

    Documents (D,): topic (-1 none), way (number in WAYS of how it came to it, -1 for none), topic_prob (its share of the
    neighbours' votes, 0 for none), nearest_topic and margin (closest centroid, and its lead over the next in cosine). votes: the
    distributions behind topic_prob.
    Topics (K,): size, label, npmi, exclusivity, words (their number of tokens); terms (K, 30), by_all_texts (whether these are of all
    its texts, which have hardly a word in common, and not of its core), their plain_weights (c-tf-idf), key_scores (z of log-odds),
    importance and counts in all documents of the topics, and count_shares, the share of each topic in the counts of all;
    representatives (K, 3) document numbers, -1 for none.
    outliers_joined, outliers_assigned: how many documents were given a topic after clustering, by which of the two rules.
    rule_agreement: share of documents for which the rule for new text, without the document itself, gives the fit's topic: of
    equal texts the others do; text_agreement: the same of different texts, each without all that equal it.
    stability (K,): how well each topic comes back in a second fit; agreement: AMI with it, NaN where there is none.
    layers: coarser and finer topics, coarsest first; tree (K - 1, 4): Ward's tree of the topics, in scipy's form.
    similarity (D,): mean cosine to the neighbours that vote, 0 for unusable documents; new text under least_similarity is
    unlike all that has a topic. fitted (D,): whether the neighbours of documents are sought among it and its copies; sample: where
    these are not all.
    """

    topics: IntArray
    way: IntArray
    topic_prob: Float32Array
    nearest_topic: IntArray
    margin: Float32Array
    votes: TopicVotes
    size: IntArray
    labels: tuple[str, ...]
    terms: TopTerms
    by_all_texts: BoolArray
    plain_weights: FloatArray
    key_scores: FloatArray
    importance: FloatArray
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
    text_agreement: float
    similarity: Float32Array
    least_similarity: float
    fitted: BoolArray
    sample: FitSample | None
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


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """Distinct embeddings: first (U,) the document of each, of_document (D,) the point of each document or -1."""

    first: IntArray
    of_document: IntArray

    @property
    def n(self) -> int:
        """U."""
        return len(self.first)

    @property
    def copies(self) -> LongArray:
        """Documents of each point (U,)."""
        return np.bincount(self.of_document[self.of_document >= 0], minlength=self.n)

    def rows(self, embeddings: Float32Array) -> Float32Array:
        """Embeddings of documents (D, E) to points (U, E): themselves where all are different."""
        return embeddings if self.n == len(embeddings) else embeddings[self.first]

    def spread(self, values: Any, missing: Any = NO_TOPIC) -> Any:
        """Values of points (U,) to documents (D,)."""
        return np.where(self.of_document >= 0, values[self.of_document], missing).astype(values.dtype)

    def spread_votes(self, votes: TopicVotes) -> TopicVotes:
        """Votes of points to documents."""
        lengths = np.where(self.of_document >= 0, np.diff(votes.offsets)[self.of_document], 0)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        inside = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        where = np.repeat(votes.offsets[:-1][self.of_document], lengths) + inside
        return TopicVotes(
            offsets, votes.topic[where], votes.prob[where], self.spread(votes.unassigned, np.float32(1.0))
        )


def distinct_texts(embeddings: Float32Array, usable: BoolArray, *, each: bool = False) -> DistinctTexts:
    """Return the distinct ones of embeddings (D, E) of documents with text. each: whether equal ones are several points."""
    of_document = np.full(len(usable), -1, np.int32)
    documents = np.flatnonzero(usable)
    if each:
        of_document[documents] = np.arange(len(documents))
        return DistinctTexts(documents.astype(np.int32), of_document)
    first, inverse = distinct_rows(embeddings if usable.all() else embeddings[documents])
    of_document[documents] = inverse
    return DistinctTexts(documents[first].astype(np.int32), of_document)


def fitted_points(distinct: DistinctTexts, fitted: BoolArray) -> LongArray:
    """Return the points (F,) of documents (D,) that were fitted, ascending."""
    return np.unique(distinct.of_document[fitted & (distinct.of_document >= 0)]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Membership:
    """Topics of points (U,), -1 for none: as they were clustered (core), with those that joined their neighbours, and in the end."""

    core: IntArray
    joined: IntArray
    labels: IntArray

    def renumbered(self, rank: IntArray) -> Membership:
        """Return the topics with rank[k] in place of k."""
        return Membership(*(renumber(z, rank) for z in (self.core, self.joined, self.labels)))

    def ways(self) -> IntArray:
        """Return by which of WAYS each point came to its topic (U,), -1 for none."""
        stages = (self.labels, self.joined, self.core)
        way = np.full(len(self.labels), NO_TOPIC, np.int32)
        for number, z in zip((2, 1, 0), stages, strict=True):
            way[z >= 0] = number
        return way


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is told of topics beside their documents and words, from elsewhere than these.

    names (K,): "" where the words give the name. coarser, divisions: layers as in `Clustering`. stability: of labels (U,) with
    K topics. agreement: with second fits. candidates, merges, min_topic_size: as in `Clustering`. terms: words of
    the topics, None where they are worked out.
    """

    names: Sequence[str]
    stability: Callable[[IntArray, int], FloatArray]
    agreement: float = np.nan
    coarser: tuple[int, ...] = ()
    divisions: tuple[IntArray, ...] = ()
    candidates: tuple[Candidate | NumberEvidence, ...] = ()
    merges: tuple[tuple[int, int, float], ...] = ()
    min_topic_size: int | None = None
    sample: FitSample | None = None
    terms: TopTerms | None = None


def describe_topics(
    vocabulary: tuple[str, ...],
    distinct: DistinctTexts,
    points: Points,
    members: Membership,
    around: Surroundings,
) -> TopicModel:
    """Work out all that is said about topics; their numbers stay."""
    options, neighbours, X = points.options, points.neighbours, points.embeddings
    threads, K = points.execution.n_threads(), len(around.names)
    cluster_topics, joined, labels = members.core, members.joined, members.labels
    centroids = topic_centroids(X, cluster_topics, K)
    nearest, _, margin = nearest_topics(X, centroids, threads=threads)
    typical = similarity_to_topic(X, topic_centroids(X, cluster_topics, K, distinct.copies), labels)

    every = group_rows(points.counts, labels, K)  # of all documents that have the topic in the end
    every.sort_indices()
    worded = cluster_topics if options.core_terms else labels  # the core is there before anybody joins
    terms, by_all_texts = (around.terms, np.zeros(K, bool)) if around.terms else _terms(points, worded, K, vocabulary)
    counts = group_rows(points.counts, cluster_topics, K)
    coherence_terms = terms.term_ids[:, :COHERENCE_TERMS]
    similarity = mean_similarity(neighbours)
    bound = least_similarity(similarity, labels, options.novelty_quantile)
    fitted = np.zeros(points.n, bool)
    fitted[points.fitted] = True
    loo, _ = rule(vote(neighbours, joined))
    agrees = (np.where(similarity < bound, NO_TOPIC, loo) == joined)[fitted]
    copies = distinct.copies[fitted]

    none_found, none_joined, none_left = (
        int((distinct.spread(x, 0) == NO_TOPIC).sum()) for x in (cluster_topics, joined, labels)
    )
    topics = distinct.spread(labels)
    point_votes = vote(neighbours, labels, self_topics=labels)
    votes = distinct.spread_votes(point_votes)
    points.clock.lap("description")
    tree = topic_tree(centroids)
    generated = topic_names(terms.term_ids, vocabulary)
    names = tuple(name or automatic for name, automatic in zip(around.names, generated, strict=True))
    layers = tuple(
        replace(layer, labels=names) if layer.chosen else layer
        for layer in _layers(vocabulary, terms, distinct, points, around, topics, tree)
    )
    points.clock.lap("layers")
    return TopicModel(
        topics=topics,
        way=distinct.spread(members.ways()),
        topic_prob=np.where(topics >= 0, votes.prob_of(topics), 0.0).astype(np.float32),
        nearest_topic=distinct.spread(nearest),
        margin=distinct.spread(margin, np.float32(0.0)),
        votes=votes,
        size=np.bincount(topics[topics >= 0], minlength=K).astype(np.int32),
        labels=names,
        terms=terms,
        by_all_texts=by_all_texts,
        plain_weights=values_of(class_tfidf(every), terms.term_ids),
        key_scores=values_of(keyness(every).z, terms.term_ids),
        importance=values_of(importance(every), terms.term_ids),
        counts=values_of(every, terms.term_ids),
        count_shares=share_in_topic(terms.term_ids, every),
        words=np.asarray(every.sum(axis=1)).ravel(),
        npmi=npmi_by_document(coherence_terms, points.reference),
        exclusivity=exclusivity(coherence_terms, share_in_topic(coherence_terms, counts)),
        diversity=unique_share(coherence_terms),
        representatives=_representatives(labels, nearest, typical, K, distinct),
        centroids=centroids,
        outliers_joined=none_found - none_joined,
        outliers_assigned=none_joined - none_left,
        rule_agreement=float(np.average(agrees | (copies > 1), weights=copies)),
        text_agreement=float(agrees.mean()),
        similarity=distinct.spread(similarity, np.float32(0.0)),
        least_similarity=bound,
        fitted=distinct.spread(fitted, False),
        sample=around.sample,
        min_topic_size=around.min_topic_size,
        stability=around.stability(labels, K),
        agreement=around.agreement,
        layers=layers,
        tree=tree,
        candidates=around.candidates,
        merges=around.merges,
        seconds=points.clock.laps,
    )  # fmt: skip


def _terms(points: Points, topics: IntArray, K: int, vocabulary: tuple[str, ...]) -> tuple[TopTerms, BoolArray]:
    """Return the stored terms of topics (U,), and which topics (K,) have those of all their texts for want of a core."""
    if points.options.like is not None:
        return class_terms(points.counts, topics, K, vocabulary, STORED_TERMS), np.zeros(K, bool)
    if not points.options.core_terms:
        return top_terms(class_tfidf(group_rows(points.counts, topics, K)), STORED_TERMS), np.zeros(K, bool)
    return terms_of_cores(points.embeddings, points.neighbours, points.counts, topics, K, STORED_TERMS)


def _layers(
    vocabulary: tuple[str, ...],
    terms: TopTerms,
    distinct: DistinctTexts,
    points: Points,
    around: Surroundings,
    topics: IntArray,
    tree: FloatArray,
) -> tuple[DescribedLayer, ...]:
    """Return the layers around the topics (D,), which have the terms, with names, words and the stability that second fits tell."""
    layers, at = layers_around(
        topics, tree, coarser=around.coarser, divisions=[distinct.spread(z) for z in around.divisions]
    )
    described = []
    for number, layer in enumerate(layers):
        K, of_points = layer.n_topics, layer.topics[distinct.first]
        term_ids = (terms if number == at else _terms(points, of_points, K, vocabulary)[0]).term_ids
        described.append(
            DescribedLayer(
                layer.topics,
                layer.parent,
                np.bincount(layer.topics[layer.topics >= 0], minlength=K).astype(np.int32),
                around.stability(of_points, K),
                topic_names(term_ids, vocabulary),
                term_ids[:, :COHERENCE_TERMS],
                number == at,
            )
        )
    return tuple(described)


def with_cores(members: Membership, K: int) -> Membership:
    """Return the topics where one that has no core has all of its documents for it."""
    lacking = np.bincount(members.core[members.core >= 0], minlength=K) == 0
    whole = (members.labels >= 0) & lacking[members.labels]
    return replace(
        members,
        core=np.where(whole, members.labels, members.core).astype(np.int32),
        joined=np.where(whole, members.labels, members.joined).astype(np.int32),
    )


def renumber(labels: IntArray, rank: IntArray) -> IntArray:
    """Return labels with rank[k] in place of k; -1 stays."""
    return np.where(labels >= 0, rank[labels], NO_TOPIC).astype(np.int32)


def _representatives(
    labels: IntArray, nearest: IntArray, typical: Float32Array, K: int, distinct: DistinctTexts
) -> IntArray:
    """The documents of each topic that are closest to the mean of its documents, those first whose nearest topic it is."""
    representatives = np.full((K, REPRESENTATIVES), -1, np.int32)
    for k in range(K):
        members = np.flatnonzero(labels == k)
        order = np.lexsort((members, -typical[members], nearest[members] != k))[:REPRESENTATIVES]
        representatives[k, : len(order)] = distinct.first[members[order]]
    return representatives
