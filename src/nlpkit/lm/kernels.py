"""The compiled loops of n-gram models: search in a trie, n-grams counted by sorting and smoothed, and words within a few edits.

Parts, in this order:
- Search in a trie of n-grams, whose nodes are numbered order by order, the children of each node beside each other by
  word.
- N-grams of a text sorted, runs of them merged to a trie, and its probabilities.
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
# N-grams of a text sorted, runs of them merged to a trie, and its probabilities.


@njit(nogil=True)
def longer_keys(ranks, words, left, m, keys):  # type: ignore[no-untyped-def]
    """Fill keys (N,) int64, by which n-grams sort that are a word longer, from 0 on: rank of the m words, next word, place in the text.

    ranks (N,) int32 below 2²¹ of the m words from each place on; words (≥ N + m - 1,) int32 from 1 to 2²² - 1, left (N,) int32: words
    from there to the end of the sentence, for lack of which the next word is 0. N ≤ 2²⁰.
    """
    for i in range(len(ranks)):
        # left[i] words from i on are inside the text: i + m is among them
        word = np.int64(words[i + m]) if m < left[i] else np.int64(0)
        keys[i] = (np.int64(ranks[i]) << 42) | (word << 20) | i


@njit(nogil=True)
def rank_keys(keys, ranks):  # type: ignore[no-untyped-def]
    """Fill ranks (N,) int32 of the n-grams at each place from ascending keys (N,) of `longer_keys`; return how many differ."""
    rank = -1
    before = np.int64(-1)
    for key in keys:
        if key >> 20 != before:
            rank += 1
            before = key >> 20
        # the last 20 bits are a place: each of N once
        ranks[key & 0xFFFFF] = rank
    return rank + 1


@njit(nogil=True)
def spell_keys(keys, tokens, left, records):  # type: ignore[no-untyped-def]
    """Fill records (U, n + 1) int32 with the words of the U different n-grams of ascending keys (N,), -1 after their end, and counts."""
    n, row = records.shape[1] - 1, -1
    before = np.int64(-1)
    for key in keys:
        if key >> 20 != before:
            row += 1  # U keys differ: row < U
            before = key >> 20
            i = key & 0xFFFFF
            for j in range(n):
                records[row, j] = tokens[i + j] if j < left[i] else -1
            records[row, n] = 0
        records[row, n] += 1


@njit(nogil=True)
def is_before(records, at, key, a, b):  # type: ignore[no-untyped-def]
    """Return whether the next n-gram of run a comes before the next one of run b; see `merge_runs`."""
    if key[a] != key[b]:
        return key[a] < key[b]
    for j in range(2, records.shape[2] - 1):
        x, y = records[a, at[a], j], records[b, at[b], j]
        if x != y:
            return x < y
    return False


@njit(nogil=True)
def sift(records, at, key, heap, size, i):  # type: ignore[no-untyped-def]
    """Move the run at place i of a heap down, to where no run below it comes before it; see `merge_runs`."""
    run = heap[i]
    while 2 * i + 1 < size:
        j = 2 * i + 1
        if j + 1 < size and is_before(records, at, key, heap[j + 1], heap[j]):
            j += 1
        if not is_before(records, at, key, heap[j], run):
            break
        heap[i] = heap[j]
        i = j
    heap[i] = run


@njit(nogil=True)
def merge_runs(  # type: ignore[no-untyped-def]
    records, at, end, key, heap, size, limit, last, first, words, counts, starts, added, closed, total, sums
):
    """Merge runs of ascending n-grams, at most `limit` of them; return the run whose records are used up, -1 where none is.

    records (R, B, n + 1) int32: some of each run, the next one is at (R,) of those before end (R,); key (R,) int64: its first two words,
    the first << 32 | the second + 1. heap (R,) int32: the runs, of which `size` have records. last (n,) int32: the n-gram before, -1 at
    first. first (V + 1,) int32: of each word that came, the n-grams of two words before its own.

    Of the n-grams of m + 2 words, row m gets words, counts, and in starts the n-grams of m + 3 words before its own (n - 1, ≥ limit +
    added) int32: `added` (n - 1,) new ones; the count of the last one comes once the next one does: `closed` counts. total (n - 1,)
    int64: all of them; sums (n - 1,) int64: the count so far of the last one.
    """
    n = len(last)
    for _ in range(limit):
        if size == 0:
            return -1
        run = heap[0]
        i = at[run]
        same = 0
        while same < n and records[run, i, same] == last[same]:
            same += 1
        for j in range(same, n):
            word = records[run, i, j]
            if word < 0:
                break
            if j == 0:
                for w in range(last[0] + 1, word + 1):
                    first[w] = total[0]
                continue
            # a record has at most one new n-gram of each length: added and closed stay below `limit` more than they were
            m = j - 1
            if total[m] > 0:
                counts[m, closed[m]] = sums[m]
                closed[m] += 1
            sums[m] = 0
            words[m, added[m]] = word
            if j + 1 < n:
                starts[m, added[m]] = total[j]
            added[m] += 1
            total[m] += 1
        for j in range(same, n):
            last[j] = records[run, i, j]
        for j in range(1, n):
            if last[j] < 0:
                break
            sums[j - 1] += records[run, i, n]
        at[run] = i + 1
        if i + 1 == end[run]:
            return run
        key[run] = (np.int64(records[run, i + 1, 0]) << 32) | np.int64(records[run, i + 1, 1] + 1)
        sift(records, at, key, heap, size, 0)
    return -1


@njit(nogil=True)
def find_suffixes(starts, words, contexts, first, others, known, suffix):  # type: ignore[no-untyped-def]
    """Fill suffix (N,) int32 of the n-grams after each context: the one after the context's suffix with the same word, which is there.

    starts (C + 1,) int32: the n-grams after context c are words[starts[c] - starts[0]:starts[c + 1] - starts[0]], ascending (N,) int32.
    contexts (C,) int32: the suffix of each. others (K + 1,) int32: n-grams after the contexts first … first + K - 1, numbered from 0 on
    in their level, words known (others[K] - others[0],) int32. What is after other contexts stays.
    """
    for c in range(len(contexts)):
        k = contexts[c] - first
        if k < 0 or k >= len(others) - 1:
            continue
        low, end = others[k] - others[0], others[k + 1] - others[0]
        for i in range(starts[c] - starts[0], starts[c + 1] - starts[0]):
            high = end
            while low < high:
                middle = (low + high) >> 1
                if known[middle] < words[i]:
                    low = middle + 1
                else:
                    high = middle
            suffix[i] = others[0] + low


@njit(nogil=True)
def count_suffixes(suffix, first, counts):  # type: ignore[no-untyped-def]
    """Add 1 to counts (N,) at each suffix (M,) that is one of first … first + N - 1."""
    for node in suffix:
        if first <= node < first + len(counts):
            counts[node - first] += 1


@njit(nogil=True)
def interpolate(starts, counts, discounts, lower, prob, gamma):  # type: ignore[no-untyped-def]
    """Fill prob (N,) of the n-grams after contexts, starts[c] - starts[0] … after c, and gamma (C,) by interpolated discounting.

    p = (a - D(a)) / Σ a + γ p(suffix),   γ = Σ D(a) / Σ a;   discounts (4,): D of a count of 0, 1, 2, 3 and more, at most the count.
    lower (N,): p(suffix).
    """
    for c in range(len(starts) - 1):
        total, rest = 0.0, 0.0
        for i in range(starts[c] - starts[0], starts[c + 1] - starts[0]):
            a = counts[i]
            total += a
            rest += min(discounts[min(a, 3)], np.float64(a))
        gamma[c] = rest / total if total > 0 else 1.0
        for i in range(starts[c] - starts[0], starts[c + 1] - starts[0]):
            a = counts[i]
            left = a - min(discounts[min(a, 3)], np.float64(a))
            prob[i] = (left / total if total > 0 else 0.0) + gamma[c] * lower[i]


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
