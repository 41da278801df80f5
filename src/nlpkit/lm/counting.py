"""The n-grams of sentences, counted by sorting on the disk.

The text is cut into blocks of at most a million tokens. The n-grams of a block are sorted, each with the words of those that end
with the sentence before it, and written one after another; all these runs are merged at once (external merge sort, Knuth 1998, §5.4;
as by KenLM, Heafield et al. 2013). Sorted n-grams of n words are the trie of all shorter ones. Memory does not grow with the text.
"""

from __future__ import annotations

import itertools
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from nlpkit.errors import InputError
from nlpkit.lm.kernels import longer_keys, merge_runs, rank_keys, sift, spell_keys
from nlpkit.lm.trie import END_ID, MOST_NODES, Trie, pad
from nlpkit.platform.runs.scratch import Column, Scratch, take
from nlpkit.platform.types import IntArray, LongArray

BLOCK_TOKENS = 1 << 20  # at most, see `longer_keys`
_BLOCK_NUMBERS = 6_000_000  # of 4 bytes, which a block that is counted holds
_AT_ONCE = 4  # blocks that are counted at a time, for any number of threads
_MERGED_NUMBERS = 8_000_000  # of 4 bytes, which are read ahead of all runs
_ROOM = 1 << 19  # n-grams of all lengths before they are written


class NgramCounter:
    """Counts the n-grams of sentences, each with one start and one end.

    Args:
        order: words of the longest n-grams, from 1 on. n_words: ids are below it. threads: blocks that are counted at a time, four at
            most; the counts do not depend on it. scratch: where the n-grams of blocks are kept.
    """

    def __init__(self, order: int, n_words: int, *, threads: int = 1, scratch: Scratch | None = None) -> None:
        self.order, self._scratch = order, scratch or Scratch()
        self._block = max(min(BLOCK_TOKENS, _BLOCK_NUMBERS // (order + 6)), 1)
        self._most = min(max(threads, 1), _AT_ONCE)
        self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="nlpkit")
        self._counting: deque[Future[IntArray]] = deque()
        self._unigrams = np.zeros(n_words, np.int64)
        self._waiting: list[IntArray] = []
        self._n_waiting = self._n_words = 0
        self._records = self._scratch.column(np.int32)
        self._runs = [0]  # records where each run ends

    def add(self, offsets: LongArray, words: IntArray) -> None:
        """Count sentences (S,), given by the offsets (S + 1,) of their word ids, none of which is START_ID or END_ID."""
        padded, _ = pad(offsets, words)
        self._n_words += len(padded)
        if self._n_words > MOST_NODES:
            raise InputError(
                f"more than {MOST_NODES:,} words with the ends of sentences are more than a count can hold"
            )
        self._unigrams += np.bincount(padded, minlength=len(self._unigrams))
        if self.order > 1:
            self._waiting.append(padded)
            self._n_waiting += len(padded)
            self._count(self._block)

    def _count(self, least: int) -> None:
        """Count what waits in blocks of at least so many tokens; an n-gram belongs to the block in which it begins."""
        if self._n_waiting < least:
            return
        tokens, start = np.concatenate(self._waiting), 0
        while len(tokens) - start >= least:
            stop = min(start + self._block, len(tokens))
            block = tokens[start : stop + self.order - 1]
            self._counting.append(self._pool.submit(_count_block, block, stop - start, self.order, len(self._unigrams)))
            if len(self._counting) > self._most:
                self._take()
            start = stop
        self._waiting, self._n_waiting = [tokens[start:].copy()], len(tokens) - start

    def _take(self) -> None:
        """Write the n-grams of the block that was begun first."""
        records = self._counting.popleft().result()
        self._records.append(records.reshape(-1))
        self._runs.append(self._runs[-1] + len(records))

    def finish(self) -> tuple[Trie, IntArray]:
        """Return the n-grams and how often each occurs (T,).

        Raises:
            InputError: there are 2³¹ n-grams or more, or the disk is full.
        """
        self._count(1)
        while self._counting:
            self._take()
        self._pool.shutdown()
        levels = _Levels(self.order, len(self._unigrams), self._scratch)
        _merge(self._records.array(), self._runs, levels)
        return levels.trie(self._unigrams)


def _count_block(tokens: IntArray, n_begin: int, order: int, n_words: int) -> IntArray:
    """Return the different n-grams that begin at the first tokens, in order: their words, -1 after the end of a sentence, and counts.

    tokens (≥ n_begin,): sentences with their ends, also of the last n-gram that begins.
    """
    ends = np.flatnonzero(tokens == END_ID)
    if not len(ends) or ends[-1] != len(tokens) - 1:
        ends = np.append(ends, len(tokens) - 1)
    left = (np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(len(tokens)) + 1).astype(np.int32)
    known = np.zeros(n_words, np.bool_)
    known[tokens] = True
    words = np.cumsum(known, dtype=np.int32)[tokens]  # the words of the block, numbered from 1 on in the same order
    if int(words.max()) >= 1 << 21:
        raise InputError(f"n-grams of {order:,} words are more than can be counted; give a lower `order`")
    ranks, keys = words[:n_begin].copy(), np.empty(n_begin, np.int64)
    for m in range(1, order):
        longer_keys(ranks, words, left, m, keys)
        keys.sort()
        different = rank_keys(keys, ranks)
    records = np.empty((different, order + 1), np.int32)
    spell_keys(keys, tokens, left, records)
    return records


def _merge(records: IntArray, runs: list[int], levels: _Levels) -> None:
    """Merge runs of records, run i those from runs[i] to runs[i + 1]."""
    R, n = len(runs) - 1, levels.order
    if not R:
        return
    width = max(min(_MERGED_NUMBERS // (R * (n + 1)), max(b - a for a, b in itertools.pairwise(runs))), 1)
    ahead = np.empty((R, width, n + 1), np.int32)
    at, end, key = np.zeros(R, np.int64), np.zeros(R, np.int64), np.zeros(R, np.int64)
    read = runs[:-1]

    def refill(run: int) -> bool:
        part = take(records, read[run] * (n + 1), min(read[run] + width, runs[run + 1]) * (n + 1)).reshape(-1, n + 1)
        ahead[run, : len(part)] = part
        read[run] += len(part)
        at[run], end[run] = 0, len(part)
        if len(part):
            key[run] = (int(part[0, 0]) << 32) | int(part[0, 1] + 1)
        return bool(len(part))

    heap = np.array([run for run in range(R) if refill(run)], np.int32)
    size = len(heap)
    for i in range(size // 2 - 1, -1, -1):
        sift(ahead, at, key, heap, size, i)
    while size:
        used = merge_runs(ahead, at, end, key, heap, size, levels.room(), *levels.state())
        if used >= 0:
            if not refill(used):
                size -= 1
                heap[0] = heap[size]
            sift(ahead, at, key, heap, size, 0)


class _Levels:
    """The n-grams of 2 to n words as they come in order, level by level; see `merge_runs` for the arrays."""

    def __init__(self, order: int, n_words: int, scratch: Scratch) -> None:
        self.order, self.n_words, self.scratch = order, n_words, scratch
        n = order - 1
        self.words, self.counts = ([scratch.column(np.int32) for _ in range(n)] for _ in range(2))
        self.starts = [scratch.column(np.int32) for _ in range(n - 1)]  # the longest ones have no longer ones
        self._last, self._first = np.full(order, -1, np.int32), np.zeros(n_words + 1, np.int32)
        self._room = max(_ROOM // order, 1)
        self._rooms = tuple(np.empty((n, self._room), np.int32) for _ in range(3))
        self._added, self._closed, self._total, self._sums = (np.zeros(n, np.int64) for _ in range(4))

    def state(self) -> tuple[IntArray | LongArray, ...]:
        """Return what `merge_runs` goes on with."""
        return self._last, self._first, *self._rooms, self._added, self._closed, self._total, self._sums

    def room(self) -> int:
        """Return how many n-grams there is room for, at least half of all."""
        if 2 * self._added.max() > self._room:
            self._write()
        return self._room - int(self._added.max())

    def _write(self) -> None:
        if (size := self.n_words + int(self._total.sum())) > MOST_NODES:
            raise InputError(f"{size:,} different n-grams are more than a model can have; give a lower `order`")
        words, counts, starts = self._rooms
        for m, (added, closed) in enumerate(zip(self._added.tolist(), self._closed.tolist(), strict=True)):
            self.words[m].append(words[m, :added])
            self.counts[m].append(counts[m, :closed])
            if m < len(self.starts):
                self.starts[m].append(starts[m, :added])
        self._added[:] = self._closed[:] = 0

    def trie(self, unigrams: LongArray) -> tuple[Trie, IntArray]:
        """Return the n-grams and their counts (T,). Raises InputError: there are too many."""
        self._write()
        V, n = self.n_words, self.order
        levels = np.cumsum([0, V, *self._total])
        words, counts, starts = (self.scratch.column(np.int32) for _ in range(3))
        words.append(np.arange(V))
        counts.append(unigrams)
        if n > 1:
            self._first[self._last[0] + 1 :] = self._total[0]
            starts.append(self._first[:V] + V)
        for m in range(n - 1):  # what is copied makes room for the next one
            if self._total[m]:
                self.counts[m].append(self._sums[m : m + 1])
            _copy(self.words[m], words)
            _copy(self.counts[m], counts)
            if m < len(self.starts):
                _copy(self.starts[m], starts, int(levels[m + 2]))
        starts.append(levels[-1:])
        return Trie(words.array(), starts.array(), levels), counts.array()


def _copy(column: Column, to: Column, shift: int = 0) -> None:
    numbers = column.array()
    for start in range(0, len(numbers), _ROOM):
        to.append(take(numbers, start, start + _ROOM) + shift)
