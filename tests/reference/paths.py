"""The path of a word over periods by a general optimiser, and the objective of all words of a topic (Blei & Lafferty 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp


def objective(path: Any, counts: Any, exposure: Any, first: float, step: float) -> float:
    """f(β) of one word: Poisson counts and the walk."""
    return float(
        (counts * path - exposure * np.exp(path)).sum()
        - path[0] ** 2 / (2 * first)
        - (np.diff(path) ** 2).sum() / (2 * step)
    )


def best_path(counts: Any, exposure: Any, first: float, step: float) -> Any:
    """The path (T,) of the highest objective."""

    def slope(path: Any) -> Any:
        out = counts - exposure * np.exp(path)
        out[0] -= path[0] / first
        out[1:] -= np.diff(path) / step
        out[:-1] += np.diff(path) / step
        return -out

    found = minimize(
        lambda path: -objective(path, counts, exposure, first, step), np.zeros(len(counts)), jac=slope, tol=1e-12
    )  # fmt: skip
    return found.x


def topic_objective(beta: Any, counts: Any, first: float, step: float) -> float:
    """Σ_t [Σ_v n_tv β_tv - n_t log Σ_v exp β_tv] and the walks, of β and counts (V, T)."""
    likelihood = (counts * beta).sum() - (counts.sum(axis=0) * logsumexp(beta, axis=0)).sum()
    return float(likelihood - (beta[:, 0] ** 2).sum() / (2 * first) - (np.diff(beta, axis=1) ** 2).sum() / (2 * step))


def best_topic(counts: Any, first: float, step: float) -> Any:
    """β (V, T) of the highest objective of a topic."""
    shape = counts.shape
    found = minimize(
        lambda beta: -topic_objective(beta.reshape(shape), counts, first, step), np.zeros(counts.size), tol=1e-10
    )  # fmt: skip
    return found.x.reshape(shape)
