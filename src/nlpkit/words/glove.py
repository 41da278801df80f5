"""GloVe: vectors whose products are the logarithms of co-occurrences."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nlpkit.kernels.glove import Vectors, adagrad
from nlpkit.types import CsrMatrix, Float32Array, LongArray

PARTS = 8  # of the words, and of the contexts


def fit_glove(
    X: CsrMatrix,
    *,
    dimensions: int,
    epochs: int,
    rate: float,
    x_max: float,
    exponent: float,
    seed: int,
    threads: int = 1,
    progress: Callable[[float], None] = lambda loss: None,
) -> tuple[Float32Array, Float32Array, list[float]]:
    """Return the vectors of words and of contexts (V, E), and the loss of each epoch.

    They minimise Σ_ij f(X_ij) (w_i · c_j + b_i + a_j - log X_ij)² over the cells above 0, f(x) = min((x / x_max)^exponent, 1), by
    AdaGrad. A loss is the mean over the cells of half of that, each before its own step, as the program of the authors prints it.

    Words and contexts are dealt to 8 parts each. In turn the 8 blocks of cells that share neither a word nor a context run at the
    same time (Gemulla, Nijkamp, Haas & Sismanis 2011, §4), so the result is the same on any number of threads. The cells of a
    block keep one random order. As in the authors' program, the rate is part of the squares that AdaGrad sums up; unlike there,
    the steps of biases have the rate, too, and nothing is clipped.

    Args:
        X: (V, V) CSR float64, as `cooccurrences` returns it.
        progress: gets the loss of each epoch.

    Source: Pennington, Socher & Manning (2014), "GloVe: Global Vectors for Word Representation", §3 and §4.2;
    stanfordnlp/GloVe 1.2, src/glove.c.
    """
    rng = np.random.default_rng(seed)
    cells = X.tocoo()
    blocks, starts = _dealt(cells.row, cells.col, rng)
    rows, columns = cells.row[blocks].astype(np.int32), cells.col[blocks].astype(np.int32)
    x = cells.data[blocks]
    logs = np.log(x).astype(np.float32)
    weights = np.minimum((x / x_max) ** exponent, 1.0).astype(np.float32)
    words, contexts = (_initial(X.shape[0], dimensions, rng) for _ in range(2))
    step = np.float32(rate)

    def run(block: int) -> float:
        one = slice(starts[block], starts[block + 1])
        return float(adagrad(rows[one], columns[one], logs[one], weights[one], step, words, contexts))

    losses = []
    with ThreadPoolExecutor(max(threads, 1), thread_name_prefix="nlpkit") as pool:
        for _ in range(epochs):
            loss = 0.0
            for shift in range(PARTS):
                loss += sum(pool.map(run, [part * PARTS + (part + shift) % PARTS for part in range(PARTS)]))
            losses.append(loss / max(len(x), 1))
            progress(losses[-1])
    return words.vectors, contexts.vectors, losses


def _dealt(rows: LongArray, columns: LongArray, rng: np.random.Generator) -> tuple[LongArray, LongArray]:
    """Return the cells by block, in random order within each, and where blocks start (65,)."""
    order = rng.permutation(len(rows))
    block = (rows[order] % PARTS) * PARTS + columns[order] % PARTS
    starts = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=PARTS * PARTS))])
    return order[np.argsort(block, kind="stable")], starts


def _initial(V: int, dimensions: int, rng: np.random.Generator) -> Vectors:
    """Return values between ± 1 / (2 E), and squares of 1."""
    values = ((rng.random((V, dimensions + 1)) - 0.5) / dimensions).astype(np.float32)
    vectors, bias = np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1])
    return Vectors(vectors, bias, np.ones_like(vectors), np.ones_like(bias))
