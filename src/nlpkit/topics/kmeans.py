"""Topics by k-means on unit vectors, of embeddings that are averaged with their nearest neighbours first.

Averaging over the neighbour graph is the low-pass filter of graph clustering (Zhang et al. 2019, Attributed graph clustering
via adaptive graph convolution, IJCAI): what a document shares with those around it stays, what is its own goes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import numpy as np
import scipy
from scipy import sparse
from threadpoolctl import ThreadpoolController

from nlpkit.errors import InputError
from nlpkit.topics.neighbours import Neighbours, group_sums, unit_rows
from nlpkit.topics.reduce import principal_axes
from nlpkit.types import Float32Array, FloatArray, IntArray

DIMENSIONS = 50
ROUNDS = 2
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


class Fits(ABC):
    """Clusterings of points (U, d) for any number of clusters, from the cuts of one tree.

    rows: of the points that are leaves of the tree, at most LEAVES; merges: the tree in scipy's form. In double, so that averages
    that differ by little more than `TIE_BREAK` are still apart. A fit has one thread: the bytes are the same on any number.
    """

    LEAVES = 4000

    def __init__(self, points: Float32Array, *, seed: int, linkage: str = "ward") -> None:
        self.points, self.seed = points.astype(np.float64), seed
        self.rows = np.sort(np.random.default_rng(seed).permutation(len(points))[: self.LEAVES])
        leaves = self.points[self.rows]
        self.merges = scipy.cluster.hierarchy.linkage(leaves, linkage) if len(leaves) > 1 else np.zeros((0, 4))

    @abstractmethod
    def fit(self, k: int) -> tuple[IntArray, Any]:
        """Return labels (U,) int32, 0 … k - 1, and a model that `assign` takes."""

    @staticmethod
    def assign(model: Any, points: Float32Array) -> IntArray:
        """Return the cluster of other points in a model."""
        return nearest_centers(points, model)

    def at_most_leaves(self, k: int) -> int:
        """Return k. Raises InputError when the tree has fewer leaves."""
        if k > len(self.rows):
            raise InputError(f"this method makes at most {len(self.rows):,} topics; give `cluster=kmeans` for more")
        return k


class KMeansFits(Fits):
    """k-means, started from Ward's tree cut into k groups (Milligan & Sokol 1980), or from k-means++ for more than it has leaves.

    One tree serves every k, and the start needs no luck: four draws of k-means++ for each take five times as long and are no
    better (docs/benchmarks/topic-number.md).
    """

    LEAVES = 2000

    def fit(self, k: int) -> tuple[IntArray, Float32Array]:
        """Return labels (U,) int32, each of 0 … k - 1 there, and centers (k, d) of Lloyd's iterations (scikit-learn)."""
        from sklearn.cluster import KMeans

        start: Any = "k-means++"
        if k <= len(self.rows):
            start = means(self.points[self.rows], cut_into(self.merges, k), k)
        with _libraries().limit(limits=1, user_api="openmp"):
            model = KMeans(k, init=start, n_init=1, random_state=self.seed % 2**32, algorithm="lloyd").fit(self.points)
        return model.labels_.astype(np.int32), model.cluster_centers_.astype(np.float32)


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries with threads; looking for them takes as long as a small fit."""
    return ThreadpoolController()


def means(points: FloatArray, labels: IntArray, k: int) -> FloatArray:
    """Return the mean point of each cluster (k, d), all of which have points."""
    return np.asarray(group_sums(points, labels, k) / np.bincount(labels, minlength=k)[:, None])


def cut_into(merges: FloatArray, k: int) -> IntArray:
    """Return the group of each leaf (n,) after the first n - k merges of a tree in scipy's form (n - 1, 4), in order of leaves."""
    n = len(merges) + 1
    into = np.arange(2 * n - 1)
    done = merges[: n - k, :2].astype(np.int64)
    into[done] = np.arange(n, n + len(done))[:, None]
    while not np.array_equal(into, into[into]):
        into = into[into]
    _, group = np.unique(into[:n], return_inverse=True)
    return group.astype(np.int32)


def nearest_centers(points: Float32Array, centers: Float32Array) -> IntArray:
    """Return the center of least Euclidean distance of each point (U,)."""
    half_norm = 0.5 * (centers * centers).sum(axis=1)
    blocks = range(0, len(points), BLOCK_ROWS)
    nearest = [(points[row : row + BLOCK_ROWS] @ centers.T - half_norm).argmax(axis=1) for row in blocks]
    return np.concatenate(nearest).astype(np.int32)
