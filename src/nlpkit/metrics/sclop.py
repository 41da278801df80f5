"""S-CLOP, Similarity of multiple sets by Clustering with LOcal Pruning, as R's ldaPrototype 0.3.1 has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.kernels.linkage import complete_linkage
from nlpkit.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Pruning:
    """The pruned dendrogram of the topics of R runs, N in all.

    groups (N,) int32: cluster of each topic, numbered by their first topics; disparity: U_Σ(G*); sclop: S-CLOP(G*).
    """

    groups: IntArray
    disparity: float
    sclop: float


def prune_topics(similarity: FloatArray, sizes: Sequence[int]) -> Pruning:
    """Cluster the topics of R runs and prune the dendrogram locally, so that the sum of disparities is least.

    A cluster g with t_r topics of run r has the disparity U(g) = 1/R · Σ_r |t_r - 1| · Σ_r t_r, which is 0 for one topic of
    each run. G* is the set of disjoint clusters of the complete-linkage dendrogram of 1 - similarity with the least
    U_Σ(G) = Σ_{g ∈ G} U(g): from the root down a cluster is kept if none of its prunings is below it, else parted.
    S-CLOP(G*) = 1 - U_Σ(G*) / U_Σ,max in [0, 1], where all N topics alone give U_Σ,max = N · (R - 1)/R.

    For two runs only a merge of one topic with one of the other run is below its topics, so that S-CLOP is the share of
    topics that find such a partner. Runs of one topic each agree (1), however unlike the two topics are.

    Args:
        similarity: (N, N) of the topics, in [0, 1], runs one after the other.
        sizes: K of each run; they sum to N.

    Raises:
        UsageError: fewer than two runs.

    Source: Rieger, Jentsch & Rahnenführer (2024), S-CLOP; Rieger et al. (2020), arXiv 2003.04980; `pruneSCLOP`, `SCLOP`.
    """
    R, N = len(sizes), len(similarity)
    if R < 2:
        raise UsageError(f"S-CLOP compares runs: it needs at least 2, got {R}")
    left, right, _ = complete_linkage(1.0 - similarity)
    topics_of_run = np.zeros((2 * N - 1, R), np.int64)  # t_r of each node of the dendrogram, topics first
    topics_of_run[np.arange(N), np.repeat(np.arange(R), sizes)] = 1
    for m in range(N - 1):
        topics_of_run[N + m] = topics_of_run[left[m]] + topics_of_run[right[m]]
    # R · U(g) is a whole number: equal disparities are found equal
    disparity = (np.abs(topics_of_run - 1).sum(axis=1) * topics_of_run.sum(axis=1)).tolist()
    children = list(zip(left.tolist(), right.tolist(), strict=True))
    least = disparity[:N]
    for m, (a, b) in enumerate(children):
        least.append(min(disparity[N + m], least[a] + least[b]))

    cluster = np.arange(2 * N - 1)  # of each node: the node that holds it whole
    for node in range(2 * N - 2, N - 1, -1):
        if cluster[node] != node or disparity[node] == least[node]:
            cluster[list(children[node - N])] = cluster[node]
    _, first, groups = np.unique(cluster[:N], return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))
    return Pruning(numbers[groups].astype(np.int32), least[-1] / R, 1.0 - least[-1] / (N * (R - 1)))


def pairwise_sclop(similarity: FloatArray, sizes: Sequence[int]) -> FloatArray:
    """Return S-CLOP of each pair of runs (R, R), symmetric, NaN on the diagonal (`SCLOP.pairwise`).

    Args:
        similarity: (N, N) of the topics, runs one after the other.
        sizes: K of each run.
    """
    ends = np.cumsum(sizes)
    rows = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    out = np.full((len(sizes), len(sizes)), np.nan)
    for i, j in combinations(range(len(sizes)), 2):
        pair = np.block([[similarity[a, b] for b in (rows[i], rows[j])] for a in (rows[i], rows[j])])
        out[i, j] = out[j, i] = prune_topics(pair, (sizes[i], sizes[j])).sclop
    return out
