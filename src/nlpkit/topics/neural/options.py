"""Options of neural topic models, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import READ, Param, options

INFERENCES = ("zeroshot", "combined", "bow")
PMI_SVD, RANDOM = "pmi-svd", "random"
_K = "Number of topics: auto, a number N, or a range lo:hi or lo:hi:step to choose from. Each number needs a fit of its own."


@options
class CtmOptions:
    """Options of contextualized topic models.

    Raises:
        UsageError: a value that is not known, or a prior that is not above 0.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str, Param(_K, ("k", "num_topics"), log=False)] = "auto"
    inference: Annotated[
        str,
        Param(
            "Input of the inference network: zeroshot (the document's embedding), combined (embedding and words), "
            "or bow (words: ProdLDA).",
            choices=INFERENCES,
        ),
    ] = "zeroshot"
    alpha: Annotated[
        float, Param("Initial Dirichlet prior of each topic in a document. It is learned during training.", above=0)
    ] = 1.0
    hidden: Annotated[int, Param("Units of each of the two hidden layers.", min=1)] = 100
    dropout: Annotated[
        float, Param("Dropout: share of hidden units and topics left out in a step.", min=0.0, max=0.9)
    ] = 0.2
    iterations: Annotated[
        int, Param("Maximum number of passes over the documents.", ("iterations", "epochs"), min=1)
    ] = 100
    batch_size: Annotated[int, Param("Minimum number of documents per training step.", min=2)] = 64
    rate: Annotated[float, Param("Learning rate of Adam.", ("rate", "learning_rate"), above=0)] = 0.002

    @property
    def embeds(self) -> bool:
        """Whether documents need embeddings."""
        return self.inference != "bow"


@options
class EtmOptions:
    """Options of the embedded topic model.

    Raises:
        UsageError: a value that is not known.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str, Param(_K, ("k", "num_topics"), log=False)] = "auto"
    vectors: Annotated[
        str,
        Param(
            "Word vectors: pmi-svd (from these documents), random (learned with the topics), a run of embed-words, "
            "or a file of word vectors.",
            metavar="VECTORS",
        ),
        READ,
    ] = PMI_SVD
    tune: Annotated[bool, Param("Continue to train the word vectors with the topics.")] = False
    dimensions: Annotated[int, Param("Dimensions of the pmi-svd or random vectors.", min=2)] = 300
    hidden: Annotated[int, Param("Units of each of the two hidden layers.", min=1)] = 800
    dropout: Annotated[float, Param("Dropout: share of hidden units left out in a step.", min=0.0, max=0.9)] = 0.0
    iterations: Annotated[
        int, Param("Maximum number of passes over the documents.", ("iterations", "epochs"), min=1)
    ] = 200
    batch_size: Annotated[int, Param("Minimum number of documents per training step.", min=2)] = 200
    rate: Annotated[float, Param("Learning rate of Adam.", ("rate", "learning_rate"), above=0)] = 0.005

    @property
    def embeds(self) -> bool:
        """Whether documents need embeddings."""
        return False


@options
class FastopicOptions:
    """Options of FASTopic; the defaults are the authors' own.

    Raises:
        UsageError: a number that is not above 0.
    """

    PANEL: ClassVar[str] = "Model"

    k: Annotated[int | str, Param(_K, ("k", "num_topics"), log=False)] = "auto"
    dt_alpha: Annotated[
        float,
        Param("Weight of the costs against the entropy in the transport plan between documents and topics.", above=0),
    ] = 3.0
    tw_alpha: Annotated[
        float, Param("Weight of the costs against the entropy in the transport plan between topics and words.", above=0)
    ] = 2.0
    theta_temp: Annotated[
        float, Param("Temperature of a document's topics: the lower, the more the nearest topic counts.", above=0)
    ] = 1.0
    iterations: Annotated[
        int, Param("Number of training steps. Each uses all documents.", ("iterations", "epochs"), min=1)
    ] = 200
    rate: Annotated[float, Param("Learning rate of Adam.", ("rate", "learning_rate"), above=0)] = 0.002

    @property
    def embeds(self) -> bool:
        """Whether documents need embeddings."""
        return True
