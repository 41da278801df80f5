"""Complete linkage by looking at all pairs of clusters before each merge."""

from __future__ import annotations

from itertools import combinations
from typing import Any


def complete_linkage(distances: Any) -> list[tuple[int, int, float]]:
    """Return (left, right, height) of each merge; ties go to the pair whose first points come first."""
    n = len(distances)
    clusters = {i: [i] for i in range(n)}  # node → its points, ascending
    merges = []
    for m in range(n - 1):
        by_first = sorted(clusters, key=lambda node: clusters[node][0])
        height, _, _, a, b = min(
            (max(distances[p][q] for p in clusters[a] for q in clusters[b]), clusters[a][0], clusters[b][0], a, b)
            for a, b in combinations(by_first, 2)
        )
        clusters[n + m] = sorted(clusters.pop(a) + clusters.pop(b))
        merges.append((a, b, height))
    return merges
