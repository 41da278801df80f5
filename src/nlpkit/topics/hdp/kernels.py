"""The hierarchical Dirichlet process as a mixture of topics: their number is drawn, too (direct assignment; Teh et al. 2006)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.topics.base.kernels import uniform

BLOCK = 16  # topics whose weights have a sum of their own


class Topics(NamedTuple):
    """Topics in C slots; a slot without tokens is free, and has beta 0.

    n_k (C,) int64 tokens; n_vk (V, C) int32 tokens by term; beta (C,) shares of the topics in the corpus; inverse (C,)
    1 / (n_k + Vη); rest (1,) share of all topics without tokens. C is a multiple of BLOCK.
    """

    n_k: np.ndarray
    n_vk: np.ndarray
    beta: np.ndarray
    inverse: np.ndarray
    rest: np.ndarray


class Scratch(NamedTuple):
    """Working memory of a sweep: n_dk (C,) int64, zero between documents; factor, weights (C,); blocks (C // BLOCK,)."""

    n_dk: np.ndarray
    factor: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray


@njit(nogil=True)
def weigh(row, eta, high, scratch):  # type: ignore[no-untyped-def]
    """Fill weights with factor_k (n_vk + η) and blocks with their sums, for slots below `high` rounded up; return the sum."""
    factor, weights, blocks = scratch.factor, scratch.weights, scratch.blocks
    total = 0.0
    for b in range((high + BLOCK - 1) // BLOCK):
        at = b * BLOCK
        a0, a1, a2, a3 = 0.0, 0.0, 0.0, 0.0
        for k in range(at, at + BLOCK, 4):
            w0, w1 = factor[k] * (row[k] + eta), factor[k + 1] * (row[k + 1] + eta)
            w2, w3 = factor[k + 2] * (row[k + 2] + eta), factor[k + 3] * (row[k + 3] + eta)
            weights[k], weights[k + 1], weights[k + 2], weights[k + 3] = w0, w1, w2, w3
            a0 += w0
            a1 += w1
            a2 += w2
            a3 += w3
        blocks[b] = (a0 + a1) + (a2 + a3)
        total += blocks[b]
    return total


@njit(nogil=True)
def topic_at(left, high, scratch):  # type: ignore[no-untyped-def]
    """Return the topic at `left`, from 0 to the sum of the weights; where rounding leads beyond the end, the last that has a weight."""
    weights, blocks = scratch.weights, scratch.blocks
    last = -1
    for b in range((high + BLOCK - 1) // BLOCK):
        if left >= blocks[b]:
            left -= blocks[b]
            if blocks[b] > 0:
                last = b
            continue
        for k in range(b * BLOCK, (b + 1) * BLOCK):
            left -= weights[k]
            if left < 0:
                return k
        last = b
        break
    k = (last + 1) * BLOCK - 1
    while weights[k] <= 0:  # block `last` has a weight above 0
        k -= 1
    return k


@njit(nogil=True)
def sweep(offsets, term_ids, z, d, i, high, topics, scratch, alpha, gamma, eta, key, closed):  # type: ignore[no-untyped-def]
    """Draw the topics z (N,) of the tokens from token i of document d on, given all others; return the next (d, i) and `high`.

    Slots from `high` on have never been used. The sweep stops before a token where a new topic would have no slot, which the
    caller then makes; at the end it returns (D, N). z is -1 for tokens in no topic yet. Token i takes the numbers 2i and 2i + 1
    of the stream `key`: for its topic, and for the share of a topic that it begins. closed: no topic begins, rest being 0, and
    none ends.
    """
    n_k, n_vk, beta, inverse, rest = topics
    n_dk, factor = scratch.n_dk, scratch.factor
    V, C = n_vk.shape
    two, one = np.uint64(2), np.uint64(1)
    free = 0
    for k in range(high):
        free += n_k[k] == 0
    while d < len(offsets) - 1:
        begin, end = offsets[d], offsets[d + 1]
        for j in range(begin, end):
            if z[j] >= 0:
                n_dk[z[j]] += 1
        for k in range((high + BLOCK - 1) // BLOCK * BLOCK):
            factor[k] = (n_dk[k] + alpha * beta[k]) * inverse[k]
        stopped = False
        while i < end:
            if free == 0 and high == C and not closed:
                stopped = True
                break
            v, k = term_ids[i], z[i]
            if k >= 0:
                n_dk[k] -= 1
                n_k[k] -= 1
                n_vk[v, k] -= 1
                inverse[k] = 1.0 / (n_k[k] + V * eta)
                if n_k[k] == 0 and not closed:
                    rest[0] += beta[k]
                    beta[k] = 0.0
                    free += 1
                factor[k] = (n_dk[k] + alpha * beta[k]) * inverse[k]
            known = weigh(n_vk[v], eta, high, scratch)
            left = uniform(key, np.uint64(i) * two) * (known + alpha * rest[0] / V)
            if left < known or rest[0] <= 0:
                k = topic_at(left, high, scratch)
            else:  # a free slot, the lowest: there is one below `high`, or high < C
                k = high
                if free > 0:
                    k = 0
                    while n_k[k] > 0:
                        k += 1
                    free -= 1
                else:
                    if high % BLOCK == 0:
                        factor[high : high + BLOCK] = 0.0
                    high += 1
                part = 1.0 - (1.0 - uniform(key, np.uint64(i) * two + one)) ** (1.0 / gamma)
                beta[k] = rest[0] * part
                rest[0] -= beta[k]
            z[i] = k
            n_dk[k] += 1
            n_k[k] += 1
            n_vk[v, k] += 1
            inverse[k] = 1.0 / (n_k[k] + V * eta)
            factor[k] = (n_dk[k] + alpha * beta[k]) * inverse[k]
            i += 1
        for j in range(begin, end):
            if z[j] >= 0:
                n_dk[z[j]] = 0
        if stopped:
            return d, i, high
        d += 1
    return d, i, high


@njit(nogil=True)
def tables(offsets, z, beta, alpha, key, n_dk, m_k):  # type: ignore[no-untyped-def]
    """Add to m_k (C,) the tables of each topic in each document: the (j + 1)-th token of a topic sits at a new one with
    probability αβ_k / (αβ_k + j). Token i takes the i-th number of the stream; n_dk (C,) is zero before and after.
    """  # fmt: skip
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            k = z[i]
            strength = alpha * beta[k]
            if n_dk[k] == 0 or uniform(key, np.uint64(i)) * (strength + n_dk[k]) < strength:
                m_k[k] += 1
            n_dk[k] += 1
        for i in range(offsets[d], offsets[d + 1]):
            n_dk[z[i]] = 0


@njit(nogil=True)
def log_likelihood(n_k, n_vk, eta):  # type: ignore[no-untyped-def]
    """Return log p(w | z) = Σ_k [log Γ(Vη) − log Γ(n_k + Vη) + Σ_v log Γ(n_vk + η) − log Γ(η)], free slots adding 0."""
    V, C = n_vk.shape
    none, out = math.lgamma(eta), 0.0
    for v in range(V):
        for k in range(C):
            if n_vk[v, k] > 0:
                out += math.lgamma(n_vk[v, k] + eta) - none
    for k in range(C):
        if n_k[k] > 0:
            out += math.lgamma(V * eta) - math.lgamma(n_k[k] + V * eta)
    return out
