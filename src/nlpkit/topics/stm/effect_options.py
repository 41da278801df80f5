"""Options of the effects of covariates on topics, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.metrics.bootstrap import check_level
from nlpkit.parameters import READ, Param, options
from nlpkit.topics.stm.formula import parse_formula


@options
class EffectOptions:
    """Options of regressions of topics on covariates.

    Raises:
        UsageError: a formula that cannot be read, or a level that is none.
    """

    PANEL: ClassVar[str] = "Effects"

    column: Annotated[
        str | None,
        Param(
            "Column whose values are compared: shares of topics at each, all other covariates at their median or most frequent "
            "category.",
            ("of",),
            metavar="COLUMN",
        ),
    ] = None
    prevalence: Annotated[
        str | None,
        Param(
            "Covariates of the regression, a formula as of nlpkit stm; default: those of the fit.", metavar="FORMULA"
        ),
    ] = None
    draws: Annotated[int, Param("Draws of the topics of all documents from their posteriors.", min=2)] = 25
    ci: Annotated[float, Param("Level of the intervals.")] = 0.95
    permutations: Annotated[
        int | None,
        Param(
            "Fit the model again so many times with the values of --of, of which there are two, permuted over documents, and compare "
            "the effect with theirs.",
            metavar="N",
            min=1,
        ),
    ] = None
    documents: Annotated[
        Path | Any | None,
        Param("Documents of the fit for --permutations, where the run does not find them itself.", metavar="FILE"),
        READ,
    ] = None

    def __post_init__(self) -> None:
        """Check the formula and the level."""
        check_level(self.ci)
        if self.prevalence is not None:
            parse_formula(self.prevalence)
        if self.permutations is None:
            if self.documents is not None:
                raise UsageError("`documents` are read for `permutations` alone; leave them out", parameter="documents")
            return
        if self.column is None:
            raise UsageError("`permutations` tests the effect of one column; name it with `of`", parameter="of")
        if self.prevalence is not None:
            raise UsageError(
                "`permutations` fits the model of the run again; leave `prevalence` out", parameter="prevalence"
            )
