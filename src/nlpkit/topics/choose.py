"""How many topics: the evidence for each cut of the hierarchy, and the choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.clustering import adjusted_mutual_information, modularity
from nlpkit.metrics.coherence import Postings, npmi_by_document
from nlpkit.metrics.diversity import unique_share
from nlpkit.topics.hierarchy import Hierarchy
from nlpkit.types import CsrMatrix, IntArray
from nlpkit.weighting.ctfidf import class_tfidf, top_terms
from nlpkit.weighting.dtm import group_rows

GRID_RATIO = 2**0.25
COHERENCE_TERMS = 10
MAX_UNASSIGNED = 0.5
READABLE = 10


@dataclass(frozen=True, slots=True)
class Candidate:
    """One cut and its evidence. All scores lie in [-1, 1], higher is better; `score` is their mean.

    validity: density-based (DBCV off the tree). separation: modularity of the neighbour graph. agreement: AMI with the
    best matching cut of a second layout (another seed). npmi, diversity: of the ten top terms by c-tf-idf.
    assigned: share of documents with a topic.
    """

    min_topic_size: int
    k: int
    assigned: float
    validity: float
    separation: float
    agreement: float
    npmi: float
    diversity: float
    score: float
    chosen: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for the manifest."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What candidates are scored on: the graph (U, U) of the clustered points, second hierarchy, words of each point.

    dtm (U, V) are counts summed over documents that share a point; reference the document lists of the whole corpus.
    """

    graph: CsrMatrix
    second: Hierarchy
    dtm: CsrMatrix
    reference: Postings


def size_grid(smallest: int, n_points: int) -> list[int]:
    """Return a geometric grid of minimum topic sizes, from `smallest` to a quarter of the points."""
    start = max(smallest, n_points // 1000, 2)
    sizes = [start]
    while sizes[-1] * GRID_RATIO <= n_points / 4:
        sizes.append(max(round(sizes[-1] * GRID_RATIO), sizes[-1] + 1))
    return sizes


def choose_cut(
    hierarchy: Hierarchy, evidence: Evidence, *, smallest: int, low: int = 2, high: int | None = None
) -> tuple[IntArray, list[Candidate]]:
    """Return the labels (U,) of the chosen cut and all candidates, finest first, the chosen one marked.

    Every distinct cut of the grid with low ≤ K ≤ high and at least half of the points assigned is scored by the mean of
    six numbers. Of the cuts whose score cannot be told apart from the best, the one with the number of topics nearest to
    ten (by ratio) is taken: a table a person reads, and MALLET's default. What cannot be told apart is measured: scores
    that differ by less than equal cuts of the two layouts do, as in the one-standard-error rule of Breiman et al. 1984.

    Raises:
        InputError: no cut has a number of topics in the range.
    """
    sizes = size_grid(smallest, hierarchy.n_points)
    cuts = [(size, hierarchy.cut(size)) for size in sizes]
    others = [evidence.second.cut(size) for size in sizes]
    wanted = [
        (i, size, labels)
        for i, (size, labels) in enumerate(cuts)
        if max(low, 2) <= int(labels.max(initial=-1)) + 1 <= (high or hierarchy.n_points)
    ]
    distinct = [w for j, w in enumerate(wanted) if j == 0 or not np.array_equal(w[2], wanted[j - 1][2])]
    solid = [w for w in distinct if (w[2] >= 0).mean() >= MAX_UNASSIGNED] or distinct
    if not solid:
        found = sorted({int(labels.max(initial=-1)) + 1 for _, labels in cuts})
        raise InputError(
            f"no cut of the documents into {low} to {high or 'many'} topics of at least {smallest} documents "
            f"(cuts found: {', '.join(map(str, found))}); give --k N, another range, or a lower --min-topic-size"
        )
    candidates = [
        score_cut(hierarchy, evidence, size, labels, others[max(i - 1, 0) : i + 2]) for i, size, labels in solid
    ]
    noise = score_noise(evidence, cuts, others, solid, candidates)
    best = max(range(len(candidates)), key=lambda i: candidates[i].score)
    level = [i for i, c in enumerate(candidates) if c.score >= candidates[best].score - noise]
    chosen = min(level, key=lambda i: (abs(math.log(candidates[i].k / READABLE)), -candidates[i].score))
    candidates[chosen] = replace(candidates[chosen], chosen=True)
    return solid[chosen][2], candidates


def score_noise(
    evidence: Evidence,
    cuts: Sequence[tuple[int, IntArray]],
    others: Sequence[IntArray],
    scored: Sequence[tuple[int, int, IntArray]],
    candidates: Sequence[Candidate],
) -> float:
    """Return the root mean square difference between the candidates' scores and those of the second layout's equal cuts."""
    gaps = []
    for (i, size, _), candidate in zip(scored, candidates, strict=True):
        if int(others[i].max(initial=-1)) >= 1:
            near = [labels for _, labels in cuts[max(i - 1, 0) : i + 2]]
            gaps.append(candidate.score - score_cut(evidence.second, evidence, size, others[i], near).score)
    return float(np.sqrt(np.mean(np.square(gaps)))) if gaps else 0.0


def score_cut(
    hierarchy: Hierarchy, evidence: Evidence, size: int, labels: IntArray, others: Sequence[IntArray]
) -> Candidate:
    """Return the evidence for one cut; `others` are the cuts of the second layout it may agree with."""
    K = int(labels.max(initial=-1)) + 1
    weights = class_tfidf(group_rows(evidence.dtm, labels, K))
    terms = top_terms(weights, COHERENCE_TERMS).term_ids
    coherence = npmi_by_document(terms, evidence.reference)
    scores = {
        "assigned": float((labels >= 0).mean()),
        "validity": hierarchy.validity(labels),
        "separation": modularity(evidence.graph, labels),
        "agreement": max(adjusted_mutual_information(labels, other) for other in others),
        "npmi": float(np.nanmean(coherence)) if np.isfinite(coherence).any() else -1.0,
        "diversity": unique_share(terms) if (terms >= 0).any() else 0.0,
    }
    return Candidate(size, K, score=float(np.mean(list(scores.values()))), chosen=False, **scores)


def cut_exactly(
    hierarchy: Hierarchy, dtm: CsrMatrix, *, k: int, smallest: int
) -> tuple[IntArray, int, list[tuple[int, int, float]]]:
    """Return labels (U,) with exactly k topics, the minimum size of the cut they come from, and the merges that were needed.

    The cut with the fewest topics that has at least k is taken (ties: most assigned); then the two topics of highest
    cosine similarity of c-tf-idf are merged until k are left. A merge is (kept, gone, similarity), by numbers of the cut.

    Raises:
        InputError: no cut has k topics; the message names the largest number there is.
    """
    best: tuple[int, float, int] | None = None
    most = 0
    labels_of: dict[int, IntArray] = {}
    for size in [*range(smallest, 2 * smallest), *size_grid(2 * smallest, hierarchy.n_points)]:
        labels = hierarchy.cut(size)
        K = int(labels.max(initial=-1)) + 1
        most = max(most, K)
        if k <= K:
            key = (K, -float((labels >= 0).mean()), size)
            if best is None or key < best:
                best = key
                labels_of = {size: labels}
    if best is None:
        raise InputError(
            f"cannot make {k} topics of at least {smallest} documents from {hierarchy.n_points} different documents: "
            f"the most is {most}; give --k {most}, a lower --min-topic-size, or --k auto"
        )
    labels, merges = merge_topics(labels_of[best[2]], dtm, k)
    return labels, best[2], merges


def merge_topics(labels: IntArray, dtm: CsrMatrix, k: int) -> tuple[IntArray, list[tuple[int, int, float]]]:
    """Merge the most similar topics (cosine of c-tf-idf) until k are left; the result is numbered 0 … k-1."""
    labels = labels.copy()
    merges: list[tuple[int, int, float]] = []
    K = int(labels.max(initial=-1)) + 1
    alive = np.ones(K, bool)
    counts = group_rows(dtm, labels, K).astype(np.float64)
    while alive.sum() > k:
        weights = class_tfidf(group_rows(counts, np.where(alive, np.arange(K), -1).astype(np.int32), K))
        norms = np.sqrt(np.asarray((weights * weights).sum(axis=1)).ravel())
        similarity = (weights @ weights.T).toarray() / np.maximum(np.outer(norms, norms), 1e-300)
        similarity[~alive] = similarity[:, ~alive] = -np.inf
        np.fill_diagonal(similarity, -np.inf)
        a, b = sorted(int(x) for x in np.unravel_index(int(similarity.argmax()), similarity.shape))
        merges.append((a, b, float(similarity[a, b])))
        labels[labels == b] = a
        alive[b] = False
        counts = group_rows(dtm, labels, K).astype(np.float64)
    renumber = np.cumsum(alive) - 1
    return np.where(labels >= 0, renumber[labels], -1).astype(np.int32), merges
