"""Options of a picture of a run, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError, unknown_value
from nlpkit.parameters import Param
from nlpkit.report.figures import STYLES


@dataclass(frozen=True, slots=True)
class PlotOptions:
    """Options of a picture: size, style, and what of the run it shows.

    Raises:
        UsageError: an unknown style.
    """

    PANEL: ClassVar[str] = "Picture"

    width: Annotated[float, Param("Width in cm.", metavar="CM", min=3, max=100)] = 16.0
    height: Annotated[float | None, Param("Height in cm; default: by what is drawn.", metavar="CM", min=2, max=200)] = (
        None
    )
    style: Annotated[str, Param("Look: plain, serif or dark.", metavar="NAME")] = "plain"
    topics: Annotated[
        int | None,
        Param(
            "Number of topics to draw, the largest first; default: 12, in map, similarity and tree all.",
            metavar="N",
            min=1,
        ),
    ] = None
    words: Annotated[int, Param("Number of words of a topic.", metavar="N", min=1, max=30)] = 10
    topic: Annotated[
        int | None, Param("Topic of the word cloud; default: all words of the corpus.", metavar="K", min=0)
    ] = None
    over: Annotated[
        str | None, Param("Periods, such as date:month; default: at most 60 of 30 documents.", metavar="COLUMN:PART")
    ] = None
    by: Annotated[str | None, Param("Column of by-column; default: the first of 2 to 30 texts.", metavar="COLUMN")] = (
        None
    )
    max_points: Annotated[
        int, Param("Number of documents in the map; of more, a sample stratified by topic.", metavar="N", min=1)
    ] = 50_000

    def __post_init__(self) -> None:
        """Check the style."""
        if self.style not in STYLES:
            raise unknown_value("style", self.style, tuple(STYLES))
        if self.topic is not None and self.topic < 0:
            raise UsageError("`topic` is the number of a topic, 0 or larger", parameter="topic")


@dataclass(frozen=True, slots=True)
class WordPictureOptions:
    """Options of a picture of words.

    Raises:
        UsageError: an unknown style.
    """

    PANEL: ClassVar[str] = "Picture"

    neighbours: Annotated[int, Param("Number of neighbours of each word that are drawn, too.", metavar="N", min=0)] = 0
    width: Annotated[float, Param("Width in cm.", metavar="CM", min=3, max=100)] = 16.0
    height: Annotated[
        float | None, Param("Height in cm; default: three quarters of the width.", metavar="CM", min=2, max=200)
    ] = None
    style: Annotated[str, Param("Look: plain, serif or dark.", metavar="NAME")] = "plain"

    def __post_init__(self) -> None:
        """Check the style."""
        if self.style not in STYLES:
            raise unknown_value("style", self.style, tuple(STYLES))
