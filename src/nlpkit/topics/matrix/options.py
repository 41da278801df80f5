"""Options of pLSA and NMF, as plain data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from nlpkit.platform.options import Param, options
from nlpkit.topics.base.options import TopicCount
from nlpkit.weights.options import PRESETS, Scheme


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
