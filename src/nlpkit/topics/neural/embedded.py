"""What models that read the topics of a document from its embedding have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from nlpkit.topics.matrix.plsa import fold_in
from nlpkit.topics.mixtures.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.mixtures.scores import Fitted, TokenFitter
from nlpkit.topics.neural.inference import Weights, check_theta
from nlpkit.types import CsrMatrix, Float32Array, LongArray


@dataclass(frozen=True, slots=True)
class EmbeddedFitter(TokenFitter):
    """A model of embeddings whose numbers of topics are compared, and that is fitted.

    embeddings: (D, E) of the documents; (0, E) in a run that was read. seeds: one, since each fit costs minutes.
    """

    options: Any
    embeddings: Float32Array | None = None
    seeds: int = 1

    def take(self, documents: LongArray, terms: LongArray) -> Self:
        """Return the fitter with the embeddings of some of the documents."""
        return replace(self, embeddings=None if self.embeddings is None else self.embeddings[documents])

    def check(self, fit: MixtureFit) -> None:
        """Try the weights on one document with every word. Raises ValueError, KeyError where they are none of this model."""
        K, V = fit.model.topic_term.shape
        embeddings = None
        if self.options.embeds:
            E = self.width(fit.weights)
            if self.embeddings is not None and self.embeddings.shape[1] != E:
                raise ValueError(
                    f"weights for embeddings of {E} dimensions, but the run has embeddings of {self.embeddings.shape[1]}"
                )
            embeddings = np.ones((1, E), np.float32)
        with np.errstate(all="ignore"):
            check_theta(self.theta(fit.weights, sparse.csr_array(np.ones((1, V), np.int32)), embeddings), K)

    @abstractmethod
    def width(self, weights: Weights) -> int:
        """Return E, the dimensions of the embeddings that the weights are for."""

    @abstractmethod
    def theta(self, weights: Weights, dtm: CsrMatrix, embeddings: Float32Array | None) -> Float32Array:
        """Return θ (D, K) of new documents by the weights of a fit, their counts (D, V) and embeddings (D, E)."""

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model with every term possible in every topic, and folding in: φ as topics of a mixture.

        This is for perplexity alone. An embedding is of the whole document and knows the words that are to be predicted, and the
        probabilities of ProdLDA itself are no mixture, so neither can be compared with those of other models.
        """
        smooth = fit.model.smoothed()
        return smooth, partial(fold_in, np.ascontiguousarray(smooth.phi.T), threads=threads)
