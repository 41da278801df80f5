"""Sparse Poisson regressions of the counts of terms on topic, level and both (Taddy 2015, distributed multinomial regression).

For one term with counts y_ak in the cells of A levels and K topics, and rates e_ak without effects:

    μ_ak = e_ak exp(κ_k + κ_a + κ_ak),    objective = Σ (μ_ak - y_ak log μ_ak) + λ (Σ |κ_k| + Σ |κ_a| + Σ |κ_ak|)

Each effect multiplies the rates of a set S of cells, so that its minimum, the others held, is known: with Y and M the sums over S of y
and of μ without the effect, κ = log((Y - λ) / M) where Y - λ > M, log((Y + λ) / M) where Y + λ < M, and 0 between. Effects are taken
in turn until none changes, for each of a falling series of λ; the one of the least deviance + 2 · (number of effects) is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into

SWEEPS = 10_000  # over the effects for one λ, at most
ENOUGH = 0.999  # share of the deviance explained at which smaller λ are left out, as in glmnet
LEAST_GAIN = 1e-5  # of that share from one λ to the next, as in glmnet
DROPPED = 4.0  # criterion of the effects that are supposed to fall out again, at most, as λ falls: two
FEWEST = 5  # λ that are always tried, as in glmnet


class Path(NamedTuple):
    """The series of λ: steps of them, from the greatest that matters to `ratio` times it; sweeps end at `tolerance` · null deviance."""

    steps: int
    ratio: float
    tolerance: float


class Effects(NamedTuple):
    """Effects of V terms: topic (V, K), level (V, A), cell (V, A * K); cell (V, 0) where topics and levels do not interact."""

    topic: np.ndarray
    level: np.ndarray
    cell: np.ndarray


@njit(nogil=True)
def shrunk(count, rate, penalty):  # type: ignore[no-untyped-def]
    """Return the κ that minimises rate · exp(κ) - count · κ + penalty · |κ|."""
    if rate <= 0.0:
        return 0.0
    if count - penalty > rate:
        return np.log((count - penalty) / rate)
    if count + penalty < rate:
        return np.log((count + penalty) / rate)
    return 0.0


@njit(nogil=True)
def update(kappa, j, cells, y, mu, penalty):  # type: ignore[no-untyped-def]
    """Move effect j, of cells (begin, end, stride), to its minimum and mu with it; return the change of the objective to expect."""
    begin, end, stride = cells
    count, rate = 0.0, 0.0
    for i in range(begin, end, stride):
        count += y[i]
        rate += mu[i]
    old = kappa[j]
    new = shrunk(count, rate * np.exp(-old) if old != 0.0 else rate, penalty)
    if new == old:
        return 0.0
    factor = np.exp(new - old)
    for i in range(begin, end, stride):
        mu[i] *= factor
    kappa[j] = new
    return rate * (new - old) ** 2


@njit(nogil=True)
def deviance(y, mu):  # type: ignore[no-untyped-def]
    """Return 2 Σ (y log(y / μ) - y + μ)."""
    total = 0.0
    for i in range(len(y)):
        total += mu[i] - y[i]
        if y[i] > 0.0:
            total += y[i] * np.log(y[i] / mu[i])
    return 2.0 * total


@njit(nogil=True)
def greatest_penalty(y, mu, K, by_cell):  # type: ignore[no-untyped-def]
    """Return the least λ at which all effects are 0, times what rounding needs: the greatest |Y - M|."""
    n = len(y)
    most = 0.0
    for k in range(K):
        difference = 0.0
        for i in range(k, n, K):
            difference += y[i] - mu[i]
        most = max(most, abs(difference))
    for begin in range(0, n, K):
        difference = 0.0
        for i in range(begin, begin + K):
            difference += y[i] - mu[i]
            if by_cell:
                most = max(most, abs(y[i] - mu[i]))
        most = max(most, abs(difference))
    return most


@njit(nogil=True)
def descend(y, mu, topic, level, cell, penalty, least):  # type: ignore[no-untyped-def]
    """Take the effects of one term in turn, all of its A * K cells, until none changes the objective by `least`."""
    n, K = len(y), len(topic)
    for _ in range(SWEEPS):
        change = 0.0
        for k in range(K):
            change = max(change, update(topic, k, (k, n, K), y, mu, penalty))
        for a in range(len(level)):
            change = max(change, update(level, a, (a * K, a * K + K, 1), y, mu, penalty))
        for i in range(len(cell)):
            change = max(change, update(cell, i, (i, i + 1, 1), y, mu, penalty))
        if change <= least:
            return


@njit(nogil=True)
def explained_by(y, rates, mu, topic, level, cell):  # type: ignore[no-untyped-def]
    """Return what the effects take from the deviance, 2 Σ (y log(μ / e) - μ + e)."""
    K = len(topic)
    total = 0.0
    for i in range(len(y)):
        log = topic[i % K] + level[i // K]
        if len(cell):
            log += cell[i]
        total += y[i] * log - mu[i] + rates[i]
    return 2.0 * total


@njit(nogil=True)
def count_effects(kappa):  # type: ignore[no-untyped-def]
    """Return how many effects are not 0."""
    n = 0
    for j in range(len(kappa)):
        n += kappa[j] != 0.0
    return n


@njit(nogil=True)
def fit_terms(counts, shares, cell_totals, path, begin, end, best):  # type: ignore[no-untyped-def]
    """Write the effects of terms begin … end into best, which has zeros there.

    counts (V, A * K): y, level by level; shares (V,) of the terms in all tokens; cell_totals (A * K,) tokens of the cells:
    e = share · total.
    """
    n, K = counts.shape[1], best.topic.shape[1]
    by_cell = best.cell.shape[1] > 0
    # rates, mu: a number for each cell; topic, level, cell: as wide as rows of best, from which they are copied
    rates, mu = np.empty(n), np.empty(n)
    topic, level, cell = np.empty(K), np.empty(best.level.shape[1]), np.empty(best.cell.shape[1])
    for v in range(begin, end):
        y = counts[v]
        for i in range(n):
            rates[i] = shares[v] * cell_totals[i]
            mu[i] = rates[i]
        topic[:] = 0.0
        level[:] = 0.0
        cell[:] = 0.0
        null = deviance(y, rates)
        most = greatest_penalty(y, rates, K, by_cell)
        if most <= 0.0 or null <= 0.0:
            continue
        criterion, explained = null, 0.0
        for step in range(1, path.steps):
            penalty = most * path.ratio ** (step / (path.steps - 1))
            descend(y, mu, topic, level, cell, penalty, path.tolerance * null)
            left = null - explained_by(y, rates, mu, topic, level, cell)
            effects = count_effects(topic) + count_effects(level) + count_effects(cell)
            value = left + 2.0 * effects
            if value < criterion:
                criterion = value
                copy_into(best.topic[v], topic)
                copy_into(best.level[v], level)
                copy_into(best.cell[v], cell)
            if 2.0 * effects >= criterion + DROPPED:
                break
            before, explained = explained, 1.0 - left / null
            if explained > ENOUGH or (step >= FEWEST and explained - before < LEAST_GAIN * explained):
                break
