"""The compiled loops of encoders: floats rounded to 8 bits and back, and texts cut into words.

Loops run over contiguous rows without branches, which compiles to vector instructions; sums and quotients are those of float32,
in one order, so that every processor gives the same bits.

Parts, in this order:
- Rows of floats as integers of 8 bits with a step and a zero for each row, and products of such rows as floats again.
- Texts cut into words whose tokens do not depend on each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.platform.kernels import njit

MAGNITUDE = np.int32(0x7FFFFFFF)
LAST, LEVELS = np.int32(127), np.float32(255.0)
LEAST, INFINITE = np.float32(1e-30), np.float32(np.inf)  # ranges below or above are no steps: such rows are zeros


@njit(nogil=True)
def round_rows(values, factors, codes, steps, zeros):  # type: ignore[no-untyped-def]
    """Write the rows of x = values · factors as codes with x ≈ step · (code - zero), of which -128 … 127 span 0 and all of a row.

    values (N, K) float32, factors (K,) float32 -> codes (N, K) int8, steps (N,) float32, zeros (N,) int32. The range of a row is found
    among integers that have the order of the floats: their bits, of negative ones all but the sign turned over; NaN comes out last or
    first. No code is below -128, that of the least: products are rounded alike on both sides of 0. A row that is not finite has codes of 0
    and a step that is not finite.
    """
    scaled = np.empty(values.shape[1], np.float32)
    bits = scaled.view(np.int32)
    edges = np.empty(2, np.float32)
    edge_bits = edges.view(np.int32)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            scaled[j] = values[i, j] * factors[j]
        least = largest = np.int32(0)
        for j in range(values.shape[1]):
            place = np.int32(bits[j] ^ ((bits[j] >> 31) & MAGNITUDE))
            least = place if place < least else least
            largest = place if place > largest else largest
        edge_bits[0] = np.int32(least ^ ((least >> 31) & MAGNITUDE))
        edge_bits[1] = largest
        span = edges[1] - edges[0]
        steps[i] = span / LEVELS
        if LEAST < span < INFINITE:
            factor = LEVELS / span
            zero = np.int32(np.rint(-edges[0] * factor)) - np.int32(128)
            zeros[i] = zero
            for j in range(values.shape[1]):
                code = np.int32(np.int32(np.rint(scaled[j] * factor)) + zero)
                codes[i, j] = np.int8(code if code < LAST else LAST)  # a half can be rounded up at both ends
        else:
            zeros[i] = 0
            for j in range(values.shape[1]):
                codes[i, j] = 0


@njit(nogil=True)
def scale_products(products, rows, zeros, columns, sums, bias, out):  # type: ignore[no-untyped-def]
    """Write the product of rows (N, K) and columns (K, M) of floats, from that of their codes, into out (N, M) float32.

    products (N, M) int32, steps of rows (N,) and their zeros (N,) int32, steps of columns (M,), whose zeros are 0, and the sums of their
    codes (M,) int32; bias (M,) is added.
    """
    for i in range(products.shape[0]):
        row, zero = rows[i], zeros[i]
        for j in range(products.shape[1]):
            out[i, j] = np.float32(np.int32(products[i, j] - zero * sums[j])) * row * columns[j] + bias[j]


# ------------------------------------------------------------------------------------------------------------------------
# Texts cut into words whose tokens do not depend on each other.

SPACE, ALONE = 1, 2  # kinds of bytes; 0 is part of a word


@njit(nogil=True)
def split_words(text: Any, ends: Any, kinds: Any, starts: Any, stops: Any, n_words: Any) -> int:
    """Find what stands between spaces, and each byte that stands alone; return how many such words there are.

    text (N,) uint8 holds texts of UTF-8 end to end, text t up to ends[t]; kinds (256,) uint8 says what each byte is. Word w is
    text[starts[w]:stops[w]], n_words (T,) are those of each text. starts and stops need N places: a word has a byte at least.
    """
    n = at = 0
    for t in range(len(ends)):
        first, end = n, ends[t]
        while at < end:
            kind = kinds[text[at]]
            if kind == SPACE:
                at += 1
                continue
            starts[n] = at
            at += 1
            while kind == 0 and at < end and kinds[text[at]] == 0:
                at += 1
            stops[n] = at
            n += 1
        n_words[t] = n - first
    return n
