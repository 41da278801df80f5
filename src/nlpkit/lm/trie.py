"""N-grams of 1 to n words as the nodes of a trie, and their counts, made from a stream of sentences.

Memory is that of the different n-grams, not of the tokens: sentences are counted in blocks of some million tokens, each block
by sorting, and the counts of blocks of about the same size are merged, 12 bytes an n-gram.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from nlpkit.errors import InputError
from nlpkit.kernels.trie import find_suffixes, look_up, merge_counts
from nlpkit.types import BoolArray, IntArray, LongArray

UNKNOWN, START, END = "<unk>", "<s>", "</s>"
SPECIAL = (UNKNOWN, START, END)
UNKNOWN_ID, START_ID, END_ID = range(3)
BLOCK_TOKENS = 4_000_000
MOST_NODES = 2**31 - 1
_WORD_BITS = 32


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

    def contexts(self) -> IntArray:
        """Return the node of all words but the last of each node (T,) int32, -1 for single words."""
        contexts = np.full(len(self.words), -1, np.int32)
        fan_out = np.diff(self.starts)
        for m in range(2, self.order + 1):
            above = self.level(m - 1)
            contexts[self.level(m)] = np.repeat(np.arange(above.start, above.stop, dtype=np.int32), fan_out[above])
        return contexts

    def suffixes(self) -> IntArray:
        """Return the node of all words but the first of each node (T,) int32, -1 for single words and where the trie has none."""
        suffix = np.full(len(self.words), -1, np.int32)
        if self.order > 1:
            suffix[self.level(2)] = self.words[self.level(2)]
        for m in range(2, self.order):
            above = self.level(m)
            find_suffixes(self.starts, self.words, above.start, above.stop, suffix)
        return suffix

    def look_up(self, offsets: LongArray, words: IntArray) -> tuple[LongArray, BoolArray]:
        """Return the n-grams that end at each word of sentences, with their start and end.

        Args:
            offsets (S + 1,): of the words (N,) of each sentence; ids, -1 for words that are not in the trie.

        Returns:
            nodes (N + 2 S, n), see `nlpkit.kernels.trie.look_up`, and which rows are starts of sentences, which nothing predicts.
        """
        padded, first = pad(offsets, words)
        nodes = np.empty((len(padded), self.order), np.int64)
        look_up(self.starts, self.words, first, padded, nodes)
        starts = np.zeros(len(padded), np.bool_)
        starts[first] = True
        return nodes, starts

    def spelled(self, nodes: LongArray, contexts: IntArray) -> Iterator[tuple[int, ...]]:
        """Yield the words of nodes of one level."""
        if not len(nodes):
            return
        columns = []
        while len(nodes) and nodes[0] >= 0:
            columns.append(self.words[nodes].tolist())
            nodes = contexts[nodes].astype(np.int64)
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


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counted n-grams of 2 to n words, level by level: keys (context's place in the level before << 32 | word), ascending, and counts."""

    keys: list[LongArray]
    counts: list[IntArray]

    def size(self) -> int:
        """The n-grams of all levels."""
        return sum(map(len, self.keys))


class NgramCounter:
    """Counts the n-grams of sentences, each with one start and one end.

    Args:
        order: words of the longest n-grams, from 1 on. n_words: ids are below it. threads: blocks that are counted at a time; the
            counts do not depend on it, memory does.
    """

    def __init__(self, order: int, n_words: int, *, threads: int = 1) -> None:
        self.order = order
        self._pool = ThreadPoolExecutor(max(threads, 1), thread_name_prefix="nlpkit")
        self._counting: deque[Future[_Counts]] = deque()
        self._most = max(threads, 1)
        self._unigrams = np.zeros(n_words, np.int64)
        self._waiting: list[tuple[IntArray, LongArray]] = []
        self._n_waiting = self._n_words = 0
        self._merged: list[_Counts] = []  # each at least twice as large as the next

    def add(self, offsets: LongArray, words: IntArray) -> None:
        """Count sentences (S,), given by the offsets (S + 1,) of their word ids."""
        padded, first = pad(offsets, words)
        self._waiting.append((padded, first + self._n_waiting))
        self._n_waiting += len(padded)
        self._n_words += len(padded)
        if self._n_words > MOST_NODES:
            raise InputError(
                f"more than {MOST_NODES:,} words with the ends of sentences are more than a count can hold"
            )
        if self._n_waiting >= BLOCK_TOKENS:
            self._count()

    def _count(self) -> None:
        if not self._n_waiting:
            return
        tokens, first = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._n_waiting = [], 0
        self._unigrams += np.bincount(tokens, minlength=len(self._unigrams))
        self._counting.append(self._pool.submit(_count_block, tokens, first, self.order))
        if len(self._counting) > self._most:
            self._take()

    def _take(self) -> None:
        """Merge the counts of the block that was begun first."""
        counts = self._counting.popleft().result()
        while self._merged and self._merged[-1].size() < 2 * counts.size():
            counts = _merge(self._merged.pop(), counts, len(self._unigrams))
        self._merged.append(counts)

    def finish(self) -> tuple[Trie, IntArray]:
        """Return the n-grams and how often each occurs (T,).

        Raises:
            InputError: there are 2³¹ n-grams or more.
        """
        self._count()
        while self._counting:
            self._take()
        self._pool.shutdown()
        while len(self._merged) > 1:
            last = self._merged.pop()
            self._merged.append(_merge(self._merged.pop(), last, len(self._unigrams)))
        V = len(self._unigrams)
        counted = self._merged.pop() if self._merged else _Counts([], [])
        sizes = [V, *map(len, counted.keys), *[0] * (self.order - 1 - len(counted.keys))]
        if sum(sizes) > MOST_NODES:
            raise InputError(f"{sum(sizes):,} different n-grams are more than a model can have; give a lower `order`")
        levels = np.cumsum([0, *sizes])
        words, counts = np.empty(levels[-1], np.int32), np.empty(levels[-1], np.int32)
        words[:V], counts[:V] = np.arange(V), self._unigrams
        starts = np.full(int(levels[self.order - 1]) + 1, V, np.int32)
        # level by level, so that nothing is there twice
        for m, (above, start) in enumerate(itertools.pairwise(levels[:-1].tolist())):
            key, number = (counted.keys.pop(0), counted.counts.pop(0)) if counted.keys else (np.zeros(0, np.int64),) * 2
            inside = slice(start, start + sizes[m + 1])
            words[inside], counts[inside] = key & (2**_WORD_BITS - 1), number
            fan_out = np.bincount(key >> _WORD_BITS, minlength=sizes[m])
            starts[above + 1 : start + 1] = start + np.cumsum(fan_out)
        return Trie(words, starts, levels), counts


def _count_block(tokens: IntArray, first: LongArray, order: int) -> _Counts:
    """Count the n-grams of 2 words and more; an n-gram of m words is the place of its first m - 1 and its last word."""
    ends = np.append(first[1:], len(tokens))
    end = np.repeat(ends, np.diff(np.append(first, len(tokens))))
    keys, counts = [], []
    place, begins = tokens.astype(np.int64), np.arange(len(tokens))
    for m in range(2, order + 1):
        inside = begins + m <= end[begins]
        begins, place = begins[inside], place[inside]
        key = (place << _WORD_BITS) | tokens[begins + m - 1]
        by_key = np.argsort(key)
        ordered = key[by_key]
        new = np.ones(len(key), np.bool_)
        new[1:] = ordered[1:] != ordered[:-1]
        at = np.flatnonzero(new)
        keys.append(ordered[at])
        counts.append(np.diff(np.append(at, len(key))).astype(np.int32))
        place = np.empty(len(key), np.int64)
        place[by_key] = np.cumsum(new) - 1
    return _Counts(keys, counts)


def _merge(a: _Counts, b: _Counts, n_words: int) -> _Counts:
    """Return the counts of two blocks together, which are emptied; places of contexts keep their order, so that keys stay ascending."""
    merged = _Counts([], [])
    place_a = place_b = np.arange(n_words, dtype=np.int32)
    while a.keys:
        key_a, count_a, key_b, count_b = a.keys.pop(0), a.counts.pop(0), b.keys.pop(0), b.counts.pop(0)
        A, B = len(key_a), len(key_b)
        keys, counts = np.empty(A + B, np.int64), np.empty(A + B, np.int32)
        to_a, to_b = np.empty(A, np.int32), np.empty(B, np.int32)
        n = merge_counts(key_a, count_a, place_a, key_b, count_b, place_b, keys, counts, to_a, to_b)
        # what was never written takes no memory
        merged.keys.append(keys[:n])
        merged.counts.append(counts[:n])
        place_a, place_b = to_a, to_b
    return merged
