"""The engine of topics on embeddings: a reduction, a clustering method, and a consensus of many fits.

Parts, in this order:
- What is clustered and by what: the reduction of embeddings and the method that divides them, exchangeable parts of a
  fit.
- One clustering from many: what most fits to parts of the documents agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.cluster.hierarchy import Fits, KMeansFits, LinkageFits, MixtureFits, plain_view, smoothed
from nlpkit.cluster.neighbours import Neighbours, nearest_neighbours, unit_rows
from nlpkit.cluster.reduce import fuzzy_graph, principal_axes, umap_layout, umap_learn_layout
from nlpkit.platform.options import Execution
from nlpkit.platform.types import Float32Array, IntArray, LongArray
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.weights.lsa import singular_vectors

METHODS: dict[str, Callable[[Float32Array, int, BertopicOptions], Fits]] = {
    "kmeans": lambda view, seed, options: KMeansFits(view, seed=seed),
    "agglomerative": lambda view, seed, options: LinkageFits(view, seed=seed, linkage=options.linkage),
    "gmm": lambda view, seed, options: MixtureFits(view, seed=seed),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """A reduction and a method, with their options."""

    options: BertopicOptions
    execution: Execution

    def fits(self, view: Float32Array) -> Fits:
        """Return clusterings of a view for any number of clusters."""
        return METHODS[self.options.cluster](view, self.execution.seed, self.options)

    def view(self, embeddings: Float32Array, neighbours: Neighbours) -> Float32Array:
        """Return what is clustered: a UMAP layout, principal axes of rows averaged with their neighbours, or the embeddings."""
        reduction = self.options.reduction()
        if reduction == "none":
            return embeddings
        if reduction == "pca":
            return plain_view(smoothed(embeddings, neighbours))
        return layout(embeddings, neighbours, self.options, self.execution)

    def neighbours(self, embeddings: Float32Array) -> Neighbours:
        """Return the neighbours of each row among the others, one fewer than `n_neighbors`, which counts the row itself."""
        return nearest_neighbours(embeddings, k=self.options.n_neighbors - 1, threads=self.execution.n_threads())

    def views_of_parts(self, embeddings: Float32Array, parts: Sequence[LongArray]) -> list[Float32Array]:
        """Return the views of parts of the rows in one space; by `pca` each part is averaged without the others."""
        if self.options.reduction() != "pca":
            view = self.view(embeddings, self.neighbours(embeddings))
            return [view[part] for part in parts]
        averaged = [smoothed(X, self.neighbours(X)) for X in (embeddings[part] for part in parts)]
        return np.split(plain_view(np.concatenate(averaged)), np.cumsum([len(x) for x in averaged])[:-1])


def layout(
    embeddings: Float32Array,
    neighbours: Neighbours,
    options: BertopicOptions,
    execution: Execution,
    progress: Callable[[float], None] | None = None,
) -> Float32Array:
    """Return the UMAP layout (U, n_components) of embeddings."""
    dimensions = min(options.n_components, len(embeddings) - 2, embeddings.shape[1])
    if options.reduction() == "umap-learn":
        return umap_learn_layout(
            embeddings, n_neighbors=options.n_neighbors, n_components=dimensions, min_dist=options.min_dist, seed=execution.seed
        )  # fmt: skip
    return umap_layout(
        fuzzy_graph(neighbours), principal_axes(embeddings, dimensions), min_dist=options.min_dist, seed=execution.seed,
        threads=execution.n_threads(), progress=progress,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------------
# One clustering from many: what most fits to parts of the documents agree on.

PART = 0.8


def fits_to_parts(engine: Engine, view: Float32Array, k: int, n: int) -> list[IntArray]:
    """Return the topics (U,) of all points by each of n fits, each to another four fifths of the points, or 2 k if that is more."""
    clusterings = []
    for number in range(n):
        order = np.random.default_rng([engine.execution.seed, number]).permutation(len(view))
        rows = np.sort(order[: max(int(PART * len(view)), min(2 * k, len(view)))])
        fits = engine.fits(view[rows])
        clusterings.append(fits.assign(fits.fit(k)[1], view))
    return clusterings


def consensus(clusterings: Sequence[IntArray], k: int, *, seed: int) -> IntArray:
    """Return the consensus (U,) of clusterings into k: k-means of the clusters that each point is in (Wu et al. 2015).

    A point is a row with a one for its cluster in each clustering, so that the product of two rows is the number of fits that
    put both points together (Strehl & Ghosh 2002); k-means sees the k largest singular vectors of these rows, in unit length.
    """
    U, n = len(clusterings[0]), len(clusterings)
    columns = np.stack([labels.astype(np.int64) + number * k for number, labels in enumerate(clusterings)], axis=1)
    member = sparse.csr_array((np.ones(U * n), columns.ravel(), np.arange(0, U * n + 1, n)), shape=(U, n * k))
    least = min(member.shape)
    left, values, _ = singular_vectors(member, min(k, least - 1), start=np.ones(least), rng=np.random.default_rng(seed))
    return KMeansFits(unit_rows(left * values), seed=seed).fit(k)[0]
