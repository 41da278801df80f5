"""Ridge regression: a number of each document as a weighted sum of its features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.classify.model import Features, LinearModel, checked_features
from nlpkit.types import FloatArray

TOLERANCE = 1e-10  # of the residual of the normal equations, against their right side
MOST_STEPS = 2000


def fit_ridge(X: Features, y: FloatArray, *, C: float = 1.0, max_steps: int = MOST_STEPS) -> LinearModel:
    """Return the ridge regression with the least Σ_d (y_d - x_d·w - b)² + |w|² / C, as a linear model of one score.

        (X̃ᵀX̃ + I / C) w = X̃ᵀ(y - ȳ),   b = ȳ - x̄·w,   X̃ = X - 1x̄ᵀ

    by conjugate gradients preconditioned by the diagonal (Hoerl & Kennard 1970; Golub & Van Loan 2013, §11.5.2); X̃ is never made, so
    a sparse X stays sparse. The intercept has no penalty, so the scale and the mean of y change nothing else. scikit-learn's
    Ridge(alpha=1 / C) has the same solution.

    Args:
        X: (D, V) CSR, or (D, E) array; computed in float64. y: (D,) finite.
        C: inverse strength of the penalty, above 0.
        max_steps: of the conjugate gradients; the model says whether they converged.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    features: Any = checked_features(X).astype(np.float64)
    turned: Any = features.T
    if sparse.issparse(features):
        turned, squares = turned.tocsr(), features.multiply(features).sum(axis=0)
    else:
        squares = np.einsum("dv,dv->v", features, features)
    D, V = features.shape
    y = np.asarray(y, np.float64)
    with threadpool_limits(1, user_api="blas"):  # sums of several threads would depend on them
        mean = np.asarray(features.sum(axis=0), np.float64).ravel() / D
        diagonal = np.maximum(np.asarray(squares).ravel() - D * mean**2, 0.0) + 1.0 / C

        def centred_back(u: FloatArray) -> FloatArray:
            back: FloatArray = turned @ u - mean * u.sum()
            return back

        def normal(w: FloatArray) -> FloatArray:
            return centred_back(features @ w - mean @ w) + w / C

        right = centred_back(y - y.mean())
        operator = LinearOperator((V, V), matvec=normal, dtype=np.float64)
        inverse = LinearOperator((V, V), matvec=lambda r: r / diagonal, dtype=np.float64)
        weights, steps_left = cg(operator, right, rtol=TOLERANCE, maxiter=max_steps, M=inverse)
        intercept = float(y.mean() - mean @ weights)
    return LinearModel("ridge", weights[:, None], np.array([intercept]), "identity", converged=steps_left == 0)
