"""Edit distance by the recursion of the lecture, and measures on sets of n-grams, on plain strings."""

from __future__ import annotations

import math
from functools import cache


def levenshtein(a: str, b: str) -> int:
    """Return the edit distance by the recursion of lecture L973 (the step that changes a letter is missing in its text)."""

    @cache
    def lev(i: int, j: int) -> int:
        if j == len(b):
            return len(a) - i
        if i == len(a):
            return len(b) - j
        if a[i] == b[j]:
            return lev(i + 1, j + 1)
        return 1 + min(lev(i, j + 1), lev(i + 1, j), lev(i + 1, j + 1))

    return lev(0, 0)


def grams(word: str, n: int, *, padded: bool = False) -> set[tuple[str, ...]]:
    """Return the set of character n-grams, with n-1 signs at both ends if padded."""
    edge = [""] * (n - 1) if padded and word else []
    signs = [*edge, *word, *edge]
    return {tuple(signs[i : i + n]) for i in range(len(signs) - n + 1)}


def similarity(a: str, b: str, measure: str, n: int, *, padded: bool = False) -> float:
    """Return a measure of the n-grams of two words, NaN when one has none."""
    x, y = grams(a, n, padded=padded), grams(b, n, padded=padded)
    if not x or not y:
        return math.nan
    both = len(x & y)
    return {
        "jaccard": both / len(x | y),
        "dice": 2 * both / (len(x) + len(y)),
        "overlap": both / min(len(x), len(y)),
        "cosine": both / math.sqrt(len(x) * len(y)),
    }[measure]


def osa(a: str, b: str) -> int:
    """Return the restricted Damerau-Levenshtein distance: as `levenshtein`, and two neighbours swapped are one edit."""
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]
