"""The Dirichlet mixture of short texts: one topic a document, drawn from its conditional probabilities."""

from __future__ import annotations

from nlpkit.platform.kernels import njit

TINY, HUGE = 1e-150, 1e150


@njit(nogil=True)
def weigh(indptr, terms, counts, d, sizes, tokens, n_vk, alpha, beta, weights):  # type: ignore[no-untyped-def]
    """Fill weights (K,) with what p(z_d = k) is proportional to, document d in none of the topics; return their sum.

    (m_k + α) Π_v Π_{j < n_dv} (n_vk + β + j) / Π_{i < N_d} (n_k + V β + i), times one power of 10 for all k.
    indptr (D + 1,), terms, counts (N,): n_dv, CSR; sizes (K,) m_k, tokens (K,) n_k, n_vk (V, K).
    """
    K, V = len(sizes), n_vk.shape[0]
    for k in range(K):
        weights[k] = sizes[k] + alpha
    n = 0
    for i in range(indptr[d], indptr[d + 1]):
        v = terms[i]
        for j in range(counts[i]):
            most = 0.0
            for k in range(K):
                weights[k] *= (n_vk[v, k] + beta + j) / (tokens[k] + V * beta + n)
                most = max(most, weights[k])
            if most < TINY:
                for k in range(K):
                    weights[k] *= HUGE
            n += 1
    total = 0.0
    for k in range(K):
        total += weights[k]
    return total


@njit(nogil=True)
def move(indptr, terms, counts, d, k, sign, sizes, tokens, n_vk):  # type: ignore[no-untyped-def]
    """Put document d into topic k (sign 1), or take it out (-1)."""
    sizes[k] += sign
    for i in range(indptr[d], indptr[d + 1]):
        n_vk[terms[i], k] += sign * counts[i]
        tokens[k] += sign * counts[i]


@njit(nogil=True)
def sweep(indptr, terms, counts, topics, sizes, tokens, n_vk, alpha, beta, uniforms, weights):  # type: ignore[no-untyped-def]
    """Draw the topic of each document (D,) given all others, uniforms (D,); return how many changed. weights (K,): room."""
    moved = 0
    for d in range(len(topics)):
        move(indptr, terms, counts, d, topics[d], -1, sizes, tokens, n_vk)
        left = uniforms[d] * weigh(indptr, terms, counts, d, sizes, tokens, n_vk, alpha, beta, weights)
        k = 0
        while k < len(sizes) - 1 and left >= weights[k]:
            left -= weights[k]
            k += 1
        moved += k != topics[d]
        topics[d] = k
        move(indptr, terms, counts, d, k, 1, sizes, tokens, n_vk)
    return moved


@njit(nogil=True)
def probabilities(indptr, terms, counts, topics, sizes, tokens, n_vk, alpha, beta, theta):  # type: ignore[no-untyped-def]
    """Fill theta (D, K) with the probabilities of the topics of each document given all others; topics -1 is in none."""
    for d in range(len(topics)):
        if topics[d] >= 0:
            move(indptr, terms, counts, d, topics[d], -1, sizes, tokens, n_vk)
        total = weigh(indptr, terms, counts, d, sizes, tokens, n_vk, alpha, beta, theta[d])
        for k in range(len(sizes)):
            theta[d, k] /= total
        if topics[d] >= 0:
            move(indptr, terms, counts, d, topics[d], 1, sizes, tokens, n_vk)
