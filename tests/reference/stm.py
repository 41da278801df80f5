"""The structural topic model in plain NumPy: the objective of a document and its derivatives, the bound, anchors, the regression."""

from __future__ import annotations

import numpy as np


def softmax(eta: np.ndarray) -> np.ndarray:
    values = np.exp(np.append(eta, 0.0))
    return values / values.sum()


def objective(eta, counts, phi, mean, covariance):  # type: ignore[no-untyped-def]
    """½ (η - μ)ᵀ Σ⁻¹ (η - μ) - Σ_v c_v log Σ_k θ_k φ_kv; counts (V,)."""
    away = eta - mean
    used = counts > 0
    return away @ np.linalg.solve(covariance, away) / 2 - counts[used] @ np.log(softmax(eta) @ phi[:, used])


def gradient(eta, counts, phi, mean, covariance):  # type: ignore[no-untyped-def]
    theta = softmax(eta)
    shares = theta[:, None] * phi / np.maximum(theta @ phi, 1e-300)
    return np.linalg.solve(covariance, eta - mean) - (shares @ counts - counts.sum() * theta)[:-1]


def hessian(eta, counts, phi, mean, covariance):  # type: ignore[no-untyped-def]
    theta = softmax(eta)
    out = counts.sum() * (np.diag(theta) - np.outer(theta, theta))
    for v in np.flatnonzero(counts):
        r = theta * phi[:, v] / (theta @ phi[:, v])
        out -= counts[v] * (np.diag(r) - np.outer(r, r))
    return np.linalg.inv(covariance) + out[:-1, :-1]


def bound(eta, counts, phi, mean, covariance):  # type: ignore[no-untyped-def]
    """The contribution of a document to the bound, as hpbcpp of R's stm."""
    curvature = hessian(eta, counts, phi, mean, covariance)
    log_dets = np.linalg.slogdet(curvature)[1] + np.linalg.slogdet(covariance)[1]
    return -objective(eta, counts, phi, mean, covariance) - log_dets / 2


def expected_counts(counts, theta, phi):  # type: ignore[no-untyped-def]
    out = np.zeros(phi.shape)
    for d in range(len(counts)):
        for v in np.flatnonzero(counts[d]):
            joint = theta[d] * phi[:, v]
            out[:, v] += counts[d, v] * joint / joint.sum()
    return out


def cooccurrences(counts):  # type: ignore[no-untyped-def]
    """Q̄ of counts (D, V) with all its cells."""
    Q = np.zeros((counts.shape[1],) * 2)
    for row in counts:
        n = row.sum()
        if n >= 2:
            Q += (np.outer(row, row) - np.diag(row)) / (n * (n - 1))
    return Q / Q.sum(axis=1, keepdims=True)


def anchors(Q, K):  # type: ignore[no-untyped-def]
    """Anchor words by changing the rows themselves, as fastAnchor of R's stm."""
    Q = Q.copy()
    chosen: list[int] = []
    for _ in range(K):
        lengths = (Q**2).sum(axis=1)
        lengths[chosen] = 0
        v = int(lengths.argmax())
        chosen.append(v)
        Q[v] /= np.sqrt(lengths[v])
        others = np.setdiff1d(np.arange(len(Q)), chosen)
        Q[others] -= np.outer(Q[others] @ Q[v], Q[v])
    return chosen


def simplex_weights(X, y):  # type: ignore[no-untyped-def]
    """argmin ‖y - a X‖² over the simplex by exponentiated gradients, step 50."""
    a, before = np.full(len(X), 1 / len(X)), np.inf
    for _ in range(500):
        g = X @ y - a @ X @ X.T
        a = a * np.exp(100 * (g - g.max()))
        a /= a.sum()
        if abs(before - np.sqrt(g @ g)) < 1e-7:
            break
        before = np.sqrt(g @ g)
    return a


def regression(y, X):  # type: ignore[no-untyped-def]
    """One topic's coefficients by vb.variational.reg of R's stm, line by line."""
    P = X.shape[1]
    XX, an = X.T @ X, (1 + len(X)) / 2
    w, e, a, ba = np.zeros(P), 1.0, float(P), 1.0
    while True:
        old = w
        V = np.linalg.inv(e * XX + np.diag([0.0] + [a] * (P - 1)))
        w = e * V @ (X.T @ y)
        e = an / (0.5 * (((X @ w - y) ** 2).sum() + np.trace(XX @ V)) + ba)
        ba = 1 / (e + 1)
        dn = 2 * (2 / (a + 1)) + w[1:] @ w[1:] + np.diag(V)[1:].sum()
        a = P / dn
        if np.abs(w - old).sum() < 1e-4:
            return w


def spline(x: float, knots: np.ndarray, i: int, degree: int) -> float:
    """The i-th B-spline at x by the recursion of Cox and de Boor, closed at the last knot."""
    if degree == 0:
        last = knots[i] < knots[i + 1] == knots[-1] == x
        return float(knots[i] <= x < knots[i + 1] or last)
    total = 0.0
    if knots[i + degree] > knots[i]:
        total += (x - knots[i]) / (knots[i + degree] - knots[i]) * spline(x, knots, i, degree - 1)
    if knots[i + degree + 1] > knots[i + 1]:
        total += (
            (knots[i + degree + 1] - x) / (knots[i + degree + 1] - knots[i + 1]) * spline(x, knots, i + 1, degree - 1)
        )
    return total
