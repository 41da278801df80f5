"""Word embeddings of a corpus by any method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nlpkit import wording
from nlpkit.errors import InputError, UsageError
from nlpkit.types import Float32Array, TokenTable
from nlpkit.words.cooccurrence import Decay, cooccurrences
from nlpkit.words.glove import fit_glove
from nlpkit.words.options import METHODS, OF_GENSIM, WordEmbeddingOptions
from nlpkit.words.pmi import fit_pmi_svd
from nlpkit.words.vectors import WordVectors, in_order
from nlpkit.words.word2vec import fit_network


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
