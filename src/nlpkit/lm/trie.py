"""N-grams of 1 to n words as the nodes of a trie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nlpkit.lm.kernels import look_up
from nlpkit.platform.types import BoolArray, IntArray, LongArray

UNKNOWN, START, END = "<unk>", "<s>", "</s>"
SPECIAL = (UNKNOWN, START, END)
UNKNOWN_ID, START_ID, END_ID = range(3)
MOST_NODES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Trie:
    """The n-grams of 1 to n words, shortest first; those of one length by their words, so that the node of word w is w.

    words (T,) int32: last word of each node. starts (C + 1,) int32: the nodes that continue node c < C, all but the longest n-grams,
    are starts[c] … starts[c + 1] - 1. levels (n + 1,) int64: n-grams of m words are the nodes levels[m - 1] … levels[m] - 1.
    """

    words: IntArray
    starts: IntArray
    levels: LongArray

    @property
    def order(self) -> int:
        """n, the words of the longest n-grams."""
        return len(self.levels) - 1

    def level(self, m: int) -> slice:
        """Return the nodes of the n-grams of m words, 1 … n."""
        return slice(int(self.levels[m - 1]), int(self.levels[m]))

    def contexts(self, nodes: IntArray) -> IntArray:
        """Return the node of all words but the last of each node, -1 for single words."""
        contexts = np.searchsorted(self.starts, nodes.astype(np.int32), side="right") - 1
        return np.where(nodes < self.levels[1], -1, contexts).astype(np.int32)

    def look_up(self, offsets: LongArray, words: IntArray) -> tuple[LongArray, BoolArray]:
        """Return the n-grams that end at each word of sentences, with their start and end.

        Args:
            offsets (S + 1,): of the words (N,) of each sentence; ids, -1 for words that are not in the trie.

        Returns:
            nodes (N + 2 S, n), see `nlpkit.lm.kernels.look_up`, and which rows are starts of sentences, which nothing predicts.
        """
        padded, first = pad(offsets, words)
        nodes = np.empty((len(padded), self.order), np.int64)
        look_up(self.starts, self.words, first, padded, nodes)
        starts = np.zeros(len(padded), np.bool_)
        starts[first] = True
        return nodes, starts

    def spelled(self, nodes: IntArray) -> Iterator[tuple[int, ...]]:
        """Yield the words of nodes of one level."""
        columns = []
        while len(nodes) and nodes[0] >= 0:
            columns.append(self.words[nodes].tolist())
            nodes = self.contexts(nodes)
        yield from zip(*reversed(columns), strict=True)


def pad(offsets: LongArray, words: IntArray) -> tuple[IntArray, LongArray]:
    """Return sentences with their start and end (N + 2 S,), one behind the other, and where each begins (S,)."""
    S = len(offsets) - 1
    first = offsets[:-1] + 2 * np.arange(S)
    padded = np.full(len(words) + 2 * S, END_ID, np.int32)
    place = np.repeat(2 * np.arange(S) + 1, np.diff(offsets)) + np.arange(offsets[0], offsets[-1])
    padded[place - offsets[0]] = words
    padded[first - offsets[0]] = START_ID
    return padded, first - offsets[0]
