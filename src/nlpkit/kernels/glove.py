"""Steps of AdaGrad over cells of a co-occurrence matrix (GloVe)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nlpkit.kernels import njit


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
