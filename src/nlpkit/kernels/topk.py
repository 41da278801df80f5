"""The k largest entries of each row of a score matrix."""

from __future__ import annotations

import numba


@numba.njit(nogil=True, cache=True)
def top_k_rows(scores, first_row, first_column, out_index, out_score):  # type: ignore[no-untyped-def]
    """Merge a block of scores (R, C) float32 into the running best of its rows, the row itself left out.

    Row r of the block is item first_row + r, column c is item first_column + c. out_index (D, k) int32 and out_score
    (D, k) float32, best first, hold -1 and -inf where fewer were seen. Ties keep the lower index when blocks of columns
    come in ascending order.
    """
    R, C = scores.shape
    k = out_index.shape[1]
    for r in range(R):
        item = first_row + r
        index, score = out_index[item], out_score[item]
        worst = score[k - 1]
        for c in range(C):
            s = scores[r, c]
            if s > worst and first_column + c != item:
                at = k - 1
                while at > 0 and score[at - 1] < s:
                    score[at] = score[at - 1]
                    index[at] = index[at - 1]
                    at -= 1
                score[at] = s
                index[at] = first_column + c
                worst = score[k - 1]
