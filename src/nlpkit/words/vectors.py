"""Words with vectors: the nearest words, and vectors made from n-grams of characters.

Parts, in this order:
- Vectors of words from those of their n-grams of characters, as fastText has them.
- The words nearest to a vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.platform.types import Float32Array, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Subwords:
    """The n-grams of a vocabulary: their lengths, the number of buckets, the buckets in use (B,), ascending, and their vectors (B, E)."""

    shortest: int
    longest: int
    buckets: int
    ids: IntArray
    vectors: Float32Array

    def vector(self, word: str) -> Float32Array | None:
        """Return the mean vector of the n-grams of a word that some word of the vocabulary has (E,); None where it has none.

        gensim and fastText also average over n-grams of no word, whose vectors were never trained.

        Source: Bojanowski, Grave, Joulin & Mikolov (2017), "Enriching Word Vectors with Subword Information", TACL 5, §3.2.
        """
        hashed = np.array(ngram_buckets(word, self.shortest, self.longest, self.buckets), np.int64)
        hashed = hashed[np.isin(hashed, self.ids)]
        return self.vectors[np.searchsorted(self.ids, hashed)].mean(axis=0) if len(hashed) else None


def ngram_buckets(word: str, shortest: int, longest: int, buckets: int) -> list[int]:
    """Return the buckets of the n-grams of <word>, in order, with repetitions: FNV-1a of their bytes, modulo the number of buckets.

    A first or last sign alone is no n-gram. Agrees with fastText and gensim, which take each byte as a signed number.
    """
    framed = f"<{word}>"
    ids = []
    for begin in range(len(framed)):
        for n in range(shortest, longest + 1):
            if begin + n > len(framed):
                break
            if n == 1 and (begin == 0 or begin + n == len(framed)):
                continue
            ids.append(_hash(framed[begin : begin + n].encode("utf-8", "surrogatepass")) % buckets)
    return ids


def _hash(text: bytes) -> int:
    """Return the 32-bit FNV-1a hash of bytes as fastText forms it."""
    value = 2166136261
    for byte in text:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value


# ------------------------------------------------------------------------------------------------------------------------
# Words with vectors, and the words nearest to a vector.

_BLOCK = 512  # queries that are compared with all words at a time


@dataclass(frozen=True)
class WordVectors:
    """Words (V,), all different, with their vectors (V, E) float32; counts (V,) where they are known.

    subwords: the n-grams that give other words vectors, of fastText.
    """

    words: tuple[str, ...]
    vectors: Float32Array
    counts: LongArray | None = None
    subwords: Subwords | None = None

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The row of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def units(self) -> Float32Array:
        """The vectors divided by their lengths (V, E); those of zeros stay."""
        return unit_rows(self.vectors)

    @property
    def dimensions(self) -> int:
        """E."""
        return int(self.vectors.shape[1])

    def check(self, where: str) -> None:
        """Raise InputError where there are no vectors, a word is there twice, or a value is not finite."""
        if not len(self.words) or not self.dimensions:
            raise InputError(f"{where} has no word vectors")
        if len(self.places) < len(self.words):
            twice = next(word for i, word in enumerate(self.words) if self.places[word] != i)
            raise InputError(f"{where} has the word '{twice}' twice")
        good = np.asarray(np.isfinite(self.vectors).all(axis=1))
        if not good.all():
            first = self.words[int(np.flatnonzero(~good)[0])]
            raise InputError(
                f"{where}: {int((~good).sum()):,} of {len(good):,} vectors have values that are not finite, such as the vector of '{first}'"
            )

    def __contains__(self, word: object) -> bool:
        """Whether a word is one of them."""
        return word in self.places

    @cached_property
    def folded(self) -> Mapping[str, int]:
        """The row of each word in small letters; of several spellings the one that comes first."""
        rows: dict[str, int] = {}
        for i, word in enumerate(self.words):
            rows.setdefault(word.lower(), i)
        return rows

    def row(self, word: str, *, lower: bool = False) -> int:
        """Return the row of a word, -1 where it is none of them; with `lower`, capital and small letters are one."""
        row = self.places.get(word, -1)
        return self.folded.get(word.lower(), -1) if row < 0 and lower else row

    def rows(self, words: Iterable[str], *, lower: bool = False) -> LongArray:
        """Return the rows of words (n,), as `row` does."""
        return np.array([self.row(word, lower=lower) for word in words], np.int64)

    def vector(self, word: str, *, lower: bool = False) -> Float32Array | None:
        """Return the vector of a word (E,), else that of its n-grams where there are some, else None."""
        row = self.row(word, lower=lower)
        if row >= 0:
            return np.asarray(self.vectors[row])
        return None if self.subwords is None else self.subwords.vector(word.lower() if lower else word)

    def most_frequent(self, n: int | None) -> WordVectors:
        """Return the n most frequent words, by their counts, else in their order, as files of other programs have it."""
        if n is None or n >= len(self.words):
            return self
        kept = np.arange(n) if self.counts is None else np.sort(np.argsort(-self.counts, kind="stable")[:n])
        counts = None if self.counts is None else self.counts[kept]
        return WordVectors(tuple(self.words[i] for i in kept.tolist()), self.vectors[kept], counts, self.subwords)


def unit_rows(vectors: Float32Array) -> Float32Array:
    """Return vectors (n, E) divided by their lengths, formed in float64; those of zeros stay."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    units: Float32Array = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
    return units


def nearest_words(
    known: WordVectors, queries: Float32Array, *, top: int, leave_out: Sequence[Sequence[int]] = ()
) -> list[tuple[LongArray, FloatArray]]:
    """Return the words whose vectors have the largest cosine with each query: their rows and cosines, best first.

    Of equal cosines the word that comes first in `known` wins. One thread: how BLAS divides sums would change their last bits.

    Args:
        queries: (Q, E), of any length.
        leave_out: (Q,) rows that are not looked at, for each query.
    """
    units, results = unit_rows(queries), []
    with threadpool_limits(limits=1):
        for begin in range(0, len(units), _BLOCK):
            cosines = units[begin : begin + _BLOCK] @ known.units.T
            for i, row in enumerate(cosines, begin):
                row[list(leave_out[i]) if leave_out else []] = -np.inf
                results.append(_best(row, top))
    return results


def _best(scores: Float32Array, top: int) -> tuple[LongArray, FloatArray]:
    n = min(top, int(np.isfinite(scores).sum()))
    if not n:
        return np.zeros(0, np.int64), np.zeros(0)
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    rows = np.flatnonzero(scores >= least)
    rows = rows[np.argsort(-scores[rows], kind="stable")][:n]
    return rows, scores[rows].astype(np.float64)


def in_order(words: Sequence[str], counts: LongArray) -> LongArray:
    """Return the places of words, the most frequent first, those of one count in the order of their letters."""
    return np.array(sorted(range(len(words)), key=lambda i: (-counts[i], words[i])), np.int64)
