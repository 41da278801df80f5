"""From counts of n-grams to probabilities and backoff weights.

All three give each n-gram c w (context c, word w) of the trie a probability, and each context a weight b(c), so that for every other
word p(w | c) = b(c) p(w | c'), where c' is c without its first word (Katz 1987; the form that ARPA files have).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlpkit.kernels.trie import count_suffixes, interpolate
from nlpkit.lm.trie import START_ID, UNKNOWN_ID, Trie
from nlpkit.types import FloatArray, IntArray

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
