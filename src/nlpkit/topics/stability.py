"""Stability of topics: whether a second fit finds them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.metrics.clustering import adjusted_mutual_information
from nlpkit.types import FloatArray, IntArray, LongArray

LEAST_STABLE = 0.5


@dataclass(frozen=True, slots=True)
class Repeat:
    """A second fit: rows (R,) of the points it says something of, and the topic of each (R,), -1 for none."""

    rows: LongArray
    topics: IntArray


def agreement(topics: IntArray, repeats: Sequence[Repeat]) -> float:
    """Return the mean AMI of topics (U,) with those of the repeats, NaN without any."""
    scores = [adjusted_mutual_information(topics[r.rows], r.topics) for r in repeats]
    return float(np.mean(scores)) if scores else np.nan


def topic_stability(topics: IntArray, K: int, repeats: Sequence[Repeat]) -> FloatArray:
    """Return how well each topic comes back (K,): the mean over repeats of its greatest Jaccard coefficient with a topic there.

    Below 0.5 a topic is dissolved (Hennig 2007, Cluster-wise assessment of cluster stability, section 3). A repeat that has no
    document of a topic says nothing of it; a topic that none has is NaN.

    Args:
        topics: (U,) topic of each point, -1 for none.
    """
    values = np.full((len(repeats), K), np.nan)
    for row, repeat in zip(values, repeats, strict=True):
        first, other = topics[repeat.rows], repeat.topics
        both = (first >= 0) & (other >= 0)
        J = int(other.max(initial=-1)) + 1
        shared = np.bincount(first[both].astype(np.int64) * J + other[both], minlength=K * J).reshape(K, J)
        sizes = np.bincount(first[first >= 0], minlength=K)
        union = sizes[:, None] + np.bincount(other[other >= 0], minlength=J) - shared
        present = sizes > 0
        row[present] = (shared / np.maximum(union, 1)).max(axis=1, initial=0.0)[present]
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean: FloatArray = np.divide(total, known.sum(axis=0), out=np.full(K, np.nan), where=known.any(axis=0))
    return mean
