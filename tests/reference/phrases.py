"""Pairs of neighbours, their association, and joined phrases with lists and dictionaries."""

from __future__ import annotations

import math
from collections import Counter

Words = tuple[int, ...]


def pairs_of(terms: list[int], connectors: set[int], max_between: int) -> list[Words]:
    """Pairs of a document, each with the connectors between its two terms; a term below 0 is in none."""
    found = []
    for i, first in enumerate(terms):
        if first < 0 or first in connectors:
            continue
        for j in range(i + 1, min(i + 2 + max_between, len(terms))):
            if terms[j] < 0:
                break
            if terms[j] not in connectors:
                found.append(tuple(terms[i : j + 1]))
                break
    return found


def count(documents: list[list[int]], connectors: set[int], max_between: int) -> Counter[Words]:
    """Occurrences of each pair."""
    return Counter(pair for terms in documents for pair in pairs_of(terms, connectors, max_between))


def score(measure: str, pair: Words, pairs: Counter[Words], documents: list[list[int]]) -> float:
    """PMI, NPMI or signed G² of a pair."""
    x, y = pair[0], pair[-1]
    cf = Counter(t for terms in documents for t in terms if t >= 0)
    N = cf.total()
    if measure != "llr":
        p_xy, p_x, p_y = pairs[pair] / N, cf[x] / N, cf[y] / N
        pmi = math.log(p_xy / (p_x * p_y))
        return pmi if measure == "pmi" else pmi / -math.log(p_xy)
    n = pairs.total()
    with_x = sum(c for p, c in pairs.items() if p[0] == x)
    with_y = sum(c for p, c in pairs.items() if p[-1] == y)
    both = pairs[pair]
    g2 = 0.0
    for seen, row, column in (
        (both, with_x, with_y),
        (with_x - both, with_x, n - with_y),
        (with_y - both, n - with_x, with_y),
        (n - with_x - with_y + both, n - with_x, n - with_y),
    ):
        if seen:
            g2 += 2 * seen * math.log(seen * n / (row * column))
    return g2 if both * n >= with_x * with_y else -g2


def join(terms: list[int], phrases: dict[Words, int]) -> list[int]:
    """The document with phrases as one id, from the left, the longest at each place."""
    out, at = [], 0
    while at < len(terms):
        here = [p for p in phrases if tuple(terms[at : at + len(p)]) == p]
        longest = max(here, key=len, default=None)
        out.append(phrases[longest] if longest else terms[at])
        at += len(longest) if longest else 1
    return out
