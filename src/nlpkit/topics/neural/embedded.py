"""Topics of documents by trained inference networks, and what models that read embeddings have in common.

Parts, in this order:
- The topics of documents by the inference networks, in numpy: prediction needs no torch.
- The fit of a model that reads embeddings.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, LongArray
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel
from nlpkit.topics.base.scores import Fitted, TokenFitter
from nlpkit.topics.matrix.plsa import fold_in

Weights = Mapping[str, Float32Array]
BLOCK = 1024  # documents at a time
NORM = 1e-5  # added to variances, as torch does


def ctm_theta(weights: Weights, dtm: CsrMatrix, embeddings: Float32Array | None) -> Float32Array:
    """Return θ = softmax(m(x)) (D, K), the mode of q(δ | d) put through the softmax, by the network of `networks.ProdLda`.

    Args:
        dtm: (D, V) counts. embeddings: (D, E), None for a network of words alone.
    """
    from scipy.special import softmax

    def inputs(rows: slice) -> Float32Array:
        bow = dtm[rows].astype(np.float32)
        if embeddings is None:
            return np.asarray(bow @ weights["input.weight"])
        if "adapt.weight" not in weights:
            return np.asarray(embeddings[rows] @ weights["input.weight"])
        V = dtm.shape[1]
        adapted = _layer(weights, "adapt", embeddings[rows])
        return np.asarray(bow @ weights["input.weight"][:V] + adapted @ weights["input.weight"][V:])

    def mean(x: Float32Array) -> Float32Array:
        h = _softplus(_layer(weights, "hidden", _softplus(x + weights["input.bias"])))
        m = _layer(weights, "mean", h)
        return np.asarray((m - weights["mean.average"]) / np.sqrt(weights["mean.variance"] + np.float32(NORM)))

    with threadpool_limits(1, user_api="blas"):  # so that the number of threads changes no digit
        blocks = [softmax(mean(inputs(rows)), axis=1) for rows in _blocks(dtm.shape[0])]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(weights["mean.bias"])), np.float32)


def etm_theta(weights: Weights, dtm: CsrMatrix) -> Float32Array:
    """Return θ = softmax(m(x)) (D, K) of documents by the network of `networks.Etm`; equal x for one without words."""
    from scipy.special import softmax

    lengths = np.maximum(np.asarray(dtm.sum(axis=1), np.float32).ravel(), 1)
    shares = sparse.diags_array(1 / lengths).astype(np.float32) @ dtm.astype(np.float32)

    def mean(rows: slice) -> Float32Array:
        h = np.maximum(shares[rows] @ weights["input.weight"] + weights["input.bias"], 0)
        return _layer(weights, "mean", np.maximum(_layer(weights, "hidden", h), 0))

    with threadpool_limits(1, user_api="blas"):
        blocks = [softmax(mean(rows), axis=1) for rows in _blocks(dtm.shape[0])]
    return np.concatenate(blocks) if blocks else np.zeros((0, len(weights["mean.bias"])), np.float32)


def ctm_phi(weights: Weights) -> FloatArray:
    """Return φ (K, V): the softmax of the rows of the decoder, as contextualized-topic-models gives it."""
    from scipy.special import softmax

    return np.asarray(softmax(weights["beta"].astype(np.float64), axis=1))


def etm_phi(weights: Weights) -> FloatArray:
    """Return φ (K, V): the softmax of the products of the vectors of topics and words."""
    from scipy.special import log_softmax

    with threadpool_limits(1, user_api="blas"):
        return np.asarray(np.exp(log_softmax((weights["topics"] @ weights["words"].T).astype(np.float64), axis=1)))


def check_theta(theta: Float32Array, n_topics: int) -> None:
    """Look at θ (1, K) of a document that a network was tried on. Raises ValueError where it is none."""
    if theta.shape != (1, n_topics) or not np.isfinite(theta).all():
        raise ValueError(f"weights of the network that give no {n_topics} shares")


def renumbered(weights: Weights, order: np.ndarray) -> dict[str, Float32Array]:
    """Return the weights with topic order[k] as topic k."""
    return {
        name: np.ascontiguousarray(
            array[order] if name == "beta" or name.startswith(("topic", "prior_"))
            else array[..., order] if name.split(".")[0] in ("mean", "log_variance")
            else array
        )
        for name, array in weights.items()
    }  # fmt: skip


def _blocks(n: int) -> list[slice]:
    return [slice(begin, begin + BLOCK) for begin in range(0, n, BLOCK)]


def _layer(weights: Weights, name: str, x: Float32Array) -> Float32Array:
    return np.asarray(x @ weights[f"{name}.weight"] + weights[f"{name}.bias"])


def _softplus(x: Float32Array) -> Float32Array:
    return np.asarray(np.logaddexp(x, np.float32(0)))


# ------------------------------------------------------------------------------------------------------------------------
# What models that read the topics of a document from its embedding have in common.


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
