"""Choice of the number of topics: the evidence for each cut of the hierarchy, and the choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from nlpkit.cluster.hierarchy import Hierarchy
from nlpkit.cluster.options import Range
from nlpkit.errors import InputError
from nlpkit.metrics.labels.clustering import adjusted_mutual_information, modularity
from nlpkit.metrics.topics.coherence import Postings, npmi_by_document
from nlpkit.metrics.topics.diversity import unique_share
from nlpkit.platform.types import NO_TOPIC, CsrMatrix, IntArray
from nlpkit.weights.ctfidf import class_tfidf, top_terms
from nlpkit.weights.dtm import group_rows

GRID_RATIO = 2**0.25
COHERENCE_TERMS = 10
MIN_ASSIGNED = 0.5
FEWEST = 3
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
    """Evidence that candidates are scored on: the graph (U, U) of the clustered points, the words of each point, the corpus.

    dtm (U, V) are counts summed over documents that share a point; reference the document lists of the whole corpus.
    """

    graph: CsrMatrix
    dtm: CsrMatrix
    reference: Postings


Cut = tuple[int, IntArray]  # minimum topic size, labels (U,)


def size_grid(smallest: int, n_points: int) -> list[int]:
    """Return a geometric grid of minimum topic sizes, from `smallest` to a quarter of the points."""
    start = max(smallest, n_points // 1000, 2)
    sizes = [start]
    while sizes[-1] * GRID_RATIO <= n_points / 4:
        sizes.append(max(round(sizes[-1] * GRID_RATIO), sizes[-1] + 1))
    return sizes


def choose_cut(
    hierarchies: Sequence[Hierarchy], evidence: Evidence, *, smallest: int, wanted: Range
) -> tuple[int, IntArray, list[Candidate]]:
    """Return the layout that is used, the labels (U,) of the chosen cut and its candidates, finest first, the chosen one marked.

    The cuts of both layouts with a number of topics in the range and at least half of the points assigned are scored by the
    mean of six numbers. Of the cuts whose score cannot be distinguished from the best, the one with the number of topics
    nearest to ten (by ratio) is taken: a table a person reads, and MALLET's default. Indistinguishable is measured:
    scores that differ by less than equal cuts of the two layouts do, as in the one-standard-error rule of Breiman et al.
    1984. Two topics are chosen only when no cut has more, or the range says so.

    Args:
        hierarchies: of two layouts of the same points with different seeds.
        evidence: see there.
        smallest: least minimum topic size.
        wanted: numbers of topics; with a step, cuts into exactly these numbers are compared.

    Raises:
        InputError: no cut has a number of topics in the range.
    """
    cuts = [_cuts(h, evidence, smallest, wanted) for h in hierarchies]
    if not any(int(labels.max(initial=-1)) + 1 in wanted for layout in cuts for _, labels in layout):
        if wanted.high is None:
            raise InputError(
                f"found no group of at least {smallest} similar documents among {hierarchies[0].n_points} different "
                "ones; lower `min_topic_size`, or give `k=N`"
            )
        wanted = replace(wanted, step=max((wanted.high - wanted.low) // 4, 1))
        cuts = [_cuts(h, evidence, smallest, wanted) for h in hierarchies]
    scored = [
        [_candidate(hierarchies[i], evidence, cuts[i], cuts[1 - i], at) for at in range(len(cuts[i]))] for i in (0, 1)
    ]
    usable = [_usable([c if c and c.k in wanted else None for c in layout], cuts[i]) for i, layout in enumerate(scored)]
    if not usable[0] and not usable[1]:
        raise InputError(
            f"cannot cut {hierarchies[0].n_points} different documents into {wanted.low} to {wanted.high} topics of at "
            f"least {smallest} documents; give another range, or a lower `min_topic_size`"
        )
    gaps = [a.score - b.score for a, b in zip(scored[0], scored[1], strict=False) if a and b and a.k in wanted]
    noise = float(np.sqrt(np.mean(np.square(gaps)))) if gaps else 0.0
    everything = [(i, at, c) for i in (0, 1) for at, c in usable[i].items()]
    pool = [entry for entry in everything if entry[2].k >= FEWEST] or everything
    best = max(c.score for _, _, c in pool)
    level = [entry for entry in pool if entry[2].score >= best - noise]
    layout, at, choice = min(level, key=lambda e: (abs(math.log(e[2].k / READABLE)), -e[2].score, e[0], e[1]))
    usable[layout][at] = replace(choice, chosen=True)
    return layout, cuts[layout][at][1], list(usable[layout].values())


def _cuts(hierarchy: Hierarchy, evidence: Evidence, smallest: int, wanted: Range) -> list[Cut]:
    """The cuts to compare: a grid of minimum sizes, or exactly low, low + step … topics as far as they can be made."""
    if wanted.step is None or wanted.high is None:
        return [(size, hierarchy.cut(size)) for size in size_grid(smallest, hierarchy.n_points)]
    cuts = []
    for k in reversed(range(wanted.low, wanted.high + 1, wanted.step)):
        try:
            labels, size, _ = cut_exactly(hierarchy, evidence.dtm, k=k, smallest=smallest)
        except InputError:  # too many for this layout: a cut without topics keeps the place beside the other layout's
            labels, size = np.full(hierarchy.n_points, NO_TOPIC, np.int32), smallest
        cuts.append((size, labels))
    return cuts


def _candidate(
    hierarchy: Hierarchy, evidence: Evidence, cuts: list[Cut], other: list[Cut], at: int
) -> Candidate | None:
    """The score of a cut, its agreement taken with the equal cut of the other layout and the two beside it."""
    size, labels = cuts[at]
    near = [cut[1] for cut in other[max(at - 1, 0) : at + 2]]
    return score_cut(hierarchy, evidence, size, labels, near) if int(labels.max(initial=-1)) >= 0 else None


def _usable(candidates: Sequence[Candidate | None], cuts: Sequence[Cut]) -> dict[int, Candidate]:
    """The candidates by place that differ from the one before and assign half of the points, where any do."""
    distinct: dict[int, Candidate] = {}
    for at, candidate in enumerate(candidates):
        if candidate and not (at and candidates[at - 1] and np.array_equal(cuts[at][1], cuts[at - 1][1])):
            distinct[at] = candidate
    return {at: c for at, c in distinct.items() if c.assigned >= MIN_ASSIGNED} or distinct


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
    hierarchy: Hierarchy, dtm: CsrMatrix, *, k: int, smallest: int, least: int | None = None
) -> tuple[IntArray, int, list[tuple[int, int, float]]]:
    """Return labels (U,) with exactly k topics, the minimum size of the cut they come from, and the merges that were needed.

    The cut with the fewest topics that has at least k is taken (ties: most assigned); then the two topics of highest
    cosine similarity of c-tf-idf are merged until k are left. A merge is (kept, gone, similarity), by numbers of the cut.
    Where no cut has k topics of `smallest` documents, smaller ones are allowed down to `least` (None: as `smallest`).

    Raises:
        InputError: no cut has k topics; the message names the largest number there is.
    """
    least = smallest if least is None else min(least, smallest)
    best: tuple[int, float, int] | None = None
    most = 0
    labels_of: dict[int, IntArray] = {}
    usual = [*range(smallest, 2 * smallest), *size_grid(2 * smallest, hierarchy.n_points)]
    for size in [*usual, *range(smallest - 1, least - 1, -1)]:
        if size < smallest and best is not None:
            break
        labels = hierarchy.cut(size)
        K = int(labels.max(initial=-1)) + 1
        most = max(most, K)
        if k <= K:
            key = (K, -float((labels >= 0).mean()), size)
            if best is None or key < best:
                best = key
                labels_of = {size: labels}
    if best is None and not most:
        raise InputError(
            f"found no groups of at least {least} similar documents among {hierarchy.n_points} different ones; "
            "more documents are needed, or a lower `min_topic_size` or `min_samples`"
        )
    if best is None:
        lower = ", a lower `min_topic_size`" if least > 2 else ", a lower `min_samples`"
        raise InputError(
            f"cannot make {k} topics of at least {least} documents from {hierarchy.n_points} different documents; "
            f"at most {most} are possible. Give `k={most}`{lower}, or `k=auto`"
        )
    labels, merges = merge_topics(labels_of[best[2]], dtm, k)
    return labels, best[2], merges


def merge_topics(labels: IntArray, dtm: CsrMatrix, k: int) -> tuple[IntArray, list[tuple[int, int, float]]]:
    """Merge the most similar topics (cosine of c-tf-idf) until k are left; the result is numbered 0 … k-1."""
    into, merges = merge_classes(group_rows(dtm, labels, int(labels.max(initial=-1)) + 1), k)
    return np.where(labels >= 0, into[labels], -1).astype(np.int32), merges


def merge_classes(
    counts: CsrMatrix, k: int, frozen: Sequence[int] = ()
) -> tuple[IntArray, list[tuple[int, int, float]]]:
    """Return which of k classes each class becomes (K,) when the most similar pairs (cosine of c-tf-idf) are merged, and the merges.

    A merge is (kept, gone, similarity). Classes keep their order.

    Args:
        counts: (K, V) term counts of the classes; frozen: those that are not merged, at most k.
    """
    K = counts.shape[0]
    into, alive = np.arange(K, dtype=np.int32), np.ones(K, bool)
    merges: list[tuple[int, int, float]] = []
    merged = counts.astype(np.float64)
    while alive.sum() > k:
        weights = class_tfidf(group_rows(merged, np.where(alive, np.arange(K), -1).astype(np.int32), K))
        norms = np.sqrt(np.asarray((weights * weights).sum(axis=1)).ravel())
        similarity = (weights @ weights.T).toarray() / np.maximum(np.outer(norms, norms), 1e-300)
        still = ~alive
        still[list(frozen)] = True
        similarity[still] = similarity[:, still] = -np.inf
        np.fill_diagonal(similarity, -np.inf)
        a, b = sorted(int(x) for x in np.unravel_index(int(similarity.argmax()), similarity.shape))
        merges.append((a, b, float(similarity[a, b])))
        into[into == b] = a
        alive[b] = False
        merged = group_rows(counts, into, K).astype(np.float64)
    return (np.cumsum(alive) - 1)[into].astype(np.int32), merges
