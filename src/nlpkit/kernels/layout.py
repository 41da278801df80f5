"""The loops of UMAP: bandwidths of the neighbour graph and the layout by stochastic gradient descent."""

from __future__ import annotations

import math

import numba
import numpy as np

from nlpkit.kernels import njit


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
    for i in numba.prange(D):
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


@njit(parallel=True)
def layout_epochs(layout, indptr, indices, period, a, b, seed, first, last, n_epochs, negatives):  # type: ignore[no-untyped-def]
    """Move the points of `layout` (D, L) float32 through epochs first … last-1 of n_epochs.

    Every point reads the others as they stood at the start of the epoch and moves only itself, so that the result does
    not depend on the order or number of threads. Edge e of point i (indptr, indices: CSR of the symmetric graph) is due
    when the epoch passes a multiple of period[e]; a due edge pulls twice (in the sequential algorithm both ends of both
    directions move) and pushes `negatives` points drawn by counter (seed, epoch, edge).
    """
    D, L = layout.shape
    before = layout.copy()
    for epoch in range(first, last):
        alpha = np.float32(1.0 - epoch / n_epochs)
        before[:, :] = layout
        for i in numba.prange(D):
            here = layout[i]
            for e in range(indptr[i], indptr[i + 1]):
                due = math.floor((epoch + 1) / period[e]) - math.floor(epoch / period[e])
                if due < 1:
                    continue
                other = before[indices[e]]
                gap = np.float32(0.0)
                for x in range(L):
                    gap += (here[x] - other[x]) ** 2
                if gap > 0.0:
                    wide = np.float64(gap)  # slopes in double, with the compiler and without
                    power = wide**b
                    pull = np.float32(-2.0 * a * b * power / (wide * (1.0 + a * power)))
                    for x in range(L):
                        step = pull * (here[x] - other[x])
                        here[x] += np.float32(2.0) * alpha * min(max(step, np.float32(-4.0)), np.float32(4.0))
                for n in range(negatives):
                    j = np.int64(hash_uniform(seed + epoch, e, n) % np.uint64(D))
                    if j == i:
                        continue
                    other = before[j]
                    gap = np.float32(0.0)
                    for x in range(L):
                        gap += (here[x] - other[x]) ** 2
                    if gap > 0.0:
                        wide = np.float64(gap)
                        push = np.float32(2.0 * b / ((0.001 + wide) * (1.0 + a * wide**b)))
                        for x in range(L):
                            step = push * (here[x] - other[x])
                            here[x] += alpha * min(max(step, np.float32(-4.0)), np.float32(4.0))
