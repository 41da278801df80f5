"""The vocabulary of a corpus while it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.platform.types import IntArray, LongArray
from nlpkit.text.kernels import scan as kernels
from nlpkit.text.normalize import MAX_TERM_LENGTH
from nlpkit.text.tokenize import BytesTable, RawTokens


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """Tokens of a batch as ids of a growing vocabulary. offsets (D+1,) int64, term_ids (N,) int32."""

    offsets: LongArray
    term_ids: IntArray

    def __post_init__(self) -> None:
        # ids that Arrow stored are read-only: so are all, else each kernel that reads them is compiled for either kind
        term_ids = self.term_ids.view()
        term_ids.flags.writeable = False
        object.__setattr__(self, "term_ids", term_ids)


def join_batches(parts: Sequence[EncodedBatch]) -> EncodedBatch:
    """Return the documents of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([0, *(len(part.term_ids) for part in parts)])
    offsets = [part.offsets[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return EncodedBatch(np.concatenate([ends[:1], *offsets]), np.concatenate([part.term_ids for part in parts]))


Stage = Callable[[EncodedBatch], EncodedBatch]


class Frequencies:
    """Collection and document frequency of ids that keep growing: `cf`, `df` (V,) int64; size: V so far."""

    def __init__(self) -> None:
        self.n_docs = self.size = 0
        self._cf, self._df = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
        self._last = np.full(1024, -1, np.int64)  # the document where an id was last seen

    def arrays(self, n_ids: int) -> tuple[LongArray, LongArray, LongArray]:
        """Return cf, df and the last document (≥ n_ids,), for a kernel to count in."""
        self.size = max(self.size, n_ids)
        if len(self._cf) < n_ids:
            n_new = max(n_ids, 2 * len(self._cf)) - len(self._cf)
            self._cf = np.concatenate([self._cf, np.zeros(n_new, np.int64)])
            self._df = np.concatenate([self._df, np.zeros(n_new, np.int64)])
            self._last = np.concatenate([self._last, np.full(n_new, -1, np.int64)])
        return self._cf, self._df, self._last

    def count(self, batch: EncodedBatch, n_ids: int) -> None:
        """Count a batch whose ids are below n_ids."""
        kernels.count_ids(batch.offsets, batch.term_ids, *self.arrays(n_ids), self.n_docs)
        self.n_docs += len(batch.offsets) - 1

    def cf(self, n_ids: int) -> LongArray:
        """(n_ids,) occurrences."""
        return self.arrays(n_ids)[0][:n_ids]

    def df(self, n_ids: int) -> LongArray:
        """(n_ids,) documents."""
        return self.arrays(n_ids)[1][:n_ids]


@dataclass(frozen=True, slots=True)
class CountedTerms:
    """Terms (V,) in order of first appearance, with their occurrences cf and documents df (V,) in n_docs documents."""

    terms: list[str]
    cf: LongArray
    df: LongArray
    n_docs: int


class Vocabulary:
    """Terms in order of first appearance, with collection and document frequency.

    Args:
        normalize: maps a raw token to its terms (none, one or several); called once per distinct raw token.
        plain: tokens that `normalize` need not be asked for: "words" = it leaves words of a–z and 0–9 as they are, also with
            hyphens in them, and drops numbers and single characters; "all" = it changes nothing.
        apostrophes: "words" holds for those with an apostrophe too (don't).
    """

    def __init__(
        self, normalize: Callable[[str], tuple[str, ...]], *, plain: str = "none", apostrophes: bool = False
    ) -> None:
        self._normalize = normalize
        self._plain, self._apostrophes = plain, apostrophes
        self._raw, self._terms = BytesTable(), BytesTable()
        self._starts = np.zeros(1, np.int64)  # raw token r stands for the terms _of_raw[_starts[r]:_starts[r + 1]]
        self._of_raw = np.zeros(0, np.int32)
        self._counts = Frequencies()

    @property
    def n_docs(self) -> int:
        """D, the documents so far."""
        return self._counts.n_docs

    @property
    def n_terms(self) -> int:
        """V, the terms so far."""
        return self._terms.n

    @property
    def terms(self) -> list[str]:
        """(V,) terms in id order."""
        return self._terms.strings()

    @property
    def cf(self) -> LongArray:
        """(V,) occurrences of each term."""
        return self._counts.cf(self.n_terms)

    @property
    def df(self) -> LongArray:
        """(V,) documents that hold each term."""
        return self._counts.df(self.n_terms)

    def encode(self, raw: RawTokens) -> EncodedBatch:
        """Turn the raw tokens of a batch into term ids, adding new terms and counting cf and df."""
        before = self._raw.n
        raw_ids = self._raw.insert(raw.arena, raw.places[:-1], raw.places[1:])
        if self._raw.n > before:
            self._learn(before)
        counts, T = self._counts, raw.n_types
        cf, df, last = counts.arrays(self.n_terms)
        local, users = np.empty(T, np.int32), np.zeros(self.n_terms, np.uint8)
        most = kernels.local_terms(raw_ids, self._starts, self._of_raw, raw.cf, raw.df, users, local, cf, df)
        # `most` adds up the terms of each type as often as raw.cf says that it occurs: one for each that is written
        offsets, term_ids = np.zeros(len(raw.offsets), np.int64), np.empty(most, np.int32)
        n = kernels.expand_terms(
            raw.offsets,
            raw.codes,
            local,
            raw_ids,
            self._starts,
            self._of_raw,
            cf,
            df,
            last,
            counts.n_docs,
            offsets,
            term_ids,
        )
        counts.n_docs += len(offsets) - 1
        return EncodedBatch(offsets, term_ids[:n])

    def sources(self, raw: RawTokens) -> LongArray:
        """Return the place in raw.codes of the token that each term of a batch comes from, in the order of `encode`, which came before."""
        raw_ids = self._raw.insert(raw.arena, raw.places[:-1], raw.places[1:])
        return np.repeat(np.arange(len(raw.codes)), np.diff(self._starts)[raw_ids][raw.codes])

    def _learn(self, first: int) -> None:
        """Find the terms of the raw tokens from number `first` on; new terms are numbered in the order of these tokens."""
        table = self._raw
        starts, ends = table.places[first : table.n], table.places[first + 1 : table.n + 1]
        kinds = np.full(len(starts), kernels.OTHER, np.uint8)
        if self._plain == "all":
            kinds[:] = kernels.WORD
        elif self._plain == "words":
            kernels.plain_words(table.arena, starts, ends, MAX_TERM_LENGTH, self._apostrophes, kinds)
        lengths = (kinds == kernels.WORD).astype(np.int64)
        others = np.flatnonzero(kinds == kernels.OTHER)
        term_lists = [self._normalize(table.string(first + int(t))) for t in others]
        lengths[others] = [len(terms) for terms in term_lists]
        # the strings of the terms in order: the bytes of the token itself, or those that `normalize` returned
        encoded = [term.encode() for terms in term_lists for term in terms]
        base = int(starts[0])
        text = np.concatenate([table.arena[base : table.size], np.frombuffer(b"".join(encoded), np.uint8)])
        sizes = np.fromiter((len(term) for term in encoded), np.int64, len(encoded))
        other_ends = table.size - base + np.cumsum(sizes)
        unchanged = np.repeat(kinds != kernels.OTHER, lengths)
        term_starts, term_ends = np.empty(len(unchanged), np.int64), np.empty(len(unchanged), np.int64)
        words = kinds == kernels.WORD
        term_starts[unchanged], term_ends[unchanged] = starts[words] - base, ends[words] - base
        term_starts[~unchanged], term_ends[~unchanged] = other_ends - sizes, other_ends
        self._of_raw = np.concatenate([self._of_raw, self._terms.insert(text, term_starts, term_ends)])
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(lengths)])


def prune_batch(batch: EncodedBatch, new_ids: IntArray) -> EncodedBatch:
    """Renumber the terms of a batch by new_ids (V,), dropping those mapped to -1. Documents keep their places."""
    # one id for a token at most
    offsets, out = np.zeros(len(batch.offsets), np.int64), np.empty(len(batch.term_ids), np.int32)
    n = kernels.map_ids(batch.offsets, batch.term_ids, new_ids, offsets, out)
    return EncodedBatch(offsets, out[:n])
