"""Options of a picture of a run, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options
from nlpkit.report.figures import STYLES


@options
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
    style: Annotated[str, Param("Look: plain, serif or dark.", metavar="NAME", choices=STYLES)] = "plain"
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


@options
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
    style: Annotated[str, Param("Look: plain, serif or dark.", metavar="NAME", choices=STYLES)] = "plain"
