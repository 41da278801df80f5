"""Categories of terms by a lexicon: terms without one go, or the categories take the place of the terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from nlpkit.platform.types import BoolArray, IntArray, LongArray, ranges
from nlpkit.text.vocab import EncodedBatch, Stage


@dataclass(frozen=True)
class TermCategories:
    """The categories of terms, as quanteda's tokens_select and tokens_lookup use a dictionary.

    source: what messages call the lexicon. names (C,). terms: each with the places of its categories, a phrase as it is joined (not_good);
    begins: of any longer term, too. replace: whether categories take the place of terms.
    """

    source: str
    names: tuple[str, ...]
    terms: tuple[tuple[str, tuple[int, ...]], ...]
    begins: tuple[tuple[str, tuple[int, ...]], ...]
    replace: bool = False

    @cached_property
    def _by_term(self) -> dict[str, tuple[int, ...]]:
        return dict(self.terms)

    @cached_property
    def _by_begin(self) -> tuple[dict[str, tuple[int, ...]], list[int]]:
        return dict(self.begins), sorted({len(begin) for begin, _ in self.begins})

    def categories_of(self, term: str) -> tuple[int, ...]:
        """Return the places of the categories of a term, ascending."""
        begins, lengths = self._by_begin
        places = set(self._by_term.get(term, ()))
        for n in lengths:
            places.update(begins.get(term[:n], ()) if n <= len(term) else ())
        return tuple(sorted(places))

    def examples(self) -> list[str]:
        """Return words of the lexicon, for messages."""
        return [term for term, _ in self.terms] + [f"{begin}*" for begin, _ in self.begins]

    def known(self, terms: Sequence[str]) -> BoolArray:
        """Return which terms (V,) have a category."""
        return np.fromiter((bool(self.categories_of(term)) for term in terms), bool, len(terms))

    def replacement(self, terms: Sequence[str]) -> Stage:
        """Return the stage that puts the categories of a term (V,) in its place, all of them; a term without one goes."""
        categories = [self.categories_of(term) for term in terms]
        sizes = np.fromiter(map(len, categories), np.int64, len(categories))
        flat = np.fromiter((c for places in categories for c in places), np.int32, int(sizes.sum()))
        starts = np.cumsum(sizes) - sizes
        return partial(_replaced, sizes=sizes, starts=starts, flat=flat)


def _replaced(batch: EncodedBatch, sizes: LongArray, starts: LongArray, flat: IntArray) -> EncodedBatch:
    """Return a batch with the categories of each term in its place: sizes[v] of them, from flat[starts[v]] on."""
    n = sizes[batch.term_ids]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(n)])
    return EncodedBatch(ends[batch.offsets], flat[ranges(starts[batch.term_ids], n)])
