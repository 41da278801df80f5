"""Options of the effects of covariates on topics, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
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
            "Column to compare. Topic shares are computed at each of its values, with other covariates at their "
            "median or most frequent category.",
            ("of",),
            metavar="COLUMN",
        ),
    ] = None
    prevalence: Annotated[
        str | None,
        Param(
            "Covariates of the regression, as a formula of `fit_stm()`. Default: the covariates of the fit.",
            metavar="FORMULA",
        ),
    ] = None
    draws: Annotated[int, Param("Number of draws of all documents' topics from their posteriors.", min=2)] = 25
    ci: Annotated[float, Param("Confidence level of the intervals.", above=0, below=1)] = 0.95
    permutations: Annotated[
        int | None,
        Param(
            "Permutation test for a column `of` with two values. The model is fitted this many times with the "
            "values permuted over documents.",
            metavar="N",
            min=1,
            excludes=("prevalence",),
        ),
    ] = None
    documents: Annotated[
        Path | Any | None,
        Param(
            "Documents of the fit for `permutations`, if the run cannot find them.",
            metavar="FILE",
            needs=("permutations",),
        ),
        READ,
    ] = None

    def __post_init__(self) -> None:
        """Check the formula and the level."""
        if self.prevalence is not None:
            parse_formula(self.prevalence)
        if self.permutations is not None and self.column is None:
            raise UsageError("`permutations` tests the effect of one column; name it with `of`", parameter="of")
