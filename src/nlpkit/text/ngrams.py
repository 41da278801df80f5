"""Sequences of neighbouring terms (n-grams) as terms of their own, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.kernels.idtable import IdTable, new_table
from nlpkit.kernels.ngrams import number_ngrams, spell_ngrams
from nlpkit.text.vocab import EncodedBatch, Frequencies
from nlpkit.types import IntArray, LongArray


class NgramVocabulary:
    """N-grams of n_min to n_max neighbouring terms in order of first appearance, with collection and document frequency.

    Of a document w_1 … w_L come first all (w_i, …, w_i+n-1) of n = n_min, then those of n_min + 1 …; none crosses the end of
    a document, none holds a term id below 0 (a gap). Same counts as scikit-learn's CountVectorizer(ngram_range=(n_min, n_max)).

    Raises:
        UsageError: not 1 ≤ n_min ≤ n_max.
    """

    def __init__(self, n_min: int, n_max: int) -> None:
        if not 1 <= n_min <= n_max:
            raise UsageError(
                f"n-grams of {n_min} to {n_max} terms: give two numbers from 1 on, the smaller one first",
                parameter="ngrams",
            )
        self.n_min, self.n_max = n_min, n_max
        self._stems: IdTable = new_table(1024)
        self._grams: IdTable = new_table(1024)
        self._unigrams: IntArray = np.zeros(0, np.int32)
        self._counts = Frequencies()
        self._counting = True
        self._longest = 0  # n-gram so far

    def __len__(self) -> int:
        """V, the number of different n-grams so far."""
        return int(self._grams.size[0])

    @property
    def n_docs(self) -> int:
        """D, the documents so far."""
        return self._counts.n_docs

    @property
    def cf(self) -> LongArray:
        """(V,) occurrences of each n-gram."""
        return self._counts.cf(len(self))

    @property
    def df(self) -> LongArray:
        """(V,) documents that hold each n-gram."""
        return self._counts.df(len(self))

    def freeze(self) -> tuple[LongArray, LongArray]:
        """Return cf and df (V,); `encode` counts no more, so that a corpus can be encoded again."""
        cf, df = self.cf.copy(), self.df.copy()
        self._counts, self._counting = Frequencies(), False
        return cf, df

    def encode(self, batch: EncodedBatch) -> EncodedBatch:
        """Return the n-grams of a batch of unigrams as ids, adding new ones and counting cf and df."""
        lengths = np.diff(batch.offsets)
        n_max = min(self.n_max, int(lengths.max(initial=0)))  # no document has longer ones, whatever was asked for
        self._longest = max(self._longest, n_max)
        if n_max < self.n_min:
            empty = EncodedBatch(np.zeros(len(batch.offsets), np.int64), np.zeros(0, np.int32))
            self._count(empty)
            return empty
        # a document of L terms has L - n + 1 n-grams, gaps among them or not
        room = sum(int(np.maximum(lengths - (n - 1), 0).sum()) for n in range(self.n_min, n_max + 1))
        offsets, ids = np.empty(len(batch.offsets), np.int64), np.empty(room, np.int32)
        if self.n_min == 1:
            n_new = int(batch.term_ids.max(initial=-1)) + 1 - len(self._unigrams)
            self._unigrams = np.concatenate([self._unigrams, np.full(max(n_new, 0), -1, np.int32)])
        self._stems, self._grams = number_ngrams(
            self._stems,
            self._grams,
            self._unigrams,
            batch.offsets,
            batch.term_ids,
            self.n_min,
            n_max,
            offsets,
            ids,
        )
        ngrams = EncodedBatch(offsets, ids[: offsets[-1]])
        self._count(ngrams)
        return ngrams

    def _count(self, ngrams: EncodedBatch) -> None:
        if self._counting:
            self._counts.count(ngrams, len(self))

    def words(self, ids: IntArray | LongArray) -> list[tuple[int, ...]]:
        """Return the unigram ids of some n-grams."""
        # no n-gram was numbered that is longer than the longest that a batch could have
        words, lengths = np.empty((len(ids), self._longest), np.int32), np.empty(len(ids), np.int64)
        spell_ngrams(self._stems.keys, self._grams.keys, np.asarray(ids, np.int64), self.n_min, words, lengths)
        return [tuple(row[:n]) for row, n in zip(words.tolist(), lengths.tolist(), strict=True)]

    def terms(self, unigram_terms: Sequence[str], ids: IntArray | LongArray, sep: str = " ") -> list[str]:
        """Return the strings of some n-grams: their unigrams with `sep` between them."""
        return [sep.join([unigram_terms[w] for w in words]) for words in self.words(ids)]
