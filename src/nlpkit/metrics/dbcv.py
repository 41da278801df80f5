"""Density-based validity of a clustering (DBCV): are its clusters denser inside than between each other?"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.separation import (
    LIMIT,
    Metric,
    Points,
    Separation,
    clustered,
    distance_rows,
    prepare,
    stratified_sample,
)
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray

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
