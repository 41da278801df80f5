"""Topics of new documents from those of the training documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.topics.assign import nearest_topics, rule, vote
from nlpkit.topics.neighbours import nearest_neighbours
from nlpkit.topics.novelty import mean_similarity
from nlpkit.types import NO_TOPIC, BoolArray, Float32Array, IntArray


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
    """
    neighbours = nearest_neighbours(embeddings, training.embeddings, k=n_neighbors - 1, threads=threads)
    topics, prob = rule(vote(neighbours, training.topics))
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
