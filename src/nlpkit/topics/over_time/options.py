"""Options of the topics of a run over time and by group, as plain data.

Further parts, in this order:
- Options of questions to the topics of a run, as plain data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options


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


# ------------------------------------------------------------------------------------------------------------------------
# Options of questions to the topics of a run, as plain data.

TUNINGS = ("cell", "global", "evolving", "distinctive")


@options
class TopicWordOptions:
    """Options of the words of topics in periods and groups.

    Raises:
        UsageError: an unknown name.
    """

    PANEL: ClassVar[str] = "Words"

    words: Annotated[
        int,
        Param(
            "Also show this many words of each topic in each period and group. This reads the corpus of the run again.",
            metavar="N",
            min=0,
        ),
    ] = 0
    terms: Annotated[
        str,
        Param(
            "How to choose words by c-tf-idf: cell (from its own documents), global (averaged with the whole "
            "topic), or evolving (also with the period before, as in BERTopic). distinctive uses keyness against "
            "the topic's other cells.",
            metavar="NAME",
            choices=TUNINGS,
        ),
    ] = "evolving"


@options
class UnitOptions:
    """Options of units that documents are added up to."""

    PANEL: ClassVar[str] = "Units"

    up: Annotated[
        str | None,
        Param(
            "Add the topics up to units: parent_id (documents of sentences), author, speaker or any column. The table "
            "has a row for each unit.",
            metavar="COLUMN",
        ),
    ] = None
    within: Annotated[
        str | None,
        Param(
            "Column of clusters inside a unit, which the intervals allow for. Default: parent_id, otherwise "
            "neighbouring documents.",
            metavar="COLUMN",
            needs=("up",),
        ),
    ] = None
    join: Annotated[
        Path | Any | None,
        Param(
            "Table with more columns of the units. Its column named as the unit, or id, is the key.",
            metavar="FILE",
            needs=("up",),
        ),
        READ,
    ] = None


@options
class SignalOptions:
    """Options of trends with names, and of briefs of periods."""

    PANEL: ClassVar[str] = "Signals"

    signals: Annotated[
        bool,
        Param(
            "Name what each topic does over the periods: weak or strong signal, fading, seasonal, burst; else steady or noise."
        ),
    ] = False
    brief: Annotated[
        bool,
        Param("For each period, show what is new, grew, fell or burst, with quotes."),
    ] = False
    cycle: Annotated[
        int | None,
        Param("Periods of a season. Default: a year, a week for days, none for whole numbers.", metavar="N", min=2),
    ] = None


@options
class TopicQueryOptions:
    """A question to the topics of a run, at most one.

    Raises:
        UsageError: several questions.
    """

    PANEL: ClassVar[str] = "Questions"

    documents: Annotated[
        tuple[str, ...],
        Param("List the documents with most of this topic (number or name). May be repeated.", metavar="TOPIC"),
    ] = ()
    search: Annotated[
        tuple[str, ...],
        Param(
            "List the topics of a word. flood* matches all words that start with flood. May be repeated.",
            metavar="WORD",
            excludes=("documents",),
        ),
    ] = ()
    similar: Annotated[
        str | None,
        Param(
            "List the topics most similar to this one (number or name).",
            metavar="TOPIC",
            excludes=("documents", "search"),
        ),
    ] = None
    correlations: Annotated[
        bool,
        Param(
            "List topics that occur in the same documents, and topics that avoid each other.",
            excludes=("documents", "search", "similar"),
        ),
    ] = False
    columns: Annotated[
        bool,
        Param(
            "Rank all columns of the documents by how well they explain the topics.",
            excludes=("documents", "search", "similar", "correlations"),
        ),
    ] = False
    top: Annotated[
        int, Param("Number of documents, topics or pairs to find.", ("top", "top_n"), metavar="N", min=1)
    ] = 20

    def asked(self) -> list[str]:
        """Return the names of the questions that are asked."""
        return [
            name
            for name in ("documents", "search", "similar", "correlations", "columns")
            if getattr(self, name) not in ((), None, False)
        ]
