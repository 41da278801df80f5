"""Scores of a clustering: against a graph, and against another clustering."""

from __future__ import annotations

import numpy as np

from nlpkit.metrics.labels import partitions
from nlpkit.platform.types import CsrMatrix, IntArray


def modularity(graph: CsrMatrix, labels: IntArray) -> float:
    """Return the modularity of a clustering of a weighted graph (Newman 2006), in [-1/2, 1]; unassigned points count as apart.

        Q = Σ_k [ e_kk / 2m - (d_k / 2m)² ],  e_kk weight inside k (both directions), d_k its degrees, 2m all degrees

    Args:
        graph: (D, D) symmetric CSR, weights ≥ 0.
        labels: (D,) cluster of each node, -1 for none.
    """
    K = int(labels.max(initial=-1)) + 1
    degrees = np.asarray(graph.sum(axis=1), np.float64).ravel()
    total = degrees.sum()
    if not K or not total:
        return 0.0
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    same = (labels[rows] == labels[graph.indices]) & (labels[rows] >= 0)
    inside = float(graph.data[same].sum(dtype=np.float64)) / total
    of_cluster = np.bincount(labels[labels >= 0], weights=degrees[labels >= 0], minlength=K) / total
    return float(inside - (of_cluster**2).sum())


def adjusted_mutual_information(a: IntArray, b: IntArray) -> float:
    """Return the AMI of two clusterings (Vinh et al. 2010, arithmetic mean; scikit-learn), where -1 is a cluster of its own."""
    return float(partitions.adjusted_mutual_information(partitions.contingency(a + 1, b + 1)))
