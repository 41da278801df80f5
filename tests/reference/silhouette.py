"""Silhouette by its definition, pair by pair."""

from __future__ import annotations

import math
from typing import Any


def silhouettes(points: Any, labels: list[int], *, metric: str) -> list[float]:
    """Return s of each document in a cluster, NaN for others (lecture, L2200)."""

    def distance(x: Any, y: Any) -> float:
        if metric == "euclidean":
            return math.dist(x, y)
        lengths = math.hypot(*x) * math.hypot(*y)
        return 1 - sum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 1.0

    result = []
    for m, own in enumerate(labels):
        if own < 0:
            result.append(math.nan)
            continue
        to = {
            k: [distance(points[m], points[i]) for i, label in enumerate(labels) if label == k and i != m]
            for k in set(labels)
            if k >= 0
        }
        if not to[own]:
            result.append(0.0)
            continue
        d1 = sum(to[own]) / len(to[own])
        d2 = min(sum(d) / len(d) for k, d in to.items() if k != own)
        result.append((d2 - d1) / max(d1, d2) if max(d1, d2) > 1e-12 else 0.0)
    return result
