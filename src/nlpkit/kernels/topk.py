"""The k largest entries of each row of a score matrix."""

from __future__ import annotations

import numba


@numba.njit(nogil=True, cache=True)
def top_k_rows(scores, first_column, own, out_index, out_score):  # type: ignore[no-untyped-def]
    """Merge a block of scores (R, C) float32 into the running best of its rows.

    Column c of the block is item first_column + c. Row r never finds item own + r (own < 0: rows are not items). out_index
    (R, k) int32 and out_score (R, k) float32, best first, hold -1 and -inf where fewer were seen. Ties keep the lower
    index when blocks of columns come in ascending order.
    """
    R, C = scores.shape
    k = out_index.shape[1]
    for r in range(R):
        itself = own + r if own >= 0 else -1
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
