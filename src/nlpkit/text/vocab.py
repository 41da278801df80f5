"""The vocabulary of a corpus while it is read, and its pruning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.text.tokenize import RawTokens
from nlpkit.types import IntArray, LongArray


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """Tokens of a batch as ids of a growing vocabulary. offsets (D+1,) int64, term_ids (N,) int32."""

    offsets: LongArray
    term_ids: IntArray


class Vocabulary:
    """Terms in order of first appearance, with collection and document frequency.

    `normalize` maps a raw token to its terms (none, one or several) and is called once per distinct raw token.
    """

    def __init__(self, normalize: Callable[[str], tuple[str, ...]]) -> None:
        self._normalize = normalize
        self._ids: dict[str, int] = {}
        self._of_raw: dict[str, tuple[int, ...]] = {}
        self._cf = np.zeros(1024, np.int64)
        self._df = np.zeros(1024, np.int64)
        self.n_docs = 0

    @property
    def terms(self) -> list[str]:
        """(V,) terms in id order."""
        return list(self._ids)

    @property
    def cf(self) -> LongArray:
        """(V,) occurrences of each term."""
        return self._cf[: len(self._ids)]

    @property
    def df(self) -> LongArray:
        """(V,) documents that hold each term."""
        return self._df[: len(self._ids)]

    def encode(self, raw: RawTokens) -> EncodedBatch:
        """Turn the raw tokens of a batch into term ids, adding new terms and counting cf and df."""
        per_type = [self._lookup(token) for token in raw.types]
        lengths = np.fromiter((len(ids) for ids in per_type), np.int64, len(per_type))
        flat = np.fromiter((i for ids in per_type for i in ids), np.int32, int(lengths.sum()))
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(lengths) else np.zeros(0, np.int64)
        per_token = lengths[raw.codes] if len(raw.codes) else np.zeros(0, np.int64)
        ends = np.concatenate(([0], np.cumsum(per_token)))
        offsets = ends[raw.offsets]
        # position inside the expansion of its raw token, for every term that comes out
        inside = np.arange(ends[-1]) - np.repeat(ends[:-1], per_token)
        term_ids = flat[np.repeat(starts[raw.codes], per_token) + inside] if ends[-1] else np.zeros(0, np.int32)
        self._count(offsets, term_ids)
        return EncodedBatch(offsets, term_ids)

    def _lookup(self, token: str) -> tuple[int, ...]:
        ids = self._of_raw.get(token)
        if ids is None:
            known = self._ids
            ids = tuple(known.setdefault(term, len(known)) for term in self._normalize(token))
            self._of_raw[token] = ids
        return ids

    def _count(self, offsets: LongArray, term_ids: IntArray) -> None:
        V, D = len(self._ids), len(offsets) - 1
        if len(self._cf) < V:
            self._cf = np.concatenate([self._cf, np.zeros(V, np.int64)])
            self._df = np.concatenate([self._df, np.zeros(V, np.int64)])
        self._cf[:V] += np.bincount(term_ids, minlength=V)
        docs = np.repeat(np.arange(D, dtype=np.int64), np.diff(offsets))
        pairs = np.unique(docs * max(V, 1) + term_ids)
        self._df[:V] += np.bincount(pairs % max(V, 1), minlength=V)
        self.n_docs += D


def document_bound(value: int | float, n_docs: int, *, name: str) -> float:
    """Return a min_df/max_df bound as a number of documents: a share in (0, 1] if it is a float with a fraction or 1.0.

    As in scikit-learn, an integer counts documents and a float is a share of them.

    Raises:
        UsageError: the value is negative, or a share above 1.
    """
    if isinstance(value, float):
        if not 0.0 <= value <= 1.0:
            raise UsageError(f"--{name} {value}: a share lies in 0.0 … 1.0; a number of documents has no decimal point")
        return round(value * n_docs, 6)  # 0.07 of 100 documents is 7, not 7.000000000000001
    if value < 0:
        raise UsageError(f"--{name} {value}: a number of documents cannot be negative")
    return float(value)


def df_bounds(n_docs: int, *, min_df: float, max_df: float) -> tuple[float, float]:
    """Return min_df and max_df as numbers of documents.

    Raises:
        UsageError: a bound is out of range, or no term can satisfy both.
    """
    low = document_bound(min_df, n_docs, name="min-df")
    high = document_bound(max_df, n_docs, name="max-df")
    if low > high:
        raise UsageError(f"--min-df is {low:g} documents and --max-df {high:g}: no term can satisfy both")
    return low, high


def prune_batch(batch: EncodedBatch, new_ids: IntArray) -> EncodedBatch:
    """Renumber the terms of a batch by new_ids (V,), dropping those mapped to -1. Documents keep their places."""
    mapped = new_ids[batch.term_ids] if len(batch.term_ids) else batch.term_ids
    kept = mapped >= 0
    before = np.concatenate(([0], np.cumsum(kept)))
    return EncodedBatch(before[batch.offsets], mapped[kept])
