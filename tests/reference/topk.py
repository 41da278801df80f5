"""The k largest entries of each row, by sorting whole rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def top_k(scores: Any, k: int, *, own: int = -1) -> tuple[Any, Any]:
    """Return index and score (R, k) of the largest of each row, ties by index; row r leaves column own + r out."""
    index = np.full((len(scores), k), -1, np.int32)
    best = np.full((len(scores), k), -np.inf, np.float32)
    for r, row in enumerate(scores):
        columns = [c for c in range(len(row)) if own < 0 or c != own + r]
        columns.sort(key=lambda c: (-row[c], c))
        for place, c in enumerate(columns[:k]):
            index[r, place], best[r, place] = c, row[c]
    return index, best


def nearest(queries: Any, points: Any | None, k: int) -> tuple[Any, Any]:
    """Return the k rows of `points` (None: the queries, less the row itself) of largest inner product, in double."""
    own = -1 if points is not None else 0
    base = queries if points is None else points
    products = [[sum(float(x) * float(y) for x, y in zip(q, p, strict=True)) for p in base] for q in queries]
    return top_k(products, min(k, len(base) - (points is None)), own=own)
