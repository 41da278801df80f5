"""From counts of n-grams to probabilities and backoff weights.

All three methods give each n-gram c w (context c, word w) of the trie a probability, and each context a weight b(c), so that for
every other word p(w | c) = b(c) p(w | c'), where c' is c without its first word (Katz 1987; the form that ARPA files have).

Parts, in this order:
- The methods.
- Level by level: memory is bounded, whatever the number of n-grams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from nlpkit.lm.kernels import count_suffixes, find_suffixes, interpolate
from nlpkit.lm.trie import MOST_NODES, START_ID, UNKNOWN_ID, Trie
from nlpkit.platform.runs.scratch import Scratch, take
from nlpkit.platform.types import FloatArray, IntArray, LongArray

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


def kneser_ney(
    trie: Trie, counts: IntArray, *, discount: float | None = None, closed: bool = False, scratch: Scratch | None = None
) -> Smoothed:
    """Return interpolated Kneser-Ney estimates with three discounts (Chen & Goodman 1998, §3.3), as KenLM's lmplz has them.

        p(w | c) = (a(c w) - D(a(c w))) / Σ_v a(c v) + γ(c) p(w | c'),   γ(c) = Σ_v D(a(c v)) / Σ_v a(c v)
        D_i = i - (i + 1) Y t_{i+1} / t_i,   Y = t_1 / (t_1 + 2 t_2),   t_i: n-grams with a = i

    a is the count of the longest n-grams and of those that begin a sentence, of all others the number of different words before them.
    Single words are interpolated with the uniform distribution over all words that can come, </s> and <unk> among them.

    Args:
        discount: in place of D_1, D_2, D_3. closed: without <unk>. scratch: where what does not fit into memory is kept.
    """
    scratch = scratch or Scratch()
    suffixes = _suffixes(trie, scratch)
    a, of_counts = zip(*_adjusted(trie, counts, suffixes, scratch), strict=True)
    discounts, estimated = zip(*(_discounts(t, discount) for t in of_counts), strict=True)
    single = a[0]
    subtracted = np.minimum(np.array([0.0, *discounts[0]])[np.minimum(single, 3)], single)
    n = max(int(single.sum(dtype=np.int64)), 1)
    first = (single - subtracted) / n + subtracted.sum() / n * _uniform(trie, closed)

    def of_level(m: int, starts: IntArray, lower: FloatArray) -> tuple[FloatArray, FloatArray]:
        begin = trie.level(m).start
        adjusted = take(a[m - 1], int(starts[0]) - begin, int(starts[-1]) - begin)
        prob, gamma = np.empty(len(lower)), np.empty(len(starts) - 1)
        interpolate(starts, adjusted, np.array([0.0, *discounts[m - 1]]), lower, prob, gamma)
        return prob, gamma

    return Smoothed(*_by_levels(trie, suffixes, first, of_level, scratch), discounts, estimated)


def witten_bell(trie: Trie, counts: IntArray, *, closed: bool = False, scratch: Scratch | None = None) -> Smoothed:
    """Return interpolated Witten-Bell estimates (Witten & Bell 1991, method C; Chen & Goodman 1998, §2.6).

        p(w | c) = (n(c w) + N(c) p(w | c')) / (n(c) + N(c)),   N(c): different words after c

    Single words are interpolated with the uniform distribution in the same way, unless the vocabulary is closed.
    """
    scratch = scratch or Scratch()
    single = take(counts, 0, trie.level(1).stop).astype(np.float64)
    single[START_ID] = 0
    n, types = single.sum(), np.count_nonzero(single)
    first = single / max(n, 1) if closed else (single + types * _uniform(trie, closed)) / (n + types)

    def of_level(m: int, starts: IntArray, lower: FloatArray) -> tuple[FloatArray, FloatArray]:
        number, c, total, kinds = _after(counts, starts)
        share = np.divide(total, total + kinds, out=np.zeros_like(total), where=total > 0)
        return share[c] * number / total[c] + (1 - share[c]) * lower, np.where(total > 0, 1 - share, 1.0)

    return Smoothed(*_by_levels(trie, _suffixes(trie, scratch), first, of_level, scratch))


def backoff(
    trie: Trie, counts: IntArray, *, discount: float | None = None, closed: bool = False, scratch: Scratch | None = None
) -> Smoothed:
    """Return backoff estimates by absolute discounting (Ney, Essen & Kneser 1994, eq. 15; Katz 1987 for the form).

        p(w | c) = (n(c w) - D) / n(c) where c w was seen, else α(c) p(w | c'),   D = t_1 / (t_1 + 2 t_2)

    α(c) makes the probabilities after c sum to 1; where every word follows c, nothing is discounted. What single words lose goes to
    <unk>; in a closed vocabulary they lose nothing.
    """
    scratch = scratch or Scratch()
    single = take(counts, 0, trie.level(1).stop).astype(np.float64)
    single[START_ID] = 0
    sizes = [_counts_of_counts(single), *(_of_parts(counts, trie.level(m)) for m in range(2, trie.order + 1))]
    D, estimated = (list(x) for x in zip(*(_one_discount(t, discount) for t in sizes), strict=True))
    if closed or single[UNKNOWN_ID] > 0:
        D[0], estimated[0] = 0.0, True
    first = np.where(single > 0, single - D[0], 0.0) / max(single.sum(), 1)
    first[UNKNOWN_ID] += 1 - first.sum() if not closed else 0.0

    def of_level(m: int, starts: IntArray, lower: FloatArray) -> tuple[FloatArray, FloatArray]:
        number, c, total, kinds = _after(counts, starts)
        prob = (number - D[m - 1]) / total[c]
        seen = np.bincount(c, weights=prob, minlength=len(total))
        below = np.bincount(c, weights=lower, minlength=len(total))
        others = (kinds > 0) & (1 - below > 1e-12)
        left = np.divide(1 - seen, 1 - below, out=np.zeros(len(total)), where=others)
        prob /= np.where(others, 1.0, seen)[c]  # all words follow: nobody takes what a discount would leave
        return prob, np.where(kinds > 0, np.maximum(left, 0.0), 1.0)

    model = _by_levels(trie, _suffixes(trie, scratch), first, of_level, scratch)
    return Smoothed(*model, tuple((d, d, d) for d in D), tuple(estimated))


def _after(counts: IntArray, starts: IntArray) -> tuple[FloatArray, LongArray, FloatArray, FloatArray]:
    """Return the counts of what follows some contexts (N,), the place of its context (N,), and of each their sum and number (C,)."""
    number = take(counts, int(starts[0]), int(starts[-1])).astype(np.float64)
    kinds = np.diff(starts)
    c = np.repeat(np.arange(len(kinds)), kinds)
    total = np.bincount(c, weights=number, minlength=len(kinds)).astype(np.float64)
    return number, c, total, kinds.astype(np.float64)


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


def _counts_of_counts(a: IntArray | FloatArray) -> LongArray:
    """Return how many n-grams have a count of 0, 1, 2, 3, 4 and more (6,)."""
    return np.bincount(np.minimum(a, 5).astype(np.int64), minlength=6)


def _of_parts(counts: IntArray, level: slice) -> LongArray:
    return sum(
        (_counts_of_counts(take(counts, *part)) for part in _ranges(level.start, level.stop, PART)),
        np.zeros(6, np.int64),
    )


def _discounts(t: LongArray, discount: float | None) -> tuple[tuple[float, float, float], bool]:
    """Return D_1, D_2, D_3, and whether the counts of counts gave them."""
    if discount is not None:
        return (discount, discount, discount), True
    t = t.astype(np.float64)
    if min(t[1:4]) > 0:
        Y = t[1] / (t[1] + 2 * t[2])
        D = tuple(i - (i + 1) * Y * t[i + 1] / t[i] for i in (1, 2, 3))
        if all(0 <= d <= i for i, d in enumerate(D, 1)):
            return (float(D[0]), float(D[1]), float(D[2])), True
    return FALLBACK, False


def _one_discount(t: LongArray, discount: float | None) -> tuple[float, bool]:
    if discount is not None:
        return discount, True
    t1, t2 = int(t[1]), int(t[2])
    return (t1 / (t1 + 2 * t2), True) if t1 and t2 else (FALLBACK[0], False)


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.log(values)


# ------------------------------------------------------------------------------------------------------------------------
# Level by level: what a level needs of the one before it is looked up in that one, whole where it fits into memory, else block by
# block for as many n-grams at a time as do.

PART = 1 << 18  # n-grams that are smoothed at a time
HELD = 1 << 25  # n-grams of a level that are held whole: 256 MB of their probabilities
WIDE = 1 << 24  # of a larger one in a block, and n-grams that are looked up there at a time


def _suffixes(trie: Trie, scratch: Scratch) -> list[IntArray]:
    """Return all words but the first of each n-gram, a place in the level before, for the n-grams of 2 … n words."""
    suffixes = [trie.words[trie.level(m)] for m in (2,) if m <= trie.order]
    for m in range(3, trie.order + 1):
        suffixes.append(_suffixes_after(trie, trie.level(m - 1), trie.level(m - 2), suffixes[-1], scratch))
    return suffixes


def _suffixes_after(trie: Trie, contexts: slice, shorter: slice, of_contexts: IntArray, scratch: Scratch) -> IntArray:
    """Return the suffixes of the n-grams after the contexts of a level, by those of the contexts in the level before."""

    def known(first: int, stop: int) -> tuple[IntArray, IntArray]:
        starts = take(trie.starts, first, stop + 1)
        words = take(trie.words, int(starts[0]), int(starts[-1]))
        starts -= np.int32(contexts.start)
        return starts, words

    fits = contexts.stop - contexts.start <= HELD
    blocks = [(shorter.start, shorter.stop)] if fits else list(_contexts(trie, shorter, WIDE))
    whole = known(*blocks[0]) if fits else None
    column = scratch.column(np.int32)
    for first, stop in _contexts(trie, contexts, PART if fits else WIDE):
        starts = take(trie.starts, first, stop + 1)
        words = take(trie.words, int(starts[0]), int(starts[-1]))
        suffix = np.empty(len(words), np.int32)
        of_part = take(of_contexts, first - contexts.start, stop - contexts.start)
        for block in blocks:
            find_suffixes(starts, words, of_part, block[0] - shorter.start, *(whole or known(*block)), suffix)
        column.append(suffix)
    return column.array()


def _adjusted(
    trie: Trie, counts: IntArray, suffixes: list[IntArray], scratch: Scratch
) -> Iterator[tuple[IntArray, LongArray]]:
    """Yield the counts of Kneser-Ney of the n-grams of 1 … n words, and how many of these have 0, 1, 2, 3, 4 and more."""
    for m, begins in enumerate(_begins(trie), 1):
        level = trie.level(m)
        if m == trie.order:  # the longest n-grams keep their counts
            a = counts[level]
            if m == 1:
                a = a.copy()
                a[START_ID] = 0
            yield a, _of_parts(a, slice(0, len(a)))
            return
        column, of_counts = scratch.column(np.int32), np.zeros(6, np.int64)
        for first, stop in _ranges(level.start, level.stop, HELD):
            a = np.zeros(stop - first, np.int32)
            for part in _ranges(0, len(suffixes[m - 1]), PART):
                count_suffixes(take(suffixes[m - 1], *part), first - level.start, a)
            low, high = max(begins.start, first), min(begins.stop, stop)
            if m > 1 and low < high:
                a[low - first : high - first] = take(counts, low, high)
            of_counts += _of_parts(a, slice(0, len(a)))
            column.append(a)
        yield column.array(), of_counts


def _by_levels(
    trie: Trie,
    suffixes: list[IntArray],
    prob: FloatArray,
    of_level: Callable[[int, IntArray, FloatArray], tuple[FloatArray, FloatArray]],
    scratch: Scratch,
) -> tuple[FloatArray, FloatArray]:
    """Return log_prob (T,) and log_backoff (C,).

    prob (V,): of single words. of_level(m, starts, lower): probabilities of the n-grams of m words after some contexts, and the weights
    of these, by the starts of what follows each (C + 1,) and the probabilities of the suffixes.
    """
    log_prob, log_backoff = scratch.column(np.float64), scratch.column(np.float64)
    log_prob.append(_log(prob))
    for m in range(2, trie.order + 1):
        level, kept = trie.level(m), scratch.column(np.float64)
        lower = _looked_up(prob, suffixes.pop(0), scratch)
        for first, stop in _contexts(trie, trie.level(m - 1), PART):
            starts = take(trie.starts, first, stop + 1)
            new, weights = of_level(m, starts, lower(int(starts[0]) - level.start, int(starts[-1]) - level.start))
            log_prob.append(_log(new))
            log_backoff.append(_log(weights))
            if m < trie.order:
                kept.append(new)
        del lower  # the level before makes room for this one
        prob = kept.array()
    return log_prob.array(), log_backoff.array()


def _looked_up(values: FloatArray, places: IntArray, scratch: Scratch) -> Callable[[int, int], FloatArray]:
    """Return a function that gives values[places[start:stop]]."""
    if len(values) <= HELD:
        whole = take(values, 0, len(values))
        return lambda start, stop: whole[take(places, start, stop)]
    column = scratch.column(np.float64)
    for start, stop in _ranges(0, len(places), WIDE):
        at, of_part = take(places, start, stop), np.empty(stop - start)
        for first, end in _ranges(0, len(values), WIDE):
            inside = np.flatnonzero((at >= first) & (at < end))
            of_part[inside] = take(values, first, end)[at[inside] - first]
        column.append(of_part)
    of_places = column.array()
    return lambda start, stop: take(of_places, start, stop)


def _ranges(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    return ((i, min(i + size, stop)) for i in range(start, stop, size))


def _contexts(trie: Trie, level: slice, size: int) -> Iterator[tuple[int, int]]:
    """Yield the nodes of a level in parts of at most so many and so many that continue them, or one."""
    first = level.start
    while first < level.stop:
        end = np.int32(min(int(trie.starts[first]) + size, MOST_NODES))
        following = trie.starts[first + 1 : min(first + size, level.stop) + 1]
        stop = first + max(int(np.searchsorted(following, end, side="right")), 1)
        yield first, stop
        first = stop
