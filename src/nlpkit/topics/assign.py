"""Documents to topics by their neighbours: distributions, nearest topics, and topics of new text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.topics.neighbours import Neighbours, group_sums, nearest_neighbours, unit_rows
from nlpkit.types import NO_TOPIC, Float32Array, IntArray, LongArray

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
