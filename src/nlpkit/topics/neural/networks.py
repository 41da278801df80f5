"""The networks of neural topic models on torch: what their weights are, and the evidence lower bound of documents.

Weights are float32 and have the names that they have in model/weights.safetensors, (inputs, outputs). Each is drawn uniformly from
±1/√inputs, as torch's linear layers are, unless it says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.types import Float32Array

Weights = dict[str, Tensor]


class Draw:
    """The random numbers of a step: noise of the posterior, and which units are left out; of numpy, so that no version of torch matters."""

    def __init__(self, rng: np.random.Generator, dropout: float) -> None:
        """Take the generator. dropout: share of the units that are left out."""
        self._rng, self._dropout = rng, dropout

    def noise(self, n: int, K: int) -> Tensor:
        """Return standard normal numbers (n, K)."""
        return torch.from_numpy(self._rng.standard_normal((n, K), np.float32))

    def drop(self, x: Tensor) -> Tensor:
        """Return x with units left out, and the others larger by as much."""
        if not self._dropout:
            return x
        kept = self._rng.random(tuple(x.shape), np.float32) >= self._dropout
        return x * torch.from_numpy(kept) / (1.0 - self._dropout)


class Network(Protocol):
    """A model that is trained. weights: what is learned; state: averages that are kept on the way."""

    weights: Weights
    state: Weights

    def loss(self, bow: Tensor, embeddings: Tensor | None, draw: Draw | None, noise: Tensor) -> Tensor:
        """Return minus the bound of documents (B,): -E_q ln p(words | θ) + KL(q(δ) ‖ p(δ)), θ = softmax(δ), by one sample of δ.

        Args:
            bow: (B, V) counts; embeddings: (B, E). draw: what dropout draws from, None for a network that is not trained.
            noise: (B, K) the sample, standard normal.
        """


def linear(rng: np.random.Generator, name: str, inputs: int, outputs: int, *, bias: bool = True) -> Weights:
    """Return the weights of a linear layer."""
    bound = 1.0 / math.sqrt(inputs)
    weights = {f"{name}.weight": torch.from_numpy(rng.uniform(-bound, bound, (inputs, outputs)).astype(np.float32))}
    if bias:
        weights[f"{name}.bias"] = torch.from_numpy(rng.uniform(-bound, bound, outputs).astype(np.float32))
    return weights


def layer(weights: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    """Return x W + b."""
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def kl_of_normals(mean: Tensor, log_variance: Tensor, prior_mean: Tensor, prior_log_variance: Tensor) -> Tensor:
    """Return KL(N(mean, variance) ‖ N(prior)) (B,) of normal distributions with diagonal covariances, (B, K) and (K,).

    ½ Σ_k (σ²_k / s²_k + (m_k - μ_k)² / s²_k - 1 + ln s²_k - ln σ²_k)
    """
    excess = (mean - prior_mean) ** 2 * torch.exp(-prior_log_variance)
    ratio = log_variance - prior_log_variance
    return 0.5 * (torch.exp(ratio) + excess - 1.0 - ratio).sum(dim=1)


class ProdLda:
    """ProdLDA, with the inference network of ZeroShotTM and CombinedTM where documents have embeddings.

        q(δ | d) = N(m(x), diag exp(l(x))),   p(w | θ) = softmax(norm(θ β)),   θ = softmax(δ)

    m and l are linear in the output of two layers of softplus and batch-normalised; norm: batch normalisation without weights. x: the
    counts of the words, the embedding, or both, the embedding mapped to V numbers. p(δ) is normal with diagonal covariance: at the
    start the Laplace approximation of a symmetric Dirichlet distribution, mean 0 and variance (1 - 1/K) / α, learned on.

    Sources: Srivastava & Sutton (2017), "Autoencoding Variational Inference for Topic Models", ICLR, §3 and §4; Bianchi, Terragni &
    Hovy (2021), "Pre-training is a Hot Topic", ACL, §3; layers, start and what is learned as in their contextualized-topic-models 2.5.
    """

    def __init__(
        self, rng: np.random.Generator, *, inference: str, V: int, E: int, K: int, hidden: int, alpha: float
    ) -> None:
        """Draw the weights."""
        self.inference = inference
        inputs = {"zeroshot": E, "combined": 2 * V, "bow": V}[inference]
        bound = math.sqrt(6.0 / (K + V))
        self.weights: Weights = {
            **(linear(rng, "adapt", E, V) if inference == "combined" else {}),
            **linear(rng, "input", inputs, hidden),
            **linear(rng, "hidden", hidden, hidden),
            **linear(rng, "mean", hidden, K),
            **linear(rng, "log_variance", hidden, K),
            "beta": torch.from_numpy(rng.uniform(-bound, bound, (K, V)).astype(np.float32)),
            "prior_mean": torch.zeros(K),
            "prior_log_variance": torch.full((K,), math.log((1.0 - 1.0 / K) / alpha) if K > 1 else -math.log(alpha)),
        }
        self.state: Weights = {}
        for name, size in (("mean", K), ("log_variance", K), ("words", V)):
            self.state |= {f"{name}.average": torch.zeros(size), f"{name}.variance": torch.ones(size)}

    def loss(self, bow: Tensor, embeddings: Tensor | None, draw: Draw | None, noise: Tensor) -> Tensor:
        """Return minus the bound of documents; see `Network.loss`."""
        weights = self.weights
        x = bow
        if embeddings is not None:
            x = embeddings if self.inference == "zeroshot" else torch.cat([bow, layer(weights, "adapt", embeddings)], 1)
        h = functional.softplus(layer(weights, "input", x))
        h = functional.softplus(layer(weights, "hidden", h))
        h = h if draw is None else draw.drop(h)
        mean = self._norm("mean", layer(weights, "mean", h), draw is not None)
        log_variance = self._norm("log_variance", layer(weights, "log_variance", h), draw is not None)
        theta = torch.softmax(mean + torch.exp(0.5 * log_variance) * noise, dim=1)
        theta = theta if draw is None else draw.drop(theta)
        log_p = torch.log_softmax(self._norm("words", theta @ weights["beta"], draw is not None), dim=1)
        kl = kl_of_normals(mean, log_variance, weights["prior_mean"], weights["prior_log_variance"])
        return kl - (bow * log_p).sum(dim=1)

    def _norm(self, name: str, x: Tensor, training: bool) -> Tensor:
        """Return x batch-normalised: by the batch, whose averages are kept, or by the averages."""
        return functional.batch_norm(
            x, self.state[f"{name}.average"], self.state[f"{name}.variance"], training=training
        )


class Etm:
    """The embedded topic model: φ_k = softmax(ρ a_k), p(w | θ) = θ φ, and a standard normal δ.

    q(δ | d) = N(m(x), diag exp(l(x))), m and l linear in the output of two layers of ReLU, x: the shares of the words of the document.
    ρ (V, E) are the vectors of the words, a (K, E) those of the topics.

    Source: Dieng, Ruiz & Blei (2020), "Topic Modeling in Embedding Spaces", TACL 8, §4 and §5; layers as in their program.
    """

    def __init__(
        self, rng: np.random.Generator, *, vectors: Float32Array, tune: bool, K: int, hidden: int
    ) -> None:  # fmt: skip
        """Draw the weights. vectors (V, E): ρ, which are learned on where `tune` says so."""
        V, E = vectors.shape
        bound = 1.0 / math.sqrt(E)
        self.weights: Weights = {
            **linear(rng, "input", V, hidden),
            **linear(rng, "hidden", hidden, hidden),
            **linear(rng, "mean", hidden, K),
            **linear(rng, "log_variance", hidden, K),
            "topics": torch.from_numpy(rng.uniform(-bound, bound, (K, E)).astype(np.float32)),
        }
        self.state: Weights = {}
        (self.weights if tune else self.state)["words"] = torch.tensor(vectors)
        self._standard = torch.zeros(K)

    def log_phi(self) -> Tensor:
        """Return ln φ (K, V)."""
        words = self.weights.get("words", self.state.get("words"))
        return torch.log_softmax(self.weights["topics"] @ words.T, dim=1)  # type: ignore[union-attr]

    def loss(self, bow: Tensor, embeddings: Tensor | None, draw: Draw | None, noise: Tensor) -> Tensor:
        """Return minus the bound of documents; see `Network.loss`."""
        weights = self.weights
        h = torch.relu(layer(weights, "input", bow / bow.sum(dim=1, keepdim=True)))
        h = torch.relu(layer(weights, "hidden", h))
        h = h if draw is None else draw.drop(h)
        mean, log_variance = layer(weights, "mean", h), layer(weights, "log_variance", h)
        theta = torch.softmax(mean + torch.exp(0.5 * log_variance) * noise, dim=1)
        p = theta @ torch.exp(self.log_phi())
        kl = kl_of_normals(mean, log_variance, self._standard, self._standard)
        return kl - (bow * torch.log(p + 1e-6)).sum(dim=1)
