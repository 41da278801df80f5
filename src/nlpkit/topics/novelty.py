"""Documents unlike everything a model was fitted to: a bound from the training documents themselves."""

from __future__ import annotations

import math

import numpy as np

from nlpkit.topics.neighbours import Neighbours, distinct_rows, nearest_neighbours
from nlpkit.types import Float32Array, IntArray


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
