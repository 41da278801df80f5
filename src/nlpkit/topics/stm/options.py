"""Options of structural topic models, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options
from nlpkit.topics.base.options import TopicCount
from nlpkit.topics.effects.formula import Formula, parse_formula

TERMS_BY_CONTENT = "topic_terms_by_content"  # the table of words by level of the column of --content


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
