"""The k largest entries of each row of a score matrix, and their exact scores."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def top_k_rows(scores, first_column, first_row, out_index, out_score):  # type: ignore[no-untyped-def]
    """Merge a block of scores (R, C) float32 into the running best of its rows.

    Column c of the block is item first_column + c. Row r never takes item first_row + r (first_row < 0: rows are not items). out_index
    (R, k) int32 and out_score (R, k) float32, best first, hold -1 and -inf where fewer were seen. Ties keep the lower
    index when blocks of columns come in ascending order.
    """
    R, C = scores.shape
    k = out_index.shape[1]
    for r in range(R if k else 0):
        itself = first_row + r if first_row >= 0 else -1
        index, score = out_index[r], out_score[r]
        worst = score[k - 1]
        for c in range(C):
            s = scores[r, c]
            if s > worst and first_column + c != itself:
                at = k - 1
                while at > 0 and score[at - 1] < s:
                    score[at] = score[at - 1]
                    index[at] = index[at - 1]
                    at -= 1
                score[at] = s
                index[at] = first_column + c
                worst = score[k - 1]


@numba.njit(nogil=True, cache=True)
def rescore_rows(queries, points, candidates, out_index, out_score):  # type: ignore[no-untyped-def]
    """Fill out_index and out_score (R, k), best first, with those of the candidates (R, m) that have the largest products.

    The inner product of queries (R, E) and points (P, E) float32 is summed in double in the order of the dimensions: it
    depends on the two rows alone. Ties keep the lower index; -1 marks no item, all of them last in a row of `candidates`.
    """
    R, k = out_index.shape
    exact = np.empty(k, np.float64)
    for r in range(R):
        exact[:] = -np.inf
        index = out_index[r]
        index[:] = -1
        for item in candidates[r]:
            if item < 0:
                break
            s = 0.0
            for e in range(queries.shape[1]):
                s += np.float64(queries[r, e]) * np.float64(points[item, e])
            at = k
            while at > 0 and (exact[at - 1] < s or (exact[at - 1] == s and index[at - 1] > item)):
                at -= 1
            if at == k:
                continue
            for x in range(k - 1, at, -1):
                exact[x], index[x] = exact[x - 1], index[x - 1]
            exact[at], index[at] = s, item
        for x in range(k):
            out_score[r, x] = exact[x]
