"""The most frequent words and n-grams of a corpus and of its groups.

Parts, in this order:
- The most frequent n-grams of a corpus and of its groups, exactly, in memory that does not grow with the corpus.
- The words of a corpus and of its groups, counted batch by batch: how often, in how many documents, since when.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.platform.kernels.idtable import IdTable, new_table
from nlpkit.platform.types import BoolArray, IntArray, LongArray
from nlpkit.text.kernels.ngrams import tally_words
from nlpkit.text.vocab import EncodedBatch

TOKENS_PER_PASS = 1 << 23  # 64 MB of keys
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: neighbouring keys are spread far apart


@dataclass(frozen=True, slots=True)
class FrequentNgrams:
    """The n-grams of one group, most frequent first: ranks (M, n) of their words, counts (M,)."""

    ranks: LongArray
    counts: LongArray


def frequent_ngrams(
    batches: Callable[[], Iterable[tuple[EncodedBatch, IntArray]]],
    n: int,
    *,
    top: int,
    frequencies: LongArray,
    n_tokens: int,
    n_groups: int = 1,
) -> list[FrequentNgrams]:
    """Return the `top` most frequent n-grams of each group (G,) that occur there at least twice.

    An n-gram is n neighbouring words of one document. Each pass over the corpus counts a share of all n-grams, chosen by
    a hash, so that TOKENS_PER_PASS of them are held at a time. Equal counts: the one with the more frequent words first.

    Args:
        batches: yields the corpus again at each call, as (batch, groups (D,)). Term ids are ranks: 0 is the most frequent
            word, -1 a gap that no n-gram holds. Group -1 is left out.
        n: 2 … 5.
        frequencies: (V,) occurrences of the words by rank, descending.
        n_tokens: N, tokens in all.

    Where V^n passes 63 bits, words beyond the rank that fits cannot be distinguished; n-grams that are not more frequent
    than the first of these words are then left out, since one with such a word may be as frequent.
    """
    base = min(len(frequencies), _largest_base(n))
    floor = max(1, int(frequencies[base]) if base < len(frequencies) else 1)
    n_passes = max(-(-n_tokens // TOKENS_PER_PASS), 1)
    best: list[list[tuple[LongArray, LongArray]]] = [[] for _ in range(n_groups)]
    for share in range(n_passes):
        keys, groups = _collect(batches(), n, base, share, n_passes)
        for group_best, (group_keys, counts) in zip(best, _count(keys, groups, n_groups), strict=True):
            often = counts > floor
            group_best.append(_top(group_keys[often], counts[often], top))
    result = []
    for group_best in best:
        parts = [np.concatenate(column) for column in zip(*group_best, strict=True)]
        top_keys, counts = _top(parts[0], parts[1], top)
        result.append(FrequentNgrams(_spell(top_keys, n, base), counts))
    return result


def ngram_keys(batch: EncodedBatch, n: int, base: int) -> tuple[LongArray, LongArray]:
    """Return the n-grams of a batch (M,) as Σ_j w_j base^(n-1-j), and the document of each; gaps and ids ≥ base are in none."""
    ids, N = batch.term_ids.astype(np.int64), len(batch.term_ids)
    if n > N:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    docs = np.repeat(np.arange(len(batch.offsets) - 1, dtype=np.int64), np.diff(batch.offsets))
    usable: BoolArray = (ids >= 0) & (ids < base)
    M = N - n + 1
    whole = docs[:M] == docs[n - 1 :]
    keys = np.zeros(M, np.int64)
    for j in range(n):
        whole &= usable[j : j + M]
        keys = keys * base + np.where(usable, ids, 0)[j : j + M]
    return keys[whole], docs[:M][whole]


def _largest_base(n: int) -> int:
    """Return the largest b with b^n ≤ 2^63."""
    base = int(2 ** (63 / n)) + 1
    while base**n > 2**63:
        base -= 1
    return base


def _collect(
    batches: Iterable[tuple[EncodedBatch, IntArray]], n: int, base: int, share: int, n_passes: int
) -> tuple[list[LongArray], list[IntArray]]:
    """Return the keys that belong to one pass, and their groups, by batch."""
    keys, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for batch, batch_groups in batches:
        batch_keys, docs = ngram_keys(batch, n, base)
        ngram_groups = batch_groups[docs].astype(np.int32)
        kept = ngram_groups >= 0
        if n_passes > 1:
            kept &= ((batch_keys.astype(np.uint64) * _SPREAD) >> np.uint64(32)) % np.uint64(n_passes) == share
        keys.append(batch_keys[kept])
        groups.append(ngram_groups[kept])
    return keys, groups


def _count(keys: list[LongArray], groups: list[IntArray], n_groups: int) -> list[tuple[LongArray, LongArray]]:
    """Return the different keys and their counts for each group; empties the lists, so that memory holds the keys once."""
    joined = np.concatenate(keys)
    keys.clear()
    if n_groups == 1:
        groups.clear()
        return [_run_lengths(joined)]
    all_groups = np.concatenate(groups)
    groups.clear()
    order = np.argsort(all_groups, kind="stable")
    ends = np.searchsorted(all_groups[order], np.arange(n_groups + 1))
    return [_run_lengths(joined[order[a:b]]) for a, b in itertools.pairwise(ends)]


def _run_lengths(keys: LongArray) -> tuple[LongArray, LongArray]:
    """Return the different keys and their counts; sorts the keys in place."""
    keys.sort()
    first = np.ones(len(keys), bool)
    first[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(first)
    return keys[starts], np.diff(starts, append=len(keys))


def _top(keys: LongArray, counts: LongArray, top: int) -> tuple[LongArray, LongArray]:
    best = np.lexsort((keys, -counts))[:top]
    return keys[best], counts[best]


def _spell(keys: LongArray, n: int, base: int) -> LongArray:
    words = np.empty((len(keys), n), np.int64)
    for j in range(n - 1, -1, -1):
        keys, words[:, j] = np.divmod(keys, max(base, 1))
    return words


def spelled(ngrams: FrequentNgrams, words: Sequence[str]) -> list[tuple[str, int]]:
    """Return (n-gram, count) with the words of the ranks, spaces between them."""
    texts = (" ".join(words[r] for r in ranks) for ranks in ngrams.ranks.tolist())
    return list(zip(texts, ngrams.counts.tolist(), strict=True))


# ------------------------------------------------------------------------------------------------------------------------
# The words of a corpus and of its groups, counted batch by batch: how often, in how many documents, since when.


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
