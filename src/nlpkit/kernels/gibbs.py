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

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.idtable import prefetch

AHEAD = 12  # tokens between asking for the list of a document and reading it
BLOCK = 32  # topics in a block of the smoothing part
COUNTER_STEP = (
    0x9E3779B97F4A7C15  # between the numbers of a random stream: key + i · step is the key of the i-th and on
)
COUNT_BITS = 32  # an entry of a list of a word is count << 32 | topic
CACHE_LINE = 64  # bytes


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
    """Topics of documents, or of words: entries[start[r] : start[r] + length[r]], in no order, counts above 0.

    start (R + 1,) int64; length (R,) int32; entries uint64, each count << 32 | topic, or uint32, each count << 16 | topic, for
    documents whose tokens are that few: they are most of what a chain keeps. Rows without room are not kept.
    """

    start: np.ndarray
    length: np.ndarray
    entries: np.ndarray


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
    """Working memory of a cell: n_k (K,) int64 topic totals, in and out; the rest is scratch space.

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


@njit(nogil=True, inline="always")
def random_bits(key, counter):  # type: ignore[no-untyped-def]
    """Return 64 random bits of a counter: SplitMix64 (Steele, Lea & Flood 2014), the counter-th number of the stream `key`."""
    x = key + counter * np.uint64(COUNTER_STEP)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(nogil=True, inline="always")
def uniform(key, counter):  # type: ignore[no-untyped-def]
    """Return the counter-th uniform number in [0, 1) of the stream `key`, 53 random bits."""
    return np.float64(random_bits(key, counter) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(nogil=True, inline="always")
def topic_width(entries):  # type: ignore[no-untyped-def]
    """Return the bits of the topic in entries of a list, half of all, and a mask of them."""
    shift = np.uint64(4 * entries.itemsize)
    return shift, (np.uint64(1) << shift) - np.uint64(1)


@njit(nogil=True)
def sample_cell(layout, lists, word_lists, priors, scratch, z, block, words, key):  # type: ignore[no-untyped-def]
    """Draw a topic for each token of some words (M,) in one document block; z (N,) uint16, both lists and n_k follow.

    Token i takes the i-th uniform number of the stream `key`. The counts of a word come from its list, those of a word without
    one from all its tokens. Returns the number of tokens that changed their topic.
    """
    bounds, docs, units = layout
    start, length, entries = lists
    word_start, word_length, word_entries = word_lists
    alpha, eta, eta_sum, step, scale = priors
    n_k, n_w, inverse, phi, smooth, blocks, running = scratch
    K = len(n_k)
    last_topic, last_block = np.uint64(K - 1), np.uint64(len(blocks) - 1)
    one, four, word_bits = np.uint64(1), np.uint64(4), np.uint64(0xFFFFFFFF)
    word_shift, block_shift = np.uint64(COUNT_BITS), np.uint64(5)
    shift, topic_bits = topic_width(entries)
    line = CACHE_LINE // entries.itemsize
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
        listed = word_start[w + 1] > word_start[w]
        row, n_entries = np.uint64(word_start[w]), np.uint64(word_length[w])
        if listed:
            for j in range(n_entries):
                n_w[word_entries[row + j] & word_bits] = np.int64(word_entries[row + j] >> word_shift)
            many = n_entries * four >= np.uint64(K)
        else:
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
            for i in range(n_entries if listed else beyond - first):
                k = word_entries[row + i] & word_bits if listed else np.uint64(z[first + i])
                phi[k] = np.int64((n_w[k] + eta) * inverse[k])
                change = np.int64(alpha[k] * phi[k]) - smooth[k]
                smooth[k] += change
                blocks[k >> block_shift] += change
                total += change

        for i in range(begin, end):
            prefetch(entries, start[docs[min(i + ahead, last_token)]])
            prefetch(entries, start[docs[min(i + ahead, last_token)]] + line)
            d, old = docs[i], np.uint64(z[i])
            unit = np.int64(units[i]) if weighted else np.int64(1)
            removed = unit * step[old]
            phi_old = np.int64((n_w[old] - removed + eta) * (scale / (n_k[old] - removed + eta_sum)))
            smooth_old = np.int64(alpha[old] * phi_old)
            at, n_topics = np.uint64(start[d]), np.uint64(length[d])
            others, old_at, kept = np.int64(0), np.uint64(0), phi[old]
            phi[old] = 0
            for j in range(n_topics):
                entry = entries[at + j]
                topic = entry & topic_bits
                if topic == old:
                    old_at = j
                others += np.int64(entry >> shift) * phi[topic]
                running[j] = others
            phi[old] = kept
            old_mass = (np.int64(entries[at + old_at] >> shift) - unit) * phi_old + smooth_old
            rest = total - smooth[old]
            draw = np.int64(uniform(key, i) * np.float64(old_mass + others + rest)) - old_mass
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
            entries[at + old_at] -= amount
            if entries[at + old_at] <= topic_bits:
                n_topics -= one
                entries[at + old_at] = entries[at + n_topics]
            length[d] = n_topics

            n_w[old] -= removed
            n_k[old] -= removed
            inverse[old] = scale / (n_k[old] + eta_sum)
            phi[old] = phi_old
            blocks[old >> block_shift] += smooth_old - smooth[old]
            smooth[old] = smooth_old
            total = rest + smooth_old
            gain = unit * step[new]
            n_w[new] += gain
            n_k[new] += gain
            inverse[new] = scale / (n_k[new] + eta_sum)
            phi[new] = np.int64((n_w[new] + eta) * inverse[new])
            change = np.int64(alpha[new] * phi[new]) - smooth[new]
            smooth[new] += change
            blocks[new >> block_shift] += change
            total += change

        if listed:  # entries that are stored have n_w 0, so that what is left are topics new to the word
            n_kept = np.uint64(0)
            for j in range(n_entries):
                k = word_entries[row + j] & word_bits
                running[j] = k
                if n_w[k] > 0:
                    word_entries[row + n_kept] = np.uint64(n_w[k]) << word_shift | k
                    n_kept += one
                    n_w[k] = 0
            for i in range(begin, end):
                k = np.uint64(z[i])
                if n_w[k] > 0:
                    word_entries[row + n_kept] = np.uint64(n_w[k]) << word_shift | k
                    n_kept += one
                    n_w[k] = 0
            word_length[w] = n_kept
        elif many:
            n_w[:] = 0
        stale = many
        if many:
            continue
        n_stored = n_entries if listed else np.uint64(0)
        from_token, n_tokens = (begin, end - begin) if listed else (first, beyond - first)
        for i in range(n_stored + n_tokens):
            k = np.uint64(running[i]) if i < n_stored else np.uint64(z[from_token + i - n_stored])
            n_w[k] = 0
            phi[k] = np.int64(eta * inverse[k])
            change = np.int64(alpha[k] * phi[k]) - smooth[k]
            smooth[k] += change
            blocks[k >> block_shift] += change
            total += change
    return moved
