"""Options of supervised LDA, the author-topic model and labelled LDA, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options
from nlpkit.topics.base.options import TopicCount

ALPHA = "Dirichlet prior of each topic in a document. Default: 1 / k."
ETA = "Dirichlet prior of each word in a topic. Default: 1 / k."


def prior(value: float | None, n_topics: int) -> float:
    """Return a prior, 1 / K where none was given."""
    return 1.0 / n_topics if value is None else value


@options
class SldaOptions:
    """Options of supervised LDA."""

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    response: Annotated[
        str,
        Param(
            "Kind of label: real (a number), binary, classes, or auto. auto: binary for two different values; "
            "otherwise real for numbers and classes for texts.",
            choices=("auto", "real", "binary", "classes"),
        ),
    ] = "auto"
    alpha: Annotated[float | None, Param(ALPHA, above=0)] = None
    eta: Annotated[float | None, Param(ETA, ("eta", "beta"), above=0)] = None
    iterations: Annotated[int, Param("Passes over the corpus.", ("iterations", "sweeps"), min=1)] = 500
    coef_variance: Annotated[
        float,
        Param(
            "Prior variance of the coefficients (numbers: in standard deviations). The smaller, the less the "
            "labels influence the topics.",
            ("coef_variance", "nu_sq"),
            above=0,
        ),
    ] = 10.0


@options
class AuthorTopicOptions:
    """Options of the author-topic model."""

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    author_col: Annotated[
        str,
        Param(
            "Column with the authors: one name, a list of names, or names separated by `separator`.",
            ("author_col", "authors"),
            metavar="COLUMN",
        ),
    ] = "author"
    separator: Annotated[str, Param("Separator between names in a text.", metavar="TEXT", filled=True)] = ";"
    alpha: Annotated[float | None, Param("Dirichlet prior of each topic of an author. Default: 1 / k.", above=0)] = None
    eta: Annotated[float | None, Param(ETA, ("eta", "beta"), above=0)] = None
    iterations: Annotated[int, Param("Passes over the corpus.", ("iterations", "sweeps"), min=1)] = 500


@options
class LabeledLdaOptions:
    """Options of labelled LDA. k: labels and latent topics, which follows from the documents."""

    PANEL: ClassVar[str] = "Model"

    k: int | str = "auto"
    latent: Annotated[int, Param("Number of additional topics without a label, open to every document.", min=0)] = 0
    separator: Annotated[str, Param("Separator between labels in a text.", metavar="TEXT", filled=True)] = ";"
    alpha: Annotated[
        float | None,
        Param("Dirichlet prior of each topic that a document may use. Default: 1 / the number of topics.", above=0),
    ] = None
    eta: Annotated[
        float | None,
        Param("Dirichlet prior of each word in a topic. Default: 1 / the number of topics.", ("eta", "beta"), above=0),
    ] = None
    iterations: Annotated[int, Param("Passes over the corpus.", ("iterations", "sweeps"), min=1)] = 500
