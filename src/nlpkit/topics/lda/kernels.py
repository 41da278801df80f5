"""The compiled loops of LDA: tokens laid out for Gibbs sampling, counts of topics, variational Bayes.

Parts, in this order:
- Tokens laid out for Gibbs sampling word by word, and the counts a chain starts from.
- Topics of tokens counted by document or by word.
- Variational Bayes of latent Dirichlet allocation: the topics of documents, and the expectations of words in topics.
"""

from __future__ import annotations

import math

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import copy_into, sort
from nlpkit.topics.base.kernels import COUNT_BITS, topic_width, uniform


@njit(nogil=True)
def sort_by_word(offsets, term_ids, n_terms):  # type: ignore[no-untyped-def]
    """Return word_start (V + 1,) int64, docs (N,) uint32 of the tokens sorted by word, and their places (N,) in that order.

    Tokens of one word keep the order of the corpus.
    """
    word_start = np.zeros(n_terms + 1, np.int64)
    for i in range(len(term_ids)):
        word_start[term_ids[i] + 1] += 1
    for v in range(n_terms):
        word_start[v + 1] += word_start[v]
    free = word_start[:-1].copy()
    docs = np.empty(len(term_ids), np.uint32)
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            v = term_ids[i]
            docs[free[v]] = d
            free[v] += 1
    return word_start, docs


@njit(nogil=True)
def to_word_order(term_ids, word_start, values, out):  # type: ignore[no-untyped-def]
    """Write values (N,) in corpus order to out (N,) in word order."""
    free = word_start[:-1].copy()
    for i in range(len(term_ids)):
        v = term_ids[i]
        out[free[v]] = values[i]
        free[v] += 1


@njit(nogil=True)
def to_corpus_order(term_ids, word_start, values, out):  # type: ignore[no-untyped-def]
    """Write values (N,) in word order to out (N,) in corpus order."""
    free = word_start[:-1].copy()
    for i in range(len(term_ids)):
        v = term_ids[i]
        out[i] = values[free[v]]
        free[v] += 1


@njit(nogil=True)
def block_bounds(offsets, term_ids, word_start, blocks):  # type: ignore[no-untyped-def]
    """Return bounds (B + 1, V) uint32 of `Layout` for document blocks (B + 1,): documents blocks[b] : blocks[b + 1]."""
    n_blocks, n_terms = len(blocks) - 1, len(word_start) - 1
    bounds = np.empty((n_blocks + 1, n_terms), np.uint32)
    free = word_start[:-1].copy()
    for b in range(n_blocks):
        for v in range(n_terms):
            bounds[b, v] = free[v]
        for i in range(offsets[blocks[b]], offsets[blocks[b + 1]]):
            free[term_ids[i]] += 1
    for v in range(n_terms):
        bounds[n_blocks, v] = free[v]
    return bounds


@njit(nogil=True)
def start_topics(initial, key, n_topics, z):  # type: ignore[no-untyped-def]
    """Write topics to z (N,) uint16: those of `initial` (N,) or (0,); where below 0 or absent, token i from the i-th number of `key`."""
    for i in range(len(z)):
        if len(initial) and initial[i] >= 0:
            z[i] = initial[i]
        else:
            z[i] = np.int64(uniform(key, np.uint64(i)) * n_topics)


@njit(nogil=True)
def topic_totals(layout, z, step):  # type: ignore[no-untyped-def]
    """Return n_k (K,) int64 of z (N,): sampled tokens count where step is 1, frozen ones always."""
    bounds, _, units = layout
    n_k = np.zeros(len(step), np.int64)
    frozen = len(bounds) - 2
    for v in range(bounds.shape[1]):
        for i in range(bounds[0, v], bounds[frozen + 1, v]):
            amount = np.int64(units[i]) if len(units) else 1
            n_k[z[i]] += amount if i >= bounds[frozen, v] else amount * step[z[i]]
    return n_k


@njit(nogil=True)
def fill_lists(layout, lists, z, n_docs_sampled):  # type: ignore[no-untyped-def]
    """Count the topics of documents into lists, which are empty before."""
    _, docs, units = layout
    start, length, entries = lists
    shift, topic_bits = topic_width(entries)
    for i in range(len(z)):
        d = docs[i]
        if d >= n_docs_sampled:
            continue
        at, n, topic = start[d], length[d], np.uint64(z[i])
        amount = (np.uint64(units[i]) if len(units) else np.uint64(1)) << shift
        for j in range(n):
            if entries[at + j] & topic_bits == topic:
                entries[at + j] += amount
                break
        else:
            entries[at + n] = amount | topic
            length[d] = n + 1


@njit(nogil=True)
def fill_word_lists(layout, word_lists, z, step):  # type: ignore[no-untyped-def]
    """Count the topics of the words that have room into their lists, which are empty before; step as in `Priors`."""
    bounds, _, units = layout
    start, length, entries = word_lists
    frozen = len(bounds) - 2
    counts = np.zeros(len(step), np.int64)
    for v in range(bounds.shape[1]):
        if start[v + 1] == start[v]:
            continue
        for i in range(bounds[0, v], bounds[frozen + 1, v]):
            amount = np.int64(units[i]) if len(units) else 1
            counts[z[i]] += amount if i >= bounds[frozen, v] else amount * step[z[i]]
        for i in range(bounds[0, v], bounds[frozen + 1, v]):
            k = z[i]
            if counts[k] > 0:
                entries[start[v] + length[v]] = np.uint64(counts[k]) << np.uint64(COUNT_BITS) | np.uint64(k)
                length[v] += 1
                counts[k] = 0


@njit(nogil=True)
def fill_from_counts(lists, indptr, topics, counts):  # type: ignore[no-untyped-def]
    """Write counts (R, K), CSR without zeros, to the lists of the rows that have room for them; the others stay empty."""
    start, length, entries = lists
    for r in range(len(length)):
        if start[r + 1] == start[r]:
            continue
        length[r] = indptr[r + 1] - indptr[r]
        for j in range(length[r]):
            i = indptr[r] + j
            entries[start[r] + j] = np.uint64(counts[i]) << np.uint64(COUNT_BITS) | np.uint64(topics[i])


@njit(nogil=True)
def read_lists(lists, n_docs):  # type: ignore[no-untyped-def]
    """Return the counts of the first documents as CSR (n_docs, K): indptr int64, topics int32 ascending, counts int64."""
    start, length, entries = lists
    shift, topic_bits = topic_width(entries)
    indptr = np.zeros(n_docs + 1, np.int64)
    longest = 0
    for d in range(n_docs):
        indptr[d + 1] = indptr[d] + length[d]
        longest = max(longest, length[d])
    topics = np.empty(indptr[n_docs], np.int32)
    counts = np.empty(indptr[n_docs], np.int64)
    turned = np.empty(longest, entries.dtype)  # topic << shift | count
    for d in range(n_docs):
        for j in range(length[d]):
            entry = entries[start[d] + j]
            turned[j] = (entry & topic_bits) << shift | entry >> shift
        sort(turned[: length[d]])
        for j in range(length[d]):
            topics[indptr[d] + j] = turned[j] >> shift
            counts[indptr[d] + j] = turned[j] & topic_bits
    return indptr, topics, counts


# ------------------------------------------------------------------------------------------------------------------------
# Topics of tokens counted by document or by word.


@njit(nogil=True)
def count_topics(offsets, z, units, n_topics):  # type: ignore[no-untyped-def]
    """Count the topics z (N,) of the tokens of each row offsets (R + 1,): CSR (R, K) with ascending columns.

    Args:
        units: (N,) weight of each token, or (0,) when each counts 1.

    Returns:
        indptr (R + 1,) int64, topics (nnz,) int32, counts (nnz,) int64.
    """
    n_rows = len(offsets) - 1
    indptr = np.zeros(n_rows + 1, np.int64)
    counts = np.zeros(n_topics, np.int64)
    seen = np.full(n_topics, -1, np.int64)
    for r in range(n_rows):
        distinct = 0
        for i in range(offsets[r], offsets[r + 1]):
            if seen[z[i]] != r:
                seen[z[i]] = r
                distinct += 1
        indptr[r + 1] = indptr[r] + distinct
    topics = np.empty(indptr[n_rows], np.int32)  # counted above, entry by entry
    data = np.empty(indptr[n_rows], np.int64)
    seen[:] = -1
    for r in range(n_rows):
        at = indptr[r]
        for i in range(offsets[r], offsets[r + 1]):
            k = z[i]
            if seen[k] != r:
                seen[k] = r
                topics[at] = k
                at += 1
            counts[k] += np.int64(units[i]) if len(units) else 1
        sort(topics[indptr[r] : at])
        for j in range(indptr[r], at):
            data[j] = counts[topics[j]]
            counts[topics[j]] = 0
    return indptr, topics, data


# ------------------------------------------------------------------------------------------------------------------------
# Variational Bayes of latent Dirichlet allocation: the topics of documents, and the expectations of words in topics.
#
# γ_dk = α_k + Σ_v n_dv φ_dvk,   φ_dvk ∝ exp(E[log θ_dk] + E[log β_kv]),   E[log θ_dk] = ψ(γ_dk) - ψ(Σ_j γ_dj)
#
# φ_dvk does not change when exp E[log θ_d] or exp E[log β_v] of a document or a word is multiplied by a number: each is divided by its
# largest value, so that none of them is 0 in all topics. Every function writes rows begin … end - 1 alone, which no other call writes.

LEAST = 1e-300  # Σ_k exp(E[log θ_dk] + E[log β_kv]) below which it counts as this
SERIES_FROM = 8.0  # where the error of the asymptotic series of ψ, 0.44 / x¹⁶, is below 2e-15


@njit(nogil=True)
def digamma(x):  # type: ignore[no-untyped-def]
    """Return ψ(x) of x > 0: ψ(x) = ψ(x + 1) - 1 / x up to 8, from there the asymptotic series (Abramowitz & Stegun 6.3.18)."""
    above, below = 0.0, 1.0  # Σ 1 / x as one fraction, with one division
    while x < SERIES_FROM:
        above = above * x + below
        below *= x
        x += 1.0
    f = 1.0 / (x * x)
    series = f * (
        1 / 12 - f * (1 / 120 - f * (1 / 252 - f * (1 / 240 - f * (1 / 132 - f * (691 / 32760 - f * (1 / 12))))))
    )
    return math.log(x) - 0.5 / x - series - above / below


@njit(nogil=True)
def digammas(x, out):  # type: ignore[no-untyped-def]
    """Write ψ(x) (n,) into out (n,)."""
    for i in range(len(x)):
        out[i] = digamma(x[i])


@njit(nogil=True)
def expect_words(rows, counts, scale, eta, totals, begin, end, weights, peaks):  # type: ignore[no-untyped-def]
    """Fill weights[u] (K,) = exp(E[log β_kv] - peaks[u]) of words v = rows[u], u from begin to end - 1; peaks[u] is the largest.

    E[log β_kv] = ψ(λ_kv) - totals[k] with λ_kv = scale · counts[v, k] + eta; totals (K,): ψ(Σ_v λ_kv).
    """
    K = len(totals)
    for u in range(begin, end):
        v = rows[u]
        most = -np.inf
        for k in range(K):
            weights[u, k] = digamma(scale * counts[v, k] + eta) - totals[k]
            most = max(most, weights[u, k])
        for k in range(K):
            weights[u, k] = math.exp(weights[u, k] - most)
        peaks[u] = most


@njit(nogil=True)
def expect_topics(gamma, weights):  # type: ignore[no-untyped-def]
    """Fill weights (K,) with exp(ψ(γ_k) - peak) of a document; return the peak, the largest ψ(γ_k)."""
    most = -np.inf
    for k in range(len(gamma)):
        weights[k] = digamma(gamma[k])
        most = max(most, weights[k])
    for k in range(len(gamma)):
        weights[k] = math.exp(weights[k] - most)
    return most


@njit(nogil=True)
def mix(across, weights, sums):  # type: ignore[no-untyped-def]
    """Fill sums (n,) with Σ_k weights[k] · across[k, i], at least LEAST; across (K, n)."""
    n = len(sums)
    for i in range(n):
        sums[i] = 0.0
    for k in range(len(weights)):
        w = weights[k]
        for i in range(n):
            sums[i] += w * across[k, i]
    for i in range(n):
        sums[i] = max(sums[i], LEAST)


@njit(nogil=True)
def infer(indptr, terms, counts, words, peaks, alpha, steps, tolerance, begin, end, gamma, weights, ratios, bounds):  # type: ignore[no-untyped-def]
    """Fit γ of documents begin … end - 1 by coordinate ascent, from the γ that is there (Hoffman, Blei and Bach 2010, algorithm 1).

    indptr (D + 1,), terms, counts (N,): n_dv, CSR; words (V, K), peaks (V,): of `expect_words`; alpha (K,). A document ends after
    `steps`, or when the mean change of its γ_k is below the tolerance. Fills of each document gamma (K,), weights (K,) of
    `expect_topics`, ratios[indptr[d] : indptr[d + 1]] = n_dv / Σ_k weights[k] words[v, k], and its share of the bound,

        Σ_v n_dv log Σ_k exp(E[log θ_dk] + E[log β_kv]) + E[log p(θ_d | α)] - E[log q(θ_d | γ_d)].

    A document without words has γ = α and 0.
    """
    K, longest, whole, prior = len(alpha), 0, 0.0, 0.0
    for d in range(begin, end):
        longest = max(longest, indptr[d + 1] - indptr[d])
    for k in range(K):
        whole += alpha[k]
        prior -= math.lgamma(alpha[k])
    prior += math.lgamma(whole)
    # room of the longest of these documents: `n` below is its number of counts, of which there are `longest` at most
    along, across = np.empty((longest, K)), np.empty((K, longest))
    sums, following = np.empty(longest), np.empty(K)
    for d in range(begin, end):
        first, n = indptr[d], indptr[d + 1] - indptr[d]
        mine, shares, p, ratio = gamma[d], weights[d], sums[:n], ratios[first : first + n]
        bounds[d] = 0.0
        if n == 0:
            copy_into(mine, alpha)
            expect_topics(mine, shares)
            continue
        for i in range(n):
            row = words[terms[first + i]]
            for k in range(K):
                along[i, k] = row[k]
                across[k, i] = row[k]
        peak = expect_topics(mine, shares)
        for _ in range(steps):
            mix(across, shares, p)
            following[:] = 0.0
            for i in range(n):
                r = counts[first + i] / p[i]
                for k in range(K):
                    following[k] += r * along[i, k]
            moved = 0.0
            for k in range(K):
                new = alpha[k] + shares[k] * following[k]
                moved += abs(new - mine[k])
                mine[k] = new
            peak = expect_topics(mine, shares)
            if moved < tolerance * K:
                break
        mix(across, shares, p)
        total, bound, tokens = 0.0, prior, 0.0
        for k in range(K):
            total += mine[k]
        log_total = digamma(total)
        for i in range(n):
            ratio[i] = counts[first + i] / p[i]
            tokens += counts[first + i]
            bound += counts[first + i] * (math.log(p[i]) + peaks[terms[first + i]])
        bound += tokens * (peak - log_total) - math.lgamma(total)
        for k in range(K):
            bound += (alpha[k] - mine[k]) * (digamma(mine[k]) - log_total) + math.lgamma(mine[k])
        bounds[d] = bound


@njit(nogil=True)
def word_bounds(counts, scale, eta, totals, begin, end, bounds):  # type: ignore[no-untyped-def]
    """Fill bounds[v] with Σ_k (η - λ_kv) (ψ(λ_kv) - totals[k]) + log Γ(λ_kv) - log Γ(η) of words begin … end - 1.

    counts (V, K), scale, eta and totals as of `expect_words`.
    """
    nothing = math.lgamma(eta)
    for v in range(begin, end):
        bounds[v] = 0.0
        for k in range(len(totals)):
            posterior = scale * counts[v, k] + eta
            bounds[v] += (eta - posterior) * (digamma(posterior) - totals[k]) + math.lgamma(posterior) - nothing
