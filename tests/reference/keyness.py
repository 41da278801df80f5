"""Log-odds of two groups with a Dirichlet prior, and the importance score, number by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def fighting_words(y_i: Any, y_j: Any, alpha: Any) -> tuple[Any, Any]:
    """Return δ and ζ (V,) of two groups with counts (V,) and a prior alpha (V,) (Monroe et al. 2008, eq. 16, 20, 22)."""
    n_i, n_j, alpha_0 = sum(y_i), sum(y_j), sum(alpha)
    delta, zeta = [], []
    for yi, yj, a in zip(y_i, y_j, alpha, strict=True):
        left = math.log((yi + a) / (n_i + alpha_0 - yi - a))
        right = math.log((yj + a) / (n_j + alpha_0 - yj - a))
        delta.append(left - right)
        zeta.append((left - right) / math.sqrt(1 / (yi + a) + 1 / (yj + a)))
    return np.array(delta), np.array(zeta)


def importance(counts: Any, epsilon: float) -> Any:
    """Return φ · [ln(φ + ε) − mean over classes of ln(φ + ε)] of dense counts (C, V); φ of a class without words is 0."""
    C, V = np.shape(counts)
    phi = [[n / sum(row) if n else 0.0 for n in row] for row in counts]
    scores = np.zeros((C, V))
    for v in range(V):
        mean = sum(math.log(phi[c][v] + epsilon) for c in range(C)) / C
        for c in range(C):
            scores[c, v] = phi[c][v] * (math.log(phi[c][v] + epsilon) - mean)
    return scores
