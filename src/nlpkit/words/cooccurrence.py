"""Co-occurrences of words in windows, as a sparse matrix."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from nlpkit.kernels.skipgrams import count_contexts
from nlpkit.parallel import map_ahead
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable

Decay = Literal["harmonic", "linear", "none"]
_CELLS = 8_000_000  # room for cells that a piece of work asks for at a time: 96 MB


def distance_weights(window: int, decay: Decay) -> FloatArray:
    """Return the weight of each distance d = 1 … L (L,): 1/d (GloVe), (L + 1 - d)/L (word2vec, on average), or 1."""
    d = np.arange(1, window + 1)
    return {"harmonic": 1 / d, "linear": (window + 1 - d) / window, "none": np.ones(window)}[decay]


def cooccurrences(tokens: TokenTable, window: int, *, decay: Decay = "harmonic", threads: int = 1) -> CsrMatrix:
    """Return how often words stand near each other (V, V) CSR float64: X_uv = Σ weight(|p - q|) over tokens u at p and v at q.

    q is within `window` tokens of p, on both sides, in the same document. The sums are formed in the order of the text, and the
    result does not depend on the number of threads.

    Source: Pennington, Socher & Manning (2014), §3 and §4.2; Levy, Goldberg & Dagan (2015), §3.1 for (L + 1 - d)/L.
    """
    V, D = tokens.n_terms, tokens.n_docs
    padded = np.full(len(tokens.term_ids) + D + 1, -1, np.int32)
    padded[_places(tokens)] = tokens.term_ids
    counts = np.bincount(tokens.term_ids, minlength=V)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    occurrences = np.argsort(padded, kind="stable")[D + 1 :]  # the positions of -1 come first
    room = np.minimum(2 * window * counts, V).astype(np.int64)
    weights = distance_weights(window, decay)

    def rows(part: tuple[int, int]) -> tuple[LongArray, IntArray, FloatArray]:
        begin, end = part
        most = int(room[begin:end].sum())  # a row has no more columns than words, nor than neighbours of its tokens
        columns, values, ends = np.empty(most, np.int32), np.empty(most), np.empty(end - begin, np.int64)
        count_contexts(padded, indptr, occurrences, begin, end, weights, np.zeros(V), columns, values, ends)
        n = int(ends[-1])
        return ends, columns[:n].copy(), values[:n].copy()

    done = [result for _, result in map_ahead(rows, _parts(room), threads=threads)]
    starts = np.cumsum([0, *(len(columns) for _, columns, _ in done)])
    pointers = [ends + start for (ends, _, _), start in zip(done, starts, strict=False)]
    columns = np.concatenate([np.zeros(0, np.int32), *(columns for _, columns, _ in done)])
    values = np.concatenate([np.zeros(0), *(values for _, _, values in done)])
    return sparse.csr_array((values, columns, np.concatenate([[0], *pointers])), shape=(V, V))


def _places(tokens: TokenTable) -> LongArray:
    """Return where each token stands when there is one place before every document (N,)."""
    document = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    return np.arange(len(tokens.term_ids)) + document + 1


def _parts(room: LongArray) -> list[tuple[int, int]]:
    """Return ranges of rows that need at most `_CELLS` places together, or are one row."""
    parts, begin, used = [], 0, 0
    for row, needed in enumerate(room.tolist()):
        if used and used + needed > _CELLS:
            parts.append((begin, row))
            begin, used = row, 0
        used += needed
    return [*parts, (begin, len(room))] if len(room) else []
