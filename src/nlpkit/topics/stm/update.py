"""The M-step: the means of topics given covariates, and their covariance."""

from __future__ import annotations

import numpy as np

from nlpkit.errors import InputError
from nlpkit.types import FloatArray

STEPS = 1000  # of the variational regression, at most


def regress(eta: FloatArray, X: FloatArray) -> FloatArray:
    """Return γ (P, K-1) of η_k = X γ_k + ε by variational Bayes, its ridge estimated for each topic (gamma.prior="Pooled" of R's stm).

        γ_k ~ Normal(0, 1 / a), ε ~ Normal(0, 1 / e),  √a and √e half-Cauchy
        V = (e XᵀX + a I₋₁)⁻¹,  γ_k = e V Xᵀη_k,  e = (1 + D) / (Σ ε² + tr XᵀX V + 2 b),  b = 1 / (e + 1)
        a = P / (‖γ_k‖² + tr V - the intercept's + 2 d),  d = 2 / (a + 1)

    repeated until γ_k changes by less than 1e-4 in sum. The intercept, the first column, is not shrunk. Constants are those of
    vb.variational.reg in R's stm, after Wand.

    Args:
        eta: (D, K-1).
        X: (D, P), the first column of ones.

    Raises:
        InputError: it does not converge in 1,000 steps.
    """
    D, P = X.shape
    J = eta.shape[1]
    XX, XY, YY = X.T @ X, X.T @ eta, np.einsum("dk,dk->k", eta, eta)
    error, spread, scale = np.ones(J), np.full(J, float(P)), np.ones(J)
    shrunk = np.ones(P)
    shrunk[0] = 0.0
    gamma = np.zeros((P, J))
    active = np.arange(J)
    for _ in range(STEPS):
        e, a = error[active], spread[active]
        V = np.linalg.inv(e[:, None, None] * XX + a[:, None, None] * np.diag(shrunk))
        new = e * np.einsum("kpq,qk->pk", V, XY[:, active])
        squares = YY[active] - 2 * np.einsum("pk,pk->k", new, XY[:, active]) + np.einsum("pk,pq,qk->k", new, XX, new)
        b = (np.maximum(squares, 0.0) + np.einsum("pq,kqp->k", XX, V)) / 2 + scale[active]
        error[active] = (1 + D) / 2 / b
        scale[active] = 1 / (error[active] + 1)
        variances = np.einsum("kpp,p->k", V, shrunk)
        spread[active] = P / (4 / (a + 1) + np.einsum("pk,p->k", new**2, shrunk) + variances)
        change = np.abs(new - gamma[:, active]).sum(axis=0)
        gamma[:, active] = new
        active = active[change > 1e-4]
        if not len(active):
            return gamma
    raise InputError(
        f"the regression of topics on covariates does not converge in {STEPS:,} steps; give columns of numbers in comparable units"
    )


def covariance_of(eta: FloatArray, mean: FloatArray, covariance: FloatArray, *, shrinkage: float = 0.0) -> FloatArray:
    """Return Σ = ((η - μ)ᵀ (η - μ) + Σ_d ν_d) / D, of which a share `shrinkage` is its diagonal alone (sigma.prior of R's stm)."""
    residual = eta - mean
    sigma = (residual.T @ residual + covariance) / len(eta)
    return np.asarray(shrinkage * np.diag(np.diag(sigma)) + (1 - shrinkage) * sigma)
