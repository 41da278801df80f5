"""Names of the topics of a fit, and of its layers, by phrases of typical documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from nlpkit.cluster.assign import topic_centroids
from nlpkit.platform.types import Float32Array, IntArray, LongArray
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.base.topic_words import phrase_names, topic_names
from nlpkit.topics.bertopic.description import DistinctTexts, TopicModel
from nlpkit.weights.key_phrases import (
    KEPT,
    LONGEST,
    LONGEST_TEXT,
    Nearness,
    key_phrases,
    nearness_of_vectors,
    phrases_of,
    plain_segments,
    spelled,
)

TYPICAL = 200  # documents of each topic that are searched

Encode = Callable[[list[str]], Float32Array]


def named_by_phrases(
    model: TopicModel,
    vocabulary: Sequence[str],
    X: Float32Array,
    distinct: DistinctTexts,
    texts: Callable[[LongArray], list[str]],
    cut: PreprocessOptions,
    encode: Encode,
) -> TopicModel:
    """Return a model whose topics, and those of whose layers, are named by phrases (`key_phrases`), where words named them.

    Args:
        X (U, E): the different embeddings. texts: the texts of given documents. cut: how they were made terms. encode: (n, E) embeddings
            of phrases.
    """
    rows = typical_rows(model)
    of_rows = [text[:LONGEST_TEXT] for text in texts(rows)]
    phrases = phrases_of([plain_segments(text) for text in of_rows], cut)
    vectors: dict[int, Float32Array] = {}

    def embedded(p: LongArray) -> Float32Array:
        new = [i for i in p.tolist() if i not in vectors]
        vectors.update(zip(new, encode([" ".join(phrases.words[i]) for i in new]) if new else [], strict=True))
        return np.array([vectors[i] for i in p.tolist()])

    def names(
        topics: IntArray, size: IntArray, labels: Sequence[str], generated: Sequence[str], centroids: Float32Array
    ) -> tuple[str, ...]:
        of_topic = topics[rows]
        near: Nearness = lambda p: nearness_of_vectors(embedded(p), centroids, size)  # noqa: E731
        chosen = key_phrases(phrases, of_topic, len(labels), near, KEPT)
        written = [
            [spelled(phrases, p, of_rows, of_topic == k)[0] for p in chosen[k]] if labels[k] == generated[k] else []
            for k in range(len(labels))
        ]
        return phrase_names(written, labels, longest=LONGEST, further=KEPT)

    labels = names(
        model.topics, model.size, model.labels, topic_names(model.terms.term_ids, vocabulary), model.centroids
    )
    layers = []
    for layer in model.layers:
        of_points = layer.topics[distinct.first]
        centroids = topic_centroids(X, of_points, len(layer.labels))
        of_layer = labels if layer.chosen else names(layer.topics, layer.size, layer.labels, layer.labels, centroids)
        layers.append(replace(layer, labels=of_layer))
    return replace(model, labels=labels, layers=tuple(layers))


def typical_rows(model: TopicModel) -> LongArray:
    """Return the documents, ascending, that are the 200 of highest topic_prob, then margin, of each topic."""
    order = np.lexsort((-model.margin, -model.topic_prob, model.topics))
    order = order[model.topics[order] >= 0]
    start = np.searchsorted(model.topics[order], model.topics[order])
    return np.sort(order[np.arange(len(order)) - start < TYPICAL]).astype(np.int64)
