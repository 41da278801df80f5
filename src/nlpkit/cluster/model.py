"""Clusters of any points by k-means, k-medoids, linkages, HDBSCAN or a Gaussian mixture, and their number by the silhouette.

Points are dense (D, E) or sparse (D, V). Under cosine, methods of means work on rows of length 1. One thread: the same bytes on any
number of them. Definitions: lecture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.cluster.hierarchy import KMeansFits, cut_into
from nlpkit.cluster.kernels import build, swap
from nlpkit.cluster.neighbours import Metric, unit_points, values_between
from nlpkit.cluster.options import LINKAGES, ClusterOptions
from nlpkit.errors import InputError
from nlpkit.metrics.topics.separation import silhouette, stratified_sample
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import FloatArray, IntArray, LongArray

MATRIX_LIMIT = 10_000  # documents of a matrix of distances: 800 MB
MOST_CLUSTERS = 20  # of `k=auto`
STARTS = 4  # of k-means on sparse rows
SILHOUETTE_LIMIT = 10_000
_ROWS = 512


@dataclass(frozen=True, slots=True)
class Candidate:
    """A number of clusters with its scores.

    inertia: of k-medoids the sum of the distances to the medoids, else of the squared Euclidean distances to the means of clusters.
    silhouette: mean over the documents, NaN for fewer than two clusters.
    """

    k: int
    inertia: float
    silhouette: float
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class TableClusters:
    """Clusters of points: labels (D,) int32 by size, 0 the largest, -1 for none.

    distance (D,): from the center of the cluster, NaN without one; inertia and silhouette as in `Candidate`; candidates: the numbers
    that were compared; merges (D-1, 4): of a linkage, as scipy has them.
    """

    labels: IntArray
    distance: FloatArray
    inertia: float
    silhouette: float
    candidates: tuple[Candidate, ...] = ()
    merges: FloatArray | None = None

    @property
    def sizes(self) -> LongArray:
        """Points of each cluster (K,)."""
        return np.bincount(self.labels[self.labels >= 0]).astype(np.int64)


def scaled(points: Any, scale: str) -> Any:
    """Return dense points with each dimension scaled: standard (mean 0, deviation 1), minmax (0 to 1), robust (median, quartiles)."""
    from sklearn import preprocessing

    kinds = {"standard": "StandardScaler", "minmax": "MinMaxScaler", "robust": "RobustScaler"}
    return (
        points if scale == "none" else getattr(preprocessing, kinds[scale])().fit_transform(points.astype(np.float64))
    )


def cluster_points(points: Any, options: ClusterOptions, *, seed: int) -> TableClusters:
    """Return the clusters of points (D, E) or (D, V): as many as asked for, or the number of the largest silhouette.

    Raises:
        InputError: fewer different points than clusters, or more points than a matrix of distances takes.
    """
    with one_thread():
        engine = _Engine(scaled(points, options.scale), options, seed)
        if options.method == "hdbscan":
            return engine.result(engine.dense_groups())
        numbers = _numbers(options, engine.n_different)
        if len(numbers) == 1:
            return engine.result(engine.labels(numbers[0]))
        results = {k: engine.result(engine.labels(k)) for k in numbers}
        best = max(numbers, key=lambda k: (np.nan_to_num(results[k].silhouette, nan=-2.0), -k))
        table = tuple(Candidate(k, r.inertia, r.silhouette, k == best) for k, r in results.items())
        return replace(results[best], candidates=table)


def _numbers(options: ClusterOptions, n_different: int) -> Sequence[int]:
    """Return the numbers of clusters to compare."""
    wanted = options.number()
    most = f"there are {n_different:,} different documents" if n_different != 1 else "all documents are equal"
    if wanted.exactly:
        if wanted.exactly > n_different:
            raise InputError(f"`k={wanted.exactly}`: {most}; use at most {n_different}", parameter="k")
        return [wanted.exactly]
    if wanted.within.high is None:
        return range(2, max(min(MOST_CLUSTERS, n_different - 1), 2) + 1) if n_different > 1 else [1]
    numbers = range(wanted.within.low, min(wanted.within.high, n_different) + 1, wanted.within.step or 1)
    if not numbers:
        raise InputError(f"`k={options.k}`: {most}; use at most {n_different}", parameter="k")
    return numbers


class _Engine:
    """A method on points: what it needs for every number of clusters is made once."""

    def __init__(self, points: Any, options: ClusterOptions, seed: int) -> None:
        self.method, self.metric, self.seed = options.method, Metric(options.distance()), seed
        self.smallest = options.min_cluster_size or 5
        self.points = unit_points(points) if self.metric.name == "cosine" else points
        self.medoids: LongArray | None = None
        if self.method in (*LINKAGES, "kmedoids") and points.shape[0] > MATRIX_LIMIT:
            raise InputError(
                f"`method={self.method}` needs the distances of all pairs: {points.shape[0]:,} documents are too "
                f"many, at most {MATRIX_LIMIT:,}; use kmeans, or fewer documents (`limit`)",
                parameter="method",
            )

    @cached_property
    def n_different(self) -> int:
        """Number of different points; of sparse ones, those that are equal but for rounding count once."""
        if not sparse.issparse(self.points):
            return len(np.unique(self.points, axis=0))
        rows, values = self.points.indices, np.round(self.points.data, 12)
        return len({(rows[a:b].tobytes(), values[a:b].tobytes()) for a, b in pairwise(self.points.indptr)})

    @cached_property
    def distances(self) -> FloatArray:
        """All distances (D, D)."""
        D = self.points.shape[0]
        matrix = np.empty((D, D))
        for start in range(0, D, _ROWS):
            matrix[start : start + _ROWS] = values_between(self.points[start : start + _ROWS], self.points, self.metric)
        if self.metric.is_similarity:
            np.subtract(1.0, matrix, out=matrix)
        matrix = np.minimum(matrix, matrix.T)  # equal to the last digit
        np.fill_diagonal(matrix, 0.0)
        return matrix

    @property
    def _euclidean(self) -> FloatArray:
        """All distances, instead of 1 - cosine the Euclidean ones of rows of length 1."""
        return np.sqrt(2.0 * self.distances) if self.metric.is_similarity else self.distances

    @cached_property
    def merges(self) -> FloatArray | None:
        """Merges of a linkage (D-1, 4), None of other methods. Ward's are of Euclidean distances."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        if self.method not in LINKAGES:
            return None
        if self.points.shape[0] < 2:
            return np.zeros((0, 4))
        matrix = self._euclidean if self.method == "ward" else self.distances
        return np.asarray(linkage(squareform(matrix, checks=False), self.method))

    @cached_property
    def _means(self) -> KMeansFits:
        return KMeansFits(self.points, seed=self.seed)

    def labels(self, k: int) -> IntArray:
        """Return the cluster of each point for k clusters."""
        if self.merges is not None:
            return cut_into(self.merges, k)
        if self.method == "kmedoids":
            self.medoids = build(self.distances, k)
            swap(self.distances, self.medoids, 1e-12 * max(float(self.distances.mean()) * len(self.distances), 1e-300))
            return np.asarray(self.distances[self.medoids].argmin(axis=0), np.int32)
        if self.method == "gmm":
            from sklearn.mixture import GaussianMixture

            model = GaussianMixture(k, covariance_type="diag", random_state=self.seed % 2**32, max_iter=300)
            return np.asarray(model.fit_predict(self.points.astype(np.float64)), np.int32)
        if not sparse.issparse(self.points):
            return self._means.fit(k)[0]
        from sklearn.cluster import KMeans

        return np.asarray(KMeans(k, n_init=STARTS, random_state=self.seed % 2**32).fit(self.points).labels_, np.int32)

    def dense_groups(self) -> IntArray:
        """Return the clusters of HDBSCAN, -1 for none."""
        from sklearn.cluster import HDBSCAN

        D = self.points.shape[0]
        if max(self.smallest, 2) > D:
            return np.full(D, -1, np.int32)
        if sparse.issparse(self.points):
            if D > MATRIX_LIMIT:
                raise InputError(
                    f"`method=hdbscan` takes at most {MATRIX_LIMIT:,} documents by tf-idf; use `by=embedding`"
                )
            model = HDBSCAN(min_cluster_size=self.smallest, metric="precomputed", copy=True)
            return np.asarray(model.fit_predict(self._euclidean), np.int32)
        metric = "manhattan" if self.metric.name == "manhattan" else "euclidean"
        model = HDBSCAN(min_cluster_size=self.smallest, metric=metric, copy=True)
        return np.asarray(model.fit_predict(self.points.astype(np.float64)), np.int32)

    def result(self, labels: IntArray) -> TableClusters:
        """Return clusters numbered by size, with their scores and the distance of each point from its center."""
        medoids = self.medoids
        numbers, first, counts = np.unique(labels[labels >= 0], return_index=True, return_counts=True)
        order = np.lexsort((first, -counts))
        place = np.full(int(labels.max(initial=-1)) + 2, -1, np.int32)
        place[numbers[order]] = np.arange(len(numbers), dtype=np.int32)
        labels = place[labels]
        K = len(numbers)
        centers = self.points[medoids[numbers[order]]] if medoids is not None else _means(self.points, labels, K)
        distance = np.full(len(labels), np.nan)
        squares = 0.0
        for rows, of_cluster in _blocks(labels):
            values = self._from_centers(rows, centers, of_cluster, self.metric)
            distance[rows] = 1.0 - values if self.metric.is_similarity else values
            if medoids is None:
                squares += float((self._from_centers(rows, centers, of_cluster, Metric("euclidean")) ** 2).sum())
        inertia = squares if medoids is None else float(distance.sum())
        return TableClusters(labels, distance, inertia, self._silhouette(labels), merges=self.merges)

    def _from_centers(self, rows: LongArray, centers: Any, of_cluster: IntArray, metric: Metric) -> FloatArray:
        return values_between(self.points[rows], centers, metric)[np.arange(len(rows)), of_cluster]

    def _silhouette(self, labels: IntArray) -> float:
        if labels.max(initial=-1) < 1:
            return float("nan")
        if self.metric.name != "manhattan":
            metric: Any = self.metric.name
            return silhouette(self.points, labels, metric=metric, limit=SILHOUETTE_LIMIT, seed=self.seed).score
        from sklearn.metrics import silhouette_score

        used = np.flatnonzero(labels >= 0)
        if len(used) > SILHOUETTE_LIMIT:
            used = stratified_sample(labels, limit=SILHOUETTE_LIMIT, seed=self.seed)
        if len(np.unique(labels[used])) == len(used):
            return 0.0  # every point is alone, which scikit-learn refuses
        return float(silhouette_score(self.points[used], labels[used], metric="manhattan"))


def _means(points: Any, labels: IntArray, K: int) -> Any:
    """Return the means of clusters (K, E) dense, or (K, V) CSR."""
    used = np.flatnonzero(labels >= 0)
    member = sparse.csr_array((np.ones(len(used)), (labels[used], used)), shape=(K, points.shape[0]))
    sums = member @ points.astype(np.float64)
    scale = sparse.diags_array(1.0 / np.maximum(np.bincount(labels[used], minlength=K), 1))
    return sparse.csr_array(scale @ sums) if sparse.issparse(sums) else scale @ sums


def _blocks(labels: IntArray) -> Iterator[tuple[LongArray, IntArray]]:
    """Yield the rows of points in clusters, with their clusters."""
    used = np.flatnonzero(labels >= 0)
    for start in range(0, len(used), _ROWS):
        rows = used[start : start + _ROWS]
        yield rows, labels[rows]
