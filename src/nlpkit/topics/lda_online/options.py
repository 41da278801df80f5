"""Options of LDA by variational Bayes, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.errors import UsageError
from nlpkit.platform.options import Param, options
from nlpkit.topics.base.options import TopicCount

ALL = "all"


@options
class LdaOnlineOptions:
    """Options of LDA by variational Bayes, batch by batch or on the whole corpus.

    Raises:
        UsageError: a value out of its range.
    """

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    alpha: Annotated[float | None, Param("Dirichlet prior of each topic in a document. Default: 1 / k.", above=0)] = (
        None
    )
    eta: Annotated[
        float | None,
        Param("Dirichlet prior of each word in a topic. Default: 1 / k.", ("eta", "beta"), above=0),
    ] = None
    start: Annotated[
        str,
        Param(
            "Starting topics: gibbs (50 sweeps of Gibbs sampling on at most 10,000 documents) or random (as in "
            "scikit-learn and gensim).",
            choices=("gibbs", "random"),
        ),
    ] = "gibbs"
    batch_size: Annotated[
        int | str,
        Param(
            "Number of documents between updates of the topics. all or 0: one update per pass (batch variational "
            "Bayes).",
            ("batch_size", "chunksize"),
        ),
    ] = 256
    iterations: Annotated[
        int,
        Param("Maximum number of passes over the documents.", ("iterations", "passes", "max_iter"), min=1),
    ] = 50
    tolerance: Annotated[
        float, Param("Stop when a pass improves the bound by less than this share of it.", min=0.0)
    ] = 1e-4
    kappa: Annotated[
        float,
        Param(
            "Exponent by which the weight of a batch falls: (tau0 + t)^-kappa. Not used with a single batch.",
            ("kappa", "learning_decay"),
            above=0.5,
            max=1,
        ),
    ] = 0.7
    tau0: Annotated[
        float,
        Param(
            "Number of batches that slows down the first updates. Not used with a single batch.",
            ("tau0", "learning_offset"),
            min=1,
        ),
    ] = 10.0

    def __post_init__(self) -> None:
        """Raise UsageError for values that are out of their range."""
        if self.batch_size != ALL and not str(self.batch_size).isdecimal():
            raise UsageError(
                f"`batch_size={self.batch_size}`: a number of documents is needed, or {ALL}", parameter="batch_size"
            )

    @property
    def documents_of_batch(self) -> int | None:
        """Documents of a batch, None for all."""
        return None if self.batch_size == ALL or int(self.batch_size) == 0 else int(self.batch_size)

    def each_alpha(self, n_topics: int) -> float:
        """Alpha of each topic."""
        return 1.0 / n_topics if self.alpha is None else self.alpha

    def each_eta(self, n_topics: int) -> float:
        """Eta of each word."""
        return 1.0 / n_topics if self.eta is None else self.eta
