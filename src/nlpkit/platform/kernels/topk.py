"""The k largest entries of each row of a score matrix, and their exact scores."""

from __future__ import annotations

import numpy as np

from nlpkit.platform.kernels import njit

STEP = 64  # scores that are looked over at once for one that is large enough


@njit(nogil=True)
def insert(index, score, item, s):  # type: ignore[no-untyped-def]
    """Put an item into a list of the best (k,), best first, ties by index; the last one falls out."""
    at = len(score) - 1
    while at > 0 and (score[at - 1] < s or (score[at - 1] == s and index[at - 1] > item)):
        score[at] = score[at - 1]
        index[at] = index[at - 1]
        at -= 1
    score[at] = s
    index[at] = item


@njit(nogil=True)
def top_k_pairs(scores, first_row, first_column, out_index, out_score, worst):  # type: ignore[no-untyped-def]
    """Merge a block of scores (R, C) float32 of pairs of items into the running best of both, each pair r < c once.

    Row r of the block is item first_row + r, column c item first_column + c; all are below U. out_index (U, k) int32 and out_score
    (U, k) float32, k > 0, best first, hold -1 and -inf where fewer were seen; worst (U,) is the last column of out_score. Ties
    keep the lower index, whatever the order of the blocks.
    """
    R, C = scores.shape
    last = out_score.shape[1] - 1
    for r in range(R):
        row = first_row + r
        least = worst[row]
        for start in range(max(row + 1 - first_column, 0), C, STEP):
            stop = min(start + STEP, C)
            near = np.int32(
                0
            )  # whether any of these is for a list: without branches, so that many are compared at once
            for c in range(start, stop):
                near |= np.int32(scores[r, c] >= min(least, worst[first_column + c]))
            if not near:
                continue
            for c in range(start, stop):
                s, column = scores[r, c], first_column + c
                if s >= least and (s > least or column < out_index[row, last]):
                    insert(out_index[row], out_score[row], column, s)
                    least = out_score[row, last]
                if s >= worst[column] and (s > worst[column] or row < out_index[column, last]):
                    insert(out_index[column], out_score[column], row, s)
                    worst[column] = out_score[column, last]
        worst[row] = least


@njit(nogil=True)
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
                insert(index, score, first_column + c, s)
                worst = score[k - 1]


@njit(nogil=True)
def merge_rows(index, score, other_index, other_score):  # type: ignore[no-untyped-def]
    """Merge the best of each row (R, k), k > 0, as `top_k_pairs` leaves them, with those of another list of the same shape."""
    R, k = index.shape
    for r in range(R):
        for x in range(k):
            s, item = other_score[r, x], other_index[r, x]
            if s < score[r, k - 1] or (s == score[r, k - 1] and item > index[r, k - 1]):
                break
            if item >= 0:
                insert(index[r], score[r], item, s)


@njit(nogil=True)
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
