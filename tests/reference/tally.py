"""Words by group, and n-grams, counted with dictionaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def tally(
    documents: Sequence[Sequence[int]], groups: Sequence[int], n_groups: int
) -> list[dict[int, tuple[int, int, int]]]:
    """Return word → (cf, df, first_seen) of each group, in order of first appearance; ids below 0 are no words."""
    found: list[dict[int, tuple[int, int, int]]] = [{} for _ in range(n_groups)]
    place = [0] * n_groups
    for document, g in zip(documents, groups, strict=True):
        if g < 0:
            continue
        seen = set()
        for word in document:
            if word < 0:
                continue
            place[g] += 1
            cf, df, first = found[g].get(word, (0, 0, place[g]))
            found[g][word] = cf + 1, df + (word not in seen), first
            seen.add(word)
    return found


def ngrams(documents: Sequence[Sequence[int]], groups: Sequence[int], n: int, group: int) -> Counter[tuple[int, ...]]:
    """Return the n-grams of the documents of a group; none holds an id below 0."""
    counts: Counter[tuple[int, ...]] = Counter()
    for document, g in zip(documents, groups, strict=True):
        if g == group:
            grams = (tuple(document[i : i + n]) for i in range(len(document) - n + 1))
            counts.update(gram for gram in grams if min(gram) >= 0)
    return counts
