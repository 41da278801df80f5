"""Separation of clusters by the distances of their documents: the silhouette.

Points are embeddings (D, E) or sparse rows such as tf-idf (D, V). Labels (D,) number the clusters from 0; documents of -1 are left
out. With fewer than two clusters no score is defined, and all are NaN: `n_clusters` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.types import FloatArray, IntArray, LongArray

LIMIT = 10_000
_ROWS = 1024  # whose distances to all others are held at a time
_BLOCK = 8192  # rows of points that are held in double precision at a time
_COINCIDE = (
    1e-6  # of the root mean square distance to the centre: nearer points are one, for a difference of squares rounds
)

Points: TypeAlias = Any  # (D, E) float array, or (D, V) CSR
Metric: TypeAlias = Literal["cosine", "euclidean"]


@dataclass(frozen=True, slots=True)
class Separation:
    """A score of a clustering, and how much of it lies in each cluster.

    score: the mean over the documents used; of_clusters (K,): that of each cluster, NaN for one without documents;
    of_documents (D,): NaN for those left out or not drawn, None for scores of whole clusters; n_used documents of n_clusters.
    """

    score: float
    of_clusters: FloatArray
    of_documents: FloatArray | None
    n_used: int
    n_clusters: int


def silhouette(
    points: Points, labels: IntArray, *, metric: Metric = "cosine", limit: int = LIMIT, seed: int = 0
) -> Separation:
    """Return the silhouette of each document, each cluster and the clustering, in [-1, 1] (Rousseeuw 1987; lecture).

        s = (d2 - d1) / max(d1, d2);   d1 mean distance to the others of its cluster, d2 to the documents of the nearest other cluster

    It is 0 for a document alone in its cluster, and where d1 and d2 are 0. scikit-learn's silhouette_samples.

    Cosine distances 1 - x·y of unit rows need no pairs: their mean over a cluster is 1 - x·Σy / n, so that all documents are used in
    O(D K E); a row of zeros is at distance 1 from all. Euclidean ones take O(D² E): above `limit` documents, a sample that holds
    each cluster in proportion stands for all (`stratified_sample`).

    Args:
        points: (D, E) or (D, V) CSR. labels: (D,) cluster of each document, -1 for none.
        metric: of the distance.
        limit: most documents for euclidean distances. seed: of the sample.

    Raises:
        InputError: a value that is not finite. UsageError: an unknown metric, or lengths that differ.
    """
    used = clustered(points, labels)
    if metric == "euclidean" and len(used) > limit:
        used = stratified_sample(labels, limit=limit, seed=seed)
    codes = _codes(labels[used])
    values = np.full(len(labels), np.nan)
    if codes.max(initial=-1) >= 1:
        score = _by_cosine if metric == "cosine" else _by_pairs
        with threadpool_limits(1, user_api="blas"):  # so that the number of threads changes no digit
            values[used] = score(points, used, codes, metric)
    return _summary(values, labels, used)


def clustered(points: Points, labels: IntArray) -> LongArray:
    """Return the rows of the documents in clusters, ascending. Raises UsageError when points and labels differ in number."""
    if points.shape[0] != len(labels):
        raise UsageError(f"each document needs a point and a label, got {points.shape[0]} and {len(labels)}")
    return np.flatnonzero(labels >= 0)


def stratified_sample(labels: IntArray, *, limit: int, seed: int) -> LongArray:
    """Return ascending rows of `limit` clustered documents, each cluster in proportion but with two documents or all it has.

    The two of small clusters may exceed the limit. Largest remainders decide; the same seed draws the same documents.

    Args:
        labels: (D,), documents of -1 are never drawn.
        limit: documents to draw. seed: of the draw.

    Raises:
        UsageError: the limit is below 1.
    """
    if limit < 1:
        raise UsageError(f"a sample needs 1 document or more, got {limit}")
    candidates = np.flatnonzero(labels >= 0)
    if len(candidates) <= limit:
        return candidates
    codes = _codes(labels[candidates])
    sizes = np.bincount(codes)
    exact = limit * sizes / len(candidates)
    quota = np.maximum(np.floor(exact).astype(np.int64), np.minimum(sizes, 2))
    spare = max(limit - int(quota.sum()), 0)
    order = np.argsort(quota - exact, kind="stable")
    quota[order[:spare]] += 1
    rng = np.random.default_rng(seed)
    members = np.split(candidates[np.argsort(codes, kind="stable")], np.cumsum(sizes)[:-1])
    drawn = [rng.choice(rows, n, replace=False) for rows, n in zip(members, quota, strict=True)]
    return np.sort(np.concatenate(drawn))


def distance_rows(points: Points, others: Points, *, metric: Metric) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the distances of blocks of points to all others, (rows, n_others) float64, ≥ 0; rows must be prepared by `prepare`."""
    squares = _squares(others)
    radius = float(np.sqrt(squares.mean())) if len(squares) else 0.0
    for first in range(0, points.shape[0], _ROWS):
        rows = slice(first, min(first + _ROWS, points.shape[0]))
        dot = _dense(points[rows] @ others.T)
        if metric == "cosine":
            distances = 1.0 - dot
            distances[distances < _COINCIDE**2] = 0.0
        else:
            distances = _squares(points[rows])[:, None] + squares - 2.0 * dot
            distances[distances < (_COINCIDE * radius) ** 2] = 0.0
            np.sqrt(distances, out=distances)
        yield rows, distances


def prepare(points: Points, metric: Metric) -> Points:
    """Return points as float64 of length 1 for cosines, or around their mean for euclidean distances, where dense.

    Raises:
        UsageError: an unknown metric. InputError: a value that is not finite.
    """
    if metric not in ("cosine", "euclidean"):
        raise unknown_value("metric", metric, ("cosine", "euclidean"))
    rows = _finite(points).astype(np.float64)
    if metric == "euclidean":
        # far from the origin the difference of squares would lose digits
        return rows if sparse.issparse(rows) else rows - rows.mean(axis=0)
    lengths = np.sqrt(_squares(rows))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ rows) if sparse.issparse(rows) else rows * scale[:, None]


def _by_cosine(points: Points, used: LongArray, codes: LongArray, metric: Metric) -> FloatArray:
    sizes = np.bincount(codes).astype(np.float64)
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(used), _BLOCK)]
    sums: Any = 0
    for block in blocks:
        cluster = codes[block]
        member = sparse.csr_array(
            (np.ones(len(cluster)), (cluster, np.arange(len(cluster)))), shape=(len(sizes), len(cluster))
        )
        sums = sums + member @ prepare(points[used[block]], metric)
    result = np.empty(len(used))
    for block in blocks:
        rows, cluster = prepare(points[used[block]], metric), codes[block]
        dot = _dense(rows @ sums.T)
        # d(x, x), which the sum over the own cluster holds, is 1 - x·x in this formula
        inside = sizes[cluster] - dot[np.arange(len(cluster)), cluster] - (1.0 - _squares(rows))
        inside = np.maximum(inside, 0.0) / np.maximum(sizes[cluster] - 1, 1)
        result[block] = _compare(np.maximum(1.0 - dot / sizes, 0.0), inside, cluster, sizes, _COINCIDE**2)
    return result


def _by_pairs(points: Points, used: LongArray, codes: LongArray, metric: Metric) -> FloatArray:
    order = np.argsort(codes, kind="stable")
    rows, codes = prepare(points[used[order]], metric), codes[order]
    sizes = np.bincount(codes).astype(np.float64)
    starts = np.searchsorted(codes, np.arange(len(sizes)))
    result = np.zeros(len(codes))
    for block, distances in distance_rows(rows, rows, metric=metric):
        cluster = codes[block]
        at = np.arange(len(cluster))
        distances[at, at + block.start] = 0.0
        sums = np.add.reduceat(distances, starts, axis=1)
        inside = sums[at, cluster] / np.maximum(sizes[cluster] - 1, 1)
        result[order[block]] = _compare(sums / sizes, inside, cluster, sizes, 0.0)
    return result


def _compare(mean: FloatArray, inside: FloatArray, cluster: LongArray, sizes: FloatArray, tiny: float) -> FloatArray:
    """Return the silhouettes of documents with mean distances (n, K) to the clusters and `inside` (n,) to the others of their own."""
    at = np.arange(len(cluster))
    mean[at, cluster] = np.inf
    outside = mean.min(axis=1)
    larger = np.maximum(inside, outside)
    score = np.divide(outside - inside, larger, out=np.zeros_like(larger), where=larger > tiny)
    return np.where(sizes[cluster] > 1, score, 0.0)


def _summary(values: FloatArray, labels: IntArray, used: LongArray) -> Separation:
    K = int(labels.max(initial=-1)) + 1
    clusters = labels[used]
    counts = np.bincount(clusters, minlength=K)
    sums = np.bincount(clusters, values[used], minlength=K)
    of_clusters = np.divide(sums, counts, out=np.full(K, np.nan), where=counts > 0)
    score = float(values[used].mean()) if len(used) else float("nan")
    return Separation(score, of_clusters, values, len(used), int((counts > 0).sum()))


def _codes(labels: IntArray) -> LongArray:
    """Return 0 … K-1 for the clusters that occur."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _finite(points: Points) -> Points:
    if not np.isfinite(points.data if sparse.issparse(points) else points).all():
        raise InputError("distances need finite numbers, found NaN or infinity; compute the embeddings again")
    return points


def _squares(points: Points) -> FloatArray:
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1), np.float64).ravel()
    return np.asarray(np.einsum("de,de->d", points, points), np.float64)


def _dense(product: Any) -> FloatArray:
    return np.asarray(product.toarray() if sparse.issparse(product) else product, np.float64)
