"""What is clustered and by what: the reduction of embeddings and the method that divides them, exchangeable parts of a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nlpkit.parameters import Execution
from nlpkit.topics.kmeans import Fits, KMeansFits, plain_view, smoothed
from nlpkit.topics.linkage import LinkageFits
from nlpkit.topics.mixture import MixtureFits
from nlpkit.topics.neighbours import Neighbours, nearest_neighbours
from nlpkit.topics.options import BertopicOptions
from nlpkit.topics.reduce import fuzzy_graph, principal_axes, umap_layout
from nlpkit.types import Float32Array, LongArray

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
    return umap_layout(
        fuzzy_graph(neighbours), principal_axes(embeddings, dimensions), min_dist=options.min_dist, seed=execution.seed,
        threads=execution.n_threads(), progress=progress,
    )  # fmt: skip
