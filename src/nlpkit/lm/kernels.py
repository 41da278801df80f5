"""The compiled loops of n-gram models: search in a trie, and words within a few edits.

Parts, in this order:
- Search in a trie of n-grams, whose nodes are numbered order by order, the children of each node beside each other by
  word.
- Words of a vocabulary within a few edits of a word.
"""

from __future__ import annotations

import numpy as np

from nlpkit.platform.kernels import njit


@njit(nogil=True)
def child(starts, words, node, word):  # type: ignore[no-untyped-def]
    """Return the child of a node with a word, -1 where there is none, where the node is -1, or one that can have no children.

    starts (C + 1,) int32: children of node c < C are starts[c] … starts[c + 1] - 1; words (T,) int32: last word of each node.
    """
    if node < 0 or node >= len(starts) - 1:
        return -1
    low, high = starts[node], starts[node + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if words[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low if low < end and words[low] == word else -1


@njit(nogil=True)
def find_suffixes(starts, words, first, last, suffix):  # type: ignore[no-untyped-def]
    """Fill suffix (T,) int32 of the children of nodes first … last - 1: the child of the node's suffix with the same word."""
    for node in range(first, last):
        for i in range(starts[node], starts[node + 1]):
            suffix[i] = child(starts, words, suffix[node], words[i])


@njit(nogil=True)
def count_suffixes(suffix, counts):  # type: ignore[no-untyped-def]
    """Add 1 to counts at each suffix (M,) that is a node."""
    for node in suffix:
        if node >= 0:
            counts[node] += 1


@njit(nogil=True)
def interpolate(starts, counts, discounts, suffix, first, last, prob, gamma):  # type: ignore[no-untyped-def]
    """Fill prob (T,) of the children of contexts first … last - 1, and gamma (C,) of these, by interpolated discounting.

    p = (a - D(a)) / Σ a + γ p(suffix),   γ = Σ D(a) / Σ a;   discounts (4,): D of a count of 0, 1, 2, 3 and more, at most the count.
    """
    for c in range(first, last):
        total, rest = 0.0, 0.0
        for i in range(starts[c], starts[c + 1]):
            a = counts[i]
            total += a
            rest += min(discounts[min(a, 3)], np.float64(a))
        gamma[c] = rest / total if total > 0 else 1.0
        for i in range(starts[c], starts[c + 1]):
            a = counts[i]
            left = a - min(discounts[min(a, 3)], np.float64(a))
            prob[i] = (left / total if total > 0 else 0.0) + gamma[c] * prob[suffix[i]]


@njit(nogil=True)
def merge_counts(key_a, count_a, place_a, key_b, count_b, place_b, keys, counts, to_a, to_b):  # type: ignore[no-untyped-def]
    """Merge the n-grams of one length of two corpora, A and B of them, each ascending; return how many different ones there are.

    A key is the place of the context << 32 | the last word, keys (≥ A + B,) int64 get the new places of contexts, place_a and place_b
    (…,) int32, which ascend as the old ones do. counts (≥ A + B,) int32 add up; to_a (A,), to_b (B,) int32: the new place of each n-gram.
    """
    i, j, n = 0, 0, 0
    word = (np.int64(1) << 32) - 1
    most = np.int64(np.iinfo(np.int64).max)
    while i < len(key_a) or j < len(key_b):
        a, b = most, most
        if i < len(key_a):
            a = (np.int64(place_a[key_a[i] >> 32]) << 32) | (key_a[i] & word)
        if j < len(key_b):
            b = (np.int64(place_b[key_b[j] >> 32]) << 32) | (key_b[j] & word)
        # every round takes at least one n-gram: n < A + B
        keys[n] = min(a, b)
        counts[n] = 0
        if a <= b:
            counts[n] += count_a[i]
            to_a[i] = n
            i += 1
        if b <= a:
            counts[n] += count_b[j]
            to_b[j] = n
            j += 1
        n += 1
    return n


@njit(nogil=True)
def look_up(starts, words, first, tokens, out):  # type: ignore[no-untyped-def]
    """Fill out (N, n) int64: at each token the node of the m words that end there in column m - 1, -1 where the trie has none.

    first (S,) int64: where each sequence begins, ascending, tokens[first[0]] the first of all; tokens (N,) int32, -1 for a word that
    is not in the trie; node w < V is the word w. No n-gram crosses the start of a sequence.
    """
    n = out.shape[1]
    sequence = 0
    for i in range(len(tokens)):
        out[i] = -1
        out[i, 0] = tokens[i]
        if sequence < len(first) and first[sequence] == i:
            sequence += 1
            continue
        if i == 0:
            continue
        for m in range(1, n):
            if tokens[i] >= 0:
                out[i, m] = child(starts, words, out[i - 1, m - 1], tokens[i])


# ------------------------------------------------------------------------------------------------------------------------
# Words of a vocabulary within a few edits of a word.


@njit(nogil=True)
def words_within(codes, offsets, signatures, word, signature, limit, ids, distances):  # type: ignore[no-untyped-def]
    """Fill ids and distances (W,) int32 with the words at most `limit` edits from `word` (M,); return how many there are.

    Word w is codes[offsets[w]:offsets[w + 1]]; signatures (W,) uint64 has a bit for each of its code points modulo 64, `signature` those
    of `word`. An edit inserts, deletes or replaces a code point or swaps two neighbours, none of which is edited again (restricted
    Damerau-Levenshtein distance). One edit changes two bits of a signature at most, so that most words need no more than a look.
    """
    M, n = len(word), 0
    before, last, row = np.empty(M + 1, np.int32), np.empty(M + 1, np.int32), np.empty(M + 1, np.int32)
    for w in range(len(offsets) - 1):
        start = offsets[w]
        L = offsets[w + 1] - start
        if abs(L - M) > limit:
            continue
        differ, bits = signatures[w] ^ signature, 0
        while differ != 0 and bits <= 2 * limit:
            differ &= differ - np.uint64(1)
            bits += 1
        if bits > 2 * limit:
            continue
        for i in range(M + 1):
            last[i] = i
        least = 0
        for j in range(1, L + 1):
            code = codes[start + j - 1]
            row[0] = j
            least = j
            for i in range(1, M + 1):
                cell = min(last[i - 1] + (word[i - 1] != code), min(last[i], row[i - 1]) + 1)
                if i > 1 and j > 1 and word[i - 1] == codes[start + j - 2] and word[i - 2] == code:
                    cell = min(cell, before[i - 2] + 1)
                row[i] = cell
                least = min(least, cell)
            before, last, row = last, row, before
            if least > limit:  # a swap goes back two rows, and adds one: it cannot bring it below again
                break
        if least <= limit and last[M] <= limit:
            # one place for each word: n < W
            ids[n] = w
            distances[n] = last[M]
            n += 1
    return n
