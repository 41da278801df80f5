"""Options of structural topic models, as plain data.

Further parts, in this order:
- Options of the effects of covariates on topics, as plain data.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options
from nlpkit.topics.base.options import TopicCount
from nlpkit.topics.stm.formula import Formula, parse_formula


@options
class StmOptions:
    """Options of a structural topic model.

    Raises:
        UsageError: a value that is not known, or a formula that cannot be read.
    """

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    prevalence: Annotated[
        str | None,
        Param(
            "Covariates of the documents' topics, such as 'party + s(date)': columns, a + b, a:b, a*b, splines "
            "s(x), categories factor(x). Default: none (the correlated topic model).",
            metavar="FORMULA",
        ),
    ] = None
    content: Annotated[
        str | None,
        Param(
            "Column of categories that change the words of topics, such as a party or a source. Default: none.",
            metavar="COLUMN",
        ),
    ] = None
    interactions: Annotated[
        bool,
        Param(
            "Let the content column change the words of each topic separately, instead of all topics alike.",
            ("content_interactions",),
            off="no_content_interactions",
            needs=("content",),
        ),
    ] = True
    iterations: Annotated[
        int, Param("Maximum number of steps of expectation maximisation.", ("iterations", "max_em_its"), min=1)
    ] = 500
    tolerance: Annotated[
        float,
        Param("Stop when a step improves the bound by less than this share of it.", ("tolerance", "emtol"), min=0.0),
    ] = 1e-5
    start: Annotated[
        str,
        Param(
            "Starting values: spectral (the best of several sets of anchor words), anchors (among all words, as in "
            "R's stm), lda or random.",
            ("start", "init"),
            choices=("spectral", "anchors", "lda", "random"),
        ),
    ] = "spectral"
    sigma_prior: Annotated[
        float, Param("Share by which covariances between topics are shrunk towards 0.", min=0.0, max=1.0)
    ] = 0.0

    def __post_init__(self) -> None:
        """Raise UsageError for values that are not known."""
        if self.prevalence is not None and not self.formula:
            raise UsageError(f"`prevalence={self.prevalence}` names no column; write for example: party + s(date)")

    @property
    def formula(self) -> Formula | None:
        """The formula of the covariates, None where there are none."""
        formula = None if self.prevalence is None else parse_formula(self.prevalence)
        return formula if formula is not None and formula.terms else None

    @property
    def recorded(self) -> dict[str, str]:
        """The names of the options that a run records."""
        of_content = () if self.content is None else ("content", "interactions")
        return {name: name for name in ("prevalence", "iterations", "tolerance", "start", "sigma_prior", *of_content)}


# ------------------------------------------------------------------------------------------------------------------------
# Options of the effects of covariates on topics, as plain data.


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
            ("of", "by"),
            metavar="COLUMN",
        ),
    ] = None
    difference: Annotated[
        str | tuple[str, ...] | None,
        Param(
            "Only compute the share at the first of two values of `of` less the share at the second.",
            metavar="VALUE,VALUE",
            needs=("column",),
        ),
    ] = None
    moderator: Annotated[
        str | None,
        Param(
            "Also vary a second column, such as one that interacts with `of` in the formula. Default values: all "
            "categories, or the 10 and 90 % quantiles of a number.",
            metavar="COLUMN[=VALUE,…]",
            needs=("column",),
        ),
    ] = None
    topics: Annotated[
        str | int | tuple[int, ...] | None,
        Param("Topics to show, by number, in this order. Default: all.", metavar="N,…"),
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
            excludes=("prevalence", "difference", "moderator"),
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
