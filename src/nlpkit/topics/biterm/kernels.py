"""The biterm topic model: pairs of words, each of one topic, drawn from its conditional probabilities."""

from __future__ import annotations

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def count_pairs(offsets, term_ids, window, counts):  # type: ignore[no-untyped-def]
    """Fill counts (D,) with the biterms of each document: pairs of different words less than `window` places apart."""
    for d in range(len(counts)):
        n = 0
        for i in range(offsets[d], offsets[d + 1]):
            for j in range(i + 1, min(i + window, offsets[d + 1])):
                n += term_ids[i] != term_ids[j]
        counts[d] = n


@njit(nogil=True)
def list_pairs(offsets, term_ids, window, pairs):  # type: ignore[no-untyped-def]
    """Fill pairs (B, 2) with the term ids of the biterms, by document, then place of the first and of the second word.

    B is the sum of `count_pairs`, which goes through the same loops.
    """
    b = 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            for j in range(i + 1, min(i + window, offsets[d + 1])):
                if term_ids[i] != term_ids[j]:
                    pairs[b, 0], pairs[b, 1] = term_ids[i], term_ids[j]
                    b += 1


@njit(nogil=True)
def share(n, V, alpha, beta):  # type: ignore[no-untyped-def]
    """Return what all biterms have in common of p(z_b = k), with n = n_k biterms of topic k: (n + α) / ((2 n + V β) (2 n + 1 + V β))."""
    words = 2 * n + V * beta
    return (n + alpha) / (words * (words + 1.0))


@njit(nogil=True)
def move(pairs, b, k, sign, n_z, n_vk, shares, alpha, beta):  # type: ignore[no-untyped-def]
    """Put biterm b into topic k (sign 1), or take it out (-1)."""
    n_z[k] += sign
    n_vk[pairs[b, 0], k] += sign
    n_vk[pairs[b, 1], k] += sign
    shares[k] = share(n_z[k], len(n_vk), alpha, beta)


@njit(nogil=True)
def weigh(v, w, n_vk, shares, beta, weights):  # type: ignore[no-untyped-def]
    """Fill weights (K,) with what p(z_b = k) of the biterm {v, w} is proportional to, the biterm in none; return their sum.

    (n_k + α) (n_vk + β) (n_wk + β) / ((2 n_k + V β) (2 n_k + 1 + V β)), v ≠ w; n_vk (V, K) words of a topic; shares (K,): `share`.
    """
    total = 0.0
    for k in range(len(shares)):
        weights[k] = shares[k] * (n_vk[v, k] + beta) * (n_vk[w, k] + beta)
        total += weights[k]
    return total


@njit(nogil=True)
def sweep(pairs, begin, end, topics, n_z, n_vk, alpha, beta, uniforms, shares, weights):  # type: ignore[no-untyped-def]
    """Draw the topics of the biterms begin … end - 1 given all others, uniforms (end - begin,); return how many changed.

    topics (B,), n_z (K,) biterms of a topic; shares, weights (K,): room.
    """
    moved, K = 0, len(n_z)
    for k in range(K):
        shares[k] = share(n_z[k], len(n_vk), alpha, beta)
    for b in range(begin, end):
        move(pairs, b, topics[b], -1, n_z, n_vk, shares, alpha, beta)
        left = uniforms[b - begin] * weigh(pairs[b, 0], pairs[b, 1], n_vk, shares, beta, weights)
        k = 0
        while k < K - 1 and left >= weights[k]:
            left -= weights[k]
            k += 1
        moved += k != topics[b]
        topics[b] = k
        move(pairs, b, k, 1, n_z, n_vk, shares, alpha, beta)
    return moved


@njit(nogil=True)
def add_shares(weights, theta):  # type: ignore[no-untyped-def]
    """Add weights (K,), divided by their sum, to theta (K,)."""
    total = 0.0
    for k in range(len(weights)):
        total += weights[k]
    for k in range(len(weights)):
        theta[k] += weights[k] / total


@njit(nogil=True)
def documents(offsets, term_ids, window, shares, phi_vk, theta, weights):  # type: ignore[no-untyped-def]
    """Fill theta (D, K) with p(k | d) = mean over the biterms of d of p(k | b) ∝ θ_k φ_kv φ_kw.

    Of a document without biterms it is the mean over its words of p(k | v) ∝ θ_k φ_kv, and θ of one without words.
    shares (K,): θ; phi_vk (V, K): φ, above 0; weights (K,): room.
    """
    K = len(shares)
    for d in range(len(theta)):
        n = 0
        theta[d] = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            for j in range(i + 1, min(i + window, offsets[d + 1])):
                if term_ids[i] != term_ids[j]:
                    for k in range(K):
                        weights[k] = shares[k] * phi_vk[term_ids[i], k] * phi_vk[term_ids[j], k]
                    add_shares(weights, theta[d])
                    n += 1
        if n == 0:
            for i in range(offsets[d], offsets[d + 1]):
                for k in range(K):
                    weights[k] = shares[k] * phi_vk[term_ids[i], k]
                add_shares(weights, theta[d])
                n += 1
        for k in range(K):
            theta[d, k] = theta[d, k] / n if n else shares[k]
