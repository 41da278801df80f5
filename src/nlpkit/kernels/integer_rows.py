"""Rows of floats as integers of 8 bits with a step for each row, and products of such rows as floats again.

Loops run over contiguous rows without branches, which compiles to vector instructions; the sums and quotients are those of float32,
in one order, so that every processor gives the same bits.
"""

from __future__ import annotations

import numpy as np

from nlpkit.kernels import njit

WITHOUT_SIGN = np.int32(0x7FFFFFFF)
LEVELS = np.float32(127.0)
LEAST, INFINITE = (
    np.float32(1e-30),
    np.float32(np.inf),
)  # rows below or above are zeros, of which the steps say the rest


@njit(nogil=True)
def round_rows(values, factors, codes, steps):  # type: ignore[no-untyped-def]
    """Write round(127 x / largest |x|) of each row of x = values · factors, and a 127th of the largest.

    values (N, K) float32, factors (K,) float32 -> codes (N, K) int8, steps (N,) float32. Magnitudes are compared as the integers that
    their bits are, which have the same order, and NaN above all numbers. A row that is not finite has zeros and a step that is not.
    """
    scaled = np.empty(values.shape[1], np.float32)
    bits = scaled.view(np.int32)
    steps_bits = steps.view(np.int32)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            scaled[j] = values[i, j] * factors[j]
        largest = np.int32(0)
        for j in range(values.shape[1]):
            magnitude = np.int32(bits[j] & WITHOUT_SIGN)
            largest = magnitude if magnitude > largest else largest
        steps_bits[i] = largest
        absmax = steps[i]
        steps[i] = absmax / LEVELS
        if LEAST < absmax < INFINITE:
            factor = LEVELS / absmax
            for j in range(values.shape[1]):
                codes[i, j] = np.int8(np.int32(np.rint(scaled[j] * factor)))
        else:
            for j in range(values.shape[1]):
                codes[i, j] = 0


@njit(nogil=True)
def scale_products(products, rows, columns, bias, out):  # type: ignore[no-untyped-def]
    """Write products (N, K) int32 times the steps of their rows (N,) and columns (K,), plus bias (K,), into out (N, K) float32."""
    for i in range(products.shape[0]):
        row = rows[i]
        for j in range(products.shape[1]):
            out[i, j] = np.float32(products[i, j]) * row * columns[j] + bias[j]
