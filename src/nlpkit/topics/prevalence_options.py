"""Options of the topics of a run over time and by group, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import Param, options


@options
class PrevalenceOptions:
    """Options of shares of topics: over which periods, by which columns, and how documents count.

    Raises:
        UsageError: an unknown name, a column twice, or a level that is none.
    """

    PANEL: ClassVar[str] = "Periods and groups"

    over: Annotated[
        str | None,
        Param(
            "Periods: date:month or another part of a date column (decade, year, quarter, week, day), or a column "
            "of whole numbers.",
            metavar="COLUMN:PART",
        ),
    ] = None
    by: Annotated[
        tuple[str, ...],
        Param("Groups: a column of the documents, such as label or source. May be repeated.", metavar="COLUMN"),
    ] = ()
    count: Annotated[
        str,
        Param(
            "How documents count: main (for their main topic), mixed (for all topics, by probability), or auto "
            "(mixed for LDA).",
            metavar="NAME",
            choices=("auto", "main", "mixed"),
        ),
    ] = "auto"
    ci: Annotated[float, Param("Confidence level of the intervals.", above=0, below=1)] = 0.95
    date_format: Annotated[
        str | None,
        Param(
            "Format of dates, such as %d/%m/%Y. Default: 2011-12-25 and 25.12.2011; 25/12/2011 if the column shows "
            "whether the day or the month comes first.",
            metavar="FORMAT",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check the names and the level."""
        twice = next((name for name in self.by if self.by.count(name) > 1 or name == self.over), None)
        if twice is not None:
            raise UsageError(f"`by={twice}` is named twice; name each column once", parameter="by")
