"""Hierarchical LDA in plain Python: joint probabilities, and the exact posterior of tiny corpora."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammaln


def log_paths(paths: Any, gamma: float) -> float:
    """log p(c) of paths, tuples of nodes from the root down, by the nested Chinese restaurant process."""
    out, through = 0.0, defaultdict[Any, int](int)
    for path in paths:
        for level, node in enumerate(path):
            if level > 0:
                out += np.log((through[node] or gamma) / (through[path[level - 1]] + gamma))
        for node in path:
            through[node] += 1
    return out


def log_words(documents: Any, paths: Any, levels: Any, eta: float, V: int) -> float:
    """log p(w | c, z)."""
    counts: dict[Any, Any] = defaultdict(lambda: np.zeros(V))
    for words, path, mine in zip(documents, paths, levels, strict=True):
        for v, level in zip(words, mine, strict=True):
            counts[path[level]][v] += 1
    return sum(
        float((gammaln(n + eta) - gammaln(eta)).sum() + gammaln(V * eta) - gammaln(n.sum() + V * eta))
        for n in counts.values()
    )


def log_levels(levels: Any, L: int, alpha: float) -> float:
    """log p(z) of the levels of each document."""
    out = 0.0
    for mine in levels:
        n = np.bincount(np.array(mine, np.int64), minlength=L)
        out += float((gammaln(n + alpha) - gammaln(alpha)).sum() + gammaln(L * alpha) - gammaln(len(mine) + L * alpha))
    return out


def all_paths(D: int, L: int) -> list[tuple[tuple[Any, ...], ...]]:
    """Every way to put D documents on paths of L nodes; a node is the tuple of its number among the children of each node above."""
    states: list[tuple[tuple[Any, ...], ...]] = [()]
    for _ in range(D):
        longer = []
        for state in states:
            branches: list[tuple[Any, ...]] = [((),)]
            for level in range(1, L):
                branches = [
                    (*path, (*path[-1], child))
                    for path in branches
                    for child in range(len({p[level] for p in state if p[level - 1] == path[-1]}) + 1)
                ]
            longer += [(*state, path) for path in branches]
        states = longer
    return states


def posterior(documents: Any, L: int, alpha: float, gamma: float, eta: float, V: int) -> dict[Any, float]:
    """p(c, z | w) of all paths and levels."""
    lengths = [len(words) for words in documents]
    every = list(product(*(list(product(range(L), repeat=n)) for n in lengths)))
    logs = {
        (paths, levels): log_paths(paths, gamma)
        + log_words(documents, paths, levels, eta, V)
        + log_levels(levels, L, alpha)
        for paths in all_paths(len(documents), L)
        for levels in every
    }
    most = max(logs.values())
    total = sum(np.exp(value - most) for value in logs.values())
    return {state: float(np.exp(value - most) / total) for state, value in logs.items()}
