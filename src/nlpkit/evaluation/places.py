"""Where the words of topics stand in a corpus whose vocabulary grows while it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nlpkit.types import IntArray, LongArray


class Places:
    """Translates the growing term ids of a corpus into those of a list of words, -1 for words that are not in it.

    The n-grams of a corpus stand behind the words of their document, where no window holds them: they are left out, and those
    of the list are put behind the last of their words.
    """

    def __init__(self, words: Sequence[str]) -> None:
        grams = {tuple(word.split(" ")): i for i, word in enumerate(words) if " " in word}
        parts = {part: i for i, part in enumerate(sorted({part for gram in grams for part in gram}))}
        self._numbers = ({word: i for i, word in enumerate(words) if " " not in word}, parts)
        self._grams = {tuple(parts[part] for part in gram): i for gram, i in grams.items()}
        self._places = np.zeros((3, 0), np.int32)  # of a term: among the words, among parts of n-grams; 1 for an n-gram

    def translate(self, offsets: LongArray, ids: IntArray, terms: Sequence[str]) -> tuple[LongArray, IntArray]:
        """Return offsets (D_b+1,) and the place of each token (N,), int32."""
        known = self._places.shape[1]
        if len(terms) > known:
            new = [[number.get(term, -1) for term in terms[known:]] for number in self._numbers]
            grams = [int(" " in term) for term in terms[known:]]
            self._places = np.concatenate([self._places, np.array([*new, grams], np.int32)], axis=1)
        if not self._grams and not self._places[2].any():
            return offsets, self._places[0][ids]
        words = self._places[2][ids] == 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(words)])
        return insert_ngrams(before[offsets], self._places[0][ids[words]], self._places[1][ids[words]], self._grams)


def insert_ngrams(
    offsets: LongArray, places: IntArray, parts: IntArray, grams: Mapping[tuple[int, ...], int]
) -> tuple[LongArray, IntArray]:
    """Return documents with n-grams put behind the last of their words: offsets (D+1,), places (N + inserted,) int32.

    Args:
        offsets, places: (D+1,), (N,) of the documents.
        parts: (N,) number of each token among the words of n-grams, -1 for others.
        grams: place of each n-gram, by the numbers of its words.
    """
    document = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    base = int(parts.max(initial=0)) + 1
    ends, hits = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for n in sorted({len(gram) for gram in grams}):
        known = {
            sum(part * base ** (n - 1 - j) for j, part in enumerate(g)): i
            for g, i in grams.items()
            if len(g) == n and max(g) < base
        }
        if not known or len(parts) < n:
            continue
        columns = np.lib.stride_tricks.sliding_window_view(parts, n).astype(np.int64)
        starts = np.flatnonzero((columns >= 0).all(axis=1) & (document[: len(columns)] == document[n - 1 :]))
        keys = columns[starts] @ (base ** np.arange(n - 1, -1, -1, dtype=np.int64))
        table = np.array(sorted(known), np.int64)
        at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
        hit = table[at] == keys
        ends.append(starts[hit] + n)
        hits.append(np.array([known[key] for key in table.tolist()], np.int32)[at[hit]])
    where = np.concatenate(ends)
    order = np.argsort(where, kind="stable")
    behind = np.searchsorted(where[order], offsets, side="right")
    return offsets + behind, np.insert(places, where[order], np.concatenate(hits)[order]).astype(np.int32)
