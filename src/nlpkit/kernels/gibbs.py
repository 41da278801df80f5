"""Collapsed Gibbs sampling of LDA, one word at a time.

p(z_i = k | all others) ∝ (n_dk + α_k) · φ_k with φ_k = (n_kw + η) / (n_k + Vη), counts without token i. Going through the
tokens word by word, φ of the word stays in the cache and no V × K table exists; a document keeps a short list of its topics.
The sum splits into three parts that are drawn in this order: the topic the token has (most tokens stay), the other topics
of the document's list, and α_k · φ_k over all other topics, in blocks of 32.

Weights are integers: φ_k · 2^s cut off after the point, s as large as sums below 2^62 allow. Sums of integers do not depend
on their order, running sums never drift, and every machine draws the same topics. The error of a weight is below 2^-s.

Cells: documents are cut into P blocks and words into P blocks. Cells (block b, words b + r mod P) of one round r share neither
documents nor words, so they can be sampled at the same time; the topic totals n_k are those at the start of the round plus
the changes of the own cell. What is drawn depends on P, never on how many cells are really sampled at the same time. P = 1
is the sampler without any approximation.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from nlpkit.kernels.idtable import prefetch

AHEAD = 12  # tokens between asking for the list of a document and reading it
BLOCK = 32  # topics in a block of the smoothing part
COUNT_BITS = 32  # an entry of a list is count << 32 | topic


class Layout(NamedTuple):
    """Tokens sorted by word, within a word by document.

    bounds (B + 1, V) uint32: tokens of word v in document block b are bounds[b, v] : bounds[b + 1, v], those of the last
    block B - 1 beyond the P sampled ones are frozen: they count and keep their topics. docs (N,) uint32 document of a token;
    units (N,) uint16 weight of a token, or (0,) when every token counts 1.
    """

    bounds: np.ndarray
    docs: np.ndarray
    units: np.ndarray


class Lists(NamedTuple):
    """Topics of documents: entries[start[d] : start[d] + length[d]], each count << 32 | topic, in no order, counts above 0."""

    start: np.ndarray  # (D + 1,) int64
    length: np.ndarray  # (D,) int32
    entries: np.ndarray  # uint64


class Priors(NamedTuple):
    """alpha (K,) float64 and eta, eta_sum = V · eta, in units of a token; step (K,) int64: 0 for topics whose words are fixed.

    scale is 2^s.
    """

    alpha: np.ndarray
    eta: float
    eta_sum: float
    step: np.ndarray
    scale: float


class Scratch(NamedTuple):
    """What a cell works with: n_k (K,) int64 topic totals, in and out; the rest is room.

    n_w (K,) int64 counts of the current word, zero between cells; inverse (K,) float64 2^s / (n_k + Vη); phi, smooth (K,)
    int64 weights φ_k and α_k φ_k; blocks (⌈K / 32⌉,) int64 sums of smooth; running (K,) int64.
    """

    n_k: np.ndarray
    n_w: np.ndarray
    inverse: np.ndarray
    phi: np.ndarray
    smooth: np.ndarray
    blocks: np.ndarray
    running: np.ndarray


@numba.njit(nogil=True, cache=True, inline="always")
def random_bits(key, counter):  # type: ignore[no-untyped-def]
    """Return 64 random bits of a counter: SplitMix64 (Steele, Lea & Flood 2014), the counter-th number of the stream `key`."""
    x = key + counter * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, cache=True, inline="always")
def uniform(key, counter):  # type: ignore[no-untyped-def]
    """Return the counter-th uniform number in [0, 1) of the stream `key`, 53 random bits."""
    return np.float64(random_bits(key, counter) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@numba.njit(nogil=True, cache=True)
def sample_cell(layout, lists, priors, scratch, z, block, words, key):  # type: ignore[no-untyped-def]
    """Draw a topic for each token of some words (M,) in one document block; z (N,) uint16, lists and n_k follow.

    Token i takes the i-th uniform number of the stream `key`. Returns the number of tokens that changed their topic.
    """
    bounds, docs, units = layout
    start, length, entries = lists
    alpha, eta, eta_sum, step, scale = priors
    n_k, n_w, inverse, phi, smooth, blocks, running = scratch
    K = len(n_k)
    last_topic, last_block = np.uint64(K - 1), np.uint64(len(blocks) - 1)
    one, topic_bits, shift, block_shift = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(5)
    ahead, last_token = np.uint64(AHEAD), np.uint64(len(docs) - 1)
    frozen = len(bounds) - 2
    weighted = len(units) > 0
    for k in range(K):
        inverse[k] = scale / (n_k[k] + eta_sum)
    total = np.int64(0)  # Σ_k α_k φ_k
    moved = 0
    stale = True  # phi is not that of a word without tokens
    for w in words:
        begin, end = np.uint64(bounds[block, w]), np.uint64(bounds[block + 1, w])
        if begin == end:
            continue
        first, thawed, beyond = np.uint64(bounds[0, w]), np.uint64(bounds[frozen, w]), np.uint64(bounds[frozen + 1, w])
        for i in range(first, thawed):
            k = np.uint64(z[i])
            n_w[k] += step[k] * (np.int64(units[i]) if weighted else 1)
        for i in range(thawed, beyond):
            n_w[z[i]] += np.int64(units[i]) if weighted else 1
        many = beyond - first >= np.uint64(K)
        if many or stale:
            total = np.int64(0)
            for b in range(len(blocks)):
                part = np.int64(0)
                for k in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, K))):
                    phi[k] = np.int64((n_w[k] + eta) * inverse[k])
                    smooth[k] = np.int64(alpha[k] * phi[k])
                    part += smooth[k]
                blocks[b] = part
                total += part
        else:
            for i in range(first, beyond):
                k = np.uint64(z[i])
                phi[k] = np.int64((n_w[k] + eta) * inverse[k])
                change = np.int64(alpha[k] * phi[k]) - smooth[k]
                smooth[k] += change
                blocks[k >> block_shift] += change
                total += change

        for i in range(begin, end):
            prefetch(entries, start[docs[min(i + ahead, last_token)]])
            prefetch(entries, start[docs[min(i + ahead, last_token)]] + 8)
            d, old = docs[i], np.uint64(z[i])
            unit = np.int64(units[i]) if weighted else np.int64(1)
            less = unit * step[old]
            phi_old = np.int64((n_w[old] - less + eta) * (scale / (n_k[old] - less + eta_sum)))
            smooth_old = np.int64(alpha[old] * phi_old)
            at, n_topics = np.uint64(start[d]), np.uint64(length[d])
            others, own_at, kept = np.int64(0), np.uint64(0), phi[old]
            phi[old] = 0
            for j in range(n_topics):
                entry = entries[at + j]
                topic = entry & topic_bits
                if topic == old:
                    own_at = j
                others += np.int64(entry >> shift) * phi[topic]
                running[j] = others
            phi[old] = kept
            own = (np.int64(entries[at + own_at] >> shift) - unit) * phi_old + smooth_old
            rest = total - smooth[old]
            draw = np.int64(uniform(key, i) * np.float64(own + others + rest)) - own
            if draw < 0:
                continue
            amount = np.uint64(unit) << shift
            if draw < others:
                j = np.uint64(0)
                while running[j] <= draw:
                    j += one
                new = entries[at + j] & topic_bits
                entries[at + j] += amount
            else:
                draw -= others
                blocks[old >> block_shift] -= smooth[old]
                smooth[old] = 0
                b = np.uint64(0)
                while b < last_block and blocks[b] <= draw:
                    draw -= blocks[b]
                    b += one
                new = b << block_shift
                while new < last_topic and smooth[new] <= draw:
                    draw -= smooth[new]
                    new += one
                smooth[old] = total - rest
                blocks[old >> block_shift] += smooth[old]
                if new == old:  # only where every weight is 0
                    continue
                j = np.uint64(0)
                while j < n_topics and entries[at + j] & topic_bits != new:
                    j += one
                if j < n_topics:
                    entries[at + j] += amount
                else:
                    entries[at + n_topics] = amount | new
                    n_topics += one
            moved += 1
            z[i] = new
            entries[at + own_at] -= amount
            if entries[at + own_at] <= topic_bits:
                n_topics -= one
                entries[at + own_at] = entries[at + n_topics]
            length[d] = n_topics

            n_w[old] -= less
            n_k[old] -= less
            inverse[old] = scale / (n_k[old] + eta_sum)
            phi[old] = phi_old
            blocks[old >> block_shift] += smooth_old - smooth[old]
            smooth[old] = smooth_old
            total = rest + smooth_old
            more = unit * step[new]
            n_w[new] += more
            n_k[new] += more
            inverse[new] = scale / (n_k[new] + eta_sum)
            phi[new] = np.int64((n_w[new] + eta) * inverse[new])
            change = np.int64(alpha[new] * phi[new]) - smooth[new]
            smooth[new] += change
            blocks[new >> block_shift] += change
            total += change

        stale = many
        if many:
            n_w[:] = 0
            continue
        for i in range(first, beyond):
            k = np.uint64(z[i])
            n_w[k] = 0
            phi[k] = np.int64(eta * inverse[k])
            change = np.int64(alpha[k] * phi[k]) - smooth[k]
            smooth[k] += change
            blocks[k >> block_shift] += change
            total += change
    return moved


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def to_word_order(term_ids, word_start, values, out):  # type: ignore[no-untyped-def]
    """Write values (N,) in corpus order to out (N,) in word order."""
    free = word_start[:-1].copy()
    for i in range(len(term_ids)):
        v = term_ids[i]
        out[free[v]] = values[i]
        free[v] += 1


@numba.njit(nogil=True, cache=True)
def to_corpus_order(term_ids, word_start, values, out):  # type: ignore[no-untyped-def]
    """Write values (N,) in word order to out (N,) in corpus order."""
    free = word_start[:-1].copy()
    for i in range(len(term_ids)):
        v = term_ids[i]
        out[i] = values[free[v]]
        free[v] += 1


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def start_topics(given, key, n_topics, z):  # type: ignore[no-untyped-def]
    """Write topics to z (N,) uint16: given (N,) or (0,), where below 0 or not there drawn, token i by the i-th number of `key`."""
    for i in range(len(z)):
        if len(given) and given[i] >= 0:
            z[i] = given[i]
        else:
            z[i] = np.int64(uniform(key, np.uint64(i)) * n_topics)


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def fill_lists(layout, lists, z, n_docs_sampled):  # type: ignore[no-untyped-def]
    """Count the topics of documents into lists, which are empty before."""
    _, docs, units = layout
    start, length, entries = lists
    for i in range(len(z)):
        d = docs[i]
        if d >= n_docs_sampled:
            continue
        at, n, topic = start[d], length[d], np.uint64(z[i])
        amount = (np.uint64(units[i]) if len(units) else np.uint64(1)) << np.uint64(COUNT_BITS)
        for j in range(n):
            if entries[at + j] & np.uint64(0xFFFFFFFF) == topic:
                entries[at + j] += amount
                break
        else:
            entries[at + n] = amount | topic
            length[d] = n + 1


@numba.njit(nogil=True, cache=True)
def read_lists(lists, n_docs):  # type: ignore[no-untyped-def]
    """Return the counts of the first documents as CSR (n_docs, K): indptr int64, topics int32 ascending, counts int64."""
    start, length, entries = lists
    indptr = np.zeros(n_docs + 1, np.int64)
    for d in range(n_docs):
        indptr[d + 1] = indptr[d] + length[d]
    topics = np.empty(indptr[n_docs], np.int32)
    counts = np.empty(indptr[n_docs], np.int64)
    for d in range(n_docs):
        own = entries[start[d] : start[d] + length[d]]
        order = np.argsort(own & np.uint64(0xFFFFFFFF))
        for j in range(len(own)):
            topics[indptr[d] + j] = own[order[j]] & np.uint64(0xFFFFFFFF)
            counts[indptr[d] + j] = own[order[j]] >> np.uint64(COUNT_BITS)
    return indptr, topics, counts
