"""Topics by density: UMAP layouts, HDBSCAN hierarchies of them, and a cut (Grootendorst 2022)."""

from __future__ import annotations

from nlpkit.topics.choose import Evidence, choose_cut, cut_exactly
from nlpkit.topics.clustering import Clustering, Points
from nlpkit.topics.hierarchy import build_hierarchy
from nlpkit.topics.reduce import fuzzy_graph, principal_axes, umap_layout


def density_clusters(points: Points) -> Clustering:
    """Return the cut of a density hierarchy that has the number of topics asked for, or the best of those in its range.

    Raises:
        InputError: there is no such cut.
    """
    options, execution, clock = points.options, points.execution, points.clock
    wanted = options.number_of_topics()
    graph = fuzzy_graph(points.neighbours)
    clock.lap("neighbours")
    start = principal_axes(points.embeddings, min(options.n_components, points.n - 2, points.embeddings.shape[1]))
    hierarchies = []
    n_layouts = 1 if wanted.exactly else 2
    for number in range(n_layouts):

        def step(share: float, number: int = number) -> None:
            points.progress("layout", (number + share) / n_layouts)

        layout = umap_layout(
            graph, start, min_dist=options.min_dist, seed=execution.seed + number, threads=execution.n_threads(),
            progress=step,
        )  # fmt: skip
        clock.lap("layout")
        hierarchies.append(build_hierarchy(layout, min_samples=min(options.min_samples, points.n - 1)))
        clock.lap("hierarchy")
    points.progress("topics", 0.0)
    if wanted.exactly:
        labels, size, merges = cut_exactly(
            hierarchies[0], points.counts, k=wanted.exactly, smallest=points.smallest_topic,
            least=options.min_topic_size or 2,
        )  # fmt: skip
        return Clustering(labels, merges=tuple(merges), min_topic_size=size)
    evidence = Evidence(graph, points.counts, points.reference)
    _, labels, candidates = choose_cut(hierarchies, evidence, smallest=points.smallest_topic, wanted=wanted.within)
    size = next(c.min_topic_size for c in candidates if c.chosen)
    return Clustering(labels, tuple(candidates), min_topic_size=size)
