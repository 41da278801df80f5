"""Options of neural topic models, as plain data."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, ClassVar

from nlpkit.parameters import READ, Param, options

INFERENCES = ("zeroshot", "combined", "bow")
PMI_SVD, RANDOM = "pmi-svd", "random"
_K = "Number of topics: auto, a number N, or a range lo:hi or lo:hi:step to choose from; each fit takes its time."


@options
class CtmOptions:
    """Options of contextualized topic models.

    Raises:
        UsageError: a value that is not known, or a prior that is not above 0.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str, Param(_K, ("k", "num_topics"))] = "auto"
    inference: Annotated[
        str,
        Param(
            "What the topics of a document are inferred from: zeroshot (its embedding), combined (embedding and words), bow (words: "
            "ProdLDA).",
            choices=INFERENCES,
        ),
    ] = "zeroshot"
    alpha: Annotated[
        float, Param("Dirichlet prior of each topic in a document at the start; it is learned on.", above=0)
    ] = 1.0
    hidden: Annotated[int, Param("Units of each of the two hidden layers.", min=1)] = 100
    dropout: Annotated[
        float, Param("Share of hidden units, and of topics, that a step leaves out.", min=0.0, max=0.9)
    ] = 0.2
    iterations: Annotated[int, Param("Most passes over the documents.", ("iterations", "epochs"), min=1)] = 100
    batch_size: Annotated[int, Param("Least documents of a step.", min=2)] = 64
    rate: Annotated[float, Param("Learning rate of Adam.", ("rate", "learning_rate"), above=0)] = 0.002

    @property
    def embeds(self) -> bool:
        """Whether documents need embeddings."""
        return self.inference != "bow"

    def in_force(self) -> dict[str, Any]:
        """Return the options for footers."""
        return _in_force(self)


@options
class EtmOptions:
    """Options of the embedded topic model.

    Raises:
        UsageError: a value that is not known.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str, Param(_K, ("k", "num_topics"))] = "auto"
    vectors: Annotated[
        str,
        Param(
            "Vectors of the words: pmi-svd (of these documents), random (learned with the topics), or a run of embed-words or a file "
            "of word vectors.",
            metavar="VECTORS",
        ),
        READ,
    ] = PMI_SVD
    tune: Annotated[bool, Param("Learn the vectors of the words on, with the topics.")] = False
    dimensions: Annotated[int, Param("Dimensions of vectors that are made: pmi-svd, random.", min=2)] = 300
    hidden: Annotated[int, Param("Units of each of the two hidden layers.", min=1)] = 800
    dropout: Annotated[float, Param("Share of hidden units that a step leaves out.", min=0.0, max=0.9)] = 0.0
    iterations: Annotated[int, Param("Most passes over the documents.", ("iterations", "epochs"), min=1)] = 200
    batch_size: Annotated[int, Param("Least documents of a step.", min=2)] = 200
    rate: Annotated[float, Param("Learning rate of Adam.", ("rate", "learning_rate"), above=0)] = 0.005

    @property
    def embeds(self) -> bool:
        """Whether documents need embeddings."""
        return False

    def in_force(self) -> dict[str, Any]:
        """Return the options for footers."""
        return _in_force(self)


@options
class FastopicOptions:
    """Options of FASTopic; the defaults are those of its authors.

    Raises:
        UsageError: a number that is not above 0.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str, Param(_K, ("k", "num_topics"))] = "auto"
    dt_alpha: Annotated[
        float, Param("Weight of the costs in the plan between documents and topics, beside its entropy.", above=0)
    ] = 3.0
    tw_alpha: Annotated[
        float, Param("Weight of the costs in the plan between topics and words, beside its entropy.", above=0)
    ] = 2.0
    theta_temp: Annotated[
        float, Param("Temperature of the topics of a document: the lower, the more the nearest one counts.", above=0)
    ] = 1.0
    iterations: Annotated[int, Param("Steps, each over all documents.", ("iterations", "epochs"), min=1)] = 200
    rate: Annotated[float, Param("Learning rate of Adam.", ("rate", "learning_rate"), above=0)] = 0.002

    @property
    def embeds(self) -> bool:
        """Whether documents need embeddings."""
        return True

    def in_force(self) -> dict[str, Any]:
        """Return the options for footers."""
        return _in_force(self)


def _in_force(options: CtmOptions | EtmOptions | FastopicOptions) -> dict[str, Any]:
    return {field.name: getattr(options, field.name) for field in fields(options) if field.name != "k"}
