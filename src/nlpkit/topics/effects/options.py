"""Options of the effects of covariates on topics, as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import READ, Param, options
from nlpkit.topics.effects.formula import parse_formula


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
            "Covariates of the regression, as a formula such as 'party * s(date)'. Default for stm: the covariates of the fit.",
            metavar="FORMULA",
        ),
    ] = None
    draws: Annotated[
        int, Param("Number of draws of all documents' topics from their posteriors, where the model has one.", min=2)
    ] = 25
    ci: Annotated[float, Param("Confidence level of the intervals.", above=0, below=1)] = 0.95
    cluster: Annotated[
        str | None,
        Param(
            "Column of documents that are not independent, such as speaker or parent_id. Standard errors are "
            "clustered by it.",
            metavar="COLUMN",
        ),
    ] = None
    random: Annotated[
        str | None,
        Param(
            "Column of groups with a random intercept each. Standard errors are clustered by it as well.",
            metavar="COLUMN",
            excludes=("cluster", "permutations"),
        ),
    ] = None
    link: Annotated[
        str,
        Param(
            "Regression of the shares: linear (as R's stm), or logit (fractional logit; shares stay within 0 and 1).",
            metavar="NAME",
            choices=("linear", "logit"),
        ),
    ] = "linear"
    bootstrap: Annotated[
        int | None,
        Param(
            "Compute standard errors from this many samples of the documents, or of the clusters, with replacement.",
            metavar="N",
            min=2,
            excludes=("permutations",),
        ),
    ] = None
    refits: Annotated[
        bool,
        Param(
            "Combine the regressions in all fits of a run of robust, so that intervals include how topics differ between fits.",
            excludes=("bootstrap", "permutations"),
        ),
    ] = False
    count: Annotated[
        str,
        Param(
            "How documents count: main (for their main topic), mixed (for all topics, by probability), or auto "
            "(main for BERTopic).",
            metavar="NAME",
            choices=("auto", "main", "mixed"),
        ),
    ] = "auto"
    permutations: Annotated[
        int | None,
        Param(
            "Permutation test for a column `of` with two values. The model is fitted this many times with the "
            "values permuted over documents.",
            metavar="N",
            min=1,
            excludes=("prevalence", "difference", "moderator", "cluster"),
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
        if self.permutations is not None and (self.link, self.count) != ("linear", "auto"):
            raise UsageError(
                "`permutations` compares linear regressions of drawn shares; leave out `link` and `count`",
                parameter="permutations",
            )
        if self.random is not None and self.link == "logit":
            raise UsageError(
                "`random` needs the linear regression: a logit with random intercepts has no closed form; use `cluster` with `link`",
                parameter="random",
            )
