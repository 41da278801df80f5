"""Layers of topics: the topics of a fit merged into coarser ones and divided into finer ones, each inside one of the layer above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.topics.kmeans import cut_into
from nlpkit.types import Float32Array, FloatArray, IntArray

MOST_LAYERS = 6


@dataclass(frozen=True, slots=True)
class Layer:
    """One resolution: topics (D,) of the documents, -1 for none, and the parent (K,) of each in the next coarser layer.

    It is -1 in the first, and for a topic without a document.
    """

    topics: IntArray
    parent: IntArray

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.parent)


def topic_tree(centroids: Float32Array) -> FloatArray:
    """Return Ward's tree of topics (K - 1, 4) in scipy's form, from the centroids (K, E)."""
    from scipy.cluster.hierarchy import linkage

    return np.asarray(linkage(centroids.astype(np.float64), "ward")) if len(centroids) > 1 else np.zeros((0, 4))


def layers_around(
    topics: IntArray, tree: FloatArray, *, coarser: Sequence[int], divisions: Sequence[IntArray]
) -> tuple[list[Layer], int]:
    """Return nested layers, coarsest first, and which of them has the topics themselves.

    Coarser layers are cuts of the tree of topics, so that each topic lies in one of theirs; a cut that topics without a document make
    no coarser than the next layer is left out. A finer layer is a division of all documents whose parts are given to the topic that
    most of their documents have; each document keeps to parts of its topic.

    Args:
        topics: (D,) topic of each document, -1 for none; tree: `topic_tree`.
        coarser: numbers of topics, falling, each below that of the topics.
        divisions: (D,) labels of finer divisions, the coarsest first.
    """
    K = len(tree) + 1
    stack = [topics]
    for k in coarser[: MOST_LAYERS - 2]:
        cut = merged(topics, tree, k)
        if 1 < _number(cut) < _number(stack[0]):
            stack.insert(0, cut)
    at = len(stack) - 1
    for division in divisions[: MOST_LAYERS - len(stack)]:
        stack.append(divided(stack[-1], division))
    numbered = [by_size(labels) for labels in stack[:at]] + [topics] + [by_size(labels) for labels in stack[at + 1 :]]
    layers = []
    for number, labels in enumerate(numbered):
        n_topics = int(labels.max(initial=-1)) + 1 if number != at else K
        parent = np.full(n_topics, -1, np.int32)
        if number:
            parent[labels[labels >= 0]] = numbered[number - 1][labels >= 0]
        layers.append(Layer(labels, parent))
    return layers, at


def merged(topics: IntArray, tree: FloatArray, k: int) -> IntArray:
    """Return topics (D,) after those of a tree were merged into k; -1 stays."""
    return np.where(topics >= 0, cut_into(tree, k)[topics], -1).astype(np.int32)


def _number(topics: IntArray) -> int:
    """Return how many topics have a document."""
    return len(np.unique(topics[topics >= 0]))


def halved(k: int) -> list[int]:
    """Return half of a number of topics, half of that and so on, down to 2: layers that no evidence speaks for."""
    numbers = []
    while (k := k // 2) >= 2:
        numbers.append(k)
    return numbers


def divided(topics: IntArray, division: IntArray) -> IntArray:
    """Return topics (D,) divided by another division: by the parts that a topic has the majority of.

    A document whose part belongs to another topic goes to the largest part of its own topic.
    """
    assigned = topics >= 0
    K, J = int(topics.max(initial=-1)) + 1, int(division.max(initial=-1)) + 1
    counts = np.bincount(topics[assigned].astype(np.int64) * J + division[assigned], minlength=K * J).reshape(K, J)
    owner = counts.argmax(axis=0)
    inside = counts * (owner == np.arange(K)[:, None])
    largest = np.where(inside.any(axis=1), inside.argmax(axis=1), J + np.arange(K))  # a topic without parts stays whole
    part = np.where(owner[division] == topics, division, largest[topics])
    return np.where(assigned, np.unique(part, return_inverse=True)[1], -1).astype(np.int32)


def by_size(labels: IntArray) -> IntArray:
    """Return labels numbered by size, the largest 0, ties by the earlier first document; -1 stays."""
    assigned = labels[labels >= 0]
    values, first, inverse, sizes = np.unique(assigned, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(values), np.int32)
    rank[np.lexsort((first, -sizes))] = np.arange(len(values), dtype=np.int32)
    result = np.full(len(labels), -1, np.int32)
    result[labels >= 0] = rank[inverse]
    return result
