"""Exact nearest neighbours by cosine, in blocks, the same bytes on any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.kernels.topk import top_k_rows
from nlpkit.types import Float32Array, IntArray

BLOCK_ROWS = 512
BLOCK_COLUMNS = 8192


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The k nearest other rows: index (D, k) int32 and similarity (D, k) float32 (cosine), nearest first."""

    index: IntArray
    similarity: Float32Array


def nearest_neighbours(
    queries: Float32Array, points: Float32Array | None = None, *, k: int, threads: int = 1
) -> Neighbours:
    """Return the k nearest rows of `points` for each row of `queries` by cosine similarity, exactly.

    Blocks are multiplied by a BLAS held to one thread each and the blocks run beside each other, so that every product
    has the same shape and the same summation order whatever `threads` is. Memory: threads · 512 · 8192 · 4 bytes.

    Args:
        queries: (D, E) float32, rows L2-normalised.
        points: (P, E) likewise; None = the queries themselves, where a row is not its own neighbour.
        k: neighbours of each row; lowered to what there is.
        threads: workers.
    """
    own = points is None
    base = queries if points is None else points
    D, P = len(queries), len(base)
    k = max(min(k, P - 1 if own else P), 0)
    index = np.full((D, k), -1, np.int32)
    similarity = np.full((D, k), -np.inf, np.float32)
    if not k:
        return Neighbours(index, similarity)

    def work(start: int) -> None:
        stop = min(start + BLOCK_ROWS, D)
        rows_index, rows_score = index[start:stop], similarity[start:stop]
        for column in range(0, P, BLOCK_COLUMNS):
            scores = queries[start:stop] @ base[column : column + BLOCK_COLUMNS].T
            top_k_rows(scores, column, start if own else -1, rows_index, rows_score)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(max(threads, 1)) as pool:
        list(pool.map(work, range(0, D, BLOCK_ROWS)))
    return Neighbours(index, similarity)
