"""Options of the comparison of two runs, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.parameters import Param

COMPARED = ("auto", "documents", "words")
USUAL = {"documents": 0.5, "words": 0.3}


@dataclass(frozen=True, slots=True)
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
        ),
    ] = "auto"
    threshold: Annotated[
        float | None,
        Param(
            "Least share of documents (default 0.5), or cosine of words (0.3), for split and merged; half of it for matched."
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check the name and the threshold."""
        if self.by not in COMPARED:
            raise unknown_value("by", self.by, COMPARED)
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(
                f"`threshold={self.threshold:g}`: a share above 0 and at most 1 is needed, such as 0.5",
                parameter="threshold",
            )
