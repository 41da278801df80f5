"""Options of clustering a table, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import TABLE_WRITTEN, WRITTEN, Param, names_in, options
from nlpkit.topics.number import NumberOfTopics

VECTORS = ("embedding", "tfidf")

LINKAGES = ("ward", "average", "complete", "single")
_LINKAGE = tuple(f"method={name}" for name in LINKAGES)
METHODS = ("kmeans", "kmedoids", *LINKAGES, "hdbscan", "gmm")
METRICS = ("cosine", "euclidean", "manhattan")
SQUARES = ("kmeans", "ward", "gmm")  # methods of means, which minimise squared Euclidean distances
SCALES = ("none", "standard", "minmax", "robust")


@options
class ClusterOptions:
    """Options of clustering: the vectors, how they are scaled, the method, and the number of clusters.

    Raises:
        UsageError: an unknown name, or options that contradict each other.
    """

    PANEL: ClassVar[str] = "Clusters"

    method: Annotated[
        str,
        Param(
            "Method: kmeans, kmedoids (PAM), a linkage (ward, average, complete or single), hdbscan or gmm.",
            metavar="NAME",
            choices=METHODS,
        ),
    ] = "kmeans"
    k: Annotated[
        int | str,
        Param(
            "Number of clusters: N, a range lo:hi or lo:hi:step, or auto (2 to 20). Ranges and auto use the "
            "silhouette.",
            metavar="N|auto",
        ),
    ] = "auto"
    by: Annotated[
        str,
        Param(
            "Vectors to cluster: embedding (the column if present, otherwise computed) or tfidf (from the tokens).",
            metavar="NAME",
            choices=VECTORS,
        ),
    ] = "embedding"
    feature_cols: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Numeric columns to cluster by, such as age,income. The table then needs no text.",
            metavar="COLUMNS",
            excludes=("by",),
        ),
    ] = None
    metric: Annotated[
        str | None,
        Param(
            "Distance: cosine, euclidean or manhattan (manhattan only for kmedoids, hdbscan and linkages except "
            "ward). Default: cosine; euclidean for `feature_cols`.",
            metavar="NAME",
            choices=METRICS,
        ),
    ] = None
    scale: Annotated[
        str, Param("Scale each dimension first: none, standard, minmax or robust.", metavar="NAME", choices=SCALES)
    ] = "none"
    min_cluster_size: Annotated[
        int | None, Param("HDBSCAN: minimum documents per cluster. Default: 5.", min=2, needs=("method=hdbscan",))
    ] = None
    tree: Annotated[
        Path | None,
        Param("File for the dendrogram of a linkage (Newick format).", metavar="FILE", needs=_LINKAGE),
        WRITTEN,
    ] = None
    merges: Annotated[
        Path | None,
        Param("Table of the merges of a linkage: left, right, distance, size.", metavar="FILE", needs=_LINKAGE),
        TABLE_WRITTEN,
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without documents."""
        self.number()
        if self.method == "hdbscan" and str(self.k) != "auto":
            raise UsageError(
                "`k` does not apply to hdbscan, which finds the number of clusters (see `min_cluster_size`)",
                parameter="k",
            )
        if self.method in SQUARES and self.metric == "manhattan":
            raise UsageError(
                f"`metric=manhattan`: {self.method} uses means and squared Euclidean distances; use kmedoids or "
                "average",
                parameter="metric",
            )
        if self.vectors() == "tfidf" and self.scale != "none":
            raise UsageError("`scale` would fill the zeros of tf-idf; use another `scheme` instead", parameter="scale")
        if self.vectors() == "tfidf" and self.method == "gmm":
            raise UsageError(
                "`method=gmm` needs dense vectors; use `by=embedding`, or another method", parameter="method"
            )

    def number(self) -> NumberOfTopics:
        """Return what `k` asks for."""
        return NumberOfTopics.parse(self.k)

    def columns(self) -> list[str]:
        """Return the columns of features, none for other vectors."""
        return names_in(self.feature_cols)

    def vectors(self) -> str:
        """Return what is clustered: embedding, tfidf or columns."""
        return "columns" if self.columns() else self.by

    def distance(self) -> str:
        """Return the metric in force."""
        return self.metric or ("euclidean" if self.columns() else "cosine")
