"""N-gram models by dictionaries, straight from the formulas: counts, interpolated Kneser-Ney, Witten-Bell, backoff."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

START, END = "<s>", "</s>"
Gram = tuple[str, ...]


def ngrams(sentences: Sequence[Sequence[str]], n: int) -> Counter[Gram]:
    """Return the n-grams of sentences with one start and one end."""
    padded = [(START, *s, END) for s in sentences]
    return Counter(p[i : i + n] for p in padded for i in range(len(p) - n + 1))


def adjusted(sentences: Sequence[Sequence[str]], m: int, n: int) -> dict[Gram, int]:
    """Return the counts of Kneser-Ney for n-grams of m words in a model of n."""
    counts = dict(ngrams(sentences, m))
    if m < n:
        longer = ngrams(sentences, m + 1)
        counts = {g: c if g[0] == START else sum(x[1:] == g for x in longer) for g, c in counts.items()}
    counts.pop((START,), None)
    return counts


def kneser_ney(
    sentences: Sequence[Sequence[str]], n: int, vocabulary: int, discount: float, context: Gram, word: str
) -> float:
    """Return p(word | context) by interpolated Kneser-Ney with one discount; vocabulary: words that can come next."""
    m = len(context) + 1
    counts = adjusted(sentences, m, n)
    lower = 1 / vocabulary if m == 1 else kneser_ney(sentences, n, vocabulary, discount, context[1:], word)
    after = {g[-1]: c for g, c in counts.items() if g[:-1] == context}
    total = sum(after.values())
    if not total:
        return lower
    return max(after.get(word, 0) - discount, 0) / total + discount * len(after) / total * lower


def witten_bell(sentences: Sequence[Sequence[str]], vocabulary: int | None, context: Gram, word: str) -> float:
    """Return p(word | context) by interpolated Witten-Bell; vocabulary None: single words by their share."""
    counts = ngrams(sentences, len(context) + 1)
    after = {g[-1]: c for g, c in counts.items() if g[:-1] == context and g[-1] != START}
    total, kinds = sum(after.values()), len(after)
    if context:
        lower = witten_bell(sentences, vocabulary, context[1:], word)
    else:
        lower = 1 / vocabulary if vocabulary else after.get(word, 0) / total
    return lower if not total else (after.get(word, 0) + kinds * lower) / (total + kinds)


def backoff(
    sentences: Sequence[Sequence[str]], words: Sequence[str], discount: float, context: Gram, word: str
) -> float:
    """Return p(word | context) by absolute discounting with backoff in a closed vocabulary."""
    counts = ngrams(sentences, len(context) + 1)
    after = {g[-1]: c for g, c in counts.items() if g[:-1] == context and g[-1] != START}
    total = sum(after.values())
    if not context:
        return after.get(word, 0) / total
    if word in after:
        return (after[word] - discount) / total
    lower = {w: backoff(sentences, words, discount, context[1:], w) for w in words}
    left = 1 - sum((c - discount) / total for c in after.values()) if total else 1.0
    rest = sum(p for w, p in lower.items() if w not in after)
    return left * lower[word] / rest if total else lower[word]
