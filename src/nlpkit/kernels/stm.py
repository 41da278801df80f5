"""Logistic-normal topics of documents by Laplace's method (Wang and Blei 2013; Roberts, Stewart and Airoldi 2016).

For a document of N words, c_v times each, with η ~ Normal(μ, Σ) (K - 1,), η_K = 0 and θ = softmax(η):

    f(η)   = ½ (η - μ)ᵀ Σ⁻¹ (η - μ) - Σ_v c_v log Σ_k θ_k φ_kv
    r_vk   = θ_k φ_kv / Σ_j θ_j φ_jv
    ∂f     = Σ⁻¹ (η - μ) - Σ_v c_v r_v + N θ
    ∂²f    = Σ⁻¹ + N (diag θ - θ θᵀ) - Σ_v c_v (diag r_v - r_v r_vᵀ)

Newton's method finds the mode. Where ∂²f is not positive definite, Σ⁻¹ + N (diag θ - θ θᵀ) takes its place, which always is, so
that each step descends. Documents are rows of a CSR matrix, and each is worked on by one thread alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.arrays import copy_into

STEPS = 200  # of Newton's method, at most; from a mode nearby two or three are taken
HALVINGS = 40  # of a step that does not descend
DECREMENT = 1e-10  # ½ ∂fᵀ (∂²f)⁻¹ ∂f below which a mode is reached: the descent that is left, in nats
LEAST = 1e-300  # probability of a word


class Model(NamedTuple):
    """phi (V, K) word by word; precision (K-1, K-1) Σ⁻¹; mean (D, K-1), or (1, K-1) for all documents."""

    phi: np.ndarray
    precision: np.ndarray
    mean: np.ndarray


class Room(NamedTuple):
    """Arrays that one document after another writes over: n words at most, K topics, J = K - 1.

    shares (n, K); theta (K,); gradient, step, trial (J,); hessian, factor (J, J).
    """

    shares: np.ndarray
    theta: np.ndarray
    gradient: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    hessian: np.ndarray
    factor: np.ndarray


@njit(nogil=True)
def room_for(indptr, begin, end, K):  # type: ignore[no-untyped-def]
    """Return room for documents begin … end: as many rows of shares as the longest has different words."""
    longest = 0
    for d in range(begin, end):
        longest = max(longest, indptr[d + 1] - indptr[d])
    J = K - 1
    return Room(
        np.empty((longest, K)), np.empty(K), np.empty(J), np.empty(J), np.empty(J), np.empty((J, J)), np.empty((J, J))
    )


@njit(nogil=True)
def softmax(eta, theta):  # type: ignore[no-untyped-def]
    """Write the softmax (K,) of eta (K-1,) and a last 0 into theta."""
    J = len(eta)
    most = 0.0
    for k in range(J):
        most = max(most, eta[k])
    total = np.exp(-most)
    theta[J] = total
    for k in range(J):
        theta[k] = np.exp(eta[k] - most)
        total += theta[k]
    for k in range(J + 1):
        theta[k] /= total


@njit(nogil=True)
def softmax_rows(eta, theta):  # type: ignore[no-untyped-def]
    """Write the softmax of each row of eta (D, K-1) into theta (D, K)."""
    for d in range(len(eta)):
        softmax(eta[d], theta[d])


@njit(nogil=True)
def distance(eta, mean, precision):  # type: ignore[no-untyped-def]
    """Return ½ (η - μ)ᵀ Σ⁻¹ (η - μ)."""
    J = len(eta)
    total = 0.0
    for i in range(J):
        row = 0.0
        for j in range(J):
            row += precision[i, j] * (eta[j] - mean[j])
        total += (eta[i] - mean[i]) * row
    return 0.5 * total


@njit(nogil=True)
def log_likelihood(theta, words, counts, phi):  # type: ignore[no-untyped-def]
    """Return Σ_v c_v log Σ_k θ_k φ_kv of one document."""
    total = 0.0
    for n in range(len(words)):
        row = phi[words[n]]
        p = 0.0
        for k in range(len(theta)):
            p += theta[k] * row[k]
        total += counts[n] * np.log(max(p, LEAST))
    return total


@njit(nogil=True)
def derivatives(eta, mean, words, counts, model, room):  # type: ignore[no-untyped-def]
    """Fill gradient, hessian (its lower half) and shares, √c_v · r_v, of a document; theta is that of eta."""
    theta, shares, gradient, hessian, expected = room.theta, room.shares, room.gradient, room.hessian, room.trial
    phi, precision = model.phi, model.precision
    K = len(theta)
    J = K - 1
    expected[:] = 0.0  # Σ_v c_v r_v
    total = 0.0
    for n in range(len(words)):
        row, share = phi[words[n]], shares[n]
        p = 0.0
        for k in range(K):
            share[k] = theta[k] * row[k]
            p += share[k]
        p = max(p, LEAST)
        total += counts[n]
        scale, root = counts[n] / p, np.sqrt(counts[n]) / p
        for k in range(J):
            expected[k] += scale * share[k]
        for k in range(K):
            share[k] *= root
    for i in range(J):
        gradient[i] = total * theta[i] - expected[i]
        for j in range(i + 1):
            hessian[i, j] = precision[i, j] - total * theta[i] * theta[j]
        hessian[i, i] += gradient[i]
        for j in range(J):
            gradient[i] += precision[i, j] * (eta[j] - mean[j])
    for n in range(len(words)):
        share = shares[n]
        for i in range(J):
            a = share[i]
            for j in range(i + 1):
                hessian[i, j] += a * share[j]


@njit(nogil=True)
def bound_curvature(words, counts, precision, room):  # type: ignore[no-untyped-def]
    """Fill hessian (its lower half) with Σ⁻¹ + N (diag θ - θ θᵀ), which is above ∂²f and always positive definite."""
    theta, hessian = room.theta, room.hessian
    total = 0.0
    for n in range(len(words)):
        total += counts[n]
    for i in range(len(theta) - 1):
        for j in range(i + 1):
            hessian[i, j] = precision[i, j] - total * theta[i] * theta[j]
        hessian[i, i] += total * theta[i]


@njit(nogil=True)
def cholesky(matrix, factor):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor of the lower half of a matrix (J, J) into factor; False where it is not positive definite."""
    J = len(matrix)
    for i in range(J):
        for j in range(i + 1):
            total = matrix[i, j]
            for m in range(j):
                total -= factor[i, m] * factor[j, m]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 1e-12 * max(matrix[i, i], 1e-12):
                factor[i, i] = np.sqrt(total)
            else:
                return False
    return True


@njit(nogil=True)
def solve_lower(factor, vector):  # type: ignore[no-untyped-def]
    """Replace vector (J,) by L⁻¹ vector."""
    for i in range(len(vector)):
        total = vector[i]
        for j in range(i):
            total -= factor[i, j] * vector[j]
        vector[i] = total / factor[i, i]


@njit(nogil=True)
def solve_upper(factor, vector):  # type: ignore[no-untyped-def]
    """Replace vector (J,) by L⁻ᵀ vector."""
    for back in range(len(vector)):
        i = len(vector) - 1 - back
        vector[i] /= factor[i, i]
        for j in range(i):
            vector[j] -= factor[i, j] * vector[i]


@njit(nogil=True)
def curve(eta, mean, words, counts, model, room):  # type: ignore[no-untyped-def]
    """Fill theta, gradient, hessian and its Cholesky factor at eta; False where the hessian had to be replaced by its bound."""
    softmax(eta, room.theta)
    derivatives(eta, mean, words, counts, model, room)
    if cholesky(room.hessian, room.factor):
        return True
    bound_curvature(words, counts, model.precision, room)
    cholesky(room.hessian, room.factor)
    return False


@njit(nogil=True)
def find_mode(eta, mean, words, counts, model, room):  # type: ignore[no-untyped-def]
    """Move eta (K-1,) to a mode; room has what `curve` fills there. Returns f without its constant, and whether it is a mode."""
    J = len(eta)
    softmax(eta, room.theta)
    value = distance(eta, mean, model.precision) - log_likelihood(room.theta, words, counts, model.phi)
    for _ in range(STEPS):
        exact = curve(eta, mean, words, counts, model, room)
        for i in range(J):
            room.step[i] = room.gradient[i]
        solve_lower(room.factor, room.step)
        decrement = 0.0
        for i in range(J):
            decrement += 0.5 * room.step[i] * room.step[i]
        if decrement < DECREMENT:
            return value, exact
        solve_upper(room.factor, room.step)
        length = 1.0
        descended = False
        for _ in range(HALVINGS):
            for i in range(J):
                room.trial[i] = eta[i] - length * room.step[i]
            softmax(room.trial, room.theta)
            next_value = distance(room.trial, mean, model.precision) - log_likelihood(
                room.theta, words, counts, model.phi
            )
            if next_value < value - 1e-4 * length * decrement:
                descended = True
                break
            length *= 0.5
        if not descended:  # no digits are left to descend by
            return value, curve(eta, mean, words, counts, model, room)
        value = next_value
        for i in range(J):
            eta[i] = room.trial[i]
    return value, curve(eta, mean, words, counts, model, room) and False


@njit(nogil=True)
def infer(indptr, words, counts, model, begin, end, eta, bounds, covariance):  # type: ignore[no-untyped-def]
    """Move eta (D, K-1) of documents begin … end to their modes, and add ν_d = (∂²f)⁻¹ of those with words to covariance (K-1, K-1).

    bounds (D,): -f - ½ log |∂²f|, the document's part of the bound but for ½ log |Σ⁻¹|. Returns the number of documents whose ∂²f
    was not positive definite, or that took more than STEPS steps. eta of a document without words is its mean.
    """
    K = model.phi.shape[1]
    J = K - 1
    room = room_for(indptr, begin, end, K)  # shares has a row for each word of every document here
    inverse = np.empty(J)
    unsettled = 0
    for d in range(begin, end):
        mean = model.mean[d if len(model.mean) > 1 else 0]
        first, last = indptr[d], indptr[d + 1]
        if first == last:
            copy_into(eta[d], mean)
            bounds[d] = 0.0
            continue
        value, settled = find_mode(eta[d], mean, words[first:last], counts[first:last], model, room)
        unsettled += not settled
        half_log_determinant = 0.0
        for i in range(J):
            half_log_determinant += np.log(room.factor[i, i])
        bounds[d] = -value - half_log_determinant
        for i in range(J):
            inverse[:] = 0.0
            inverse[i] = 1.0
            solve_lower(room.factor, inverse)
            solve_upper(room.factor, inverse)
            for j in range(i + 1):
                covariance[i, j] += inverse[j]
    return unsettled


@njit(nogil=True)
def expected_counts(indptr, docs, counts, theta, phi, begin, end, out):  # type: ignore[no-untyped-def]
    """Write n_vk = Σ_d c_dv θ_dk φ_kv / Σ_j θ_dj φ_jv of words begin … end into out (V, K).

    indptr, docs, counts: CSC, the documents of each word; theta (D, K), phi (V, K). Documents are added in their order.
    """
    K = theta.shape[1]
    for v in range(begin, end):
        for k in range(K):
            out[v, k] = 0.0
        for n in range(indptr[v], indptr[v + 1]):
            row = theta[docs[n]]
            p = 0.0
            for k in range(K):
                p += row[k] * phi[v, k]
            scale = counts[n] / max(p, LEAST)
            for k in range(K):
                out[v, k] += scale * row[k]
        for k in range(K):
            out[v, k] *= phi[v, k]


@njit(nogil=True)
def simplex_weights(products, gram, begin, end, out):  # type: ignore[no-untyped-def]
    """Write the convex weights a_v (K,) that minimise ‖q_v - Σ_k a_k x_k‖² into rows begin … end of out (V, K).

    By exponentiated gradients as in RecoverL2 (Arora et al. 2013, algorithm 4) with the step 50 and the end of R's stm: the norm of
    the gradient changes by less than 1e-7, or 500 steps. products (V, K) q_v · x_k; gram (K, K) x_j · x_k.
    """
    K = len(gram)
    gradient = np.empty(K)
    for v in range(begin, end):
        weights = out[v]
        weights[:] = 1.0 / K
        before = np.inf
        for _ in range(500):
            norm, most = 0.0, -np.inf
            for k in range(K):
                g = products[v, k]
                for j in range(K):
                    g -= weights[j] * gram[j, k]
                gradient[k] = g
                norm += g * g
                most = max(most, g)
            total = 0.0
            for k in range(K):
                weights[k] *= np.exp(100.0 * (gradient[k] - most))
                total += weights[k]
            for k in range(K):
                weights[k] /= total
            if abs(before - np.sqrt(norm)) < 1e-7:
                break
            before = np.sqrt(norm)
