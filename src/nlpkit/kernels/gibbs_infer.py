"""Topics and probabilities of new documents under a phi that does not change: Gibbs sampling document by document.

phi_kv = base_k + part_kv, where base_k = η / (n_k + Vη) is the same for all words and part_kv = n_kv / (n_k + Vη) is there
only for the topics of the word. So p(z_i = k | all others) ∝ (n_dk + α_k) · phi_k,w splits into

    n_dk · phi_kw   over the few topics of the document,
    α_k · part_kw   over the topics of the word, whose sum is known beforehand,
    α_k · base_k    over all topics, whose running sums are known beforehand,

drawn in this order, and the topic that the token has before all others, since most tokens stay. No V × K table exists: a
document has a row of phi for each of its words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.gibbs import random_bits, uniform
from nlpkit.kernels.sorting import rank, sort


class Words(NamedTuple):
    """phi word by word.

    Word v has topics[start[v] : start[v + 1]] (int32, ascending) and part_kv there (float64); start (V + 1,) int64.
    smooth (V,) Σ_k α_k part_kv; base, alpha (K,); prior (K,) running sums of α_k base_k.
    """

    start: np.ndarray
    topics: np.ndarray
    parts: np.ndarray
    smooth: np.ndarray
    base: np.ndarray
    alpha: np.ndarray
    prior: np.ndarray


@njit(nogil=True)
def smooth_sums(start, topics, parts, alpha):  # type: ignore[no-untyped-def]
    """Return Σ_k α_k part_kv (V,), added in the order of the topics."""
    out = np.zeros(len(start) - 1, np.float64)
    for v in range(len(out)):
        for j in range(start[v], start[v + 1]):
            out[v] += alpha[topics[j]] * parts[j]
    return out


@njit(nogil=True)
def document_key(sorted_ids, key):  # type: ignore[no-untyped-def]
    """Return the key of the random stream of a document from its words (N,) in ascending order."""
    for v in sorted_ids:
        key = random_bits(key, np.uint64(v))
    return key


@njit(nogil=True)
def longest_of(offsets):  # type: ignore[no-untyped-def]
    """Return the number of tokens of the longest document."""
    longest = 0
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    return longest


@njit(nogil=True)
def mark_halves(offsets, term_ids, key, marks):  # type: ignore[no-untyped-def]
    """Mark every second token of a random permutation of each document, ⌈N_d / 2⌉ of them; marks (N,) bool."""
    for d in range(len(offsets) - 1):
        tokens = term_ids[offsets[d] : offsets[d + 1]].copy()
        sort(tokens)
        stream = document_key(tokens, key)
        bits = np.empty(len(tokens), np.uint64)
        for i in range(len(tokens)):
            bits[i] = random_bits(stream, np.uint64(i))
        ordered = bits.copy()
        sort(ordered)
        for i in range(len(tokens)):
            marks[offsets[d] + i] = rank(ordered, bits[i]) % 2 == 0


@njit(nogil=True)
def log_probs(theta, offsets, term_ids, words, out):  # type: ignore[no-untyped-def]
    """Fill out (N,) with log Σ_k θ_dk phi_kv of the tokens term_ids[offsets[0] : offsets[-1]] of documents; theta (D, K)."""
    for d in range(len(offsets) - 1):
        common = 0.0
        for k in range(len(words.base)):
            common += theta[d, k] * words.base[k]
        for i in range(offsets[d], offsets[d + 1]):
            p = common
            for j in range(words.start[term_ids[i]], words.start[term_ids[i] + 1]):
                p += theta[d, words.topics[j]] * words.parts[j]
            out[i - offsets[0]] = np.log(p)


@njit(nogil=True)
def fill_row(rows, at, v, words):  # type: ignore[no-untyped-def]
    """Write phi_kv of one word (K,) to rows from `at` on."""
    for k in range(len(words.base)):
        rows[at + k] = words.base[k]
    for j in range(words.start[v], words.start[v + 1]):
        rows[at + words.topics[j]] += words.parts[j]


@njit(nogil=True)
def weigh(topic, count, n, rows, at, weight, running):  # type: ignore[no-untyped-def]
    """Fill weight and running with n_dk phi_kw of the n listed topics, phi_kw = rows[at + k], and return the sum."""
    whole = 0.0
    for j in range(n):
        weight[j] = count[j] * rows[at + np.uint64(topic[j])]
        whole += weight[j]
        running[j] = whole
    return whole


@njit(nogil=True)
def draw_smooth(draw, v, words):  # type: ignore[no-untyped-def]
    """Return the topic at `draw`, from 0 to Σ_k α_k phi_kv: first the parts of the word, then those common to all words."""
    if draw < words.smooth[v]:
        last = words.start[v + 1] - 1
        for j in range(words.start[v], last):
            draw -= words.alpha[words.topics[j]] * words.parts[j]
            if draw < 0:
                return np.int64(words.topics[j])
        return np.int64(words.topics[last])
    draw -= words.smooth[v]
    low, high = 0, len(words.prior) - 1
    while low < high:
        middle = (low + high) // 2
        if words.prior[middle] > draw:
            high = middle
        else:
            low = middle + 1
    return np.int64(low)


@njit(nogil=True)
def unlist(topic, count, slot, n, j):  # type: ignore[no-untyped-def]
    """Take place j out of the list of n topics, whose last topic moves there."""
    slot[np.uint64(topic[j])] = -1
    last = n - np.uint64(1)
    if j < last:
        topic[j], count[j] = topic[last], count[last]
        slot[np.uint64(topic[j])] = j


@njit(nogil=True)
def take_all(topic, slot, expected, total, n):  # type: ignore[no-untyped-def]
    """Empty the list of n topics, whose `expected` goes to total; return the new length, 0."""
    for j in range(n):
        total[np.uint64(topic[j])] += expected[j]
        slot[np.uint64(topic[j])] = -1
    return np.uint64(0)


@njit(nogil=True)
def infer(offsets, term_ids, words, chains, sweeps, burn_in, key, room, theta):  # type: ignore[no-untyped-def]
    """Fill theta (D, K), float32 or float64, of documents term_ids[offsets[d] : offsets[d + 1]].

    theta_dk = (α_k + mean over the sweeps after `burn_in` of each chain of Σ_i p(z_i = k | all others)) / (N_d + Σα). In the
    first sweep of a chain the tokens are placed one after the other given those before. The tokens of a document come in
    the order of their words; draw number c takes the c-th uniform number of the document's own stream.

    Args:
        key: of the streams.
        room: at most this many entries of phi are kept for a document, a row for each different word; words for which there
            is no room share the last row, which is refilled each time.
    """
    D, K = theta.shape
    longest = longest_of(offsets)
    n_rows = max(1, min(longest, room // K))
    rows = np.empty(n_rows * K, np.float64)
    z = np.empty(longest, np.uint32)
    first = np.empty(longest + 1, np.int64)  # token of each different word
    inverses = np.empty(longest, np.float64)  # Σ 1 / weight of all topics, of each different word
    # topics of the document in a list of length n: n_dk, n_dk phi_kw and its running sums, Σ p(z_i = k) while listed
    size = min(longest, K) + 1  # a topic for each token, and one more while a token changes its topic
    topic, slot = np.empty(size, np.int32), np.full(K, -1, np.int32)
    count, weight, running, expected = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    total = np.empty(K)  # Σ p(z_i = k) otherwise
    alpha_sum = words.alpha.sum()
    zero, one = np.uint64(0), np.uint64(1)
    for d in range(D):
        tokens = term_ids[offsets[d] : offsets[d + 1]].copy()
        sort(tokens)
        N = len(tokens)
        stream, counter = document_key(tokens, key), zero
        W = 0
        for i in range(N):
            if i == 0 or tokens[i] != tokens[i - 1]:
                if n_rows > W:
                    fill_row(rows, W * K, tokens[i], words)
                first[W], inverses[W] = i, 0.0
                W += 1
        first[W] = N
        n = zero
        total[:] = 0.0
        for sweep in range(chains * sweeps):
            placed, counts = sweep % sweeps > 0, sweep % sweeps >= burn_in
            if not placed:
                n = take_all(topic, slot, expected, total, n)
            for x in range(W):
                v, at = tokens[first[x]], np.uint64(min(x, n_rows - 1) * K)
                if n_rows < W and x >= n_rows - 1:
                    fill_row(rows, (n_rows - 1) * K, v, words)
                smooth = words.smooth[v] + words.prior[K - 1]
                for i in range(np.uint64(first[x]), np.uint64(first[x + 1])):
                    j, before, stay = zero, 0.0, 0.0
                    if placed:
                        j = np.uint64(slot[z[i]])
                        before = count[j]
                        stay = (before - 1.0) * rows[at + np.uint64(z[i])]
                        count[j] = 0.0
                    others = weigh(topic, count, n, rows, at, weight, running)
                    whole = stay + others + smooth
                    if counts:
                        inverse = 1.0 / whole
                        inverses[x] += inverse
                        if placed:
                            weight[j] = stay
                        for m in range(n):
                            expected[m] += weight[m] * inverse
                    draw = uniform(stream, counter) * whole - stay
                    counter += one
                    if placed:
                        count[j] = before
                        if draw < 0:
                            continue
                    if draw < others:
                        m = zero
                        while running[m] <= draw:
                            m += one
                        z[i] = topic[m]
                        count[m] += 1.0
                    else:
                        k = np.uint64(draw_smooth(draw - others, v, words))
                        z[i] = k
                        if slot[k] >= 0:
                            count[np.uint64(slot[k])] += 1.0
                        else:
                            slot[k], topic[n], count[n], expected[n] = n, k, 1.0, 0.0
                            n += one
                    if placed:
                        count[j] -= 1.0
                        if count[j] == 0.0:
                            total[np.uint64(topic[j])] += expected[j]
                            unlist(topic, count, slot, n, j)
                            n -= one
                            expected[j] = expected[n]
        take_all(topic, slot, expected, total, n)
        common = 0.0
        for x in range(W):
            common += inverses[x]
            for m in range(words.start[tokens[first[x]]], words.start[tokens[first[x]] + 1]):
                total[words.topics[m]] += inverses[x] * words.alpha[words.topics[m]] * words.parts[m]
        for k in range(K):
            mean = (total[k] + common * words.alpha[k] * words.base[k]) / (chains * (sweeps - burn_in))
            theta[d, k] = (mean + words.alpha[k]) / (N + alpha_sum)


@njit(nogil=True)
def left_to_right(offsets, term_ids, words, particles, key, room, out):  # type: ignore[no-untyped-def]
    """Fill out (N,) with the log of the mean over particles of p(w_i | w_1 … w_i-1), tokens in the order of the document.

    For token i a particle redraws the topics of the tokens before it, one by one, then takes
    Σ_k (n_dk + α_k) phi_k,w / (i - 1 + Σα) and draws a topic for token i itself.

    Args:
        key: of the streams of the documents.
        room: as of `infer`.
    """
    K = len(words.base)
    longest = longest_of(offsets)
    n_rows = max(1, min(longest, room // K))
    rows = np.empty(n_rows * K, np.float64)
    z, row_of = np.empty(longest, np.uint32), np.empty(longest, np.int64)
    distinct = np.empty(longest, term_ids.dtype)  # words of the document in ascending order
    size = min(longest, K) + 1  # as in `infer`
    topic, slot = np.empty(size, np.int32), np.full(K, -1, np.int32)
    count, weight, running = np.empty(size), np.empty(size), np.empty(size)
    alpha_sum = words.alpha.sum()
    zero, one = np.uint64(0), np.uint64(1)
    for d in range(len(offsets) - 1):
        tokens = term_ids[offsets[d] : offsets[d + 1]]
        N = len(tokens)
        ordered = tokens.copy()
        sort(ordered)
        W = 0
        for i in range(N):
            if i == 0 or ordered[i] != ordered[i - 1]:
                distinct[W] = ordered[i]
                if n_rows > W:
                    fill_row(rows, W * K, ordered[i], words)
                W += 1
        for i in range(N):
            row_of[i] = min(rank(distinct[:W], tokens[i]), n_rows - 1)
        p = out[offsets[d] - offsets[0] : offsets[d + 1] - offsets[0]]
        p[:] = 0.0
        stream, counter = document_key(ordered, key), zero
        for _ in range(particles):
            n = zero
            for here in range(N):
                for i in range(here + 1):
                    placed = i < here
                    v, at = tokens[i], np.uint64(row_of[i] * K)
                    if n_rows < W and row_of[i] == n_rows - 1:
                        fill_row(rows, row_of[i] * K, v, words)
                    j, before, stay = zero, 0.0, 0.0
                    if placed:
                        j = np.uint64(slot[z[i]])
                        before = count[j]
                        stay = (before - 1.0) * rows[at + np.uint64(z[i])]
                        count[j] = 0.0
                    others = weigh(topic, count, n, rows, at, weight, running)
                    whole = stay + others + (words.smooth[v] + words.prior[K - 1])
                    draw = uniform(stream, counter) * whole - stay
                    counter += one
                    if placed:
                        count[j] = before
                        if draw < 0:
                            continue
                    else:
                        p[i] += whole / (i + alpha_sum)
                    if draw < others:
                        m = zero
                        while running[m] <= draw:
                            m += one
                        z[i] = topic[m]
                        count[m] += 1.0
                    else:
                        k = np.uint64(draw_smooth(draw - others, v, words))
                        z[i] = k
                        if slot[k] >= 0:
                            count[np.uint64(slot[k])] += 1.0
                        else:
                            slot[k], topic[n], count[n] = n, k, 1.0
                            n += one
                    if placed:
                        count[j] -= 1.0
                        if count[j] == 0.0:
                            unlist(topic, count, slot, n, j)
                            n -= one
            for m in range(n):
                slot[np.uint64(topic[m])] = -1
        for i in range(N):
            p[i] = np.log(p[i] / particles)
