"""Sliding windows one by one, as sets of words."""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def windows_of(tokens: list[int], size: int | None, rule: str) -> list[set[int]]:
    """Return what each window of a document holds, -1 left out; see nlpkit.metrics.topics.window_counts.Windows for the rules."""
    N = len(tokens)
    if size is None or size > N:
        return [{u for u in tokens if u >= 0}]
    if rule == "tomotopy":
        cut = [tokens[i + 1 : i + size] for i in range(N - size + 1)]
    elif rule == "gensim":
        held = set(tokens[:size])
        cut = [list(held)]
        for i in range(N - size):
            held.discard(tokens[i])
            held.add(tokens[i + size])
            cut.append(list(held))
    else:
        cut = [tokens[i : i + size] for i in range(N - size + 1)]
    return [{u for u in window if u >= 0} for window in cut]


def count(
    documents: list[list[int]], size: int | None, rule: str
) -> tuple[int, int, Counter[int], Counter[tuple[int, int]]]:
    """Return windows, windows of documents with a word (≥ 0), windows of each word, and of each pair u < v."""
    n_windows, relevant = 0, 0
    single: Counter[int] = Counter()
    joint: Counter[tuple[int, int]] = Counter()
    for tokens in documents:
        cut = windows_of(tokens, size, rule)
        n_windows += len(cut)
        relevant += len(cut) * any(u >= 0 for u in tokens)
        for window in cut:
            single.update(window)
            joint.update(combinations(sorted(window), 2))
    return n_windows, relevant, single, joint
