"""The vocabulary of a rolling model, which grows chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.types import IntArray, TokenTable


class GrowingVocabulary:
    """The terms of the model in order of growth, and the number there of each term of a table of tokens (-1: not in it)."""

    def __init__(self, terms: Sequence[str], table: tuple[str, ...]) -> None:
        self.terms = list(terms)
        self._table = table
        known = {term: v for v, term in enumerate(terms)}
        self._number = np.array([known.get(term, -1) for term in table], np.int32)

    def grow(self, term_ids: IntArray, *, vocab_abs: int, vocab_rel: float, vocab_fallback: int) -> None:
        """Add the terms of a chunk, given its tokens, whose count c meets, in alphabetical order,

        c > vocab_abs  and  c > min(vocab_rel · N, vocab_fallback),     N = tokens of the chunk, rare ones included.

        (rollinglda 0.1.3: vocab.abs, vocab.rel, vocab.fallback; both limits are strict there.)
        """
        if not len(term_ids):
            return
        counts = np.bincount(term_ids, minlength=len(self._table))
        above = max(vocab_abs, min(vocab_rel * len(term_ids), vocab_fallback))
        new = sorted(np.flatnonzero((counts > above) & (self._number < 0)), key=self._table.__getitem__)
        self._number[new] = np.arange(len(self.terms), len(self.terms) + len(new))
        self.terms.extend(self._table[v] for v in new)

    def keep(self, words: TokenTable, doc_abs: int) -> TokenTable:
        """Return the documents with their words of the vocabulary; those with at most doc_abs of them become empty."""
        numbers = self._number[words.term_ids]
        inside = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers >= 0)])[words.offsets]
        lengths = np.diff(inside)
        enough = lengths > doc_abs
        stays = (numbers >= 0) & np.repeat(enough, np.diff(words.offsets))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(enough, lengths, 0))])
        return TokenTable(offsets, numbers[stays], ())
