"""The separation of clusters: silhouette and DBCV, from the distances of their documents.

Points are embeddings (D, E) or sparse rows such as tf-idf (D, V). Labels (D,) number the clusters from 0; documents of -1 are left
out. With fewer than two clusters no score is defined, and all are NaN: `n_clusters` tells.

Parts, in this order:
- Separation of clusters by the distances of their documents: the silhouette.
- Density-based validity of a clustering (DBCV): are its clusters denser inside than between each other?
- How far the documents of a topic lie from those of others: silhouette and DBCV, on embeddings or tf-idf.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Score, Uncertainty, mean_score
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray

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


# ------------------------------------------------------------------------------------------------------------------------
# Density-based validity of a clustering (DBCV): are its clusters denser inside than between each other?

Ties: TypeAlias = Literal["nearest", "first"]


def dbcv(
    points: Points,
    labels: IntArray,
    *,
    metric: Metric = "euclidean",
    limit: int = LIMIT,
    seed: int = 0,
    ties: Ties = "nearest",
) -> Separation:
    """Return the density-based validity of each cluster and of the clustering, in [-1, 1] (Moulavi et al. 2014, SDM).

        a_i  = (Σ_{j≠i} d_ij^-E / (n - 1))^(-1/E)    distance at which the density around point i of a cluster of n lies (def. 1)
        m_ij = max(a_i, a_j, d_ij)                   mutual reachability; each cluster has its minimum spanning tree of m
        v_k  = (separation - sparseness) / max(separation, sparseness)
        DBCV = Σ_k n_k / D · v_k

    Sparseness is the longest tree edge between inner points, those with two edges or more (of all edges, where there is none);
    separation the smallest m from an inner point to an inner point of another cluster. Documents of -1 and clusters of one
    document have no v_k but count in D: leaving much out does not raise the score.

    Many edges are equally long (m is often a_i), and which of them the tree takes decides which points are inner. Here the smaller d
    decides, so that the order of documents does not matter. hdbscan.validity.validity_index takes the point that comes first, and
    its score changes with the order; ties="first" does that and agrees with it. a_i is summed in logarithms: d^-E leaves the range
    of floats from about E = 100 on, where hdbscan finds 0, infinity or NaN. As there, a point at distance 0 adds nothing
    to the sum; points nearer than rounding can tell are at distance 0. If separation and sparseness are both 0, v_k is 0.

    Above `limit` documents a sample that holds each cluster in proportion stands for all; its clusters are less dense, so that
    scores of samples compare only with such of the same size. The distances inside a cluster are held at once: at worst, with
    nearly all documents in one, 8 · limit² bytes. A bootstrap would place documents at distance 0 from their copies: none is made.

    Args:
        points: (D, E) embeddings, float. labels: (D,) cluster of each document, -1 for none.
        metric: euclidean, or cosine (1 - cos).
        limit: most documents. seed: of the sample.
        ties: nearest, or first as in hdbscan.

    Raises:
        UsageError: sparse points, an unknown metric or rule for ties, or lengths that differ.
        InputError: a value that is not finite.
    """
    if sparse.issparse(points):
        raise UsageError(
            "density-based validity needs embeddings: in as many dimensions as terms densities mean nothing"
        )
    if ties not in ("nearest", "first"):
        raise unknown_value("ties", ties, ("nearest", "first"))
    K = int(labels.max(initial=-1)) + 1
    sizes = np.bincount(labels[clustered(points, labels)], minlength=K)
    used = stratified_sample(np.where(np.isin(labels, np.flatnonzero(sizes > 1)), labels, -1), limit=limit, seed=seed)
    clusters = np.unique(labels[used])
    of_clusters = np.full(K, np.nan)
    if len(clusters) < 2:
        return Separation(float("nan"), of_clusters, None, len(used), len(clusters))
    rows = prepare(points[used], metric)
    inner, cores, owners, sparseness = [], [], [], np.zeros(len(clusters))
    with threadpool_limits(1, user_api="blas"):
        for number, k in enumerate(clusters):
            members = rows[labels[used] == k]
            core, is_inner, sparseness[number] = _density(members, metric, ties)
            inner.append(members[is_inner])
            cores.append(core[is_inner])
            owners.append(np.full(int(is_inner.sum()), number))
        separation = _separation(np.concatenate(inner), np.concatenate(cores), np.concatenate(owners), metric)
    larger = np.maximum(separation, sparseness)
    of_clusters[clusters] = np.divide(separation - sparseness, larger, out=np.zeros_like(larger), where=larger > 0)
    score = float((sizes[clusters] * of_clusters[clusters]).sum() / len(labels))
    return Separation(score, of_clusters, None, len(used), len(clusters))


def _density(points: FloatArray, metric: Metric, ties: Ties) -> tuple[FloatArray, BoolArray, float]:
    """Return a_i (n,), which points are inner (n,), and the sparseness of a cluster of n ≥ 2 points."""
    n, E = points.shape
    distances = np.empty((n, n))
    core = np.empty(n)
    for block, rows in distance_rows(points, points, metric=metric):
        rows[np.arange(len(rows)), np.arange(block.start, block.stop)] = 0.0
        distances[block] = rows
        core[block] = _core_distances(rows, E)
    ends, lengths = _spanning_tree(distances, core, ties)
    degrees = np.bincount(ends.ravel(), minlength=n)
    inside = (degrees[ends] > 1).all(axis=1)
    is_inner = degrees > 1
    if not is_inner.any():  # two points
        is_inner = np.arange(n) < (1 if ties == "first" else n)
    return core, is_inner, float(lengths[inside].max() if inside.any() else lengths.max())


def _core_distances(distances: FloatArray, n_dims: int) -> FloatArray:
    """Return a_i of points with distances (rows, n) to all points of their cluster, themselves among them; 0 if all are 0."""
    apart = distances > 0
    exponents = np.where(apart, -n_dims * np.log(np.where(apart, distances, 1.0)), -np.inf)
    largest = exponents.max(axis=1)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    sums = np.exp(exponents - largest[:, None]).sum(axis=1)
    logs = largest + np.log(np.where(sums > 0, sums, 1.0)) - np.log(distances.shape[1] - 1)
    return np.where(sums > 0, np.exp(-logs / n_dims), 0.0)


def _spanning_tree(distances: FloatArray, core: FloatArray, ties: Ties) -> tuple[LongArray, FloatArray]:
    """Return the edges (n-1, 2) and lengths (n-1,) of a minimum spanning tree of mutual reachability (Prim)."""
    n = len(core)
    ends, lengths = np.zeros((n - 1, 2), np.int64), np.zeros(n - 1)
    reached = np.zeros(n, np.bool_)
    best, nearest, source = np.full(n, np.inf), np.full(n, np.inf), np.zeros(n, np.int64)
    node = 0
    for i in range(n - 1):
        reached[node] = True
        d = distances[node]
        m = np.maximum(np.maximum(d, core), core[node])
        closer = (m < best) | ((m == best) & (d < nearest) if ties == "nearest" else False)
        best[closer], nearest[closer], source[closer] = m[closer], d[closer], node
        open_ends = np.where(reached, np.inf, best)
        node = int(open_ends.argmin())
        if ties == "nearest":
            tied = np.flatnonzero(open_ends == open_ends[node])
            node = int(tied[nearest[tied].argmin()])
        elif i:
            # hdbscan joins the point to the first of the tree at this distance, give or take 1e-5
            reach = np.maximum(np.maximum(distances[node], core), core[node])
            source[node] = np.flatnonzero(reached & np.isclose(reach, best[node]))[0]
        ends[i], lengths[i] = (source[node], node), best[node]
    return ends, lengths


def _separation(points: FloatArray, core: FloatArray, owner: LongArray, metric: Metric) -> FloatArray:
    """Return the smallest mutual reachability distance of each cluster's inner points to those of others (K,)."""
    result = np.full(int(owner.max()) + 1, np.inf)
    for block, distances in distance_rows(points, points, metric=metric):
        reach = np.maximum(np.maximum(distances, core[block, None]), core)
        reach[owner[block, None] == owner] = np.inf
        np.minimum.at(result, owner[block], reach.min(axis=1))
    return result


# ------------------------------------------------------------------------------------------------------------------------
# How far the documents of a topic lie from those of others: silhouette and DBCV, on embeddings or tf-idf.

EMBEDDINGS, TFIDF = "embeddings", "tf-idf"


@dataclass(frozen=True, slots=True)
class DocumentVectors:
    """Documents as rows (D, E), their topics (D,), and what the rows are: embeddings or tf-idf."""

    rows: Any
    topics: IntArray
    kind: str


def add_separation(
    result: TargetResult, points: DocumentVectors, names: Sequence[str], K: int, uncertainty: Uncertainty
) -> None:
    """Add silhouette and DBCV of the K topics of documents."""
    if len(np.unique(points.topics[points.topics >= 0])) < 2:
        for name in names:
            result.add(Score(METRICS[name], None, "documents", 0, why="all documents are of one topic"))
        return
    for name in names:
        parameters = {"on": points.kind, "metric": "cosine", "without_topic": int((points.topics < 0).sum())}
        interval = median = None
        if name == "silhouette":
            separation = silhouette(points.rows, points.topics, metric="cosine", seed=uncertainty.seed)
            assert separation.of_documents is not None
            whole = mean_score(METRICS[name], separation.of_documents, uncertainty, over="documents")
            interval, median = whole.interval, whole.median
        elif points.kind == EMBEDDINGS:
            separation = dbcv(points.rows, points.topics, seed=uncertainty.seed)
            parameters["metric"] = "euclidean"
        else:
            why = "it needs embeddings: `reference=DOCS` with a column embedding (`embed()`)"
            result.add(Score(METRICS[name], None, "documents", 0, why=why))
            continue
        values = np.full(K, np.nan)
        values[: len(separation.of_clusters)] = separation.of_clusters[:K]
        value = separation.score if np.isfinite(separation.score) else None
        why = "" if value is not None else "no topic has enough documents"
        result.add(
            Score(METRICS[name], value, "documents", separation.n_used, parameters, values, median, interval, why=why)
        )
