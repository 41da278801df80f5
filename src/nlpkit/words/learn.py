"""The learning of word vectors from a corpus: co-occurrences, GloVe, PMI-SVD, and every other method.

Parts, in this order:
- Co-occurrences of words in windows, as a sparse matrix.
- GloVe: vectors whose products are the logarithms of co-occurrences.
- PMI-SVD: singular vectors of the positive pointwise mutual information of words and contexts.
- Word embeddings of a corpus by any method.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import wording
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.weights.lsa import lsa
from nlpkit.words.kernels import Vectors, adagrad, count_contexts
from nlpkit.words.options import METHODS, OF_GENSIM, WordEmbeddingOptions
from nlpkit.words.vectors import WordVectors, in_order
from nlpkit.words.word2vec import fit_network

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


# ------------------------------------------------------------------------------------------------------------------------
# GloVe: vectors whose products are the logarithms of co-occurrences.

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


# ------------------------------------------------------------------------------------------------------------------------
# PMI-SVD: singular vectors of the positive pointwise mutual information of words and contexts.


def shifted_ppmi(X: CsrMatrix, *, smoothing: float, shift: float) -> CsrMatrix:
    """Return max(0, ln(p(w, c) / (p(w) p_s(c))) - ln k) of the cells above 0 (V, V) CSR, without those that are 0.

    With n_c = Σ_w X_wc: p_s(c) = n_c^s / Σ_c n_c^s, context distribution smoothing; k: the shift.

    Source: Levy, Goldberg & Dagan (2015), "Improving Distributional Similarity with Lessons Learned from Word Embeddings",
    TACL 3, §2.1 and §3.2; Levy & Goldberg (2014) for the shift.
    """
    of_words, of_contexts = np.asarray(X.sum(axis=1)).ravel(), np.asarray(X.sum(axis=0)).ravel()
    smoothed = of_contexts**smoothing
    cells = X.tocoo()
    # p(w, c) / p(w) is X_wc / n_w
    pmi = np.log(cells.data / of_words[cells.row]) - np.log(smoothed[cells.col] / smoothed.sum()) - np.log(shift)
    kept = pmi > 0
    return sparse.csr_array((pmi[kept], (cells.row[kept], cells.col[kept])), shape=X.shape)


def fit_pmi_svd(
    X: CsrMatrix, *, dimensions: int, smoothing: float, shift: float, power: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the vectors of words and of contexts (V, E): U Σ^p and V Σ^p of the shifted PPMI ≈ U Σ Vᵀ; see `shifted_ppmi`.

    There are as many dimensions as its rank, at most. Signs and determinism: as `nlpkit.weights.lsa.lsa`.

    Args:
        X: (V, V) CSR float64, as `cooccurrences` returns it; V > dimensions.
        power: p, the weight of the singular values: 1, 0.5, or 0 for none.

    Raises:
        InputError: no pair of words is together more often than by chance.

    Source: Levy, Goldberg & Dagan (2015), §2.2 and §3.3.
    """
    M = shifted_ppmi(X, smoothing=smoothing, shift=shift)
    if not M.nnz:
        raise InputError(
            "no two words co-occur more often than by chance, so all PMI are 0; lower `min_count` or `shift`, or "
            "give more texts"
        )
    decomposition = lsa(M, dimensions, seed=seed)
    sigma = decomposition.singular_values
    return decomposition.documents * sigma ** (power - 1), decomposition.terms * sigma**power


# ------------------------------------------------------------------------------------------------------------------------
# Word embeddings of a corpus by any method.


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned of a corpus.

    vectors: of the words with min_count occurrences, the most frequent first, with their counts. documents (D, E): vectors of
    doc2vec, zeros for a document without words. losses: one of each epoch, of the methods that have any. facts: sizes.
    """

    vectors: WordVectors
    documents: Float32Array | None = None
    losses: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def learn(
    tokens: TokenTable,
    options: WordEmbeddingOptions,
    *,
    seed: int,
    threads: int = 1,
    progress: Callable[[float | None], None] = lambda loss: None,
) -> Learned:
    """Return vectors of the words of a corpus, and of its documents where the method has them.

    Args:
        options: in force.
        threads: of glove and of the counts for it and pmi-svd; the result does not depend on them.
        progress: gets the loss of each epoch, None where there is none.

    Raises:
        InputError: fewer than two words are frequent enough, or none stands in a document with another; UsageError: as many
            dimensions as words, for pmi-svd; MissingError: gensim is not installed.
    """
    kept = frequent(tokens, options.min_count)
    if options.method in OF_GENSIM:
        network = fit_network(kept, options, seed=seed, progress=progress)
        counts = np.bincount(kept.term_ids, minlength=kept.n_terms)
        places = {word: i for i, word in enumerate(network.words)}
        rows = np.array([places[word] for word in kept.terms], np.int64)
        vectors = WordVectors(kept.terms, network.vectors[rows], counts, network.subwords)
        return Learned(vectors, network.documents, network.losses, {"trained_tokens": len(kept.term_ids)})
    return _counted(kept, options, seed=seed, threads=threads, progress=progress)


def _counted(
    tokens: TokenTable,
    options: WordEmbeddingOptions,
    *,
    seed: int,
    threads: int,
    progress: Callable[[float | None], None],
) -> Learned:
    """Return vectors that come of a co-occurrence matrix."""
    E, counts = options.dimensions, np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    if options.method == "pmi-svd" and tokens.n_terms <= E:
        raise UsageError(
            f"`dimensions={E}`: pmi-svd has fewer dimensions than words, and there are {tokens.n_terms:,}; give "
            f"{tokens.n_terms - 1} at most, or lower `min_count`",
            parameter="dimensions",
        )
    settings: dict[str, Any] = {name: getattr(options, name) for name in METHODS[options.method]}
    window, adds_context = settings.pop("window"), settings.pop("context")
    decay: Decay = "harmonic" if options.method == "glove" else "linear"
    X = cooccurrences(tokens, window, decay=decay, threads=threads)
    losses: list[float] = []
    if options.method == "glove":
        words, contexts, losses = fit_glove(X, dimensions=E, seed=seed, threads=threads, progress=progress, **settings)
    else:
        words, contexts = (a.astype(np.float32) for a in fit_pmi_svd(X, dimensions=E, seed=seed, **settings))
        progress(None)
    matrix = words + contexts if adds_context else words
    facts = {"trained_tokens": len(tokens.term_ids), "cells": int(X.nnz)}
    return Learned(WordVectors(tokens.terms, matrix, counts), None, losses, facts)


def frequent(tokens: TokenTable, min_count: int) -> TokenTable:
    """Return the tokens of words with at least min_count occurrences; the words are in order, the most frequent first.

    Raises:
        InputError: there are fewer than two, or no two tokens of them stand in one document.
    """
    counts = np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    order = in_order(tokens.terms, counts)
    order = order[counts[order] >= min_count]
    if len(order) < 2:
        n, most = int((counts > 0).sum()), int(counts.max(initial=0))
        raise InputError(
            f"of {wording.counted(n, 'different word')}, {len(order)} can be learned, because a word needs "
            f"{min_count} occurrences (the most frequent has {most:,}), and two words are needed; lower "
            "`min_count`, or give more texts"
        )
    places = np.full(tokens.n_terms, -1, np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    ids = places[tokens.term_ids]
    before = np.concatenate([[0], np.cumsum(ids >= 0)]).astype(np.int64)
    kept = replace(
        tokens,
        offsets=before[tokens.offsets],
        term_ids=np.ascontiguousarray(ids[ids >= 0]),
        terms=tuple(tokens.terms[i] for i in order.tolist()),
    )
    if np.diff(kept.offsets).max(initial=0) < 2:
        raise InputError(
            f"no document has two words that occur {min_count} times or more, so no word has a context; lower `min_count`"
        )
    return kept
