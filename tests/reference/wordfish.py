"""Wordfish in the fewest lines: Newton's method for a Poisson regression, and the log-posterior of a whole table of counts."""

from __future__ import annotations

from typing import Any

import numpy as np


def regression(y: Any, offsets: Any, x: Any, precision: float, steps: int = 200) -> tuple[float, float]:
    """Maximise Σ_i y_i log λ_i - λ_i - precision b² / 2 over a and b, λ_i = exp(offset_i + a + b x_i), by short steps."""
    X = np.column_stack([np.ones(len(x)), x])
    w, prior = np.zeros(2), np.diag([0.0, precision])
    for _ in range(steps):
        rate = np.exp(offsets + X @ w)
        w = w + 0.5 * np.linalg.solve(X.T @ (rate[:, None] * X) + prior, X.T @ (y - rate) - prior @ w)
    return float(w[0]), float(w[1])


def posterior(counts: Any, alpha: Any, psi: Any, beta: Any, theta: Any, prior: float) -> float:
    """log p(counts | α, ψ, β, θ) + log p(β) but for constants; θ is scaled to mean 0 and standard deviation 1."""
    scaled = (theta - theta.mean()) / theta.std(ddof=1)
    logs = alpha[:, None] + psi + np.outer(scaled, beta)
    return float((counts * logs - np.exp(logs)).sum() - (beta**2).sum() / (2 * prior**2))
