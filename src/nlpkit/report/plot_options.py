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
    height: Annotated[
        float | None, Param("Height in cm. Default: depends on the chart.", metavar="CM", min=2, max=200)
    ] = None
    style: Annotated[str, Param("Style: plain, serif or dark.", metavar="NAME", choices=STYLES)] = "plain"
    topics: Annotated[
        int | None,
        Param(
            "Number of topics to draw, largest first. Default: 12; all in map, similarity and tree.",
            metavar="N",
            min=1,
        ),
    ] = None
    words: Annotated[int, Param("Number of words per topic.", metavar="N", min=1, max=30)] = 10
    topic: Annotated[
        int | None, Param("Topic of the word cloud. Default: all words of the corpus.", metavar="K", min=0)
    ] = None
    over: Annotated[
        str | None,
        Param(
            "Periods, such as date:month. Default: periods with at least 30 documents each, at most 60.",
            metavar="COLUMN:PART",
        ),
    ] = None
    by: Annotated[
        str | None, Param("Column for by-column. Default: the first text column with 2 to 30 values.", metavar="COLUMN")
    ] = None
    max_points: Annotated[
        int, Param("Maximum number of documents in the map. Larger corpora are sampled by topic.", metavar="N", min=1)
    ] = 50_000


@options
class WordPictureOptions:
    """Options of a picture of words.

    Raises:
        UsageError: an unknown style.
    """

    PANEL: ClassVar[str] = "Picture"

    neighbours: Annotated[int, Param("Number of neighbours to draw for each word.", metavar="N", min=0)] = 0
    width: Annotated[float, Param("Width in cm.", metavar="CM", min=3, max=100)] = 16.0
    height: Annotated[
        float | None, Param("Height in cm. Default: three quarters of the width.", metavar="CM", min=2, max=200)
    ] = None
    style: Annotated[str, Param("Style: plain, serif or dark.", metavar="NAME", choices=STYLES)] = "plain"
