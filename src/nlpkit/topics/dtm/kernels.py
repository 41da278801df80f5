"""Paths of words over periods: Gaussian random walks under counts, by Newton's method on tridiagonal systems.

Of one word in one topic, with n_t its count and m_t the exposure of the topic in period t of T:

    f(β) = Σ_t (n_t β_t - m_t exp β_t) - β_1² / (2 σ_1²) - Σ_{t>1} (β_t - β_{t-1})² / (2 σ²)

f is strictly concave; its Hessian is tridiagonal, so that a step costs O(T).
"""

from __future__ import annotations

import math

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into

STEPS = 50  # of Newton's method, at most; from a path nearby two or three are taken
LONGEST = 2.0  # that any β_t moves in one step
DECREMENT = 1e-9  # ½ ∂fᵀ (-∂²f)⁻¹ ∂f below which the maximum is reached: the ascent that is left, in nats
NOTHING = 1e-8  # expected count of a word in a topic, over all periods, below which it has none


@njit(nogil=True)
def climb(counts, exposure, first, step, path, gradient, diagonal):  # type: ignore[no-untyped-def]
    """Move path (T,) to the maximum of f; counts, exposure (T,), first = σ_1², step = σ²; gradient, diagonal (T,) are room."""
    T, tie = len(path), 1.0 / step
    for _ in range(STEPS):
        for t in range(T):
            expected = exposure[t] * math.exp(path[t])
            gradient[t] = counts[t] - expected
            diagonal[t] = expected
        gradient[0] -= path[0] / first
        diagonal[0] += 1.0 / first
        for t in range(1, T):
            drift = (path[t] - path[t - 1]) * tie
            gradient[t] -= drift
            gradient[t - 1] += drift
            diagonal[t] += tie
            diagonal[t - 1] += tie
        # elimination downwards: what is below the diagonal is -tie, and so is what is above it
        ascent = gradient[0] * gradient[0] / diagonal[0]
        for t in range(1, T):
            ratio = tie / diagonal[t - 1]
            diagonal[t] -= ratio * tie
            gradient[t] += ratio * gradient[t - 1]
            ascent += gradient[t] * gradient[t] / diagonal[t]
        longest = 0.0
        for t in range(T - 1, -1, -1):
            above = tie * gradient[t + 1] if t + 1 < T else 0.0
            gradient[t] = (gradient[t] + above) / diagonal[t]
            longest = max(longest, abs(gradient[t]))
        scale = min(1.0, LONGEST / longest) if longest > 0.0 else 1.0
        for t in range(T):
            path[t] += scale * gradient[t]
        if 0.5 * ascent < DECREMENT:
            break


@njit(nogil=True)
def climb_words(counts, exposures, rest, first, step, begin, end, paths):  # type: ignore[no-untyped-def]
    """Move the paths of words begin … end - 1 in all topics; a word without a count in a topic takes its path `rest`.

    counts, paths (V, K, T); exposures, rest (K, T).
    """
    K, T = exposures.shape
    gradient, diagonal = np.empty(T), np.empty(T)
    for v in range(begin, end):
        for k in range(K):
            total = 0.0
            for t in range(T):
                total += counts[v, k, t]
            if total < NOTHING:
                copy_into(paths[v, k], rest[k])
            else:
                climb(counts[v, k], exposures[k], first, step, paths[v, k], gradient, diagonal)


@njit(nogil=True)
def centre_topic(paths, rest, k, first, step, sums):  # type: ignore[no-untyped-def]
    """Move the paths of topic k of paths (V, K, T), and rest (T,), so that their mean over words is 0 in each period.

    φ stays as it is, and the terms of f that are no counts are largest then. Fill sums (T,) with Σ_v exp β_v; return the sum of
    these terms over words.
    """
    T, V, prior = len(sums), len(paths), 0.0
    sums[:] = 0.0
    for v in range(V):
        for t in range(T):
            sums[t] += paths[v, k, t]
    for t in range(T):
        mean = sums[t] / V
        rest[t] -= mean
        for v in range(V):
            paths[v, k, t] -= mean
    sums[:] = 0.0
    for v in range(V):
        path = paths[v, k]
        prior -= path[0] * path[0] / (2.0 * first)
        for t in range(T):
            sums[t] += math.exp(path[t])
            if t > 0:
                prior -= (path[t] - path[t - 1]) ** 2 / (2.0 * step)
    return prior
