"""Sparse products and the softmax of logistic regression; every row is one thread's own, so bytes do not depend on threads."""

from __future__ import annotations

import math
from typing import Any

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def times(indptr: Any, indices: Any, data: Any, weights: Any, out: Any, begin: int, end: int) -> None:
    """Write rows begin … end of the product of a CSR matrix (N, M) and weights (M, K) into out (N, K); all float64.

    Rows are summed in the order of their entries. One and two columns are written out: they stay in registers.
    """
    K = weights.shape[1]
    if K == 1:
        for i in range(begin, end):
            a = 0.0
            for n in range(indptr[i], indptr[i + 1]):
                a += data[n] * weights[indices[n], 0]
            out[i, 0] = a
    elif K == 2:
        for i in range(begin, end):
            a, b = 0.0, 0.0
            for n in range(indptr[i], indptr[i + 1]):
                x, v = data[n], indices[n]
                a += x * weights[v, 0]
                b += x * weights[v, 1]
            out[i, 0] = a
            out[i, 1] = b
    else:
        for i in range(begin, end):
            for k in range(K):
                out[i, k] = 0.0
            for n in range(indptr[i], indptr[i + 1]):
                x, v = data[n], indices[n]
                for k in range(K):
                    out[i, k] += x * weights[v, k]


@njit(nogil=True)
def squares_times(indptr: Any, indices: Any, data: Any, weights: Any, out: Any, begin: int, end: int) -> None:
    """Write rows begin … end of the product of the squared entries of a CSR matrix (N, M) and weights (M, K) into out."""
    K = weights.shape[1]
    for i in range(begin, end):
        for k in range(K):
            out[i, k] = 0.0
        for n in range(indptr[i], indptr[i + 1]):
            x, v = data[n] * data[n], indices[n]
            for k in range(K):
                out[i, k] += x * weights[v, k]


@njit(nogil=True)
def losses(scores: Any, y: Any, loss: Any, p: Any, begin: int, end: int) -> None:
    """Write -log p[y] into loss (D,) and the softmax of `spread` scores into p (D, J), rows begin … end.

    Args:
        scores: (D, J-1) in the coordinates of `spread`.
        y: (D,) classes.
    """
    J = p.shape[1]
    for d in range(begin, end):
        spread(scores[d], p[d])
        most = p[d, 0]
        for j in range(1, J):
            most = max(most, p[d, j])
        total = 0.0
        for j in range(J):
            p[d, j] -= most
        true_score = p[d, y[d]]
        for j in range(J):
            p[d, j] = math.exp(p[d, j])
            total += p[d, j]
        loss[d] = math.log(total) - true_score
        for j in range(J):
            p[d, j] /= total


@njit(nogil=True)
def residuals(p: Any, y: Any, weights: Any, out: Any, begin: int, end: int) -> None:
    """Write the gradient of each document's loss by its scores (D, J-1), s_d · B (p_d - e_y), into out."""
    for d in range(begin, end):
        p_true = p[d, y[d]]
        p[d, y[d]] = p_true - 1.0
        gather(p[d], weights[d], out[d])
        p[d, y[d]] = p_true


@njit(nogil=True)
def curvatures(p: Any, weights: Any, steps: Any, room: Any, out: Any, begin: int, end: int) -> None:
    """Write s_d · B (diag(p_d) - p_d p_dᵀ) Bᵀ steps_d into out (D, J-1); steps (D, J-1); room (D, J) is written over."""
    J = p.shape[1]
    for d in range(begin, end):
        z = room[d]
        spread(steps[d], z)
        mean = 0.0
        for j in range(J):
            mean += p[d, j] * z[j]
        for j in range(J):
            z[j] = p[d, j] * (z[j] - mean)
        gather(z, weights[d], out[d])


@njit(nogil=True)
def diagonals(p: Any, weights: Any, out: Any, begin: int, end: int) -> None:
    """Write the diagonal of s_d · B (diag(p_d) - p_d p_dᵀ) Bᵀ into out (D, J-1).

    Column k of Bᵀ is 1/√J in its first place and δ_ik - a in the others: Σ p b² - (Σ p b)².
    """
    J = p.shape[1]
    first, a = 1.0 / math.sqrt(J), 1.0 / (J - math.sqrt(J))
    for d in range(begin, end):
        p0 = p[d, 0]
        rest = 1.0 - p0
        for k in range(J - 1):
            pk = p[d, k + 1]
            mean = first * p0 + pk - a * rest
            square = first * first * p0 + (1.0 - 2.0 * a) * pk + a * a * rest
            out[d, k] = weights[d] * max(square - mean * mean, 0.0)


@njit(nogil=True)
def spread(scores: Any, out: Any) -> None:
    """Write Bᵀ scores (J,) of scores (J-1,) into out: the rows of B are orthonormal and sum to 0 (a Householder reflection)."""
    J = len(out)
    total = 0.0
    for k in range(J - 1):
        total += scores[k]
    a = total / (J - math.sqrt(J))
    out[0] = total / math.sqrt(J)
    for k in range(J - 1):
        out[k + 1] = scores[k] - a


@njit(nogil=True)
def gather(values: Any, weight: float, out: Any) -> None:
    """Write weight · B values (J-1,) of values (J,) into out."""
    J = len(values)
    total = 0.0
    for j in range(1, J):
        total += values[j]
    shift = values[0] / math.sqrt(J) - total / (J - math.sqrt(J))
    for k in range(J - 1):
        out[k] = weight * (values[k + 1] + shift)


@njit(nogil=True)
def spread_rows(scores: Any, out: Any) -> None:
    """Write Bᵀ of each row of scores (N, J-1) into out (N, J)."""
    for i in range(len(scores)):
        spread(scores[i], out[i])
