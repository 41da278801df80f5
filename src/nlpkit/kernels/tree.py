"""The loops of HDBSCAN after the minimum spanning tree: single linkage, condensed tree, excess of mass.

Campello, Moulavi & Sander 2013; the names follow McInnes & Healy 2017. Nodes 0 … N-1 are points, node N+i is merge i.
"""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit


@njit()
def single_linkage(ends, n):  # type: ignore[no-untyped-def]
    """Return left (n-1,), right (n-1,) children and size (n-1,) of each merge, from tree edges (n-1, 2) in ascending length."""
    parent = np.full(2 * n - 1, -1, np.int64)
    left, right, size = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    for i in range(n - 1):
        a, b = np.int64(ends[i, 0]), np.int64(ends[i, 1])
        while parent[a] >= 0:
            if parent[parent[a]] >= 0:
                parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] >= 0:
            if parent[parent[b]] >= 0:
                parent[b] = parent[parent[b]]
            b = parent[b]
        left[i], right[i] = min(a, b), max(a, b)
        size[i] = (size[a - n] if a >= n else 1) + (size[b - n] if b >= n else 1)
        parent[a] = parent[b] = n + i
    return left, right, size


@njit()
def condense(left, right, size, heights, min_size):  # type: ignore[no-untyped-def]
    """Return the condensed tree for one minimum cluster size.

    point_cluster (N,), point_lambda (N,): the cluster each point falls out of and when (1/height);
    parent (C,), birth (C,), stability (C,) of the clusters, cluster 0 the root, children after their parents.
    """
    n = len(left) + 1
    label = np.zeros(2 * n - 1, np.int64)
    fell = np.zeros(2 * n - 1)  # 0 = still in its cluster
    parent = np.full(2 * n, -1, np.int64)  # the root, and two more for each of the n - 1 merges at most
    birth, stability = np.zeros(2 * n), np.zeros(2 * n)
    clusters = 1
    for i in range(n - 2, -1, -1):
        node = n + i
        c = label[node]
        if fell[node] > 0.0:
            for child in (left[i], right[i]):
                label[child], fell[child] = c, fell[node]
            continue
        lam = 1.0 / max(heights[i], 1e-9)
        n_left = size[left[i] - n] if left[i] >= n else 1
        n_right = size[right[i] - n] if right[i] >= n else 1
        if n_left >= min_size and n_right >= min_size:
            for child in (left[i], right[i]):
                label[child] = clusters
                parent[clusters], birth[clusters] = c, lam
                clusters += 1
            stability[c] += (n_left + n_right) * (lam - birth[c])
            continue
        for child, n_child in ((left[i], n_left), (right[i], n_right)):
            label[child] = c
            if n_child < min_size:
                fell[child] = lam
                stability[c] += n_child * (lam - birth[c])
    return (
        label[:n].copy(),
        fell[:n].copy(),
        parent[:clusters].copy(),
        birth[:clusters].copy(),
        stability[:clusters].copy(),
    )


@njit()
def excess_of_mass(point_cluster, point_lambda, parent, stability, max_size):  # type: ignore[no-untyped-def]
    """Return labels (N,) int32 and membership (N,) float32 of the clusters of greatest total stability, the root never one.

    A cluster of more than max_size points is not taken as long as it has clusters below it.
    """
    C = len(parent)
    size = np.bincount(point_cluster, minlength=C)
    split = np.zeros(C, np.bool_)
    for c in range(C - 1, 0, -1):
        size[parent[c]] += size[c]
        split[parent[c]] = True
    best = stability.copy()
    below = np.zeros(C)
    chosen = np.zeros(C, np.bool_)
    for c in range(C - 1, 0, -1):
        if stability[c] >= below[c] and not (split[c] and size[c] > max_size):
            chosen[c] = True
            best[c] = stability[c]
        else:
            best[c] = below[c]
        below[parent[c]] += best[c]
    owner = np.full(C, -1, np.int64)  # the highest chosen cluster on the way to the root
    for c in range(1, C):
        if owner[parent[c]] >= 0:
            owner[c] = owner[parent[c]]
        elif chosen[c]:
            owner[c] = c
    number = np.full(C, -1, np.int64)
    K = 0
    for c in range(1, C):
        if owner[c] == c:
            number[c] = K
            K += 1
    N = len(point_cluster)
    labels = np.full(N, -1, np.int32)
    peak = np.zeros(max(K, 1))
    for p in range(N):
        cluster = owner[point_cluster[p]]
        if cluster >= 0:
            labels[p] = number[cluster]
            peak[labels[p]] = max(peak[labels[p]], point_lambda[p])
    member = np.zeros(N, np.float32)
    for p in range(N):
        if labels[p] >= 0:
            member[p] = min(point_lambda[p] / peak[labels[p]], 1.0) if peak[labels[p]] > 0 else 1.0
    return labels, member
