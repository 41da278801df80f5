"""Exact nearest neighbours by cosine, in blocks, the same bytes on any number of threads and in any company."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.kernels.topk import rescore_rows, top_k_rows
from nlpkit.types import Float32Array, FloatArray, IntArray, LongArray

BLOCK_ROWS = 512
BLOCK_COLUMNS = 8192
SPARE = 16


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest other rows: index (D, k) int32 and similarity (D, k) float32 (cosine), nearest first."""

    index: IntArray
    similarity: Float32Array


def distinct_rows(embeddings: Float32Array) -> tuple[LongArray, LongArray]:
    """Return the first row of each different embedding (U,), ascending, and which of these each row is (D,)."""
    if not len(embeddings):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    rows = np.ascontiguousarray(embeddings)
    as_bytes = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def unit_rows(rows: FloatArray | Float32Array) -> Float32Array:
    """Return rows scaled to unit length, float32; a row of zeros stays one."""
    unit: Float32Array = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit


def nearest_neighbours(
    queries: Float32Array, points: Float32Array | None = None, *, k: int, threads: int = 1
) -> Neighbours:
    """Return the k nearest rows of `points` for each row of `queries` by cosine similarity, exactly.

    A BLAS held to one thread finds k + 16 candidates of each row, in blocks that run beside each other. How it rounds
    depends on the place of a row in its block, so the candidates' similarities are then summed again in double, each
    from its two rows alone: what a row finds depends neither on `threads` nor on the rows around it, unless more than 16
    points lie within the rounding of float32 (about 1e-7) of its k-th neighbour. Memory: threads · 512 · 8192 · 4 bytes.

    Args:
        queries: (D, E) float32, rows L2-normalised.
        points: (P, E) likewise; None = the queries themselves, where a row is not its own neighbour.
        k: neighbours of each row; lowered to what there is.
        threads: workers.
    """
    among_themselves = points is None
    base = queries if points is None else points
    D, P = len(queries), len(base)
    most = P - 1 if among_themselves else P
    k = max(min(k, most), 0)
    candidates = min(k + SPARE, most)
    index = np.full((D, k), -1, np.int32)
    similarity = np.full((D, k), -np.inf, np.float32)
    if not k:
        return Neighbours(index, similarity)

    def work(start: int) -> None:
        stop = min(start + BLOCK_ROWS, D)
        rows = queries[start:stop]
        nearest = np.full((stop - start, candidates), -1, np.int32)
        rough = np.full((stop - start, candidates), -np.inf, np.float32)
        for column in range(0, P, BLOCK_COLUMNS):
            scores = rows @ base[column : column + BLOCK_COLUMNS].T
            top_k_rows(scores, column, start if among_themselves else -1, nearest, rough)
        rescore_rows(rows, base, nearest, index[start:stop], similarity[start:stop])

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(threads, 1)) as pool:
        list(pool.map(work, range(0, D, BLOCK_ROWS)))
    return Neighbours(index, similarity)
