"""Plain co-occurrence counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def cooccurrences(docs: Sequence[Sequence[int]], V: int, weights: Sequence[float]) -> np.ndarray:
    """X_uv: the weights of the distances of all pairs of tokens u, v of one document, in both directions."""
    X = np.zeros((V, V))
    for doc in docs:
        for p, u in enumerate(doc):
            for q, v in enumerate(doc):
                if 0 < abs(p - q) <= len(weights):
                    X[u, v] += weights[abs(p - q) - 1]
    return X
