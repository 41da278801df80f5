"""Options of the effects of covariates on topics, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from nlpkit.metrics.bootstrap import check_level
from nlpkit.parameters import Param
from nlpkit.topics.stm.formula import parse_formula


@dataclass(frozen=True, slots=True)
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

    def __post_init__(self) -> None:
        """Check the formula and the level."""
        check_level(self.ci)
        if self.prevalence is not None:
            parse_formula(self.prevalence)
