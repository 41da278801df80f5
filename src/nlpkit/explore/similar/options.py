"""Options of document similarity, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.cluster.options import VECTORS
from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options


@options
class SimilarOptions:
    """Options of document similarity: what is looked for, by which vectors, and by which distance.

    Raises:
        UsageError: an unknown name, or options that contradict each other.
    """

    PANEL: ClassVar[str] = "Search"

    ids: Annotated[
        tuple[str, ...],
        Param("Find the documents most similar to the document with this ID. May be repeated.", ("id",), metavar="ID"),
    ] = ()
    texts: Annotated[
        tuple[str, ...], Param("Find the documents most similar to the text in this file. May be repeated.", ("text",), metavar="FILE"),
        READ
    ] = ()  # fmt: skip
    pairs: Annotated[
        float | None,
        Param(
            "Find all pairs of documents with at least this similarity (cosine) or at most this distance (other "
            "metrics).",
            metavar="NUMBER",
            excludes=("ids", "texts"),
        ),
    ] = None
    by: Annotated[
        str,
        Param(
            "Vectors to compare: embedding (the column if present, otherwise computed) or tfidf (from the tokens).",
            metavar="NAME",
            choices=VECTORS,
        ),
    ] = "embedding"
    metric: Annotated[str, Param("Measure: cosine, euclidean, manhattan or minkowski.", metavar="NAME")] = "cosine"
    p: Annotated[float | None, Param("Exponent of `metric` minkowski: 1 = manhattan, 2 = euclidean.")] = None
    top: Annotated[
        int,
        Param("Number of documents to find for each query, or of pairs to show.", ("top", "top_n"), metavar="N", min=1),
    ] = 10

    def __post_init__(self) -> None:
        """Check `pairs`; the metric is checked by `topics.distances.Metric`."""
        if self.pairs is not None and self.metric == "cosine" and not -1 <= self.pairs <= 1:
            raise UsageError(f"`pairs={self.pairs:g}`: a cosine lies between -1 and 1, such as 0.9", parameter="pairs")
        if self.pairs is not None and self.metric != "cosine" and self.pairs < 0:
            raise UsageError(f"`pairs={self.pairs:g}`: a distance is 0 or larger", parameter="pairs")
