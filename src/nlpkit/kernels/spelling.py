"""Words of a vocabulary within a few edits of a word."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit


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
