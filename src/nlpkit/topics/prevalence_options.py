"""Options of the topics of a run over time and by group, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.metrics.bootstrap import check_level
from nlpkit.parameters import Param, options

MEMBERSHIPS = ("auto", "main", "mixed")


@options
class PrevalenceOptions:
    """Options of shares of topics: over which periods, by which columns, and how documents count.

    Raises:
        UsageError: an unknown name, a column twice, or a level that is none.
    """

    PANEL: ClassVar[str] = "Cells"

    over: Annotated[
        str | None,
        Param(
            "Periods: date:month, or another part (decade, year, quarter, week, day) of a column of dates; or a column of whole "
            "numbers.",
            metavar="COLUMN:PART",
        ),
    ] = None
    by: Annotated[
        tuple[str, ...],
        Param("Groups: a column of the documents, such as label or source; may be repeated.", metavar="COLUMN"),
    ] = ()
    count: Annotated[
        str,
        Param(
            "How documents count: main (for their topic), mixed (for all their topics, by probability) or auto: mixed for LDA.",
            metavar="NAME",
        ),
    ] = "auto"
    ci: Annotated[float, Param("Level of the intervals.")] = 0.95
    date_format: Annotated[
        str | None,
        Param(
            "How dates are written, such as %d/%m/%Y; default: 2011-12-25, 25.12.2011, and 25/12/2011 where the column tells "
            "whether day or month comes first.",
            metavar="FORMAT",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check the names and the level."""
        if self.count not in MEMBERSHIPS:
            raise unknown_value("count", self.count, MEMBERSHIPS)
        check_level(self.ci)
        twice = next((name for name in self.by if self.by.count(name) > 1 or name == self.over), None)
        if twice is not None:
            raise UsageError(f"`by={twice}` is there twice; give each column once", parameter="by")
