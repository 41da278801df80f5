"""Topics by density: HDBSCAN hierarchies of a reduction, by default two UMAP layouts, and a cut (Grootendorst 2022)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlpkit.topics.choose import Candidate, Evidence, choose_cut, cut_exactly
from nlpkit.topics.clustering import Clustering, Points
from nlpkit.topics.engine import Engine, layout
from nlpkit.topics.hierarchy import Hierarchy, build_hierarchy
from nlpkit.topics.layers import halved
from nlpkit.topics.reduce import fuzzy_graph
from nlpkit.topics.stability import Repeat


def density_clusters(points: Points) -> Clustering:
    """Return the cut of a density hierarchy that has the number of topics asked for, or the best of those in its range.

    A second UMAP layout, with another seed, tells which cuts are stable; a reduction without chance has only one hierarchy.

    Raises:
        InputError: there is no such cut.
    """
    options, wanted = points.options, points.options.number_of_topics()
    hierarchies = [_hierarchy(points, 0)]
    hierarchies.append(_hierarchy(points, 1) if options.reduction() == "umap" else hierarchies[0])
    points.progress("topics", 0.0)
    candidates: list[Candidate] = []
    merges: list[tuple[int, int, float]] = []
    at = 0
    if wanted.exactly:
        labels, size, merges = cut_exactly(
            hierarchies[0], points.counts, k=wanted.exactly, smallest=points.smallest_topic,
            least=options.min_topic_size or 2,
        )  # fmt: skip
    else:
        evidence = Evidence(fuzzy_graph(points.neighbours), points.counts, points.reference)
        at, labels, candidates = choose_cut(hierarchies, evidence, smallest=points.smallest_topic, wanted=wanted.within)
        size = next(c.min_topic_size for c in candidates if c.chosen)
    K, other = int(labels.max()) + 1, hierarchies[1 - at]

    def repeats(k: int) -> list[Repeat]:
        return [Repeat(np.arange(points.n), other.cut(size))] if k == K and other is not hierarchies[at] else []

    return Clustering(labels, tuple(candidates), tuple(merges), size, coarser=tuple(halved(K)), repeats=repeats)


def _hierarchy(points: Points, number: int) -> Hierarchy:
    """Return the hierarchy of one of two layouts, or of another reduction."""
    options, execution = points.options, points.execution
    if options.reduction() == "umap":
        another = replace(execution, seed=execution.seed + number)
        view = layout(
            points.embeddings, points.neighbours, options, another,
            lambda share: points.progress("layout", (number + share) / 2),
        )  # fmt: skip
    else:
        view = Engine(options, execution).view(points.embeddings, points.neighbours)
    points.clock.lap("layout")
    hierarchy = build_hierarchy(view, min_samples=min(options.min_samples, points.n - 1))
    points.clock.lap("hierarchy")
    return hierarchy
