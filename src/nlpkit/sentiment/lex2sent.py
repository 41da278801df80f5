"""Lex2Sent: the distances of a document to the two halves of a lexicon in doc2vec spaces of resampled documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from math import gcd
from multiprocessing import get_context
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError, missing_extra, unknown_value
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.text.lexicon.model import document_of
from nlpkit.text.lexicon.options import RESAMPLINGS

NOT = "NOT_"


@dataclass(frozen=True, slots=True)
class Lex2SentOptions:
    """Parameters of Lex2Sent (Lange, Rieger & Jentsch 2024).

    epochs, windows, sizes: each fit has one combination of them; resamples: B fits, None for one of
    each combination. resampling: bootstrap = as many words as a document has, drawn from it with replacement; shuffle = its
    words in another order; none. min_count: words that are rarer have no vector.
    """

    epochs: tuple[int, ...] = (5, 10, 15)
    windows: tuple[int, ...] = (5, 10, 15)
    sizes: tuple[int, ...] = (64, 128, 256)
    resamples: int | None = None
    resampling: str = "bootstrap"
    min_count: int = 5

    @property
    def B(self) -> int:  # noqa: N802
        """Number of models that are fitted."""
        return self.resamples or len(self.epochs) * len(self.windows) * len(self.sizes)

    def fits(self) -> list[tuple[int, int, int]]:
        """(B) epochs, window and size of each fit: strides through the grid from its middle, so that a few are spread over it."""
        grid = list(product(self.epochs, self.windows, self.sizes))
        G = len(grid)
        stride = next(s for s in range(round(0.618 * G) or 1, 2 * G + 1) if gcd(s, G) == 1)
        return [grid[(G // 2 + b * stride) % G] for b in range(self.B)]


@dataclass(frozen=True, slots=True)
class HalvedCorpus:
    """Documents and lexicon halves that the fits work on.

    offsets (D+1,) int64, ids (N,) int32 into words (V,); sign (V,) int8: 1 for the words of the positive half of the lexicon, -1
    for those of the negative one, 0 for others.
    """

    offsets: LongArray
    ids: IntArray
    words: tuple[str, ...]
    sign: Any


def halve(
    offsets: LongArray,
    ids: IntArray,
    terms: Sequence[str],
    weights: FloatArray,
    *,
    negates: BoolArray,
    marks: BoolArray,
    stops: BoolArray,
) -> HalvedCorpus:
    """Return documents without stop words, negations merged with the word behind them, and the halves of the lexicon.

    "not a bad film" becomes NOT_bad film, and NOT_bad belongs to the positive half (lecture). Nothing is merged over a
    punctuation mark; marks, stop words and negations fall away. Words of the lexicon are never stop words.

    Args:
        offsets, ids: (D+1,), (N,) documents as places in terms.
        terms, weights: (V,) the vocabulary, and the weight of each term in the lexicon, 0 for none.
        negates, marks, stops: (V,) which terms are negations, marks, stop words.

    Raises:
        InputError: a half of the lexicon is empty.
    """
    V = len(terms)
    signs = np.sign(weights).astype(np.int8)
    signs[negates | marks] = 0
    for half, name in ((1, "positive"), (-1, "negative")):
        if not (signs == half).any():
            raise InputError(f"Lex2Sent needs positive and negative words, and this lexicon has no {name} words")
    doc = document_of(offsets)
    kept = ~stops[ids] | (signs[ids] != 0) | negates[ids] | marks[ids]
    ids, doc = ids[kept], doc[kept]
    merged = np.zeros(len(ids), bool)
    merged[1:] = negates[ids[:-1]] & (doc[1:] == doc[:-1])
    words = ~(negates | marks)[ids]
    out = (ids + np.where(merged, V, 0))[words].astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(np.bincount(doc[words], minlength=len(offsets) - 1))])
    names = (*terms, *(NOT + term for term in terms))
    return HalvedCorpus(ends.astype(np.int64), out, names, np.concatenate([signs, -signs]))


def resample(corpus: HalvedCorpus, method: str, rng: np.random.Generator) -> IntArray:
    """Return the ids of resampled documents (N,), each as long as before. Raises UsageError for an unknown way."""
    ids, doc = corpus.ids, document_of(corpus.offsets)
    lengths = np.diff(corpus.offsets)
    if method == "bootstrap":
        draws = rng.random(len(ids))
        drawn: IntArray = ids[
            corpus.offsets[doc] + np.minimum((draws * lengths[doc]).astype(np.int64), lengths[doc] - 1)
        ]
        return drawn
    if method == "shuffle":
        return ids[np.lexsort((rng.random(len(ids)), doc))]
    if method == "none":
        return ids
    raise unknown_value("l2s_resampling", method, RESAMPLINGS)


def lex2sent(
    corpus: HalvedCorpus,
    options: Lex2SentOptions,
    *,
    seed: int,
    workers: int = 1,
    update: Callable[[int], object] | None = None,
) -> FloatArray:
    """Return the mean difference of each document to the halves of a lexicon (D,) float64, below 0 for positive ones.

        diff_d = 1/B Σ_b ( cos(v_bd, n_b) - cos(v_bd, p_b) )

    v_bd is the doc2vec vector of document d in the b-th fit, n_b and p_b are those of the negative and the positive half, each
    taken as one document. Every fit sees documents whose words were drawn anew, those with the most words of one half first,
    and vectors are inferred for them after it (gensim's Doc2Vec, distributed memory, otherwise with its defaults). A document
    without words is 0. Lange, Rieger & Jentsch (2024), "Lex2Sent", KONVENS, pp. 281–291; their package has the same grid and
    the same order. Other than there, ties are not drawn, words are merged with NOT_ and not over punctuation.

    The fits run in processes of their own, `workers` at a time, since gensim hashes with the salt of the process; the result
    does not depend on how many.

    Args:
        corpus: see `halve`.
        options: B fits and their parameters.
        seed: of drawing and fitting.
        workers: processes.
        update: called with the number of fits that are done.

    Raises:
        MissingError: gensim is not installed.
        InputError: no word is frequent enough, or none of a half.
        UsageError: a parameter is invalid.
    """
    _check(corpus, options)
    jobs = [(b, seed, *fit, options.resampling, options.min_count) for b, fit in enumerate(options.fits())]
    total = np.zeros(len(corpus.offsets) - 1)
    with (
        _fixed_hash(),
        ProcessPoolExecutor(
            min(workers, len(jobs)), mp_context=get_context("spawn"), initializer=_start, initargs=(corpus,)
        ) as pool,
    ):
        try:
            for done, diff in enumerate(pool.map(_fit, jobs), start=1):  # in order, whatever is ready first
                total += diff
                if update is not None:
                    update(done)
        except BaseException:
            pool.shutdown(cancel_futures=True, wait=False)
            raise
    mean: FloatArray = total / len(jobs)
    return mean


def _check(corpus: HalvedCorpus, options: Lex2SentOptions) -> None:
    from importlib.util import find_spec

    if find_spec("gensim") is None:
        raise missing_extra("Lex2Sent (doc2vec)", "words")
    if options.resampling not in RESAMPLINGS:
        raise unknown_value("l2s_resampling", options.resampling, RESAMPLINGS)
    least = min((options.B, options.min_count, *options.epochs, *options.windows, *options.sizes), default=0)
    if least < 1 or not (options.epochs and options.windows and options.sizes):
        raise UsageError("Lex2Sent: resamples, epochs, windows, sizes and the minimum count must be at least 1")
    counts = np.bincount(corpus.ids, minlength=len(corpus.words))
    for half, name in ((1, "positive"), (-1, "negative")):
        if not ((counts >= options.min_count) & (corpus.sign == half)).any():
            raise InputError(
                f"Lex2Sent learns from the texts, and no {name} word of the lexicon occurs {options.min_count} times in them "
                f"({len(corpus.offsets) - 1:,} documents, {len(corpus.ids):,} words). Give more texts, another lexicon, or a "
                "lower `l2s_min_count`; without `lex2sent` the lexicon scores any text"
            )


# ---------------------------------------------------------------- one fit, in a process of its own

_CORPUS: list[HalvedCorpus] = []


@contextmanager
def _fixed_hash() -> Iterator[None]:
    """Let processes that start within hash strings alike: vectors that gensim infers begin at a hash of the text."""
    before = os.environ.get("PYTHONHASHSEED")
    os.environ["PYTHONHASHSEED"] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONHASHSEED"]
        else:
            os.environ["PYTHONHASHSEED"] = before


def _start(corpus: HalvedCorpus) -> None:
    _CORPUS[:] = [corpus]


def _fit(job: tuple[int, int, int, int, int, str, int]) -> FloatArray:
    """Return the differences of all documents (D,) in one fit."""
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument
    from threadpoolctl import threadpool_limits

    b, seed, epochs, window, size, resampling, min_count = job
    corpus = _CORPUS[0]
    offsets, words = corpus.offsets, corpus.words
    ids = resample(corpus, resampling, np.random.default_rng([seed, b]))
    texts = [[words[i] for i in part.tolist()] for part in np.split(ids, offsets[1:-1])]
    balance = np.bincount(document_of(offsets), corpus.sign[ids], minlength=len(texts))
    order = [d for d in np.argsort(-np.abs(balance), kind="stable").tolist() if texts[d]]
    with threadpool_limits(1):
        model = Doc2Vec(
            [TaggedDocument(texts[d], [k]) for k, d in enumerate(order)],
            epochs=epochs, window=window, vector_size=size, min_count=min_count, seed=seed + b, workers=1,
        )  # fmt: skip
        positive, negative = (
            model.infer_vector([words[i] for i in np.flatnonzero(corpus.sign == s) if words[i] in model.wv])
            for s in (1, -1)
        )
        vectors = np.array([model.infer_vector(texts[d]) for d in order], np.float64)
    diff = np.zeros(len(texts))
    diff[order] = _cosine(vectors, negative) - _cosine(vectors, positive)
    return diff


def _cosine(vectors: FloatArray, one: Any) -> FloatArray:
    """Return the cosine of each row (D, E) with a vector (E,); 0 where one has no length."""
    other = np.asarray(one, np.float64)
    below = np.sqrt((vectors**2).sum(axis=1) * (other**2).sum())
    cosines: FloatArray = np.divide((vectors * other).sum(axis=1), below, out=np.zeros(len(vectors)), where=below > 0)
    return cosines
