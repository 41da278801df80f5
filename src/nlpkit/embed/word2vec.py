"""Vectors of words learned from a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from nlpkit.errors import missing_extra
from nlpkit.types import BoolArray, Float32Array, TokenTable

SETTINGS: dict[str, Any] = {
    "vector_size": 100,
    "window": 5,
    "min_count": 1,
    "epochs": 5,
}  # gensim's defaults, but for min_count
_LONGEST = 10_000  # words of a document that gensim reads; it drops the rest


def has_word2vec() -> bool:
    """Whether the package that learns the vectors is installed."""
    return find_spec("gensim") is not None


def need_word2vec() -> None:
    """Raise MissingError when the package that learns the vectors is not installed."""
    if not has_word2vec():
        raise missing_extra("word2vec of the corpus, for c_in and interpretability,", "words")


def train_word2vec(tokens: TokenTable, words: Sequence[str], *, seed: int) -> tuple[Float32Array, BoolArray]:
    """Return the vectors of some words (W, 100) float32, learned from a corpus by word2vec, and which words it has (W,) bool.

    Continuous bag of words with negative sampling, as gensim's Word2Vec(texts, min_count=1) learns it; on one thread, so that the
    same seed gives the same vectors. Documents of more than 10,000 words are several, where gensim would cut them off.

    Raises:
        MissingError: gensim is not installed.

    Source: Mikolov, Chen, Corrado & Dean (2013), "Efficient Estimation of Word Representations in Vector Space", ICLR workshop.
    """
    need_word2vec()
    from gensim.models.word2vec import Word2Vec
    from threadpoolctl import threadpool_limits

    vectors, known = np.zeros((len(words), SETTINGS["vector_size"]), np.float32), np.zeros(len(words), bool)
    if not len(tokens.term_ids):
        return vectors, known
    with threadpool_limits(1):
        model = Word2Vec(_Sentences(tokens), **SETTINGS, seed=seed % 2**32, workers=1)
    for i, word in enumerate(words):
        if word in model.wv:
            vectors[i], known[i] = model.wv[word], True
    return vectors, known


class _Sentences:
    """Documents as lists of words, as often as they are read."""

    def __init__(self, tokens: TokenTable) -> None:
        self.tokens = tokens

    def __iter__(self) -> Iterator[list[str]]:
        offsets, ids, terms = self.tokens.offsets.tolist(), self.tokens.term_ids, self.tokens.terms
        for start, end in pairwise(offsets):
            for first in range(start, end, _LONGEST):
                yield [terms[i] for i in ids[first : min(first + _LONGEST, end)].tolist()]
