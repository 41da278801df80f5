"""Boolean sliding windows: in how many windows of a corpus the words of topics occur, alone and in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nlpkit.errors import UsageError
from nlpkit.metrics.kernels import Counts, Pairs, count_windows, fill_slots, new_present
from nlpkit.platform.types import IntArray, LongArray

CountArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Rule: TypeAlias = Literal["boolean", "gensim", "tomotopy"]

MOST_PAIRS = 8_000_000  # of plan_pairs(all_pairs=True): about 300 MB with their tables
_SMALL = 50_000  # tokens below which threads cost more than they give


@dataclass(frozen=True, slots=True)
class Windows:
    """Definition of co-occurrence: within `size` tokens, or in one document (None).

    A document of N tokens has max(1, N - size + 1) windows of `size` tokens, one step apart; one that is shorter, or
    empty, is one window (Röder, Both & Hinneburg 2015, §3.2; gensim 4.4 and Palmetto likewise). Rules:

    - boolean: a window holds a word or not.
    - gensim: a word also leaves a window with the first of its occurrences, although another is still inside
      (WordOccurrenceAccumulator of gensim 4.4), so that words that are repeated are counted too rarely.
    - tomotopy: in documents of `size` tokens or more a window does not see its first token (tomotopy 0.14.0).
    """

    size: int | None
    rule: Rule = "boolean"

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 2:
            raise UsageError(
                f"a window needs 2 tokens or more, or the whole document, got {self.size}", parameter="window"
            )


@dataclass(frozen=True, slots=True)
class PairPlan:
    """The words and the pairs of words that a list of topics needs.

    words (W,) distinct, sorted; topics (K, n) int32, each row its words in order, then -1; pairs (P, 2) int32, ascending,
    the smaller word first; topic_pairs (K, n (n - 1) / 2) int32: the pair of places i < j of a topic, in the order of
    np.triu_indices(n, 1), -1 where there is no word; n_repeated: words left out because their topic had them already;
    all_pairs: every two words are a pair, not only those that share a topic; table: the pairs as the kernel reads them.
    """

    words: tuple[str, ...]
    topics: IntArray
    pairs: IntArray
    topic_pairs: IntArray
    n_repeated: int
    all_pairs: bool
    table: Pairs

    @property
    def n_words(self) -> int:
        """W."""
        return len(self.words)

    @property
    def n_pairs(self) -> int:
        """P."""
        return len(self.pairs)


def plan_pairs(topics: Sequence[Sequence[str]], *, all_pairs: bool = False) -> PairPlan:
    """Return what has to be counted for topics: their words, and each pair of words of one topic once.

    A word that is repeated within a topic counts at its first place; n_repeated is the number of those left out.

    Args:
        topics: K lists of words, best first; they may differ in length and may be empty.
        all_pairs: all pairs of words, also of different topics (for tomotopy's c_v).

    Raises:
        UsageError: all_pairs of too many words.
    """
    rows = [list(dict.fromkeys(topic)) for topic in topics]
    words = tuple(sorted({word for row in rows for word in row}))
    number = {word: i for i, word in enumerate(words)}
    W, n = len(words), max(map(len, rows), default=0)
    ids = np.full((len(rows), n), -1, np.int32)
    for k, row in enumerate(rows):
        ids[k, : len(row)] = [number[word] for word in row]
    left, right = np.triu_indices(n, 1)
    u, v = ids[:, left].astype(np.int64), ids[:, right].astype(np.int64)
    keys = np.where((u >= 0) & (v >= 0), np.minimum(u, v) * W + np.maximum(u, v), -1)
    if all_pairs:
        if W * (W - 1) // 2 > MOST_PAIRS:
            raise UsageError(f"every pair of {W} words is too much to count; give fewer topics, or fewer words of each")
        first, second = np.triu_indices(W, 1)
        needed = first.astype(np.int64) * W + second
    else:
        needed = np.unique(keys[keys >= 0])
    topic_pairs = np.where(keys >= 0, np.searchsorted(needed, keys), -1).astype(np.int32)
    pairs = np.stack(np.divmod(needed, max(W, 1)), axis=1).astype(np.int32)
    n_repeated = sum(map(len, topics)) - sum(map(len, rows))
    return PairPlan(words, ids, pairs, topic_pairs, n_repeated, all_pairs, _table(pairs, W))


def _table(pairs: IntArray, n_words: int) -> Pairs:
    """Return the partners of each word, ascending."""
    words = np.concatenate([pairs[:, 0], pairs[:, 1]])
    partners = np.concatenate([pairs[:, 1], pairs[:, 0]])
    order = np.lexsort((partners, words))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=n_words))]).astype(np.int64)
    neighbours, pair_ids = partners[order], np.tile(np.arange(len(pairs), dtype=np.int32), 2)[order]
    degrees = np.diff(indptr)
    # four slots a partner, but no more than words, and one empty slot to end a search
    sizes = 1 << np.ceil(np.log2(np.maximum(np.minimum(4 * degrees, n_words), degrees + 1))).astype(np.int64)
    begins = np.cumsum(sizes) - sizes
    slots = np.full(int(sizes.sum()), -1, np.int32)
    masks = (sizes - 1).astype(np.int32)
    fill_slots(indptr, neighbours, begins, masks, slots)
    return Pairs(indptr, neighbours, pair_ids, begins, masks, slots)


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """Numbers of windows: of all, of each word, of each pair of words; in G groups of documents.

    n_windows (G,); n_windows_relevant (G,): windows of the documents that hold a word of the plan at all; single (G, W);
    joint (G, P). int64, or float64 after `resampled` with weights that are not whole. n_docs: documents that were read.
    """

    plan: PairPlan
    windows: Windows
    n_docs: int
    n_windows: CountArray
    n_windows_relevant: CountArray
    single: CountArray
    joint: CountArray

    @property
    def window(self) -> int | None:
        """Tokens of a window; None: the whole document."""
        return self.windows.size

    @property
    def n_groups(self) -> int:
        """G."""
        return len(self.n_windows)

    def total(self) -> WindowCounts:
        """Return the counts of all groups together, as one group."""
        return self if self.n_groups == 1 else self.resampled(np.ones(self.n_groups, np.int64))

    def resampled(self, weights: npt.NDArray[Any]) -> WindowCounts:
        """Return the counts of one group: Σ_g weights_g · counts_g.

        Args:
            weights: (G,); how often each group is drawn, for a bootstrap over groups of documents.
        """
        if weights.shape != (self.n_groups,):
            raise ValueError(f"{self.n_groups} groups need as many weights, got {weights.shape}")
        arrays = (self.n_windows[:, None], self.n_windows_relevant[:, None], self.single, self.joint)
        n_windows, relevant, single, joint = (_weighted(array, weights) for array in arrays)
        return WindowCounts(self.plan, self.windows, self.n_docs, n_windows[0], relevant[0], single, joint)


def _weighted(array: CountArray, weights: npt.NDArray[Any]) -> CountArray:
    """Return weights (G,) @ array (G, N) as (1, N); row by row, as NumPy has no fast product of integers."""
    kind = np.result_type(array.dtype, weights.dtype if weights.dtype.kind == "f" else np.int64)
    total = np.zeros((1, array.shape[1]), kind)
    for g in np.flatnonzero(weights):
        total[0] += array[g] * weights[g]
    return total


class WindowCounter:
    """Counts windows of documents that come batch by batch.

        counter = WindowCounter(plan, 10, groups=200, threads=2)
        for offsets, word_ids in batches:
            counter.add(offsets, word_ids)
        counts = counter.result()

    Only positions of words of the plan cost more than a look; memory is that of the counts, (W + P) · groups numbers, and
    of the longest document. Document i belongs to group hash(i) mod groups, where i counts the documents in the order they
    come: the counts depend neither on how documents are cut into batches nor on the number of threads.
    """

    def __init__(self, plan: PairPlan, window: int | Windows | None, *, groups: int = 1, threads: int = 1) -> None:
        if groups < 1 or threads < 1:
            raise ValueError(f"groups and threads are 1 or more, got {groups} and {threads}")
        self._plan = plan
        self._windows = window if isinstance(window, Windows) else Windows(window)
        self._groups, self._threads = groups, threads
        # each row of the counts is written by one thread only: with fewer groups than threads a group has several rows
        rows = groups * -(-threads // groups)
        shapes = ((rows,), (rows,), (rows, plan.n_words), (rows, plan.n_pairs))
        self._counts = Counts(*(np.zeros(shape, np.int64) for shape in shapes))
        self._present = [new_present(plan.n_words, 0) for _ in range(threads)]
        self._n_docs = 0

    def add(self, offsets: LongArray, word_ids: IntArray) -> None:
        """Count documents.

        Args:
            offsets: (D_b+1,) int64: document d owns word_ids[offsets[d]:offsets[d+1]].
            word_ids: (N_b,) int32: the word of plan.words at each position, -1 for any other.

        Raises:
            ValueError: ids that are not of the plan, or offsets that do not fit them.
        """
        offsets = np.ascontiguousarray(offsets, np.int64)
        word_ids = np.ascontiguousarray(word_ids, np.int32)
        D, N, lengths = len(offsets) - 1, len(word_ids), np.diff(offsets)
        if D < 0 or not 0 <= offsets[0] <= offsets[-1] <= N or lengths.min(initial=0) < 0:
            raise ValueError(f"offsets do not cut {N} word ids into documents")
        if word_ids.max(initial=-1) >= self._plan.n_words:
            raise ValueError(f"a word id is not in 0 … {self._plan.n_words - 1}")
        longest = int(lengths.max(initial=0))
        rows = _rows(self._n_docs, D, len(self._counts.n_windows), self._groups)
        parts = 1 if N < _SMALL else self._threads
        for i in range(parts):
            # a place for each token of a document, and one beyond them
            if len(self._present[i].where) <= longest:
                self._present[i] = self._present[i]._replace(where=np.empty(longest + 1, np.int64))

        def count(part: int) -> None:
            size, rule = self._windows.size or 0, self._windows.rule
            rule_arguments = size, rule == "tomotopy", rule == "gensim"
            count_windows(
                offsets,
                word_ids,
                rows,
                part,
                parts,
                *rule_arguments,
                self._plan.table,
                self._present[part],
                self._counts,
            )

        if parts == 1:
            count(0)
        else:
            with ThreadPoolExecutor(parts, thread_name_prefix="nlpkit") as pool:
                list(pool.map(count, range(parts)))
        self._n_docs += D

    def result(self) -> WindowCounts:
        """Return the counts of the documents so far."""
        shape = (len(self._counts.n_windows) // self._groups, self._groups)
        n_windows, relevant, single, joint = (a.reshape(*shape, *a.shape[1:]).sum(axis=0) for a in self._counts)
        return WindowCounts(self._plan, self._windows, self._n_docs, n_windows, relevant, single, joint)


def _rows(first: int, n_docs: int, n_rows: int, groups: int) -> IntArray:
    """Return the row of the counts of documents first … first + n_docs - 1: its group, and a copy of it by another hash.

    The hash is the finaliser of SplitMix64 (Steele, Lea & Flood 2014).
    """
    x = np.arange(first + 1, first + n_docs + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    copies = np.uint64(n_rows // groups)
    rows = (x & np.uint64(0xFFFFFFFF)) % np.uint64(groups) + (x >> np.uint64(32)) % copies * np.uint64(groups)
    return rows.astype(np.int32)
