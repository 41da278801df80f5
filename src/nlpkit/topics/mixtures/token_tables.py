"""Documents selected from tables of tokens, appended to others, and reduced to the terms that they use."""

from __future__ import annotations

import numpy as np

from nlpkit.ranges import ranges
from nlpkit.types import LongArray, TokenTable


def select_documents(tokens: TokenTable, documents: LongArray) -> TokenTable:
    """Return some documents of a table, in the order of their numbers."""
    lengths = np.diff(tokens.offsets)[documents]
    term_ids = tokens.term_ids[ranges(tokens.offsets[documents], lengths)]
    return TokenTable(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), term_ids, tokens.terms)


def with_used_terms(tokens: TokenTable) -> TokenTable:
    """Return the documents with the terms that occur in them, in alphabetical order."""
    used = sorted(np.unique(tokens.term_ids), key=tokens.terms.__getitem__)
    number = np.zeros(tokens.n_terms, np.int32)
    number[used] = np.arange(len(used))
    return TokenTable(tokens.offsets, number[tokens.term_ids], tuple(tokens.terms[v] for v in used))


def append_documents(a: TokenTable, b: TokenTable) -> TokenTable:
    """Return the documents of two tables, one after the other."""
    number = {term: v for v, term in enumerate(a.terms)}
    of_b = np.array([number.setdefault(term, len(number)) for term in b.terms], np.int32)
    return TokenTable(
        np.concatenate([a.offsets, a.offsets[-1] + b.offsets[1:]]),
        np.concatenate([a.term_ids, of_b[b.term_ids]]),
        tuple(number),
    )
