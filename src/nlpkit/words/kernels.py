"""The compiled loops of word models: AdaGrad steps, counts of contexts, edit distances, shared n-grams.

Parts, in this order:
- Steps of AdaGrad over cells of a co-occurrence matrix (GloVe).
- Counts of the words around each word, a row of the co-occurrence matrix at a time.
- Words as arrays of code points: edit distances to one word, and the character n-grams they share with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.platform.kernels import njit
from nlpkit.platform.kernels.arrays import sort


class Vectors(NamedTuple):
    """Vectors (V, E) and biases (V,) of words or of contexts, and the sums of their squared steps; float32."""

    vectors: np.ndarray
    bias: np.ndarray
    squares: np.ndarray
    bias_squares: np.ndarray


@njit(nogil=True)
def adagrad(rows, columns, logs, weights, rate, words, contexts):  # type: ignore[no-untyped-def]
    """Take a step for each cell in order, and return Σ weight · error² / 2 before the steps.

    rows, columns (n,) int32; logs, weights (n,) float32: log X_ij and f(X_ij).
    """
    w, b, w_squares, b_squares = words
    c, a, c_squares, a_squares = contexts
    E = w.shape[1]
    loss = 0.0
    for n in range(len(rows)):
        i, j = rows[n], columns[n]
        product = np.float32(0.0)
        for e in range(E):
            product += w[i, e] * c[j, e]
        error = product + b[i] + a[j] - logs[n]
        gradient = weights[n] * error
        loss += 0.5 * gradient * error
        gradient *= rate
        for e in range(E):
            of_word, of_context = gradient * c[j, e], gradient * w[i, e]
            w[i, e] -= of_word / np.sqrt(w_squares[i, e])
            c[j, e] -= of_context / np.sqrt(c_squares[j, e])
            w_squares[i, e] += of_word * of_word
            c_squares[j, e] += of_context * of_context
        b[i] -= gradient / np.sqrt(b_squares[i])
        a[j] -= gradient / np.sqrt(a_squares[j])
        b_squares[i] += gradient * gradient
        a_squares[j] += gradient * gradient
    return loss


# ------------------------------------------------------------------------------------------------------------------------
# Counts of the words around each word, a row of the co-occurrence matrix at a time.


@njit(nogil=True)
def count_contexts(ids, indptr, places, begin, end, weights, sums, columns, values, ends):  # type: ignore[no-untyped-def]
    """Write the rows begin to end of the co-occurrence matrix, X_uv = Σ weights[distance - 1] over pairs of tokens u, v.

    ids (N,) int32: tokens, -1 before the first and behind the last of each document, so that no window leaves the array: it ends
    at the -1 that comes first. places: positions of word u in ids from indptr[u] to indptr[u + 1]. weights: all above 0. sums
    (V,) float64, all 0, and so they are afterwards. columns int32, values float64: a row needs at most min(V, 2 n_u |weights|)
    places. ends (end - begin,): where each row ends; columns ascend in a row.
    """
    at = 0
    for u in range(begin, end):
        start = at
        for i in range(indptr[u], indptr[u + 1]):
            p = places[i]
            for step in (-1, 1):
                q = p + step
                for d in range(len(weights)):
                    v = ids[q]
                    if v < 0:
                        break
                    if sums[v] == 0.0:
                        columns[at] = v
                        at += 1
                    sums[v] += weights[d]
                    q += step
        sort(columns[start:at])
        for i in range(start, at):
            values[i] = sums[columns[i]]
            sums[columns[i]] = 0.0
        ends[u - begin] = at


# ------------------------------------------------------------------------------------------------------------------------
# Words as arrays of code points: edit distances to one word, and the character n-grams they share with it.


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
