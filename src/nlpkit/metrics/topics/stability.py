"""The stability of topics: whether models of one corpus find the same ones.

Parts, in this order:
- S-CLOP, Similarity of multiple sets by Clustering with LOcal Pruning, as R's ldaPrototype 0.3.1 has it.
- Whether models of one corpus find the same topics: best matching of their top words, and S-CLOP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from nlpkit.errors import UsageError
from nlpkit.metrics.kernels import complete_linkage
from nlpkit.metrics.topics.diversity import RBO_P, average_jaccard_matrix, jaccard_matrix, rbo_matrix
from nlpkit.platform.types import NO_TOPIC, FloatArray, IntArray


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


# ------------------------------------------------------------------------------------------------------------------------
# Whether models of one corpus find the same topics: best matching of their top words, and S-CLOP.

StabilityMeasure: TypeAlias = Literal["jaccard", "rbo", "average-jaccard"]
MEASURES: tuple[StabilityMeasure, ...] = get_args(StabilityMeasure)


@dataclass(frozen=True, slots=True)
class Stability:
    """Agreement of R models; model r has K_r topics, K those of the first one.

    jaccard, rbo, average_jaccard, sclop (R, R): agreement of each pair, symmetric, NaN on the diagonal; mean_jaccard …: the
    means over the pairs.
    measure: the similarity by which topics are matched below, and clustered for S-CLOP.
    matches (K, R) int32: the topic of model r that is matched with topic k of the first one, -1 where none is left or has a
    word in common; k itself in the first column. similarity (K, R): of the two, 0 without a match, 1 in the first column.
    by_topic (K,): mean similarity over the other models.
    unmatched: for each model its topics without a match in the first one; for the first, those without one in any other.
    """

    measure: StabilityMeasure
    jaccard: FloatArray
    rbo: FloatArray
    average_jaccard: FloatArray
    sclop: FloatArray
    mean_jaccard: float
    mean_rbo: float
    mean_average_jaccard: float
    mean_sclop: float
    matches: IntArray
    similarity: FloatArray
    by_topic: FloatArray
    unmatched: tuple[IntArray, ...]


def compare_models(models: Sequence[IntArray], *, measure: StabilityMeasure = "jaccard", p: float = RBO_P) -> Stability:
    """Compare models of one corpus, such as runs with other seeds, by the top words of their topics.

    For two models, topics are matched one to one so that the sum of the similarities is greatest (Hungarian method);
    their agreement is that sum over the K of the larger model, so that topics without a partner count as 0. With
    "average-jaccard" this is agr(S_x, S_y) of Greene, O'Callaghan & Cunningham (2014), section 3.1, and the mean over the
    pairs with a first, reference model their stability. Each of the three measures has a best matching of its own.

    S-CLOP (Rieger et al. 2024; `metrics.sclop`) is the share of topics of both models that complete linkage pairs
    with one of the other model alone: what it counts is whether partners are closest, not how alike they are. Here it takes
    similarities of top words by `measure`; where the counts of the runs are at hand, `choose_prototype` has it from those,
    as ldaPrototype does. Topics are sorted by their words first, so that their order cannot decide between equals.

    Args:
        models: R ≥ 2 arrays (K_r, n_r) of top terms over one vocabulary (`common_term_ids`), best first, -1 for none.
        measure: "jaccard", "rbo" (extrapolated) or "average-jaccard".
        p: of rank-biased overlap, see `distinctness.rbo_matrix`.

    Raises:
        UsageError: fewer than two models, a model without topics, an unknown measure.
    """
    if measure not in MEASURES:
        raise UsageError(f"topics are matched by one of {', '.join(MEASURES)}; got '{measure}'", parameter="measure")
    if len(models) < 2:
        raise UsageError(f"stability compares models: it needs at least 2, got {len(models)}")
    if empty := [r + 1 for r, model in enumerate(models) if not len(model)]:
        raise UsageError(f"stability compares models with topics; model {empty[0]} of {len(models)} has none")
    similar: dict[StabilityMeasure, Callable[[IntArray, IntArray], FloatArray]] = {
        "jaccard": lambda a, b: _known(jaccard_matrix(a, b)),
        "rbo": lambda a, b: _known(rbo_matrix(a, b, p=p)),
        "average-jaccard": lambda a, b: _known(average_jaccard_matrix(a, b)),
    }
    models = [np.asarray(model, np.int32) for model in models]
    agreement = {name: _agreement(models, similar[name]) for name in MEASURES}
    sclop = _sclop(models, similar[measure])
    pairs = np.triu_indices(len(models), 1)
    matches, similarity, unmatched = _matches(models, similar[measure])
    return Stability(
        measure=measure,
        jaccard=agreement["jaccard"],
        rbo=agreement["rbo"],
        average_jaccard=agreement["average-jaccard"],
        sclop=sclop,
        mean_jaccard=float(agreement["jaccard"][pairs].mean()),
        mean_rbo=float(agreement["rbo"][pairs].mean()),
        mean_average_jaccard=float(agreement["average-jaccard"][pairs].mean()),
        mean_sclop=float(sclop[pairs].mean()),
        matches=matches,
        similarity=similarity,
        by_topic=similarity[:, 1:].mean(axis=1),
        unmatched=unmatched,
    )


def common_term_ids(models: Sequence[Sequence[Sequence[str]]], *, n: int) -> tuple[list[IntArray], tuple[str, ...]]:
    """Return the first n words of the topics of models as ids over one vocabulary, R times (K_r, n), and the vocabulary, sorted.

    Args:
        models: for each model the words of each topic, best first.
        n: words of a topic; -1 where one has fewer.
    """
    terms = tuple(sorted({word for topics in models for topic in topics for word in topic[:n]}))
    number = {term: i for i, term in enumerate(terms)}
    ids_by_model = []
    for topics in models:
        ids = np.full((len(topics), n), -1, np.int32)
        for row, topic in zip(ids, topics, strict=True):
            row[: len(topic[:n])] = [number[word] for word in topic[:n]]
        ids_by_model.append(ids)
    return ids_by_model, terms


def match_topics(similarity: FloatArray) -> tuple[IntArray, FloatArray]:
    """Match topics of two models one to one so that the sum of their similarities is greatest.

    Args:
        similarity: (K, K'), 0 or more.

    Returns:
        for each topic of the first model its partner (K,) int32, -1 where none is left or the similarity is 0, and how like
        it is (K,).
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(similarity, maximize=True)
    partner = np.full(len(similarity), NO_TOPIC, np.int32)
    value = np.zeros(len(similarity))
    alike = similarity[rows, columns] > 0
    partner[rows[alike]] = columns[alike]
    value[rows[alike]] = similarity[rows[alike], columns[alike]]
    return partner, value


def _agreement(models: Sequence[IntArray], similar: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """Return the mean similarity of matched topics of each pair of models (R, R)."""
    out = np.full((len(models), len(models)), np.nan)
    for i, j in combinations(range(len(models)), 2):
        _, values = match_topics(similar(models[i], models[j]))
        # sorted, so that the order of the topics does not change the last digit
        out[i, j] = out[j, i] = np.sort(values).sum() / max(len(models[i]), len(models[j]))
    return out


def _matches(
    models: Sequence[IntArray], similar: Callable[[IntArray, IntArray], FloatArray]
) -> tuple[IntArray, FloatArray, tuple[IntArray, ...]]:
    K, R = len(models[0]), len(models)
    matches, similarity = np.empty((K, R), np.int32), np.ones((K, R))
    matches[:, 0] = np.arange(K)
    unmatched = []
    for r in range(1, R):
        matches[:, r], similarity[:, r] = match_topics(similar(models[0], models[r]))
        unmatched.append(np.setdiff1d(np.arange(len(models[r]), dtype=np.int32), matches[:, r]))
    alone = np.flatnonzero((matches[:, 1:] < 0).all(axis=1)).astype(np.int32)
    return matches, similarity, (alone, *unmatched)


def _sclop(models: Sequence[IntArray], similar: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """Return S-CLOP of each pair of models (R, R), pair by pair: the similarities of all topics at once could be large."""
    ordered = [model[np.lexsort(model.T[::-1])] if model.shape[1] else model for model in models]
    within = [similar(model, model) for model in ordered]
    for matrix in within:
        np.fill_diagonal(matrix, 1.0)
    out = np.full((len(models), len(models)), np.nan)
    for i, j in combinations(range(len(models)), 2):
        between = similar(ordered[i], ordered[j])
        both = np.block([[within[i], between], [between.T, within[j]]])
        out[i, j] = out[j, i] = pairwise_sclop(both, (len(models[i]), len(models[j])))[0, 1]
    return out


def _known(similarity: FloatArray) -> FloatArray:
    """Return the similarities, 0 where a topic has no words."""
    return np.nan_to_num(similarity, nan=0.0)
