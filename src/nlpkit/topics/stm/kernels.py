"""Logistic-normal topics of documents by Laplace's method (Wang and Blei 2013; Roberts, Stewart and Airoldi 2016).

For a document of N words, c_v times each, with η ~ Normal(μ, Σ) (K - 1,), η_K = 0 and θ = softmax(η):

    f(η)   = ½ (η - μ)ᵀ Σ⁻¹ (η - μ) - Σ_v c_v log Σ_k θ_k φ_kv
    r_vk   = θ_k φ_kv / Σ_j θ_j φ_jv
    ∂f     = Σ⁻¹ (η - μ) - Σ_v c_v r_v + N θ
    ∂²f    = Σ⁻¹ + N (diag θ - θ θᵀ) - Σ_v c_v (diag r_v - r_v r_vᵀ)

Newton's method finds the mode. Where ∂²f is not positive definite, ∂²f + τ 1 takes its place (Levenberg and Marquardt), so that each
step descends; from a point that is flat and no minimum the search goes on along a direction of negative curvature (Nocedal and
Wright 2006, sections 3.4 and 6.2). Documents are rows of a CSR matrix, and each is worked on by one thread alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into

STEPS = 200  # of Newton's method, at most; from a mode nearby two or three are taken
HALVINGS = 40  # of a step that does not descend
DECREMENT = 1e-10  # ½ ∂fᵀ (∂²f)⁻¹ ∂f below which a mode is reached: the descent that is left, in nats
ROUNDING = 1e-14  # of f: what its last digits may rise in a step
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
def cholesky(matrix, factor):  # type: ignore[no-untyped-def]
    """Write the lower Cholesky factor of the lower half of a matrix (J, J) into factor.

    Returns J, or the row that has no factor where the matrix is not positive definite: factor holds the rows before it, and its cells
    left of the diagonal.
    """
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
                return i
    return J


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
def shift_diagonal(matrix, shift):  # type: ignore[no-untyped-def]
    """Add a number to the diagonal of a matrix (J, J)."""
    for i in range(len(matrix)):
        matrix[i, i] += shift


@njit(nogil=True)
def curve(eta, mean, words, counts, model, room):  # type: ignore[no-untyped-def]
    """Fill theta, gradient, hessian + τ 1 and its Cholesky factor at eta. Returns τ, which is 0 where the hessian is positive definite."""
    softmax(eta, room.theta)
    derivatives(eta, mean, words, counts, model, room)
    J = len(eta)
    if cholesky(room.hessian, room.factor) == J:
        return 0.0
    least, most = np.inf, 0.0
    for i in range(J):
        least = min(least, room.hessian[i, i])
        most = max(most, abs(room.hessian[i, i]))
    shift = max(1e-3 * most, -2.0 * least)
    shift_diagonal(room.hessian, shift)
    while cholesky(room.hessian, room.factor) < J:
        if not shift < np.inf:  # cells that are no numbers: so are the results
            room.factor[:] = np.nan
            break
        shift_diagonal(room.hessian, 2.0 * shift)
        shift *= 3.0
    return shift


@njit(nogil=True)
def newton_step(room):  # type: ignore[no-untyped-def]
    """Write -(∂²f + τ 1)⁻¹ ∂f of what `curve` filled into step. Returns ½ ∂fᵀ (∂²f + τ 1)⁻¹ ∂f."""
    step, decrement = room.step, 0.0
    for i in range(len(step)):
        step[i] = -room.gradient[i]
    solve_lower(room.factor, step)
    for i in range(len(step)):
        decrement += 0.5 * step[i] * step[i]
    solve_upper(room.factor, step)
    return decrement


@njit(nogil=True)
def negative_curvature(shift, room):  # type: ignore[no-untyped-def]
    """Write a step d of length 1 with dᵀ ∂²f d ≤ 0 and dᵀ ∂f ≤ 0, of a hessian that `curve` shifted by `shift`, into step.

    Cholesky's method fails at row i, where ∂²f_ii - ‖l‖² ≤ 0 with L l = the row so far: of d = (-L⁻ᵀ l, 1, 0 …) that is dᵀ ∂²f d.
    """
    step, factor = room.step, room.factor
    shift_diagonal(room.hessian, -shift)
    row = min(cholesky(room.hessian, factor), len(step) - 1)
    step[:] = 0.0
    step[row] = 1.0
    for j in range(row):
        step[j] = -factor[row, j]
    solve_upper(factor[:row], step[:row])
    slope, squares = 0.0, 0.0
    for i in range(row + 1):
        slope += step[i] * room.gradient[i]
        squares += step[i] * step[i]
    scale = -1.0 if slope > 0.0 else 1.0
    for i in range(row + 1):
        step[i] *= scale / np.sqrt(squares)


@njit(nogil=True)
def objective(eta, mean, words, counts, model, theta):  # type: ignore[no-untyped-def]
    """Return f without its constant; theta becomes that of eta."""
    softmax(eta, theta)
    return distance(eta, mean, model.precision) - log_likelihood(theta, words, counts, model.phi)


@njit(nogil=True)
def descend(eta, value, least, slack, mean, words, counts, model, room):  # type: ignore[no-untyped-def]
    """Move eta along step, halved until f falls by `least` times its length, or rises by less than slack.

    Returns f there, and whether there was such a step.
    """
    length = 1.0
    for _ in range(HALVINGS):
        for i in range(len(eta)):
            room.trial[i] = eta[i] + length * room.step[i]
        next_value = objective(room.trial, mean, words, counts, model, room.theta)
        if next_value < value - length * least + slack:
            copy_into(eta, room.trial)
            return next_value, True
        length *= 0.5
    return value, False


@njit(nogil=True)
def find_mode(eta, mean, words, counts, model, room):  # type: ignore[no-untyped-def]
    """Move eta (K-1,) to a mode; room has what `curve` fills there. Returns f without its constant, and whether it is a mode."""
    value = objective(eta, mean, words, counts, model, room.theta)
    for _ in range(STEPS):
        shift = curve(eta, mean, words, counts, model, room)
        decrement = newton_step(room)
        if decrement < DECREMENT:
            if shift == 0.0:
                return value, True
            negative_curvature(shift, room)
            least, slack = 0.0, 0.0
        else:
            least, slack = 1e-4 * decrement, ROUNDING * abs(value)
        value, descended = descend(eta, value, least, slack, mean, words, counts, model, room)
        if not descended:
            break
    return value, curve(eta, mean, words, counts, model, room) == 0.0 and newton_step(room) < DECREMENT


@njit(nogil=True)
def infer(indptr, words, counts, model, begin, end, eta, bounds, covariance):  # type: ignore[no-untyped-def]
    """Move eta (D, K-1) of documents begin … end to their modes, and add ν_d = (∂²f)⁻¹ of those with words to covariance (K-1, K-1).

    bounds (D,): -f - ½ log |∂²f|, the document's part of the bound but for ½ log |Σ⁻¹|. Returns the number of documents that reached
    no mode. eta of a document without words is its mean.
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
    the gradient changes by less than 1e-7, or 500 steps. Where rows x_k are long, as those of short texts, the step is too large and
    the weights swing between corners; `weights_gap` measures that. products (V, K) q_v · x_k; gram (K, K) x_j · x_k.
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


class Active(NamedTuple):
    """Arrays that one word after another writes over: chosen (K,) vertices; square, factor (K, K); solution, ones (K,)."""

    chosen: np.ndarray
    square: np.ndarray
    factor: np.ndarray
    solution: np.ndarray
    ones: np.ndarray


@njit(nogil=True)
def affine_weights(product, gram, n, active):  # type: ignore[no-untyped-def]
    """Write the weights that sum to 1, of any sign, of the first n chosen vertices into solution; False where these are dependent.

    a = G⁻¹ (p - μ 1) with μ so that Σ a = 1.
    """
    for i in range(n):
        for j in range(i + 1):
            active.square[i, j] = gram[active.chosen[i], active.chosen[j]]
        active.solution[i] = product[active.chosen[i]]
        active.ones[i] = 1.0
    factor, solution, ones = active.factor[:n, :n], active.solution[:n], active.ones[:n]
    if cholesky(active.square[:n, :n], factor) < n:
        return False
    solve_lower(factor, solution)
    solve_upper(factor, solution)
    solve_lower(factor, ones)
    solve_upper(factor, ones)
    total, scale = 0.0, 0.0
    for i in range(n):
        total += solution[i]
        scale += ones[i]
    for i in range(n):
        solution[i] -= (total - 1.0) / scale * ones[i]
    return True


@njit(nogil=True)
def exact_weights(products, gram, begin, end, out):  # type: ignore[no-untyped-def]
    """Write the convex weights of `simplex_weights`, solved as the quadratic programme they are, into rows begin … end of out (V, K).

    By an active set: it begins at the nearest vertex; the vertex with the steepest descent joins, and those whose weight would be
    negative leave (Lawson and Hanson 1974, chapter 23; Wolfe 1976), until no vertex descends.
    """
    K = len(gram)
    # n ≤ K places of chosen are written: a vertex joins while it has no weight, and those that lose theirs leave. Values that are no
    # numbers end the search
    active = Active(np.empty(K, np.int64), np.empty((K, K)), np.empty((K, K)), np.empty(K), np.empty(K))
    scale = 0.0
    for k in range(K):
        scale = max(scale, gram[k, k])
    for v in range(begin, end):
        weights, product = out[v], products[v]
        best = 0
        for k in range(K):
            weights[k] = 0.0
            if gram[k, k] - 2 * product[k] < gram[best, best] - 2 * product[best]:
                best = k
        weights[best] = 1.0
        active.chosen[0] = best
        n = 1
        for _ in range(3 * K):  # more are never taken but where rounding leads in a circle
            joins, most = steepest(product, gram, weights, n, active.chosen)
            if not most > 1e-12 * scale:
                break
            active.chosen[n] = joins
            n += 1
            independent = True
            while n > 1:
                independent = affine_weights(product, gram, n, active)
                if not independent:
                    break
                length = step_inside(weights, n, active)
                n = without_zeros(weights, n, active.chosen)
                if length == 1.0:
                    break
            if not independent:
                break


@njit(nogil=True)
def steepest(product, gram, weights, n, chosen):  # type: ignore[no-untyped-def]
    """Return the vertex whose weight would descend most, and by how much more than the ones that have weights: 0 at the minimum."""
    K = len(gram)
    joins, most, mean = -1, -np.inf, 0.0
    for k in range(K):
        g = product[k]
        for i in range(n):
            g -= weights[chosen[i]] * gram[chosen[i], k]
        mean += weights[k] * g
        if weights[k] == 0.0 and g > most:
            joins, most = k, g
    return joins, most - mean


@njit(nogil=True)
def step_inside(weights, n, active):  # type: ignore[no-untyped-def]
    """Move weights (K,) towards solution as far as none is negative; the ones that end it become 0. Returns the share of the way."""
    length = 1.0
    for i in range(n):
        a, b = weights[active.chosen[i]], active.solution[i]
        if b < 0.0:
            length = min(length, a / (a - b))
    for i in range(n):
        k, b = active.chosen[i], active.solution[i]
        ends = length < 1.0 and b < 0.0 and weights[k] / (weights[k] - b) <= length
        weights[k] = 0.0 if ends else weights[k] + length * (b - weights[k])
    return length


@njit(nogil=True)
def without_zeros(weights, n, chosen):  # type: ignore[no-untyped-def]
    """Take vertices without weight out of the first n chosen ones. Returns how many are left."""
    left = 0
    for i in range(n):
        if weights[chosen[i]] > 0.0:
            chosen[left] = chosen[i]
            left += 1
    return left
