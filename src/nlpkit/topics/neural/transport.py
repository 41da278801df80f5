"""Optimal transport with entropy by Sinkhorn's algorithm, and the gradient of what is made of its plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.types import FloatArray

TOLERANCE = 1e-7  # sum of the differences between the mass that topics receive and the mass they are to receive
MOST_ROUNDS = 2000
FAR = 1e100  # scaling of a topic beyond which the kernel is made anew with it


class Transport(NamedTuple):
    """A plan (n, K), the potentials g (K,) of the topics, rounds of Sinkhorn's algorithm, and the sum of the errors of the columns."""

    plan: FloatArray
    potentials: FloatArray
    rounds: int
    error: float


def transport(
    costs: FloatArray, rows: FloatArray, columns: FloatArray, strength: float, start: FloatArray
) -> Transport:
    """Return the plan π (n, K) that moves the mass of rows to columns at least Σ π M - H(π) / α, H(π) = -Σ π (ln π - 1).

        π_ik = exp(f_i + g_k - α M_ik),   Σ_k π_ik = a_i,   Σ_i π_ik = b_k

    Sinkhorn's algorithm scales the rows and the columns of the kernel by turns. The kernel holds the potentials of the columns that
    are known and is 1 at the largest of each row, so that no cost is too high for float64. Rows end exact, columns up to 1e-7.

    Args:
        costs: M (n, K). rows: a (n,), columns: b (K,), positive, with sum 1. strength: α. start: g (K,) to begin with, such as those of
            costs that were nearly the same; the plan does not depend on it.

    Source: Cuturi (2013), "Sinkhorn Distances: Lightspeed Computation of Optimal Transport", NIPS 26; Schmitzer (2019), SIAM Journal on
        Scientific Computing 41(3), for the kernel that holds the potentials.
    """
    potentials, rounds, error = start.copy(), 0, np.inf
    while True:
        kernel = costs * -strength
        kernel += potentials
        kernel -= kernel.max(axis=1, keepdims=True)
        np.exp(kernel, out=kernel)
        v = np.ones(len(columns))
        while True:
            u = rows / (kernel @ v)
            mass = v * (u @ kernel)
            error = float(np.abs(mass - columns).sum())
            if error <= TOLERANCE or rounds == MOST_ROUNDS:
                kernel *= u[:, None]
                kernel *= v
                potentials += np.log(v)
                return Transport(kernel, potentials - potentials.mean(), rounds, error)
            v *= columns / np.maximum(mass, columns / FAR)
            rounds += 1
            if v.max() > FAR or v.min() < 1 / FAR:
                break
        potentials += np.log(v)


class Pulled(NamedTuple):
    """Gradients of a loss by the costs (n, K), and by the masses of the rows (n,) and the columns (K,), up to a constant of all masses."""

    costs: FloatArray
    rows: FloatArray
    columns: FloatArray


def pull_back(plan: FloatArray, weighted: FloatArray, rows: FloatArray, columns: FloatArray, strength: float) -> Pulled:
    """Return the gradients of a loss through a plan, by the implicit function theorem: those of the plan itself, not of its iterations.

    With H = π ∘ ∂L/∂π, λ and μ solve a ∘ λ + π μ = H 1 and π' λ + b ∘ μ = H' 1, a system of K equations once λ is eliminated; then
    ∂L/∂M = α (π ∘ (λ 1' + 1 μ') - H), ∂L/∂a = λ and ∂L/∂b = μ.

    Args:
        plan: π (n, K), whose marginals are rows and columns. weighted: H (n, K), which is overwritten. strength: α.

    Source: Luise, Rudi, Pontil & Ciliberto (2018), "Differential Properties of Sinkhorn Approximation", NeurIPS 31, §4.
    """
    scaled = weighted.sum(axis=1) / rows
    system = np.diag(columns) - plan.T @ (plan / rows[:, None])
    # a constant moves from λ to μ without a change: the least solution
    by_column = np.linalg.lstsq(system, weighted.sum(axis=0) - plan.T @ scaled, rcond=1e-10)[0]
    by_row = scaled - (plan @ by_column) / rows
    weighted -= plan * by_row[:, None]
    weighted -= plan * by_column
    weighted *= -strength
    return Pulled(weighted, by_row, by_column)
