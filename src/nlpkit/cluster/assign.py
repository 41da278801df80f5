"""Documents to topics by their neighbours: distributions, nearest topics, and topics of new text.

Further parts, in this order:
- Documents unlike everything a model was fitted to: a bound from the training documents themselves.
- Topics of new documents from those of the training documents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.cluster.neighbours import Neighbours, distinct_rows, group_sums, nearest_neighbours, unit_rows
from nlpkit.platform.types import NO_TOPIC, BoolArray, Float32Array, IntArray, LongArray

BLOCK_ROWS = 8192
VOTING_ROWS = 65_536  # documents whose neighbours are counted at a time: some 50 MB


@dataclass(frozen=True, slots=True)
class TopicVotes:
    """Topics of the neighbours of each document, as CSR rows: offsets (D+1,), topic and prob (nnz,); rows sum to 1 or are empty.

    unassigned (D,): the share of the neighbours' weight that has no topic.
    """

    offsets: LongArray
    topic: IntArray
    prob: Float32Array
    unassigned: Float32Array

    def winner(self) -> tuple[IntArray, Float32Array]:
        """Return the topic of most weight (D,), -1 for an empty row, and its probability (D,), 0 there."""
        D = len(self.offsets) - 1
        best, prob = np.full(D, NO_TOPIC, np.int32), np.zeros(D, np.float32)
        lengths = np.diff(self.offsets)
        filled = np.flatnonzero(lengths)
        if len(filled):
            prob[filled] = np.maximum.reduceat(self.prob, self.offsets[filled])
            most = np.flatnonzero(self.prob == np.repeat(prob, lengths))
            best[filled] = self.topic[most[np.searchsorted(most, self.offsets[filled])]]  # of equal ones the first
        return best, prob

    def prob_of(self, topics: IntArray) -> Float32Array:
        """Return the probability of a given topic of each document (D,), 0 where it has none."""
        D = len(self.offsets) - 1
        rows = np.repeat(np.arange(D), np.diff(self.offsets))
        hit = self.topic == topics[rows]
        result = np.zeros(D, np.float32)
        result[rows[hit]] = self.prob[hit]
        return result


def vote(neighbours: Neighbours, topics: IntArray, self_topics: IntArray | None = None) -> TopicVotes:
    """Return the topics of each document's neighbours, weighted by cosine similarity (at least 0).

        p(k | d) = Σ_{j ∈ N(d), z_j = k} s_dj / Σ_{j ∈ N(d), z_j ≥ 0} s_dj

    Args:
        neighbours: (D, k) into the documents that have a topic or -1.
        topics: (P,) topic of each of these.
        self_topics: (D,) topic of the document itself, which votes too with similarity 1; None = it does not vote.
    """
    parts = [
        _vote(
            neighbours.index[start : start + VOTING_ROWS],
            neighbours.similarity[start : start + VOTING_ROWS],
            topics,
            None if self_topics is None else self_topics[start : start + VOTING_ROWS],
        )
        for start in range(0, max(len(neighbours.index), 1), VOTING_ROWS)
    ]
    lengths, topic, prob, unassigned = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return TopicVotes(np.concatenate(([0], np.cumsum(lengths))), topic, prob, unassigned)


def _vote(
    index: IntArray, similarity: Float32Array, topics: IntArray, self_topics: IntArray | None
) -> tuple[LongArray, IntArray, Float32Array, Float32Array]:
    """Return of some documents how many topics their neighbours have, these, their probabilities, and the share that has none."""
    D = len(index)
    z = topics[index]
    weight = np.maximum(similarity.astype(np.float64), 0.0)
    if self_topics is not None:
        z = np.column_stack([self_topics, z])
        weight = np.column_stack([np.ones(D), weight])
    rows = np.repeat(np.arange(D, dtype=np.int64), z.shape[1])
    flat, w = z.ravel().astype(np.int64), weight.ravel()
    valid = (flat >= 0) & (w > 0)
    K = int(topics.max(initial=-1)) + 1
    keys, where = np.unique(rows[valid] * max(K, 1) + flat[valid], return_inverse=True)
    sums = np.bincount(where, weights=w[valid], minlength=len(keys))
    key_rows = keys // max(K, 1)
    row_total = np.bincount(key_rows, weights=sums, minlength=D)
    total = weight.sum(axis=1)
    unassigned = np.where(total > 0, 1.0 - row_total / np.where(total > 0, total, 1.0), 1.0)
    return (
        np.bincount(key_rows, minlength=D),
        (keys % max(K, 1)).astype(np.int32),
        (sums / row_total[key_rows]).astype(np.float32),
        unassigned.astype(np.float32),
    )


def rule(votes: TopicVotes) -> tuple[IntArray, Float32Array]:
    """Return the topic (D,) that the neighbours give, and its probability (D,): none when over half their weight has none."""
    best, prob = votes.winner()
    none = votes.unassigned > 0.5
    return np.where(none, NO_TOPIC, best).astype(np.int32), np.where(none, 0.0, prob).astype(np.float32)


def topic_centroids(
    embeddings: Float32Array, topics: IntArray, n_topics: int, copies: LongArray | None = None
) -> Float32Array:
    """Return the L2-normalised mean embedding of each topic (K, E) float32, summed in double, of each row its `copies` (D,)."""
    return unit_rows(group_sums(embeddings, topics, n_topics, copies))


def nearest_topics(
    embeddings: Float32Array, centroids: Float32Array, *, threads: int
) -> tuple[IntArray, Float32Array, Float32Array]:
    """Return for each document the topic of the closest centroid (D,), its cosine (D,), and its margin over the next (D,)."""
    neighbours = nearest_neighbours(embeddings, centroids, k=2, threads=threads)
    nearest, similarity = neighbours.index[:, 0], neighbours.similarity[:, 0]
    if neighbours.index.shape[1] == 1:
        return nearest, similarity, similarity.copy()
    return nearest, similarity, similarity - neighbours.similarity[:, 1]


def similarity_to_topic(embeddings: Float32Array, centroids: Float32Array, topics: IntArray) -> Float32Array:
    """Return the cosine of each document to the centroid of its own topic (D,), 0 for documents without one."""
    cosine = np.empty(len(topics), np.float32)
    for start in range(0, len(topics), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        cosine[block] = np.einsum("de,de->d", embeddings[block], centroids[np.maximum(topics[block], 0)])
    return np.where(topics >= 0, cosine, np.float32(0.0))


# ------------------------------------------------------------------------------------------------------------------------
# Documents unlike everything a model was fitted to: a bound from the training documents themselves.


def mean_similarity(neighbours: Neighbours) -> Float32Array:
    """Return the mean cosine of each document to its neighbours (D,): how well the training documents know its like."""
    if not neighbours.similarity.shape[1]:
        return np.zeros(len(neighbours.similarity), np.float32)
    mean: Float32Array = neighbours.similarity.mean(axis=1, dtype=np.float64).astype(np.float32)
    return mean


def similarity_without_itself(embeddings: Float32Array, *, n_neighbors: int, threads: int) -> Float32Array:
    """Return `mean_similarity` of training documents to the others (U,); equal embeddings are one document.

    Args:
        embeddings: (U, E) float32, rows L2-normalised.
        n_neighbors: of a document, itself included.
    """
    first, inverse = distinct_rows(embeddings)
    similarity = mean_similarity(nearest_neighbours(embeddings[first], k=n_neighbors - 1, threads=threads))
    every: Float32Array = similarity[inverse]
    return every


def least_similarity(similarity: Float32Array, topics: IntArray, quantile: float) -> float:
    """Return the bound: a new document whose mean similarity is lower is unlike the documents that have a topic.

    With n documents that have a topic it is the j-th lowest of their own similarities without themselves,
    j = max(⌊(1 - quantile) · (n + 1)⌋, 1): if a new document is drawn as these were, it falls below with a probability of
    about j / (n + 1), whatever the distribution is. A quantile of 1 sets no bound (-inf), and no document with a topic none.

    Source: conformal anomaly detection (Laxhammar & Falkman 2010; Bates et al. 2023, section 2), with the neighbours'
    similarity as in Sun et al. (2022); the similarities are those without the document itself in place of a second sample.

    Args:
        similarity: (U,) `similarity_without_itself`; topics: (U,) topic of each training document, -1 for none.
    """
    known = np.sort(similarity[topics >= 0])
    if quantile == 1 or not len(known):
        return -math.inf
    at = max(math.floor(round((1 - quantile) * (len(known) + 1), 9)), 1)
    return float(known[at - 1])


# ------------------------------------------------------------------------------------------------------------------------
# Topics of new documents from those of the training documents.


@dataclass(frozen=True, slots=True)
class Training:
    """The distinct texts of a fit: rows maps a text hash to a row; topics … margin (U,), centroids (K, E).

    embeddings (F, E): of the first F, those that were fitted; neighbours are sought among these.
    similarity (U,): `similarity_without_itself`.
    """

    rows: Mapping[str, int]
    topics: IntArray
    topic_prob: Float32Array
    nearest_topic: IntArray
    margin: Float32Array
    embeddings: Float32Array
    centroids: Float32Array
    similarity: Float32Array


@dataclass(frozen=True, slots=True)
class Prediction:
    """topics, topic_prob, nearest_topic, margin (D,) as in `TopicModel`.

    known (D,) marks texts of the training corpus, novel (D,) those that have no topic because they are unlike all of it.
    """

    topics: IntArray
    topic_prob: Float32Array
    nearest_topic: IntArray
    margin: Float32Array
    known: BoolArray
    novel: BoolArray


def predict_topics(
    training: Training,
    embeddings: Float32Array,
    hashes: Sequence[str],
    usable: BoolArray,
    *,
    n_neighbors: int,
    least_similarity: float,
    assign_outliers: bool = False,
    nearest_only: bool = False,
    threads: int = 1,
) -> Prediction:
    """Return the topics of documents: a training text gets the topic it had, another that of its neighbours.

    The rule for new text: the n_neighbors - 1 nearest training texts vote with their cosine similarity; no topic when more
    than half of the weight has none, else the topic of most weight. `topic_prob` is its share of the weight with a topic.
    Text whose mean similarity to these neighbours is under `least_similarity` is novel: it has no topic in any case.
    A row depends on its own text only, not on the other rows.

    Args:
        embeddings: (D, E) float32, rows L2-normalised; hashes: (D,) text hashes; usable: (D,) whether there is text.
        least_similarity: see `novelty.least_similarity`; -inf for no bound.
        assign_outliers: text that is not novel and has no topic gets the nearest one.
        nearest_only: the one nearest vector decides, and its cosine is the probability: the rule of a model that BERTopic saved.
    """
    neighbours = nearest_neighbours(embeddings, training.embeddings, k=n_neighbors - 1, threads=threads)
    topics, prob = rule(vote(neighbours, training.topics))
    if nearest_only:
        topics = training.topics[neighbours.index[:, 0]]
        prob = np.where(topics >= 0, np.clip(neighbours.similarity[:, 0], 0, 1), 0).astype(np.float32)
    nearest, _, margin = nearest_topics(embeddings, training.centroids, threads=threads)
    row = np.array([training.rows.get(h, -1) for h in hashes], np.int64)
    known = (row >= 0) & usable
    novel = (mean_similarity(neighbours) < least_similarity) & usable & ~known
    topics = np.where(known, training.topics[row], topics)
    prob = np.where(known, training.topic_prob[row], prob)
    nearest = np.where(known, training.nearest_topic[row], nearest)
    margin = np.where(known, training.margin[row], margin)
    if assign_outliers:
        topics = np.where(topics == NO_TOPIC, nearest, topics)
    placed = usable & ~novel
    return Prediction(
        topics=np.where(placed, topics, NO_TOPIC).astype(np.int32),
        topic_prob=np.where(placed, prob, 0.0).astype(np.float32),
        nearest_topic=np.where(usable, nearest, NO_TOPIC).astype(np.int32),
        margin=np.where(usable, margin, 0.0).astype(np.float32),
        known=known,
        novel=novel,
    )
