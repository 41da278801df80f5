"""Factors of a matrix of counts under multinomial likelihood: the two halves of a step of EM, and topics of new documents.

Every function works on rows begin … end alone, which no other call writes: threads take rows, and no sum depends on them.
"""

from __future__ import annotations

import numpy as np

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def update_documents(indptr, terms, counts, theta, phi, begin, end, ratios, weights, logs):  # type: ignore[no-untyped-def]
    """Make the half of a step that belongs to documents: Σ_v n_dv p(k | d, v) with p(k | d, v) ∝ θ_dk φ_vk.

    indptr (D + 1,), terms, counts (N,): n_dv, CSR; theta (D, K), phi (V, K). Fills of documents begin … end - 1
    ratios[indptr[d] : indptr[d + 1]] with n_dv / Σ_k θ_dk φ_vk (0 where the sum is 0), weights[d] (K,) with the sum above, and
    logs[d] with Σ_v n_dv log Σ_k θ_dk φ_vk over terms of positive probability.
    """
    K = theta.shape[1]
    for d in range(begin, end):
        total = 0.0
        for k in range(K):
            weights[d, k] = 0.0
        for i in range(indptr[d], indptr[d + 1]):
            v = terms[i]
            p = 0.0
            for k in range(K):
                p += theta[d, k] * phi[v, k]
            ratio = counts[i] / p if p > 0.0 else 0.0
            ratios[i] = ratio
            if p > 0.0:
                total += counts[i] * np.log(p)
            for k in range(K):
                weights[d, k] += ratio * phi[v, k]
        for k in range(K):
            weights[d, k] *= theta[d, k]
        logs[d] = total


@njit(nogil=True)
def update_terms(starts, documents, entries, theta, phi, begin, end, ratios, weights):  # type: ignore[no-untyped-def]
    """Make the half of a step that belongs to terms: weights[v] (K,) = φ_vk Σ_d θ_dk ratio_dv of terms begin … end - 1.

    starts (V + 1,), documents, entries (N,): the documents of each term, ascending, and the places of their counts in `ratios` (N,).
    """
    K = theta.shape[1]
    for v in range(begin, end):
        for k in range(K):
            weights[v, k] = 0.0
        for j in range(starts[v], starts[v + 1]):
            d, ratio = documents[j], ratios[entries[j]]
            for k in range(K):
                weights[v, k] += ratio * theta[d, k]
        for k in range(K):
            weights[v, k] *= phi[v, k]


@njit(nogil=True)
def fold_in(indptr, terms, counts, phi, steps, tolerance, begin, end, theta):  # type: ignore[no-untyped-def]
    """Fill theta[d] (K,) of documents begin … end - 1 by EM from equal shares, phi (V, K) fixed.

    A document ends after `steps`, or when none of its shares moves by more than `tolerance`; one without a term of positive
    probability keeps equal shares. No document depends on another.
    """
    K = theta.shape[1]
    following = np.empty(K, np.float64)
    for d in range(begin, end):
        for k in range(K):
            theta[d, k] = 1.0 / K
        for _ in range(steps):
            for k in range(K):
                following[k] = 0.0
            for i in range(indptr[d], indptr[d + 1]):
                v = terms[i]
                p = 0.0
                for k in range(K):
                    p += theta[d, k] * phi[v, k]
                if p > 0.0:
                    for k in range(K):
                        following[k] += counts[i] / p * phi[v, k]
            whole = 0.0
            for k in range(K):
                following[k] *= theta[d, k]
                whole += following[k]
            if whole <= 0.0:
                break
            moved = 0.0
            for k in range(K):
                share = following[k] / whole
                moved = max(moved, abs(share - theta[d, k]))
                theta[d, k] = share
            if moved <= tolerance:
                break
