"""Complete linkage with the tie rule of R's hclust; scipy's chain of neighbours breaks ties in another order."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit


@njit(nogil=True)
def complete_linkage(distances):  # type: ignore[no-untyped-def]
    """Return left (n-1,), right (n-1,) int64 and height (n-1,) float64 of the merges of n points, closest first.

    distances (n, n) float64, symmetric and finite, is overwritten. A cluster sits in the place of its first point; of
    equally close pairs of places (i, j), i < j, the first in the order of (i, j) merges. Node i < n is point i, node n+m
    is merge m; left is the node at place i, right the one at place j.
    """
    n = len(distances)
    left, right, height = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    node = np.arange(n)
    alive = np.ones(n, np.bool_)
    near, gap = np.zeros(n, np.int64), np.full(n, np.inf)  # of each place: the first of the nearest places after it
    for i in range(n - 1):
        for j in range(i + 1, n):
            if distances[i, j] < gap[i]:
                near[i], gap[i] = j, distances[i, j]
    for m in range(n - 1):
        a = 0  # the first place is never given up
        for i in range(1, n):
            if alive[i] and gap[i] < gap[a]:
                a = i
        b = near[a]
        left[m], right[m], height[m] = node[a], node[b], gap[a]
        node[a] = n + m
        alive[b] = False
        for k in range(n):
            if alive[k] and k != a and distances[b, k] > distances[a, k]:
                distances[a, k] = distances[k, a] = distances[b, k]
        # no pair comes closer: only who was nearest to a or b has to look again
        for i in range(b):
            if alive[i] and (i == a or near[i] == a or near[i] == b):
                gap[i] = np.inf
                for j in range(i + 1, n):
                    if alive[j] and distances[i, j] < gap[i]:
                        near[i], gap[i] = j, distances[i, j]
    return left, right, height
