"""Options of the comparison of two runs, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options

COMPARED = ("auto", "documents", "words")
USUAL = {"documents": 0.5, "words": 0.3}


@options
class DiffOptions:
    """Options of the comparison of two runs: by what topics are compared, and how much they must share.

    Raises:
        UsageError: an unknown name, or a threshold that is none.
    """

    PANEL: ClassVar[str] = "Comparison"

    by: Annotated[
        str,
        Param(
            "Compare topics by documents, words or auto. auto: documents if the runs share at least half of the "
            "smaller run's documents, otherwise words.",
            metavar="NAME",
            choices=COMPARED,
        ),
    ] = "auto"
    threshold: Annotated[
        float | None,
        Param(
            "Minimum share of documents (default 0.5) or cosine of words (default 0.3) to report topics as split "
            "or merged. For matched topics, half of it is enough.",
            above=0,
            max=1,
        ),
    ] = None
