"""Topics by k-means on unit vectors, of embeddings that are averaged with their nearest neighbours first.

Averaging over the neighbour graph is the low-pass filter of graph clustering (Zhang et al. 2019, Attributed graph clustering
via adaptive graph convolution, IJCAI): what a document shares with those around it stays, what is its own goes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.topics.neighbours import Neighbours, unit_rows
from nlpkit.topics.reduce import principal_axes
from nlpkit.types import Float32Array, IntArray

DIMENSIONS = 50
ROUNDS = 2
STARTS = 4
TIE_BREAK = 1e-3
BLOCK_ROWS = 4096


def smoothed(embeddings: Float32Array, neighbours: Neighbours, rounds: int = ROUNDS) -> Float32Array:
    """Return each row averaged with its neighbours and scaled to unit length, `rounds` times over (U, E).

    A thousandth of the row itself is added at the end: the rows of a group whose members have one another as neighbours
    would be equal without it, and no number of clusters could divide them.
    """
    U, k = neighbours.index.shape
    rows = np.repeat(np.arange(U, dtype=np.int32), k)
    ones = np.ones(U * k, np.float32)
    graph = sparse.csr_array((ones, (rows, neighbours.index.ravel())), shape=(U, U)) + sparse.eye_array(
        U, dtype=np.float32
    )
    result = embeddings
    for _ in range(rounds):
        result = unit_rows(graph @ result)
    return unit_rows(result + TIE_BREAK * embeddings)


def plain_view(embeddings: Float32Array, dimensions: int = DIMENSIONS) -> Float32Array:
    """Return the first principal components of rows, scaled to unit length (U, at most `dimensions`)."""
    return unit_rows(principal_axes(embeddings, min(dimensions, len(embeddings) - 1, embeddings.shape[1])))


def kmeans(points: Float32Array, k: int, *, seed: int, starts: int = STARTS) -> tuple[IntArray, Float32Array]:
    """Return labels (U,) int32 and centers (k, d) of the best of several k-means fits (Lloyd, k-means++; scikit-learn).

    The same bytes on any number of threads: one fit has one thread. In double, so that averages that differ by little more than
    `TIE_BREAK` are still apart, and each label from 0 to k - 1 is there.
    """
    from sklearn.cluster import KMeans

    with threadpool_limits(1, user_api="openmp"):
        model = KMeans(k, n_init=starts, random_state=seed, algorithm="lloyd").fit(points.astype(np.float64))
    return model.labels_.astype(np.int32), model.cluster_centers_.astype(np.float32)


def nearest_centers(points: Float32Array, centers: Float32Array) -> IntArray:
    """Return the center of least Euclidean distance of each point (U,)."""
    half_norm = 0.5 * (centers * centers).sum(axis=1)
    blocks = range(0, len(points), BLOCK_ROWS)
    nearest = [(points[row : row + BLOCK_ROWS] @ centers.T - half_norm).argmax(axis=1) for row in blocks]
    return np.concatenate(nearest).astype(np.int32)
