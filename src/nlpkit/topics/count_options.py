"""Options of the models that are fitted to counts of words: pLSA, NMF, GSDMM, BTM, HDP, hLDA; plain data, for `--help` loads no more."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.parameters import Param, options
from nlpkit.topics.options import TopicCount
from nlpkit.weighting.schemes import PRESETS, Scheme


@options
class PlsaOptions:
    """Options of pLSA."""

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    iterations: Annotated[int, Param("Maximum number of steps of expectation maximisation.", min=1)] = 200
    tolerance: Annotated[
        float, Param("Stop when a step improves the log-likelihood by less than this share of it.", min=0.0)
    ] = 1e-5
    start: Annotated[
        str,
        Param(
            "Starting values: svd (NNDSVDa of the counts, as in NMF; hardly depends on the seed) or random.",
            choices=("svd", "random"),
        ),
    ] = "svd"
    tempered: Annotated[
        bool,
        Param(
            "Temper the posterior with a falling power, as long as a held-out tenth of the tokens becomes more "
            "probable."
        ),
    ] = False


@options
class NmfOptions:
    """Options of NMF."""

    PANEL: ClassVar[str] = "Model"
    recorded: ClassVar = {"loss": "loss", "weights": "matrix", "iterations": "iterations", "tolerance": "tolerance"}

    k: TopicCount = "auto"
    loss: Annotated[
        str,
        Param(
            "Loss between the matrix and its factors: frobenius, or kullback-leibler (same optimum as pLSA).",
            choices=("frobenius", "kullback-leibler"),
        ),
    ] = "frobenius"
    weights: Annotated[
        str | None,
        Param(
            "Matrix: tfidf (as scikit-learn's TfidfVectorizer) or counts. Default: tfidf; counts for kullback-leibler.",
            choices=("tfidf", "counts"),
        ),
    ] = None
    iterations: Annotated[int, Param("Maximum number of steps of the solver.", min=1)] = 400
    tolerance: Annotated[float, Param("Stop when a step improves the fit by less than this share.", min=0.0)] = 1e-4

    @property
    def matrix(self) -> str:
        """tfidf or counts."""
        return self.weights or ("tfidf" if self.loss == "frobenius" else "counts")

    @property
    def scheme(self) -> Scheme:
        """The weighting of the matrix."""
        return PRESETS["sklearn"] if self.matrix == "tfidf" else Scheme(idf="none")


@options
class GsdmmOptions:
    """Options of GSDMM."""

    PANEL: ClassVar[str] = "Model"

    k: Annotated[
        int | str,
        Param(
            "Maximum number of topics: N (topics without documents are dropped). auto or a range compares several "
            "numbers.",
            ("k", "num_topics"),
            log=False,
        ),
    ] = 100
    alpha: Annotated[
        float, Param("Prior of each topic, in documents: the larger, the more topics remain.", above=0)
    ] = 0.1
    eta: Annotated[
        float,
        Param(
            "Prior of each word in a topic: the smaller, the more alike the documents of a topic.",
            ("eta", "beta"),
            above=0,
        ),
    ] = 0.1
    iterations: Annotated[int, Param("Passes over the documents.", ("iterations", "sweeps"), min=1)] = 50


@options
class BitermOptions:
    """Options of the biterm topic model."""

    PANEL: ClassVar[str] = "Model"

    k: TopicCount = "auto"
    window: Annotated[
        int, Param("Two words form a biterm if they occur within this many consecutive words of a text.", min=2)
    ] = 15
    alpha: Annotated[float | None, Param("Prior of each topic, in biterms. Default: 50 / k.", above=0)] = None
    eta: Annotated[float, Param("Prior of each word in a topic.", ("eta", "beta"), above=0)] = 0.01
    iterations: Annotated[int, Param("Passes over the biterms.", ("iterations", "sweeps"), min=1)] = 200

    def alpha_of(self, n_topics: int) -> float:
        """Return the prior of each of K topics."""
        return 50.0 / n_topics if self.alpha is None else self.alpha


@options
class HdpOptions:
    """Options of the hierarchical Dirichlet process."""

    PANEL: ClassVar[str] = "Model"

    alpha: Annotated[
        float | None,
        Param(
            "Concentration of the topics of a document: the larger, the more topics per document. Default: sampled "
            "with the topics.",
            above=0,
        ),
    ] = None
    gamma: Annotated[
        float | None,
        Param(
            "Concentration of the topics of the corpus: the larger, the more topics. Default: sampled with the topics.",
            above=0,
        ),
    ] = None
    eta: Annotated[
        float, Param("Prior of each word in a topic: the smaller, the more topics.", ("eta", "beta"), above=0)
    ] = 0.1
    iterations: Annotated[int, Param("Passes over the tokens.", ("iterations", "sweeps"), min=1)] = 200
    initial_topics: Annotated[
        int, Param("Number of topics at the start. Topics are added and removed during sampling.", min=1)
    ] = 100
    min_share: Annotated[
        float,
        Param(
            "Minimum share of all tokens for a topic to be listed. Tokens of smaller topics are reassigned at the "
            "end. 0 lists all topics.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.001

    def priors(self) -> str:
        """Return the priors for people."""
        alpha, gamma = (
            f"{name} {'drawn' if value is None else f'{value:g}'}"
            for name, value in (("alpha", self.alpha), ("gamma", self.gamma))
        )
        return f"eta {self.eta:g}, {alpha}, {gamma}"


@options
class HldaOptions:
    """Options of hierarchical LDA."""

    PANEL: ClassVar[str] = "Model"

    depth: Annotated[int, Param("Levels of the tree, including the root.", min=2, max=16)] = 3
    alpha: Annotated[float, Param("Dirichlet prior of each level in a document.", above=0)] = 1.0
    gamma: Annotated[
        float, Param("Concentration of the branches: the larger, the more branches per topic.", above=0)
    ] = 1.0
    eta: Annotated[
        float, Param("Prior of each word in a topic: the smaller, the more topics.", ("eta", "beta"), above=0)
    ] = 0.5
    iterations: Annotated[int, Param("Passes over the documents.", ("iterations", "sweeps"), min=1)] = 200

    def priors(self) -> str:
        """Return the priors for people."""
        return f"depth {self.depth}, alpha {self.alpha:g}, gamma {self.gamma:g}, eta {self.eta:g}"
