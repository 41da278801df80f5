"""c-tf-idf by its formula, number by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def class_tfidf(counts: Any) -> Any:
    """Return tf_cv / Σ_u tf_cu · ln(1 + A / tf_v) of dense counts (C, V), A = mean words per class, not truncated."""
    C, V = np.shape(counts)
    words = [sum(row) for row in counts]
    mean_words = sum(words) / C
    weights = np.zeros((C, V))
    for c in range(C):
        for v in range(V):
            if counts[c][v]:
                everywhere = sum(counts[x][v] for x in range(C))
                weights[c, v] = counts[c][v] / words[c] * math.log(1 + mean_words / everywhere)
    return weights
