"""Words as arrays of code points: edit distances to one word, and the character n-grams they share with it."""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit


@njit(nogil=True)
def levenshtein_nearest(codes, offsets, word, usable, relative, best, out):  # type: ignore[no-untyped-def]
    """Fill out (W,) int32 with the Levenshtein distance of each word to `word` (M,), -1 where there are enough nearer ones.

    Word w is codes[offsets[w]:offsets[w + 1]], passed over unless usable (W,). best (k,) float64, infinite at first, ends as
    the k least scores above 0: distances, if relative divided by the length of the longer word. A distance is given for
    every word that scores at most best[k-1], and for all words when k is 0. The k-th best score so far bounds the distance of
    a word: only the diagonals within the bound are filled (Ukkonen 1985), and it is left when a whole row is above.
    """
    M, k = len(word), len(best)
    row = np.empty(M + 1, np.int32)
    for w in range(len(offsets) - 1):
        start = offsets[w]
        L = offsets[w + 1] - start
        longest = max(M, L)
        scale = np.float64(max(longest, 1)) if relative else 1.0
        limit = longest
        if k > 0 and best[k - 1] * scale < longest:
            limit = np.int64(best[k - 1] * scale + 1e-9)  # the sum: a tie must not fall to rounding
        out[w] = -1
        if not usable[w] or abs(M - L) > limit:
            continue
        for i in range(M + 1):
            row[i] = min(i, limit + 1)
        within = True
        for j in range(1, L + 1):
            code = codes[start + j - 1]
            low, high = max(1, j - limit), min(M, j + limit)
            diagonal = row[low - 1]
            row[low - 1] = j if low == 1 else limit + 1
            least = row[low - 1]
            for i in range(low, high + 1):
                change = diagonal if word[i - 1] == code else diagonal + 1
                diagonal = row[i]
                cell = min(change, min(diagonal, row[i - 1]) + 1)
                row[i] = cell
                least = min(least, cell)
            if least > limit:
                within = False
                break
        if not within or row[M] > limit:
            continue
        out[w] = row[M]
        if k == 0 or row[M] == 0 or row[M] / scale >= best[k - 1]:
            continue
        score = row[M] / scale
        at = k - 1
        while at > 0 and best[at - 1] > score:
            best[at] = best[at - 1]
            at -= 1
        best[at] = score


@njit(nogil=True)
def count_different_grams(codes, offsets, n, sizes):  # type: ignore[no-untyped-def]
    """Fill sizes (W,) int32 with the number of different runs of n codes in each word codes[offsets[w]:offsets[w + 1]]."""
    for w in range(len(offsets) - 1):
        start, end = offsets[w], offsets[w + 1] - n + 1
        different = 0
        for i in range(start, end):
            seen = False
            for j in range(start, i):
                k = 0
                while k < n and codes[i + k] == codes[j + k]:
                    k += 1
                if k == n:
                    seen = True
                    break
            different += not seen
        sizes[w] = different


@njit(nogil=True)
def count_shared_grams(codes, offsets, grams, shared):  # type: ignore[no-untyped-def]
    """Fill shared (W,) int32 with how many of the different runs of codes grams (G, n) occur in each word."""
    G, n = grams.shape
    for w in range(len(offsets) - 1):
        start, end = offsets[w], offsets[w + 1] - n + 1
        n_shared = 0
        for g in range(G):
            first = grams[g, 0]
            for i in range(start, end):
                if codes[i] != first:
                    continue
                k = 1
                while k < n and codes[i + k] == grams[g, k]:
                    k += 1
                if k == n:
                    n_shared += 1
                    break
        shared[w] = n_shared
