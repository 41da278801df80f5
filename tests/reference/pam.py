"""PAM as the book has it: every pair of a medoid and another point is tried by its total distance."""

from __future__ import annotations

from typing import Any

import numpy as np


def cost(distances: Any, medoids: Any) -> float:
    return float(distances[np.asarray(medoids)].min(axis=0).sum())


def pam(distances: Any, k: int) -> list[int]:
    medoids: list[int] = []
    for _ in range(k):
        others = [j for j in range(len(distances)) if j not in medoids]
        medoids.append(min(others, key=lambda j: cost(distances, [*medoids, j])))
    while True:
        pairs = [(m, j) for j in range(len(distances)) for m in range(k)]
        swapped = [[*medoids[:m], j, *medoids[m + 1 :]] for m, j in pairs]
        best = min(swapped, key=lambda chosen: cost(distances, chosen))
        if cost(distances, best) >= cost(distances, medoids) - 1e-9:
            return medoids
        medoids = best
