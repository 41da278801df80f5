"""Sparse Poisson regressions on topic, level and both, by a general minimiser on parameters split into positive and negative parts."""

from __future__ import annotations

import numpy as np
from scipy import optimize


def design(K: int, A: int, *, cells: bool) -> np.ndarray:
    """Columns of topics, levels and cells (A * K, ·), rows level by level; as `mnreg` of R's stm."""
    parts = [np.tile(np.eye(K), (A, 1)), np.repeat(np.eye(A), K, axis=0)]
    return np.hstack([*parts, *([np.eye(A * K)] if cells else [])])


def objective(kappa: np.ndarray, y: np.ndarray, rates: np.ndarray, X: np.ndarray, penalty: float) -> float:
    """Σ μ - y log μ + λ Σ |κ|."""
    log = X @ kappa
    return float((rates * np.exp(log)).sum() - y @ log + penalty * np.abs(kappa).sum())


def regression(y: np.ndarray, rates: np.ndarray, X: np.ndarray, penalty: float) -> np.ndarray:
    def value(halves: np.ndarray) -> tuple[float, np.ndarray]:
        plus, minus = np.split(halves, 2)
        mu = rates * np.exp(X @ (plus - minus))
        slope = X.T @ (mu - y)
        total = mu.sum() - y @ (X @ (plus - minus)) + penalty * halves.sum()
        return float(total), np.concatenate([slope, -slope]) + penalty

    P = X.shape[1]
    best = optimize.minimize(
        value, np.zeros(2 * P), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * P),
        options={"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    plus, minus = np.split(best.x, 2)
    return plus - minus
