"""c-tf-idf by its formula, number by number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def class_tfidf(counts: Any, *, root: bool = False, bm25: bool = False) -> Any:
    """Return tf_cv / Σ_u tf_cu · ln(1 + A / tf_v) of dense counts (C, V), A = mean words per class, not truncated.

    root: the square root of the first factor; bm25: ln(1 + (A − tf_v + ½) / (tf_v + ½)) as the second one.
    """
    C, V = np.shape(counts)
    words = [sum(row) for row in counts]
    mean_words = sum(words) / C
    weights = np.zeros((C, V))
    for c in range(C):
        for v in range(V):
            if counts[c][v]:
                everywhere = sum(counts[x][v] for x in range(C))
                share = counts[c][v] / words[c]
                ratio = (mean_words - everywhere + 0.5) / (everywhere + 0.5) if bm25 else mean_words / everywhere
                weights[c, v] = (math.sqrt(share) if root else share) * math.log(1 + ratio)
    return weights
