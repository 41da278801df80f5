"""Options of the report of a run, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.platform.options import READ, Param, options
from nlpkit.platform.views.figures import MAP_LAYOUTS


@options
class ReportOptions:
    """Options of the report: what of the documents goes into the file.

    Raises:
        UsageError: options that contradict each other.
    """

    PANEL: ClassVar[str] = "Report"

    no_texts: Annotated[bool, Param("Include only the document IDs: no text, no title, no columns.")] = False
    titles_only: Annotated[
        bool, Param("Include titles (or the first 80 characters), but no texts.", excludes=("no_texts",))
    ] = False
    max_points: Annotated[
        int,
        Param("Maximum number of documents in the map, the search and the lists. Larger corpora are sampled by "
              "topic.", metavar="N", min=1),
    ] = 50_000  # fmt: skip
    snippet: Annotated[
        int, Param("Number of characters of each text to include.", metavar="N", min=1)
    ] = 300  # fmt: skip
    title_col: Annotated[str, Param("Column with the title.", metavar="COLUMN")] = "title"
    over: Annotated[
        str | None,
        Param("Periods of the panel over time, such as date:month. Default: periods with at least 30 documents "
              "each, at most 60.", metavar="COLUMN:PART"),
    ] = None  # fmt: skip
    by: Annotated[
        tuple[str, ...],
        Param("Columns of the panel by column. Default: the first four text columns with 2 to 30 values. May be "
              "repeated.", metavar="COLUMN"),
    ] = ()  # fmt: skip
    prevalence: Annotated[
        str | None,
        Param("Formula of the effects, such as 'party * s(date)'. Default: the one of the fit for stm, otherwise none.",
              metavar="FORMULA"),
    ] = None  # fmt: skip
    cluster: Annotated[
        str | None,
        Param("Column by which the standard errors of effects are clustered.", metavar="COLUMN"),
    ] = None
    layout: Annotated[
        str, Param("Layout of the map: nlpkit, or umap-learn (the package of this name).", choices=MAP_LAYOUTS)
    ] = "nlpkit"
    compare: Annotated[
        Path | None,
        Param("Another run, such as an earlier one, to compare topics with.", metavar="RUN"),
        READ,
    ] = None
    heading: Annotated[str | None, Param("Page heading. Default: the kind of run and its corpus.", metavar="TEXT")] = (
        None
    )

    @property
    def texts(self) -> bool:
        """Whether texts go into the file."""
        return not (self.no_texts or self.titles_only)
