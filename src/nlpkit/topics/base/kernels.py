"""The compiled loops of collapsed Gibbs sampling: a fit word by word, new documents one by one.

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

Parts, in this order:
- Sampling of LDA, one word at a time.
- Topics and probabilities of new documents under a phi that does not change: Gibbs sampling document by document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import rank, sort
from nlpkit.platform.kernels.idtable import prefetch

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


# ------------------------------------------------------------------------------------------------------------------------
# Topics and probabilities of new documents under a phi that does not change: Gibbs sampling document by document.
#
# phi_kv = base_k + part_kv, where base_k = η / (n_k + Vη) is the same for all words and part_kv = n_kv / (n_k + Vη) is there
# only for the topics of the word. So p(z_i = k | all others) ∝ (n_dk + α_k) · phi_k,w splits into
#
# n_dk · phi_kw   over the few topics of the document,
# α_k · part_kw   over the topics of the word, whose sum is known beforehand,
# α_k · base_k    over all topics, whose running sums are known beforehand,
#
# drawn in this order, and the topic that the token has before all others, since most tokens stay. No V × K table exists: a
# document has a row of phi for each of its words.


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
