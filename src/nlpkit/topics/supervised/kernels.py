"""Gibbs sampling where tokens choose among rows of topics: authors of a document, or a document that may use some topics only.

A place p is a pair of a row owner[p] and one of its topics, topics[p]; row r has the places topic_start[r] : topic_start[r + 1]. A
token of document d lies at a place of one of the rows rows[row_start[d] : row_start[d + 1]], -1 before it has one.
"""

from __future__ import annotations

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def draw(weights, n, uniform, total):  # type: ignore[no-untyped-def]
    """Return which of n weights, whose sum is total, a uniform number falls on."""
    left = uniform * total
    j = 0
    while j < n - 1 and left >= weights[j]:
        left -= weights[j]
        j += 1
    return j


@njit(nogil=True)
def count(v, k, sign, n_vk, n_k):  # type: ignore[no-untyped-def]
    """Add a token of word v to topic k (sign 1), or take it out (-1); n_vk (V, K), n_k (K,)."""
    n_vk[v, k] += sign
    n_k[k] += sign


@njit(nogil=True)
def sweep(  # type: ignore[no-untyped-def]
    offsets, term_ids, row_start, rows, topic_start, topics, owner, places, counts, sizes, n_vk, n_k, alpha, eta, uniforms, weights
):  # fmt: skip
    """Draw the place of each token (N,) given all others, uniforms (N,); return how many changed their topic.

    p(place p | others) ∝ (n_p + α) / (n_r + α |T_r|) · (n_kw + η) / (n_k + Vη), r = owner[p], k = topics[p], |T_r| topics of r.
    counts (P,) n_p, sizes (R,) n_r; weights: room for the places of the document that has most.
    """
    V, moved = n_vk.shape[0], 0
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v, old = term_ids[i], places[i]
            if old >= 0:
                counts[old] -= 1
                sizes[owner[old]] -= 1
                count(v, topics[old], -1, n_vk, n_k)
            n, total = 0, 0.0
            for at in range(row_start[d], row_start[d + 1]):
                r = rows[at]
                scale = 1.0 / (sizes[r] + alpha * (topic_start[r + 1] - topic_start[r]))
                for p in range(topic_start[r], topic_start[r + 1]):
                    k = topics[p]
                    weights[n] = (counts[p] + alpha) * scale * (n_vk[v, k] + eta) / (n_k[k] + V * eta)
                    total += weights[n]
                    n += 1
            j = draw(weights, n, uniforms[i], total)
            at = row_start[d]
            while j >= topic_start[rows[at] + 1] - topic_start[rows[at]]:
                j -= topic_start[rows[at] + 1] - topic_start[rows[at]]
                at += 1
            new = topic_start[rows[at]] + j
            moved += old < 0 or topics[new] != topics[old]
            places[i] = new
            counts[new] += 1
            sizes[rows[at]] += 1
            count(v, topics[new], 1, n_vk, n_k)
    return moved
