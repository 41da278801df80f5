"""Positions of documents and topics in the plane, made for pictures: nothing is computed from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from nlpkit.cluster.neighbours import distinct_rows, nearest_neighbours, unit_rows
from nlpkit.cluster.reduce import fuzzy_graph, principal_axes, umap_layout, umap_learn_layout
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray

AXES = 50
NEIGHBOURS = 14
MIN_DIST = 0.1
FEWEST = 5


def document_map(
    vectors: Float32Array,
    *,
    layout: str = "nlpkit",
    seed: int = 42,
    threads: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Float32Array:
    """Return a place in the unit square for each document (D, 2) float32: UMAP by cosine, from 50 principal axes.

    Documents of the same vector have the same place. The larger side of the picture is 1; the same bytes on any number of threads.

    Args:
        vectors: (D, E) float32, such as embeddings, or the square roots of topic shares, whose cosine is Bhattacharyya's
            coefficient.
        layout: nlpkit, or umap-learn, which lays out the vectors themselves.
        seed: of the layout. threads: workers. progress: called with the share of passes done.
    """
    E = vectors.shape[1]
    first, inverse = distinct_rows(np.ascontiguousarray(vectors, np.float32))
    rows = unit_rows(vectors[first])
    U = len(first)
    if U <= FEWEST:  # too few for neighbours to say anything: equal steps on a circle
        angle = 2 * np.pi * np.arange(U) / max(U, 1)
        places = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)
    elif layout == "umap-learn":
        places = umap_learn_layout(rows, n_neighbors=min(NEIGHBOURS + 1, U - 1), min_dist=MIN_DIST, seed=seed)
    else:
        axes = principal_axes(rows, max(min(AXES, E), 2)) if E > 1 else np.repeat(rows, 2, axis=1)
        axes = np.ascontiguousarray(axes if axes.shape[1] > 1 else np.repeat(axes, 2, axis=1))
        near = nearest_neighbours(unit_rows(axes), k=min(NEIGHBOURS, U - 1), threads=threads)
        start = np.ascontiguousarray(axes[:, :2])
        places = umap_layout(
            fuzzy_graph(near), start, min_dist=MIN_DIST, seed=seed, threads=threads, progress=progress
        )  # fmt: skip
    return unit_square(places[inverse])


def unit_square(places: FloatArray | Float32Array) -> Float32Array:
    """Return places (D, 2) moved and scaled, alike on both axes, into the unit square, centred."""
    if not len(places):
        return np.zeros((0, 2), np.float32)
    low, high = places.min(axis=0), places.max(axis=0)
    extent = max(float((high - low).max()), 1e-12)
    centred: Float32Array = (0.5 + (places - (low + high) / 2) / extent).astype(np.float32)
    return centred


def share_vectors(rows: IntArray, topics: IntArray, shares: FloatArray, shape: tuple[int, int]) -> Float32Array:
    """Return the square roots of topic shares (D, K) float32 from their long form: document, topic, share, each (N,)."""
    theta: CsrMatrix = sparse.coo_array((shares, (rows, topics)), shape=shape).tocsr()
    return np.asarray(np.sqrt(theta.toarray()), np.float32)


def topic_map(distances: FloatArray) -> FloatArray:
    """Return a place for each topic (K, 2): principal coordinates of distances (K, K), as in LDAvis (Sievert & Shirley 2014).

    Of each axis the topic farthest out is on its positive side.
    """
    K = len(distances)
    if K < 3:
        return np.stack([np.arange(K, dtype=np.float64), np.zeros(K)], axis=1)
    centring = np.eye(K) - 1.0 / K
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    places = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    places *= np.sign(places[np.abs(places).argmax(axis=0), [0, 1]] + 1e-300)
    return np.asarray(places, np.float64)


def stratified_sample(topics: IntArray, most: int, *, seed: int) -> IntArray:
    """Return the rows (≤ most) of a sample stratified by topic, ascending: shares as in all, but no topic without a document.

    Args:
        topics: (D,) topic of each document, -1 for none. most: rows to take. seed: of the draw.
    """
    D = len(topics)
    if most >= D:
        return np.arange(D, dtype=np.int32)
    kinds, counts = np.unique(topics, return_counts=True)
    take = np.zeros(len(kinds), np.int64)
    take[np.lexsort((np.arange(len(kinds)), -counts))[:most]] = 1  # each topic one, the largest first
    quota = (counts - take) * ((most - take.sum()) / max(D - take.sum(), 1))
    take += np.floor(quota).astype(np.int64)
    left = most - int(take.sum())  # to the largest remainders
    take[np.lexsort((np.arange(len(kinds)), np.floor(quota) - quota))[:left]] += 1
    rng = np.random.default_rng(seed)
    rows = [
        rng.choice(np.flatnonzero(topics == kind), int(n), replace=False) for kind, n in zip(kinds, take, strict=True)
    ]
    return np.sort(np.concatenate(rows)).astype(np.int32)
