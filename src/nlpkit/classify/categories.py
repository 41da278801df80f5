"""Words of categories in texts: how often each category of a lexicon occurs in a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.classify.lexicon import MARK, Lexicon, LexiconScorer, Matched
from nlpkit.text.options import PreprocessOptions
from nlpkit.types import BoolArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class CategoryLexicon:
    """Words of categories.

    name: what its columns are called after. entries: word, also of several words, or the begin of words and * → its categories;
    categories: all of them, in order. source: what messages call it.
    """

    name: str
    entries: Mapping[str, frozenset[str]]
    categories: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class CategoryCounts:
    """Documents: counts (D, C) of the words of each category, words (D,) of all words."""

    counts: LongArray
    words: LongArray


class CategoryCounter:
    """Counts the words of the categories of a lexicon in documents that are cut as `nlpkit sentiment` cuts them.

    Lower case, lemmas and stems are the same for text and lexicon; of several entries that begin at one place the longest counts, as
    one word. A word counts once for each category that it or a begin* of it belongs to.

    Args:
        lexicon: the words. options: how texts are cut. languages: ISO codes of the texts.

    Raises:
        InputError: no entry can occur in a text.
    """

    def __init__(self, lexicon: CategoryLexicon, options: PreprocessOptions, languages: Sequence[str]) -> None:
        self.lexicon = lexicon
        words = [entry.removesuffix("*") for entry in lexicon.entries]
        plain = Lexicon(lexicon.source, tuple(words), (1.0,) * len(words))
        self._scorer = LexiconScorer(plain, options, languages, negation=False)
        self.n_unmatchable = self._scorer.report.n_unmatchable
        self._column = {category: c for c, category in enumerate(lexicon.categories)}
        self._begins: dict[str, frozenset[str]] = {}
        for entry, categories in lexicon.entries.items():
            if entry.endswith("*"):
                begin = entry[:-1].lower()
                self._begins[begin] = self._begins.get(begin, frozenset()) | categories
        self._lengths = sorted({len(begin) for begin in self._begins})
        terms = self._scorer.terms
        known = np.zeros((len(terms), len(lexicon.categories)), bool)
        for place, categories in zip(self._scorer.places.tolist(), lexicon.entries.values(), strict=True):
            if place >= 0:
                known[place, [self._column[category] for category in categories]] = True
        for place, term in enumerate(terms[:-1]):  # the last stands for all other words
            known[place] |= self._by_begin(term)
        self._known = sparse.csr_array(known.astype(np.int64))
        self._mark = self._scorer.vocabulary.terms.index(MARK)
        # words of the texts that are not in the lexicon: how many were looked at, and which are in which category by their begin
        self._n_other, self._rows, self._columns = 0, list[int](), list[int]()

    def _by_begin(self, term: str) -> BoolArray:
        """Return the categories (C,) of a term by the begins that it has."""
        row = np.zeros(len(self._column), bool)
        for n in self._lengths:
            for category in self._begins.get(term[:n], ()) if n <= len(term) else ():
                row[self._column[category]] = True
        return row

    def count(
        self, batches: Iterable[pa.RecordBatch], *, threads: int = 1
    ) -> Iterator[tuple[pa.RecordBatch, CategoryCounts]]:
        """Yield each batch with the counts of its texts (column text); the result does not depend on `threads`."""
        for batch, matched in self._scorer.match(batches, threads=threads):
            yield batch, self._counts(matched)

    def _counts(self, matched: Matched) -> CategoryCounts:
        V = len(self._scorer.terms)
        counts = _by_document(matched.offsets, matched.ids, V) @ self._known
        encoded, n_terms = matched.encoded, self._scorer.n_terms
        if self._lengths:
            self._look_at_new_words()
            unknown = np.maximum(encoded.term_ids - n_terms, -1)
            shape = (self._n_other, len(self._column))
            by_begin = sparse.csr_array((np.ones(len(self._rows), np.int64), (self._rows, self._columns)), shape=shape)
            counts = counts + _by_document(encoded.offsets, unknown, self._n_other) @ by_begin
        words = np.add.reduceat(np.append(encoded.term_ids != self._mark, False), encoded.offsets[:-1]).astype(np.int64)
        words[np.diff(encoded.offsets) == 0] = 0
        return CategoryCounts(np.asarray(counts.todense(), np.int64), words)

    def _look_at_new_words(self) -> None:
        """Find the categories of the words that came with the last batch."""
        vocabulary, before = self._scorer.vocabulary, self._scorer.n_terms + self._n_other
        if vocabulary.n_terms == before:
            return
        for term in vocabulary.terms[before:]:
            columns = np.flatnonzero(self._by_begin(term)).tolist()
            self._rows += [self._n_other] * len(columns)
            self._columns += columns
            self._n_other += 1


def _by_document(offsets: LongArray, ids: IntArray | LongArray, n: int) -> sparse.csr_array:
    """Return how often each id (N,) in 0 … n - 1 occurs in documents (D, n); those below 0 are left out."""
    doc = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    kept = ids >= 0
    shape = (len(offsets) - 1, n)
    return sparse.csr_array((np.ones(int(kept.sum()), np.int64), (doc[kept], ids[kept])), shape=shape)
