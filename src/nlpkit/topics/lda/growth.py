"""The vocabulary of a rolling model, which grows chunk by chunk, and documents taken out of tables of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nlpkit.types import IntArray, LongArray, TokenTable


class Vocabulary:
    """The terms of the model in order of growth, and the number there of each term of a table of tokens (-1: not in it)."""

    def __init__(self, terms: Sequence[str], table: tuple[str, ...]) -> None:
        self.terms = list(terms)
        self._table = table
        known = {term: v for v, term in enumerate(terms)}
        self._number = np.array([known.get(term, -1) for term in table], np.int32)

    def grow(self, term_ids: IntArray, *, vocab_abs: int, vocab_rel: float, vocab_fallback: int) -> None:
        """Take in the terms of a chunk, given its tokens, whose count c meets, in order of the alphabet,

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
        """The documents with their words of the vocabulary; those with at most doc_abs of them become empty."""
        numbers = self._number[words.term_ids]
        inside = np.concatenate([np.zeros(1, np.int64), np.cumsum(numbers >= 0)])[words.offsets]
        lengths = np.diff(inside)
        enough = lengths > doc_abs
        stays = (numbers >= 0) & np.repeat(enough, np.diff(words.offsets))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(enough, lengths, 0))])
        return TokenTable(offsets, numbers[stays], ())


def take(tokens: TokenTable, documents: LongArray) -> TokenTable:
    """Some documents of a table, in another order."""
    lengths = np.diff(tokens.offsets)[documents]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    places = np.arange(offsets[-1]) + np.repeat(tokens.offsets[documents] - offsets[:-1], lengths)
    return TokenTable(offsets, tokens.term_ids[places], tokens.terms)


def own_terms(tokens: TokenTable) -> TokenTable:
    """The same documents with the terms they have, in order of the alphabet."""
    used = sorted(np.unique(tokens.term_ids), key=tokens.terms.__getitem__)
    number = np.zeros(tokens.n_terms, np.int32)
    number[used] = np.arange(len(used))
    return TokenTable(tokens.offsets, number[tokens.term_ids], tuple(tokens.terms[v] for v in used))


def join(a: TokenTable, b: TokenTable) -> TokenTable:
    """The documents of two tables, one after the other."""
    number = {term: v for v, term in enumerate(a.terms)}
    of_b = np.array([number.setdefault(term, len(number)) for term in b.terms], np.int32)
    return TokenTable(
        np.concatenate([a.offsets, a.offsets[-1] + b.offsets[1:]]),
        np.concatenate([a.term_ids, of_b[b.term_ids]]),
        tuple(number),
    )
