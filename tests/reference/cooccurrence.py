"""Documents of pairs of terms, by sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def joint_document_counts(term_ids: Any, dtm: Any) -> Any:
    """Return joint (K, n, n): how many rows of the dense counts dtm (D, V) hold both terms of a pair; 0 for term -1."""
    documents = [{d for d in range(len(dtm)) if dtm[d][v] > 0} for v in range(len(dtm[0]))]
    K, n = np.shape(term_ids)
    joint = np.zeros((K, n, n), np.int64)
    for k in range(K):
        for i, u in enumerate(term_ids[k]):
            for j, v in enumerate(term_ids[k]):
                if u >= 0 and v >= 0:
                    joint[k, i, j] = len(documents[u] & documents[v])
    return joint


def mean_npmi(terms: Any, dtm: Any) -> float:
    """Return the mean NPMI of all pairs of different places among the terms (n,) of a topic; nan without a pair."""
    D = len(dtm)
    scores = []
    given = [v for v in terms if v >= 0]
    for i, u in enumerate(given):
        for v in given[i + 1 :]:
            with_u = sum(row[u] > 0 for row in dtm)
            with_v = sum(row[v] > 0 for row in dtm)
            both = sum(row[u] > 0 and row[v] > 0 for row in dtm)
            if both == 0:
                scores.append(-1.0)
            elif both == D:
                scores.append(1.0)
            else:
                scores.append(math.log((both / D) / (with_u / D * with_v / D)) / -math.log(both / D))
    return sum(scores) / len(scores) if scores else math.nan
