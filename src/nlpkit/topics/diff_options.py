"""Options of the comparison of two runs, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options

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
            "Compare topics by documents, words or auto: documents where the runs share half of those of the smaller one.",
            metavar="NAME",
            choices=COMPARED,
        ),
    ] = "auto"
    threshold: Annotated[
        float | None,
        Param(
            "Least share of documents (default 0.5), or cosine of words (0.3), for split and merged; half of it for matched.",
            above=0,
            max=1,
        ),
    ] = None
