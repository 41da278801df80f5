"""Options of dynamic topic models, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.documents.chunks import parse_span
from nlpkit.platform.options import Param, options
from nlpkit.topics.base.options import TopicCount


@options
class DtmOptions:
    """Options of a dynamic topic model.

    Raises:
        UsageError: a value out of its range, or a period that is not a length of time.
    """

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    every: Annotated[
        str,
        Param(
            "Length of a period, within which topics do not change: year, quarter, month, week, 2 years or 500 "
            "documents.",
            ("every", "chunks"),
            metavar="SPAN",
        ),
    ] = "year"
    chain_variance: Annotated[
        float,
        Param("Variance of a word's change from one period to the next: the larger, the faster topics drift.", above=0),
    ] = 0.05
    alpha: Annotated[float | None, Param("Dirichlet prior of each topic in a document. Default: 1 / k.", above=0)] = (
        None
    )
    iterations: Annotated[
        int, Param("Maximum number of steps of expectation maximisation.", ("iterations", "em_max_iter"), min=1)
    ] = 50
    tolerance: Annotated[
        float, Param("Stop when a step improves the bound by less than this share of it.", min=0.0)
    ] = 1e-4

    def __post_init__(self) -> None:
        """Raise UsageError for values that are out of their range."""
        parse_span(self.every, "every")

    def each_alpha(self, n_topics: int) -> float:
        """Alpha of each topic."""
        return 1.0 / n_topics if self.alpha is None else self.alpha
