"""Options of the report of a run, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.parameters import READ, Param, options


@options
class ReportOptions:
    """Options of the report: what of the documents goes into the file.

    Raises:
        UsageError: options that contradict each other.
    """

    PANEL: ClassVar[str] = "Report"

    no_texts: Annotated[bool, Param("Nothing of the documents but their ids: no text, no title, no columns.")] = False
    titles_only: Annotated[bool, Param("Titles (or the first 80 characters) of the documents, but no texts.")] = False
    max_points: Annotated[
        int,
        Param("Number of documents in the map, the search and the lists; of more, a sample stratified by topic.", metavar="N", min=1),
    ] = 50_000  # fmt: skip
    snippet: Annotated[
        int, Param("Number of characters of each text that go into the file.", metavar="N", min=1)
    ] = 300  # fmt: skip
    title_col: Annotated[str, Param("Column of the title.", metavar="COLUMN")] = "title"
    over: Annotated[
        str | None,
        Param("Periods of the panel over time, such as date:month; default: at most 60 of 30 documents.", metavar="COLUMN:PART"),
    ] = None  # fmt: skip
    by: Annotated[
        tuple[str, ...],
        Param("Columns of the panel by column; default: the first four of 2 to 30 texts. May be repeated.", metavar="COLUMN"),
    ] = ()  # fmt: skip
    compare: Annotated[
        Path | None,
        Param("Another run, an earlier one, say: what became of its topics in this one.", metavar="RUN"),
        READ,
    ] = None
    heading: Annotated[
        str | None, Param("Heading of the page; default: the kind of the run and its corpus.", metavar="TEXT")
    ] = None

    def __post_init__(self) -> None:
        """Check that the options agree."""
        if self.no_texts and self.titles_only:
            raise UsageError(
                "`no_texts` leaves out titles, too; give one of `no_texts`, `titles_only`", parameter="no_texts"
            )

    @property
    def texts(self) -> bool:
        """Whether texts go into the file."""
        return not (self.no_texts or self.titles_only)
