"""Options of scaling, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options

METHODS = ("wordscores", "wordfish", "lss", "ca", "axis")
RESCALINGS = ("none", "mv", "lbg", "lbg-all")


@options
class ScaleOptions:
    """Options of scaling: the method, what tells it which way the scale runs, and how positions are added up.

    Raises:
        UsageError: a method without what it needs.
    """

    PANEL: ClassVar[str] = "Scale"

    method: Annotated[
        str,
        Param(
            "Method: wordscores (reference texts with known scores), wordfish (Poisson model, unsupervised), lss (latent "
            "semantic scaling, seed words), ca (correspondence analysis, unsupervised) or axis (between two sets of "
            "sentences or words in embedding space).",
            choices=METHODS,
            metavar="NAME",
        ),
    ] = "wordfish"
    scores: Annotated[
        str | None,
        Param(
            "wordscores: scores of the reference texts: a numeric column, empty for texts to be scored, or a table with "
            "the columns id and score.",
            metavar="COLUMN|FILE",
            needs=("method=wordscores",),
        ),
    ] = None
    rescale: Annotated[
        str,
        Param(
            "wordscores: none (raw scores), mv (Martin and Vanberg: the two outermost reference texts get their scores), "
            "lbg (Laver, Benoit and Garry: spread of the reference scores) or lbg-all (lbg over all texts, as quanteda).",
            choices=RESCALINGS,
            metavar="NAME",
            needs=("method=wordscores",),
        ),
    ] = "none"
    smooth: Annotated[
        float,
        Param("wordscores: number added to each count of the reference texts.", min=0, needs=("method=wordscores",)),
    ] = 0.0
    low: Annotated[
        str | None,
        Param(
            "wordfish, ca: ID of a document that lies below `high`. Default: the first document lies below the second.",
            metavar="ID",
            needs=("high",),
        ),
    ] = None
    high: Annotated[
        str | None, Param("wordfish, ca: ID of a document that lies above `low`.", metavar="ID", needs=("low",))
    ] = None
    prior: Annotated[
        float,
        Param(
            "wordfish: standard deviation of the prior on word weights.",
            above=0,
            needs=("method=wordfish",),
            panel="More",
        ),
    ] = 3.0
    compat: Annotated[
        str | None,
        Param(
            "quanteda = wordfish as quanteda.textmodels ends it, before the mode is reached.",
            choices=("quanteda",),
            needs=("method=wordfish",),
        ),
    ] = None
    positive: Annotated[
        tuple[str, ...],
        Param(
            "lss: seed word or pattern (good*) of the upper end. axis: sentence or word of it. May be repeated.",
            metavar="TEXT",
            needs=("method=lss", "method=axis"),
        ),
    ] = ()
    negative: Annotated[
        tuple[str, ...],
        Param("The same for the lower end.", metavar="TEXT", needs=("method=lss", "method=axis")),
    ] = ()
    seeds: Annotated[
        Path | None,
        Param(
            "Both ends in a TOML file: positive = ['good', 'nice*'] and negative = ['bad'].",
            metavar="TOML",
            needs=("method=lss", "method=axis"),
            excludes=("positive", "negative"),
        ),
        READ,
    ] = None
    terms: Annotated[
        Path | tuple[str, ...] | None,
        Param(
            "lss: only these words give documents a position: a table with a column 'term', or a text file with one "
            "word or pattern per line. Default: all words.",
            metavar="FILE",
            needs=("method=lss",),
        ),
        READ,
    ] = None
    dimensions: Annotated[
        int | None,
        Param(
            "lss: length of the word vectors. Default: 300, at most half of the words. ca: number of dimensions. Default: 2.",
            min=1,
        ),
    ] = None
    unit: Annotated[
        str | None,
        Param(
            "lss: unit in which words occur together, for the word vectors: sentence (default, except where the documents "
            "have tokens already) or document.",
            choices=("sentence", "document"),
            metavar="UNIT",
            needs=("method=lss",),
        ),
    ] = None
    by: Annotated[
        str | None, Param("Column whose values get mean positions, such as party or speaker.", metavar="COLUMN")
    ] = None
    over: Annotated[
        str | None,
        Param(
            "Periods that get mean positions, such as date:year (decade, quarter, month, week, day).", metavar="DATE"
        ),
    ] = None
    ci: Annotated[float, Param("Level of the intervals.", above=0, below=1)] = 0.95

    def __post_init__(self) -> None:
        """Check that a method has what it needs, and nothing that it does not read."""
        seeded = self.seeds is not None or bool(self.positive)
        if self.method == "wordscores" and self.scores is None:
            raise UsageError(
                "`method=wordscores` needs the scores of reference texts; add `scores`", parameter="scores"
            )
        if self.method == "lss" and not seeded:
            raise UsageError(
                "`method=lss` needs seed words; add `positive` and `negative`, or `seeds`", parameter="positive"
            )
        if self.method == "axis" and self.seeds is None and not (self.positive and self.negative):
            raise UsageError(
                "`method=axis` needs sentences or words of both ends; add `positive` and `negative`, or `seeds`",
                parameter="positive",
            )
        for name, methods in (("low", ("wordfish", "ca")), ("dimensions", ("lss", "ca"))):
            if getattr(self, name) is not None and self.method not in methods:
                raise UsageError(f"`{name}` is for {' and '.join(methods)}, not {self.method}", parameter=name)
        if self.low is not None and self.low == self.high:
            raise UsageError(f"`low` and `high` are both '{self.low}'; name two documents", parameter="high")
        if self.by is not None and self.by == self.over:
            raise UsageError(f"`by` and `over` are both '{self.by}'; name another column", parameter="over")
