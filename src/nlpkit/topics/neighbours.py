"""Exact nearest neighbours by cosine, in blocks, the same bytes on any number of threads and in any company."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.kernels.topk import merge_rows, rescore_rows, top_k_pairs, top_k_rows
from nlpkit.types import ByteArray, Float32Array, FloatArray, IntArray, LongArray

BLOCK_ROWS = 512
BLOCK_COLUMNS = 8192
SPARE = 16
SUMMED_ROWS = 8192


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest other rows: index (D, k) int32 and similarity (D, k) float32 (cosine), nearest first."""

    index: IntArray
    similarity: Float32Array


def distinct_rows(embeddings: Float32Array) -> tuple[LongArray, LongArray]:
    """Return the first row of each different embedding (U,), ascending, and which of these each row is (D,)."""
    if not len(embeddings):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    as_bytes = row_digests(embeddings, 16).view("V16")  # in place of the rows, which would be sorted as a copy
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def row_digests(rows: Float32Array, size: int, *, key: bytes = b"") -> ByteArray:
    """Return `size` bytes of BLAKE2b for each row, one after the other; equal rows have equal ones."""
    rows = np.ascontiguousarray(rows)
    return np.frombuffer(b"".join(blake2b(row, digest_size=size, key=key).digest() for row in rows), np.uint8)


def unit_rows(rows: FloatArray | Float32Array) -> Float32Array:
    """Return rows scaled to unit length, float32; a row of zeros stays one."""
    unit: Float32Array = (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit


def group_sums(
    rows: FloatArray | Float32Array, groups: IntArray, n_groups: int, times: LongArray | None = None
) -> FloatArray:
    """Return the sum of the rows (N, E), each `times` (N,), of each group (n_groups, E), in double; groups (N,) below 0 are none."""
    sums = np.zeros((n_groups, rows.shape[1]))
    for start in range(0, len(rows), SUMMED_ROWS):
        group = groups[start : start + SUMMED_ROWS]
        inside = np.flatnonzero(group >= 0)
        weights = (
            np.ones(len(inside)) if times is None else times[start : start + SUMMED_ROWS][inside].astype(np.float64)
        )
        members = sparse.csr_array((weights, (group[inside], inside)), shape=(n_groups, len(group)))
        sums += members @ rows[start : start + SUMMED_ROWS].astype(np.float64)
    return sums


def nearest_neighbours(
    queries: Float32Array, points: Float32Array | None = None, *, k: int, threads: int = 1
) -> Neighbours:
    """Return the k nearest rows of `points` for each row of `queries` by cosine similarity, exactly.

    A BLAS held to one thread finds k + 16 candidates of each row, in blocks that run beside each other. How it rounds
    depends on the place of a row in its block, so the candidates' similarities are then summed again in double, each
    from its two rows alone: what a row finds depends neither on `threads` nor on the rows around it, unless more than 16
    points lie within the rounding of float32 (about 1e-7) of its k-th neighbour. Memory: threads · 512 · 8192 · 4 bytes, and
    threads · D · (k + 16) · 8 where rows are compared among themselves: the product of each two is then made once.

    Args:
        queries: (D, E) float32, rows L2-normalised.
        points: (P, E) likewise; None = the queries themselves, where a row is not its own neighbour.
        k: neighbours of each row; lowered to what there is.
        threads: workers.
    """
    base = queries if points is None else points
    D, P = len(queries), len(base)
    most = P - 1 if points is None else P
    k = max(min(k, most), 0)
    index = np.full((D, k), -1, np.int32)
    similarity = np.full((D, k), -np.inf, np.float32)
    if k:
        candidates = min(k + SPARE, most)
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(threads, 1)) as pool:
            if points is None:
                rough = _among_themselves(queries, candidates, pool, max(threads, 1))
            else:
                rough = _among(queries, points, candidates, pool)
            blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, D, BLOCK_ROWS)]
            list(pool.map(lambda b: rescore_rows(queries[b], base, rough[b], index[b], similarity[b]), blocks))
    return Neighbours(index, similarity)


def _among(queries: Float32Array, points: Float32Array, k: int, pool: ThreadPoolExecutor) -> IntArray:
    """Return the rows of `points` of the k largest products with each query (D, k), as float32 has them."""
    nearest, rough = _nothing(len(queries), k)

    def work(start: int) -> None:
        rows = slice(start, start + BLOCK_ROWS)
        for column in range(0, len(points), BLOCK_COLUMNS):
            scores = queries[rows] @ points[column : column + BLOCK_COLUMNS].T
            top_k_rows(scores, column, -1, nearest[rows], rough[rows])

    list(pool.map(work, range(0, len(queries), BLOCK_ROWS)))
    return nearest


def _among_themselves(rows: Float32Array, k: int, pool: ThreadPoolExecutor, threads: int) -> IntArray:
    """Return the other rows of the k largest products with each row (D, k); each worker has a list of its own for every row."""
    starts = iter(range(0, len(rows), BLOCK_ROWS))  # each worker takes the next one: the first blocks are the longest

    def work(_: int) -> tuple[IntArray, Float32Array]:
        nearest, rough = _nothing(len(rows), k)
        worst = rough[:, -1].copy()
        for start in iter(partial(next, starts, None), None):
            for column in range(start, len(rows), BLOCK_COLUMNS):
                scores = rows[start : start + BLOCK_ROWS] @ rows[column : column + BLOCK_COLUMNS].T
                top_k_pairs(scores, start, column, nearest, rough, worst)
        return nearest, rough

    (nearest, rough), *others = pool.map(work, range(threads))
    for other in others:
        merge_rows(nearest, rough, *other)
    return nearest


def _nothing(n: int, k: int) -> tuple[IntArray, Float32Array]:
    return np.full((n, k), -1, np.int32), np.full((n, k), -np.inf, np.float32)
