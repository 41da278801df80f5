"""Topics found by clustering, by density or by partition, and the layers of coarser and finer topics.

Parts, in this order:
- Layers of topics: the topics of a fit merged into coarser ones and divided into finer ones, each inside one of the
  layer above.
- Topics by density: HDBSCAN hierarchies of a reduction, by default two UMAP layouts, and a cut (Grootendorst 2022).
- Topics by partition (k-means, agglomerative clustering, Gaussian mixtures): every document has a topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from nlpkit.cluster.hierarchy import Hierarchy, Repeat, build_hierarchy, cut_into
from nlpkit.cluster.reduce import fuzzy_graph
from nlpkit.errors import InputError
from nlpkit.platform.parallel import one_thread
from nlpkit.platform.types import Float32Array, FloatArray, IntArray
from nlpkit.topics.base.options import LAYOUTS
from nlpkit.topics.bertopic.choose import Candidate, Evidence, choose_cut, cut_exactly
from nlpkit.topics.bertopic.clustering import Clustering, Points
from nlpkit.topics.bertopic.engine import Engine, consensus, fits_to_parts, layout
from nlpkit.topics.bertopic.evidence import POINTS_PER_TOPIC, choose_number, coarser, finer, samples

MOST_LAYERS = 6
MIN_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Layer:
    """One resolution: topics (D,) of the documents, -1 for none, and the parent (K,) of each in the next coarser layer.

    It is -1 in the first, and for a topic without a document.
    """

    topics: IntArray
    parent: IntArray

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.parent)


def topic_tree(centroids: Float32Array) -> FloatArray:
    """Return Ward's tree of topics (K - 1, 4) in scipy's form, from the centroids (K, E)."""
    from scipy.cluster.hierarchy import linkage

    return np.asarray(linkage(centroids.astype(np.float64), "ward")) if len(centroids) > 1 else np.zeros((0, 4))


def layers_around(
    topics: IntArray, tree: FloatArray, *, coarser: Sequence[int], divisions: Sequence[IntArray]
) -> tuple[list[Layer], int]:
    """Return nested layers, coarsest first, and which of them has the topics themselves.

    Coarser layers are cuts of the tree of topics, so that each topic lies in one of theirs; a cut that topics without a document make
    no coarser than the next layer is left out. A finer layer is a division of all documents whose parts are given to the topic that
    most of their documents have; each document keeps to parts of its topic.

    Args:
        topics: (D,) topic of each document, -1 for none; tree: `topic_tree`.
        coarser: numbers of topics, falling, each below that of the topics.
        divisions: (D,) labels of finer divisions, the coarsest first.
    """
    K = len(tree) + 1
    stack = [topics]
    for k in coarser[: MOST_LAYERS - 2]:
        cut = merged(topics, tree, k)
        if 1 < _number(cut) < _number(stack[0]):
            stack.insert(0, cut)
    at = len(stack) - 1
    for division in divisions[: MOST_LAYERS - len(stack)]:
        stack.append(divided(stack[-1], division))
    numbered = [by_size(labels) for labels in stack[:at]] + [topics] + [by_size(labels) for labels in stack[at + 1 :]]
    layers = []
    for number, labels in enumerate(numbered):
        n_topics = int(labels.max(initial=-1)) + 1 if number != at else K
        parent = np.full(n_topics, -1, np.int32)
        if number:
            parent[labels[labels >= 0]] = numbered[number - 1][labels >= 0]
        layers.append(Layer(labels, parent))
    return layers, at


def merged(topics: IntArray, tree: FloatArray, k: int) -> IntArray:
    """Return topics (D,) after those of a tree were merged into k; -1 stays."""
    return np.where(topics >= 0, cut_into(tree, k)[topics], -1).astype(np.int32)


def _number(topics: IntArray) -> int:
    """Return how many topics have a document."""
    return len(np.unique(topics[topics >= 0]))


def halved(k: int) -> list[int]:
    """Return half of a number of topics, half of that and so on, down to 2: layers that no evidence speaks for."""
    numbers = []
    while (k := k // 2) >= 2:
        numbers.append(k)
    return numbers


def divided(topics: IntArray, division: IntArray) -> IntArray:
    """Return topics (D,) divided by another division: by the parts that a topic has the majority of.

    A document whose part belongs to another topic goes to the largest part of its own topic.
    """
    assigned = topics >= 0
    K, J = int(topics.max(initial=-1)) + 1, int(division.max(initial=-1)) + 1
    counts = np.bincount(topics[assigned].astype(np.int64) * J + division[assigned], minlength=K * J).reshape(K, J)
    owner = counts.argmax(axis=0)
    inside = counts * (owner == np.arange(K)[:, None])
    largest = np.where(inside.any(axis=1), inside.argmax(axis=1), J + np.arange(K))  # a topic without parts stays whole
    part = np.where(owner[division] == topics, division, largest[topics])
    return np.where(assigned, np.unique(part, return_inverse=True)[1], -1).astype(np.int32)


def by_size(labels: IntArray) -> IntArray:
    """Return labels numbered by size, the largest 0, ties by the earlier first document; -1 stays."""
    assigned = labels[labels >= 0]
    values, first, inverse, sizes = np.unique(assigned, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(values), np.int32)
    rank[np.lexsort((first, -sizes))] = np.arange(len(values), dtype=np.int32)
    result = np.full(len(labels), -1, np.int32)
    result[labels >= 0] = rank[inverse]
    return result


# ------------------------------------------------------------------------------------------------------------------------
# Topics by density: HDBSCAN hierarchies of a reduction, by default two UMAP layouts, and a cut (Grootendorst 2022).


def density_clusters(points: Points) -> Clustering:
    """Return the cut of a density hierarchy that has the number of topics asked for, or the best of those in its range.

    A second UMAP layout, with another seed, tells which cuts are stable; a reduction without chance has only one hierarchy.

    Raises:
        InputError: there is no such cut.
    """
    options, wanted = points.options, points.options.number_of_topics()
    hierarchies = [_hierarchy(points, 0)]
    hierarchies.append(_hierarchy(points, 1) if options.reduction() in LAYOUTS else hierarchies[0])
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
    if options.reduction() in LAYOUTS:
        another = replace(execution, seed=execution.seed + number)
        view = layout(
            points.embeddings, points.neighbours, options, another,
            lambda share: points.progress("layout", (number + share) / 2),
        )  # fmt: skip
    else:
        view = Engine(options, execution).view(points.embeddings, points.neighbours)
    points.clock.lap("layout")
    hierarchy = build_hierarchy(view, min_samples=min(options.min_samples or MIN_SAMPLES, points.n - 1))
    points.clock.lap("hierarchy")
    return hierarchy


# ------------------------------------------------------------------------------------------------------------------------
# Topics by partition (k-means, agglomerative clustering, Gaussian mixtures): every document has a topic.


def partition(points: Points) -> Clustering:
    """Return clusters: as many as asked for, or as the evidence for the numbers in the range says.

    Raises:
        InputError: more topics are asked for than there are different documents, or the range has no number to compare.
    """
    options = points.options
    wanted, engine = options.number_of_topics(), Engine(options, points.execution)
    drawn = samples(points.embeddings, engine)
    sample = drawn[0]
    candidates = []
    if wanted.exactly is None:
        candidates = choose_number(
            drawn, points.counts, wanted.within, grain=options.grain,
            progress=lambda share: points.progress("evidence", share),
        )  # fmt: skip
        points.clock.lap("evidence")
    k = wanted.exactly or next(c.k for c in candidates if c.chosen)
    if k > points.n:
        raise InputError(f"cannot make {k} topics from {points.n} different documents; give `k={points.n}` or less")
    points.progress("topics", 0.0)
    with one_thread():
        whole = len(sample.rows) == points.n
        fits = sample.fits if whole else engine.fits(engine.view(points.embeddings, points.neighbours))
        if options.ensemble > 1 and k > 1:
            members = fits_to_parts(engine, fits.points.astype(np.float32), k, options.ensemble)
            labels = consensus(members, k, seed=points.execution.seed)
        else:
            labels, _ = fits.fit(k)
        points.clock.lap("clusters")
        n_topics = len(set(labels.tolist()))
        if n_topics < k:
            raise InputError(
                f"`cluster={options.cluster}` finds documents for {n_topics} of {k} topics; give `k={n_topics}` or another `cluster`"
            )
        numbers = coarser(candidates, k), finer(candidates, k)
        if not candidates:
            numbers = halved(k), _doubled(k, points.n)
        with ThreadPoolExecutor(points.execution.n_threads()) as pool:
            divisions = tuple(z for z, _ in pool.map(fits.fit, numbers[1]))
        points.clock.lap("layers")
    return Clustering(labels, tuple(candidates), coarser=tuple(numbers[0]), divisions=divisions, repeats=sample.repeats)


def finer_divisions(points: Points, k: int) -> tuple[IntArray, ...]:
    """Return a clustering of all points into twice as many as k, none where they are too few."""
    if not _doubled(k, points.n):
        return ()
    engine = Engine(points.options, points.execution)
    with one_thread():
        fits = engine.fits(engine.view(points.embeddings, points.neighbours))
        return tuple(fits.fit(number)[0] for number in _doubled(k, points.n))


def _doubled(k: int, n: int) -> list[int]:
    """Return twice the number of topics of n points where enough points are there: a layer that no evidence speaks for."""
    return [2 * k] if 2 * k <= n // POINTS_PER_TOPIC else []
