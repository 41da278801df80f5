"""The words of a corpus and of its groups, counted batch by batch: how often, in how many documents, since when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.kernels.idtable import IdTable, new_table
from nlpkit.kernels.tally import tally_words
from nlpkit.text.vocab import EncodedBatch
from nlpkit.types import IntArray, LongArray


@dataclass(frozen=True, slots=True)
class GroupWords:
    """The words of one group in order of first appearance.

    term_ids (V,) int32; cf, df (V,); first_seen (V,) ascending: the place 1 … n_tokens of the first occurrence.
    """

    n_tokens: int
    term_ids: IntArray
    cf: LongArray
    df: LongArray
    first_seen: LongArray


class WordTally:
    """Counts of the words of each group of documents. Memory: the different words of the groups, not the tokens."""

    def __init__(self, n_groups: int) -> None:
        self._table: IdTable = new_table(1024)
        self._n_tokens: LongArray = np.zeros(n_groups, np.int64)
        self._cf: LongArray = np.zeros(1024, np.int64)
        self._df: LongArray = np.zeros(1024, np.int64)
        self._last_doc: LongArray = np.zeros(1024, np.int64)
        self._first_seen: LongArray = np.zeros(1024, np.int64)
        self._n_docs = 0

    def add(self, batch: EncodedBatch, groups: IntArray) -> None:
        """Count a batch of documents (D,) with their groups (D,), -1 for none; term ids below 0 are left out."""
        self._table, self._cf, self._df, self._last_doc, self._first_seen = tally_words(
            self._table, batch.offsets, batch.term_ids, groups, self._n_docs, self._n_tokens,
            self._cf, self._df, self._last_doc, self._first_seen,
        )  # fmt: skip
        self._n_docs += len(groups)

    def groups(self) -> list[GroupWords]:
        """Return the words of each group (G,)."""
        n = int(self._table.size[0])
        keys = self._table.keys[:n]
        order = np.argsort(keys >> 32, kind="stable")  # slots are in order of first appearance, so stays each group
        ends = np.searchsorted(keys[order] >> 32, np.arange(len(self._n_tokens) + 1))
        group_words = []
        for g, n_tokens in enumerate(self._n_tokens.tolist()):
            slots = order[ends[g] : ends[g + 1]]
            term_ids = (keys[slots] & 0xFFFFFFFF).astype(np.int32)
            group_words.append(
                GroupWords(n_tokens, term_ids, self._cf[slots], self._df[slots], self._first_seen[slots])
            )
        return group_words
