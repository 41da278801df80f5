"""Topics by k-means on unit vectors, of embeddings that are averaged with their nearest neighbours first.

Averaging over the neighbour graph is the low-pass filter of graph clustering (Zhang et al. 2019, Attributed graph clustering
via adaptive graph convolution, IJCAI): what a document shares with those around it stays, what is its own goes.

Further parts, in this order:
- The density hierarchy of a layout (HDBSCAN): built once, cut at any minimum cluster size.
- Topics by agglomerative clustering (scipy): the cut of one tree of at most 4,000 documents.
- Topics by a mixture of Gaussians with diagonal covariances (scikit-learn), started from Ward's tree.
- Stability of topics: whether a second fit finds them again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from nlpkit.cluster.kernels import condense, excess_of_mass, single_linkage
from nlpkit.cluster.neighbours import Neighbours, group_sums, unit_rows
from nlpkit.cluster.reduce import principal_axes
from nlpkit.errors import InputError, missing_extra
from nlpkit.metrics.labels.clustering import adjusted_mutual_information
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray

DIMENSIONS = 50
ROUNDS = 2
TIE_BREAK = 1e-3
BLOCK_ROWS = 4096


def smoothed(embeddings: Float32Array, neighbours: Neighbours) -> Float32Array:
    """Return each row averaged with its neighbours and scaled to unit length, ROUNDS times over (U, E).

    A thousandth of the row itself is added at the end: the rows of a group whose members have one another as neighbours
    would be equal without it, and no number of clusters could divide them.
    """
    U, k = neighbours.index.shape
    ends = np.repeat(np.arange(U, dtype=np.int32), k), neighbours.index.ravel()
    graph = sparse.csr_array((np.ones(U * k, np.float32), ends), shape=(U, U)) + sparse.eye_array(U, dtype=np.float32)
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, U, BLOCK_ROWS)]
    result = embeddings
    for _ in range(ROUNDS):
        before, result = result, np.empty(embeddings.shape, np.float32)
        for rows in blocks:
            result[rows] = unit_rows(graph[rows] @ before)
    for rows in blocks:
        result[rows] = unit_rows(result[rows] + TIE_BREAK * embeddings[rows])
    return result


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
        with _libraries().limit(limits=1):
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


# ------------------------------------------------------------------------------------------------------------------------
# The density hierarchy of a layout (HDBSCAN): built once, cut at any minimum cluster size.

MAX_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Single linkage of mutual reachability distances: edges (N-1, 2) int64 and lengths (N-1,) ascending, and its merges."""

    edges: LongArray
    lengths: FloatArray
    left: LongArray
    right: LongArray
    size: LongArray

    @property
    def n_points(self) -> int:
        """N."""
        return len(self.lengths) + 1

    def cut(self, min_cluster_size: int, max_share: float = MAX_SHARE) -> IntArray:
        """Return the topic of each point (N,) int32, -1 for none: excess of mass, clusters of at least this many points.

        A cluster that holds more than max_share of the points is split when the tree has clusters below it: one small
        far group (sports beside all other news) would otherwise leave the rest as one topic.
        """
        clusters, lambdas, parent, _, stability = condense(
            self.left, self.right, self.size, self.lengths, min_cluster_size
        )
        labels, _ = excess_of_mass(clusters, lambdas, parent, stability, int(max_share * self.n_points))
        return np.asarray(labels, np.int32)

    def validity(self, labels: IntArray) -> float:
        """Return the density-based validity of a clustering in [-1, 1] (DBCV, Moulavi et al. 2014), read off the tree.

        Of each cluster: (separation - sparseness) / max of both, with its longest tree edge inside as sparseness and the
        shortest tree edge to another cluster as separation; weighted by size over all points. hdbscan calls this reading
        `relative_validity_`: comparable between cuts of one tree, not between corpora.
        """
        K = int(labels.max(initial=-1)) + 1
        if K < 2:
            return 0.0
        a, b = labels[self.edges[:, 0]], labels[self.edges[:, 1]]
        sparseness, separation = np.zeros(K), np.full(K, np.inf)
        inside = (a == b) & (a >= 0)
        np.maximum.at(sparseness, a[inside], self.lengths[inside])
        between = (a != b) & (a >= 0) & (b >= 0)
        for side in (a, b):
            np.minimum.at(separation, side[between], self.lengths[between])
        # a cluster whose tree neighbours are all unassigned: as far as the longest edge between clusters
        longest = self.lengths[between].max(initial=0.0) or self.lengths.max()
        separation[~np.isfinite(separation)] = longest
        larger = np.maximum(np.maximum(sparseness, separation), 1e-12)
        sizes = np.bincount(labels[labels >= 0], minlength=K)
        return float(((separation - sparseness) / larger * sizes).sum() / len(labels))


def build_hierarchy(layout: Float32Array, *, min_samples: int) -> Hierarchy:
    """Return the hierarchy of the points of a layout (N, L), with the exact Borůvka tree of the hdbscan package.

    Args:
        layout: (N, L), N > min_samples.
        min_samples: neighbours that make a density; higher leaves more points unassigned.

    Raises:
        MissingError: the extra 'neural' is not installed.
    """
    try:
        from hdbscan import HDBSCAN
    except ImportError:
        raise missing_extra("clustering into topics", "neural") from None

    model = HDBSCAN(
        min_cluster_size=2,
        min_samples=min_samples,
        algorithm="boruvka_kdtree",
        approx_min_span_tree=False,
        gen_min_span_tree=True,
        core_dist_n_jobs=1,
    ).fit(layout.astype(np.float64))
    tree = model.minimum_spanning_tree_.to_numpy()
    ends = np.sort(tree[:, :2].astype(np.int64), axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0], tree[:, 2]))
    edges, lengths = np.ascontiguousarray(ends[order]), np.ascontiguousarray(tree[order, 2])
    left, right, size = single_linkage(edges, len(layout))
    return Hierarchy(edges, lengths, left, right, size)


# ------------------------------------------------------------------------------------------------------------------------
# Topics by agglomerative clustering (scipy): the cut of one tree of at most 4,000 documents.


class LinkageFits(Fits):
    """Cuts of a tree by single, complete, average or Ward's linkage. Points outside the tree join the nearest mean."""

    def fit(self, k: int) -> tuple[IntArray, Float32Array]:
        """Return labels (U,) int32 and the mean of each cluster (k, d); raises InputError for more clusters than leaves."""
        group = cut_into(self.merges, self.at_most_leaves(k))
        centers = means(self.points[self.rows], group, k).astype(np.float32)
        labels = group
        if len(self.rows) < len(self.points):
            labels = nearest_centers(self.points.astype(np.float32), centers)
            labels[self.rows] = group
        return labels, centers


# ------------------------------------------------------------------------------------------------------------------------
# Topics by a mixture of Gaussians with diagonal covariances (scikit-learn), started from Ward's tree.

ITERATIONS = 100
LEAST_VARIANCE = 1e-4


class MixtureFits(Fits):
    """Gaussian mixtures; a component that wins no document leaves one topic fewer than was asked for."""

    def fit(self, k: int) -> tuple[IntArray, Any]:
        """Return labels (U,) int32 and the mixture; raises InputError for more components than the tree has leaves."""
        from sklearn.mixture import GaussianMixture

        rows = self.points[self.rows]
        group = cut_into(self.merges, self.at_most_leaves(k))
        centers = means(rows, group, k)
        spread = group_sums((rows - centers[group]) ** 2, group, k)
        sizes = np.bincount(group)[:, None]
        within = ((rows - centers[group]) ** 2).mean(axis=0) + LEAST_VARIANCE
        # a group of few documents says little of its variance: as if it had one document of average variance more
        variance = (spread + within) / (sizes + 1)
        mixture = GaussianMixture(
            k, covariance_type="diag", max_iter=ITERATIONS, reg_covar=LEAST_VARIANCE, means_init=centers,
            weights_init=sizes.ravel() / len(rows), precisions_init=1 / variance, random_state=self.seed % 2**32,
        )  # fmt: skip
        with threadpool_limits(1):
            labels = mixture.fit(self.points).predict(self.points)
        return labels.astype(np.int32), mixture

    @staticmethod
    def assign(model: Any, points: Float32Array) -> IntArray:
        """Return the component of highest posterior probability of each point."""
        with threadpool_limits(1):
            return np.asarray(model.predict(points.astype(np.float64)), np.int32)


# ------------------------------------------------------------------------------------------------------------------------
# Stability of topics: whether a second fit finds them again.

LEAST_STABLE = 0.5


@dataclass(frozen=True, slots=True)
class Repeat:
    """A second fit: rows (R,) of the points it says something of, and the topic of each (R,), -1 for none."""

    rows: LongArray
    topics: IntArray


def agreement(topics: IntArray, repeats: Sequence[Repeat]) -> float:
    """Return the mean AMI of topics (U,) with those of the repeats, NaN without any."""
    scores = [adjusted_mutual_information(topics[r.rows], r.topics) for r in repeats]
    return float(np.mean(scores)) if scores else np.nan


def topic_stability(topics: IntArray, K: int, repeats: Sequence[Repeat]) -> FloatArray:
    """Return how well each topic comes back (K,): the mean over repeats of its greatest Jaccard coefficient with a topic there.

    Below 0.5 a topic is dissolved (Hennig 2007, Cluster-wise assessment of cluster stability, section 3). A repeat that has no
    document of a topic says nothing of it; a topic that none has is NaN.

    Args:
        topics: (U,) topic of each point, -1 for none.
    """
    values = np.full((len(repeats), K), np.nan)
    for row, repeat in zip(values, repeats, strict=True):
        first, other = topics[repeat.rows], repeat.topics
        both = (first >= 0) & (other >= 0)
        J = int(other.max(initial=-1)) + 1
        shared = np.bincount(first[both].astype(np.int64) * J + other[both], minlength=K * J).reshape(K, J)
        sizes = np.bincount(first[first >= 0], minlength=K)
        union = sizes[:, None] + np.bincount(other[other >= 0], minlength=J) - shared
        present = sizes > 0
        row[present] = (shared / np.maximum(union, 1)).max(axis=1, initial=0.0)[present]
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean: FloatArray = np.divide(total, known.sum(axis=0), out=np.full(K, np.nan), where=known.any(axis=0))
    return mean
