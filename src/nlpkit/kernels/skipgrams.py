"""Counts of the words around each word, a row of the co-occurrence matrix at a time."""

from __future__ import annotations

from nlpkit.kernels import njit
from nlpkit.kernels.sorting import sort


@njit(nogil=True)
def count_contexts(ids, indptr, places, begin, end, weights, sums, columns, values, ends):  # type: ignore[no-untyped-def]
    """Write the rows begin to end of the co-occurrence matrix, X_uv = Σ weights[distance - 1] over pairs of tokens u, v.

    ids (N,) int32: tokens, -1 before the first and behind the last of each document, so that no window leaves the array: it ends
    at the -1 that comes first. places: positions of word u in ids from indptr[u] to indptr[u + 1]. weights: all above 0. sums
    (V,) float64, all 0, and so they are afterwards. columns int32, values float64: a row needs at most min(V, 2 n_u |weights|)
    places. ends (end - begin,): where each row ends; columns ascend in a row.
    """
    at = 0
    for u in range(begin, end):
        start = at
        for i in range(indptr[u], indptr[u + 1]):
            p = places[i]
            for step in (-1, 1):
                q = p + step
                for d in range(len(weights)):
                    v = ids[q]
                    if v < 0:
                        break
                    if sums[v] == 0.0:
                        columns[at] = v
                        at += 1
                    sums[v] += weights[d]
                    q += step
        sort(columns[start:at])
        for i in range(start, at):
            values[i] = sums[columns[i]]
            sums[columns[i]] = 0.0
        ends[u - begin] = at
