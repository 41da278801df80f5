"""Partitioning around medoids: BUILD and SWAP (Kaufman & Rousseeuw 1990), SWAP in the order of loops of FastPAM1."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.arrays import copy_into


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
