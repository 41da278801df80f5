"""A number of topics or clusters that is wanted: exactly so many, or the best within a range.

Further parts, in this order:
- Options of clustering a table, as plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import TABLE_WRITTEN, WRITTEN, Param, names_in, options


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers of topics to choose from: low … high (None = any), in steps (None = as the hierarchy gives them)."""

    low: int = 2
    high: int | None = None
    step: int | None = None

    def __contains__(self, k: int) -> bool:
        return self.low <= k and (self.high is None or k <= self.high)


@dataclass(frozen=True, slots=True)
class NumberOfTopics:
    """The number of topics that is wanted: exactly n, or the best cut within a range (auto = any number)."""

    exactly: int | None = None
    within: Range = field(default_factory=Range)

    @classmethod
    def parse(cls, k: int | str) -> NumberOfTopics:
        """Read `auto`, a number, `lo:hi` or `lo:hi:step`.

        Raises:
            UsageError: it is none of these, or the range is empty.
        """
        text = str(k)
        if text == "auto":
            return cls()
        parts = text.split(":")
        if not 1 <= len(parts) <= 3 or not all(p.isdecimal() for p in parts):
            raise UsageError(
                f"`k` takes auto, a number, or a range such as 5:50 or 10:100:10, got '{text}'", parameter="k"
            )
        numbers = [int(p) for p in parts]
        if len(numbers) == 1:
            if numbers[0] < 1:
                raise UsageError(f"`k={text}`: at least 1 topic is needed", parameter="k")
            return cls(exactly=numbers[0])
        if numbers[0] > numbers[1] or numbers[0] < 1 or (len(numbers) == 3 and numbers[2] < 1):
            why = "its step must be 1 or more" if len(numbers) == 3 and numbers[2] < 1 else "write it as lowest:highest"
            raise UsageError(f"`k={text}` is an empty range; {why}", parameter="k")
        return cls(within=Range(*numbers))


# ------------------------------------------------------------------------------------------------------------------------
# Options of clustering a table, as plain data.

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
