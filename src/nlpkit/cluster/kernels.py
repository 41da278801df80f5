"""Partitioning around medoids: BUILD and SWAP (Kaufman & Rousseeuw 1990), SWAP in the order of loops of FastPAM1.

Further parts, in this order:
- The loops of UMAP: bandwidths of the neighbour graph and the layout by stochastic gradient descent.
- The loops of HDBSCAN after the minimum spanning tree: single linkage, condensed tree, excess of mass.
"""

from __future__ import annotations

import math

import numpy as np

from nlpkit.platform.kernels import njit, prange
from nlpkit.platform.kernels.arrays import copy_into


@njit(nogil=True)
def build(distances, k):  # type: ignore[no-untyped-def]
    """Return the first medoids (k,) int64: the point of least total distance, then each time the one that lowers it most.

    distances (n, n) float64, symmetric; 1 ≤ k ≤ n; of equally good points the first.
    """
    n = len(distances)
    medoids, near = np.empty(k, np.int64), np.full(n, np.inf)
    for m in range(k):
        best, least = -1, np.inf
        for j in range(n):
            if (medoids[:m] == j).any():
                continue
            total = 0.0
            for o in range(n):
                total += min(near[o], distances[j, o])
            if best < 0 or total < least:
                best, least = j, total
        medoids[m] = best
        for o in range(n):
            near[o] = min(near[o], distances[best, o])
    return medoids


@njit(nogil=True)
def swap(distances, medoids, floor):  # type: ignore[no-untyped-def]
    """Exchange a medoid for a point as long as that lowers the total distance by more than `floor`, each time the best exchange.

    medoids (k,) int64 is changed in place. Every point is tried against all medoids in one pass over the distances (Schubert &
    Rousseeuw 2019, algorithm FastPAM1): the exchanges are those of PAM.
    """
    n, k = len(distances), len(medoids)
    nearest, near, second = np.empty(n, np.int64), np.empty(n), np.empty(n)
    without, change = np.empty(k), np.empty(k)
    while True:
        without[:] = 0.0
        for o in range(n):
            nearest[o], near[o], second[o] = (
                0,
                np.inf,
                np.inf,
            )  # of distances that are no numbers, too, an index below k
            for m in range(k):
                d = distances[medoids[m], o]
                if d < near[o]:
                    second[o] = near[o]
                    nearest[o], near[o] = m, d
                elif d < second[o]:
                    second[o] = d
            without[nearest[o]] += second[o] - near[o]
        if k == 1:
            without[0] = 0.0
        best, place, which = -floor, -1, -1
        for j in range(n):
            gain = 0.0
            copy_into(change, without)
            for o in range(n):
                d = distances[j, o]
                if k == 1:
                    gain += d - near[o]
                elif d < near[o]:
                    gain += d - near[o]
                    change[nearest[o]] += near[o] - second[o]
                elif d < second[o]:
                    change[nearest[o]] += d - second[o]
            for m in range(k):
                if change[m] + gain < best:
                    best, place, which = change[m] + gain, j, m
        if place < 0:
            return
        medoids[which] = place


# ------------------------------------------------------------------------------------------------------------------------
# The loops of UMAP: bandwidths of the neighbour graph and the layout by stochastic gradient descent.


@njit(inline="always")
def hash_uniform(a, b, c):  # type: ignore[no-untyped-def]
    """Return 64 random bits for a counter (a, b, c): the finaliser of SplitMix64 (Steele et al. 2014) applied twice."""
    x = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = (x ^ (x >> np.uint64(31))) + np.uint64(c) * np.uint64(0xD1342543DE82EF95)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(parallel=True)
def bandwidths(distances, rho, sigma):  # type: ignore[no-untyped-def]
    """Fill rho (D,) and sigma (D,) of each row of neighbour distances (D, k): Algorithm 3 of McInnes et al. 2018.

    rho is the smallest distance above zero; sigma solves Σ_j exp(-(d_j - rho)/sigma) = log2(k + 1) by bisection: as in
    umap-learn the point itself counts for the target and not in the sum.
    """
    D, k = distances.shape
    target = math.log2(k + 1)
    mean_all = distances.mean()
    for i in prange(D):
        d = distances[i]
        rho[i] = 0.0
        for j in range(k):
            if d[j] > 0.0:
                rho[i] = d[j]
                break
        low, high, mid = 0.0, np.inf, 1.0
        for _ in range(64):
            total = 0.0
            for j in range(k):
                gap = d[j] - rho[i]
                total += math.exp(-gap / mid) if gap > 0.0 else 1.0
            if abs(total - target) < 1e-5:
                break
            if total > target:
                high = mid
                mid = 0.5 * (low + high)
            else:
                low = mid
                mid = mid * 2.0 if high == np.inf else 0.5 * (low + high)
        floor = 1e-3 * (d.mean() if rho[i] > 0.0 else mean_all)
        sigma[i] = max(mid, floor)


SLOPE_BITS = 16  # of a float32 that lie between two entries of a table of slopes: 128 entries for each power of two
FIRST_SLOPE = (127 - 32) << (23 - SLOPE_BITS)  # the bits of 2^-32 without these
N_SLOPES = 64 << (23 - SLOPE_BITS)  # up to 2^32


@njit()
def slope(table, gap):  # type: ignore[no-untyped-def]
    """Return a function of the squared distance `gap` float32 from its table (N_SLOPES + 1,) float32: a line between two entries.

    Entry t is the value at the float32 with the bits (FIRST_SLOPE + t) << SLOPE_BITS. The index is held to 0 … N_SLOPES - 1, so that
    the next entry is there, too; outside of 2^-32 … 2^32 the line of the first or the last two entries goes on no further than one step.
    """
    bits = np.float32(gap).view(np.int32)
    at = min(max(int(bits >> SLOPE_BITS) - FIRST_SLOPE, 0), N_SLOPES - 1)
    part = np.float32(bits & ((1 << SLOPE_BITS) - 1)) * np.float32(2.0**-SLOPE_BITS)
    return table[at] + part * (table[at + 1] - table[at])


@njit(parallel=True)
def layout_epochs(layout, indptr, indices, rate, slopes, seed, first, last, n_epochs, negatives):  # type: ignore[no-untyped-def]
    """Move the points of `layout` (D, L) float32 through epochs first … last-1 of n_epochs.

    Every point reads the others as they stood at the start of the epoch and moves only itself, so that the result does
    not depend on the order or number of threads. Edge e of point i (indptr, indices: CSR of the symmetric graph) is due
    when epoch · rate[e] passes a whole number; a due edge pulls twice (in the sequential algorithm both ends of both
    directions move) and pushes `negatives` points drawn by counter (seed, epoch, edge).

    slopes (2, N_SLOPES + 1) float32: how much of the way between two points a pull and a push go, by their squared distance.
    """
    D, L = layout.shape
    before = layout.copy()
    four = np.float32(4.0)
    for epoch in range(first, last):
        alpha = np.float32(1.0 - epoch / n_epochs)
        before[:, :] = layout
        for i in prange(D):
            here = layout[i]
            for e in range(indptr[i], indptr[i + 1]):
                if math.floor((epoch + 1) * rate[e]) == math.floor(epoch * rate[e]):
                    continue
                other = before[indices[e]]
                gap = np.float32(0.0)
                for x in range(L):
                    gap += (here[x] - other[x]) ** 2
                if gap > 0.0:
                    pull = slope(slopes[0], gap)
                    for x in range(L):
                        step = pull * (here[x] - other[x])
                        here[x] += np.float32(2.0) * alpha * min(max(step, -four), four)
                for n in range(negatives):
                    # 32 random bits times D, without the last 32 bits: from 0 to D - 1
                    j = np.int64(((hash_uniform(seed + epoch, e, n) >> np.uint64(32)) * np.uint64(D)) >> np.uint64(32))
                    if j == i:
                        continue
                    other = before[j]
                    gap = np.float32(0.0)
                    for x in range(L):
                        gap += (here[x] - other[x]) ** 2
                    if gap > 0.0:
                        push = slope(slopes[1], gap)
                        for x in range(L):
                            step = push * (here[x] - other[x])
                            here[x] += alpha * min(max(step, -four), four)


# ------------------------------------------------------------------------------------------------------------------------
# The loops of HDBSCAN after the minimum spanning tree: single linkage, condensed tree, excess of mass.
#
# Campello, Moulavi & Sander 2013; the names follow McInnes & Healy 2017. Nodes 0 … N-1 are points, node N+i is merge i.


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
