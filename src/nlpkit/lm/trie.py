"""The trie of n-grams: counted from sentences, and smoothed to probabilities and backoff weights.

Memory is that of the different n-grams, not of the tokens: sentences are counted in blocks of some million tokens, each block
by sorting, and the counts of blocks of about the same size are merged, 12 bytes an n-gram.

Parts, in this order:
- N-grams of 1 to n words as the nodes of a trie, and their counts, made from a stream of sentences.
- From counts of n-grams to probabilities and backoff weights.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from nlpkit.errors import InputError
from nlpkit.lm.kernels import count_suffixes, find_suffixes, interpolate, look_up, merge_counts
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray

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
            nodes (N + 2 S, n), see `nlpkit.lm.kernels.look_up`, and which rows are starts of sentences, which nothing predicts.
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


# ------------------------------------------------------------------------------------------------------------------------
# From counts of n-grams to probabilities and backoff weights.
#
# All three give each n-gram c w (context c, word w) of the trie a probability, and each context a weight b(c), so that for every other
# word p(w | c) = b(c) p(w | c'), where c' is c without its first word (Katz 1987; the form that ARPA files have).

FALLBACK = (0.5, 1.0, 1.5)  # discounts where counts of counts are too few to estimate them


@dataclass(frozen=True, slots=True)
class Smoothed:
    """log_prob (T,): natural logarithm of the probability of each n-gram; log_backoff (C,): of the weight of each context.

    discounts: by length of the n-grams, those of a count of 1, 2, and 3 or more; estimated: whether the counts of counts gave them.
    """

    log_prob: FloatArray
    log_backoff: FloatArray
    discounts: tuple[tuple[float, float, float], ...] = ()
    estimated: tuple[bool, ...] = ()


def kneser_ney(trie: Trie, counts: IntArray, *, discount: float | None = None, closed: bool = False) -> Smoothed:
    """Return interpolated Kneser-Ney estimates with three discounts (Chen & Goodman 1998, §3.3), as KenLM's lmplz has them.

        p(w | c) = (a(c w) - D(a(c w))) / Σ_v a(c v) + γ(c) p(w | c'),   γ(c) = Σ_v D(a(c v)) / Σ_v a(c v)
        D_i = i - (i + 1) Y t_{i+1} / t_i,   Y = t_1 / (t_1 + 2 t_2),   t_i: n-grams with a = i

    a is the count of the longest n-grams and of those that begin a sentence, of all others the number of different words before them.
    Single words are interpolated with the uniform distribution over all words that can come, </s> and <unk> among them.

    Args:
        discount: in place of D_1, D_2, D_3. closed: without <unk>.
    """
    suffixes = trie.suffixes()
    levels = [counts] * trie.order  # the longest n-grams keep their counts
    if trie.order > 1:
        shorter = np.zeros(len(trie.starts) - 1, np.int32)
        count_suffixes(suffixes, shorter)
        for begins in _begins(trie)[:-1]:
            shorter[begins] = counts[begins]
        levels[:-1] = [shorter] * (trie.order - 1)
    words = trie.level(1)
    a = levels[0][words].copy()
    a[START_ID] = 0
    adjusted = [a, *(of_level[trie.level(m)] for m, of_level in enumerate(levels[1:], 2))]
    discounts, estimated = zip(*(_discounts(level, discount) for level in adjusted), strict=True)
    prob, gamma = np.empty(len(counts)), np.ones(len(trie.starts) - 1)
    subtracted = np.minimum(np.array([0.0, *discounts[0]])[np.minimum(a, 3)], a)
    n = max(int(a.sum(dtype=np.int64)), 1)
    prob[words] = (a - subtracted) / n + subtracted.sum() / n * _uniform(trie, closed)
    for m, (D, of_level) in enumerate(zip(discounts[1:], levels[1:], strict=True), 2):
        above = trie.level(m - 1)
        interpolate(trie.starts, of_level, np.array([0.0, *D]), suffixes, above.start, above.stop, prob, gamma)
    return Smoothed(_log(prob), _log(gamma), discounts, estimated)


def witten_bell(trie: Trie, counts: IntArray, *, closed: bool = False) -> Smoothed:
    """Return interpolated Witten-Bell estimates (Witten & Bell 1991, method C; Chen & Goodman 1998, §2.6).

        p(w | c) = (n(c w) + N(c) p(w | c')) / (n(c) + N(c)),   N(c): different words after c

    Single words are interpolated with the uniform distribution in the same way, unless the vocabulary is closed.
    """
    contexts = trie.contexts()
    adjusted = counts.astype(np.float64)
    adjusted[START_ID] = 0
    total, kinds = _totals(trie, contexts, adjusted)
    share = np.divide(total, total + kinds, out=np.zeros_like(total), where=total > 0)
    prob = np.zeros(len(counts))
    words = trie.level(1)
    n, types = adjusted[words].sum(), np.count_nonzero(adjusted[words])
    prob[words] = (
        adjusted[words] / max(n, 1) if closed else (adjusted[words] + types * _uniform(trie, closed)) / (n + types)
    )
    suffixes = trie.suffixes()
    for m in range(2, trie.order + 1):
        level = trie.level(m)
        c = contexts[level]
        prob[level] = share[c] * adjusted[level] / total[c] + (1 - share[c]) * prob[suffixes[level]]
    return Smoothed(_log(prob), _log(np.where(total > 0, 1 - share, 1.0)))


def backoff(trie: Trie, counts: IntArray, *, discount: float | None = None, closed: bool = False) -> Smoothed:
    """Return backoff estimates by absolute discounting (Ney, Essen & Kneser 1994, eq. 15; Katz 1987 for the form).

        p(w | c) = (n(c w) - D) / n(c) where c w was seen, else α(c) p(w | c'),   D = t_1 / (t_1 + 2 t_2)

    α(c) makes the probabilities after c sum to 1; where every word follows c, nothing is discounted. What single words lose goes to
    <unk>; in a closed vocabulary they lose nothing.
    """
    contexts = trie.contexts()
    suffixes = trie.suffixes()
    adjusted = counts.astype(np.float64)
    adjusted[START_ID] = 0
    total, _ = _totals(trie, contexts, adjusted)
    prob, weight = np.zeros(len(counts)), np.ones(len(total))
    discounts, estimated = [], []
    words = trie.level(1)
    n = max(adjusted[words].sum(), 1)
    for m in range(1, trie.order + 1):
        level = trie.level(m)
        a = adjusted[level]
        D, known = _one_discount(a, discount)
        if m == 1 and (closed or a[UNKNOWN_ID] > 0):
            D, known = 0.0, True
        discounts.append((D, D, D))
        estimated.append(known)
        if m == 1:
            prob[words] = np.where(a > 0, a - D, 0.0) / n
            prob[UNKNOWN_ID] += 1 - prob[words].sum() if not closed else 0.0
            continue
        c = contexts[level]
        prob[level] = (a - D) / total[c]
        seen = np.bincount(c, weights=prob[level], minlength=len(total))
        below = np.bincount(c, weights=prob[suffixes[level]], minlength=len(total))
        has = np.bincount(c, minlength=len(total)) > 0
        others = has & (1 - below > 1e-12)
        left = np.divide(1 - seen, 1 - below, out=np.zeros(len(total)), where=others)
        prob[level] /= np.where(others, 1.0, seen)[c]  # all words follow: nobody takes what a discount would leave
        weight = np.where(has, np.maximum(left, 0.0), weight)
    return Smoothed(_log(prob), _log(weight), tuple(discounts), tuple(estimated))


def _begins(trie: Trie) -> list[slice]:
    """Return the n-grams of each length that begin with the start of a sentence, which no word comes before: nodes beside each other."""
    begins = [slice(START_ID, START_ID + 1)]
    for _ in range(2, trie.order + 1):
        begins.append(slice(int(trie.starts[begins[-1].start]), int(trie.starts[begins[-1].stop])))
    return begins


def _uniform(trie: Trie, closed: bool) -> FloatArray:
    """Return the uniform distribution over the words that can come next (V,)."""
    can_come = np.ones(int(trie.levels[1]))
    can_come[START_ID] = 0
    if closed:
        can_come[UNKNOWN_ID] = 0
    return np.asarray(can_come / can_come.sum())


def _totals(trie: Trie, contexts: IntArray, adjusted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sum of what follows each context (C,), and how many different words do."""
    C, deeper = len(trie.starts) - 1, contexts >= 0
    return (
        np.bincount(contexts[deeper], weights=adjusted[deeper], minlength=C).astype(np.float64),
        np.bincount(contexts[deeper], minlength=C).astype(np.float64),
    )


def _discounts(a: IntArray, discount: float | None) -> tuple[tuple[float, float, float], bool]:
    """Return D_1, D_2, D_3, and whether the counts of counts gave them."""
    if discount is not None:
        return (discount, discount, discount), True
    t = np.bincount(np.minimum(a, 5), minlength=6).astype(np.float64)
    if min(t[1:4]) > 0:
        Y = t[1] / (t[1] + 2 * t[2])
        D = tuple(i - (i + 1) * Y * t[i + 1] / t[i] for i in (1, 2, 3))
        if all(0 <= d <= i for i, d in enumerate(D, 1)):
            return (float(D[0]), float(D[1]), float(D[2])), True
    return FALLBACK, False


def _one_discount(a: FloatArray, discount: float | None) -> tuple[float, bool]:
    if discount is not None:
        return discount, True
    t1, t2 = np.count_nonzero(a == 1), np.count_nonzero(a == 2)
    return (t1 / (t1 + 2 * t2), True) if t1 and t2 else (FALLBACK[0], False)


def _log(values: FloatArray) -> FloatArray:
    """Return the natural logarithm, in the same memory."""
    with np.errstate(divide="ignore"):
        return np.log(values, out=values)
