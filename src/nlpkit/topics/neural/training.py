"""The training of neural topic models: their networks on torch, and the loop that fits them.

Weights are float32 and have the names that they have in model/weights.safetensors, (inputs, outputs). Each is drawn uniformly from
±1/√inputs, as torch's linear layers are, unless it says otherwise.

Parts, in this order:
- The networks of neural topic models on torch: what their weights are, and the evidence lower bound of documents.
- Training of neural topic models on the CPU: Adam on one thread, stopped by documents that were held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.errors import UsageError
from nlpkit.platform.torch_threads import one_thread
from nlpkit.platform.types import CsrMatrix, Float32Array, LongArray
from nlpkit.topics.base.scores import Arrays, Keeper, RunningState, resumable
from nlpkit.topics.neural.points import NeuralPoint

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


# ------------------------------------------------------------------------------------------------------------------------
# Training of neural topic models on the CPU: Adam on one thread, stopped by documents that were held out.

HELD_OUT = 10  # one document of so many
PATIENCE = 10  # passes without a better bound end it, if they are as many steps as these:
STEPS = 200  # also those at the start, whose bounds do not count
ROWS = 1024  # held-out documents at a time


@dataclass(frozen=True, slots=True)
class Schedule:
    """How a network is trained: Adam's rate, betas and weight decay; most passes, documents of a step, share of dropout."""

    rate: float
    betas: tuple[float, float]
    decay: float
    epochs: int
    batch_size: int
    dropout: float


@dataclass(frozen=True, slots=True)
class Trained:
    """Weights and averages of the pass with the best bound, a point for each pass, the best pass, and whether it ended before the last."""

    weights: dict[str, Float32Array]
    trace: list[NeuralPoint]
    best: NeuralPoint
    converged: bool


def train(
    network: Network,
    dtm: CsrMatrix,
    embeddings: Float32Array | None,
    schedule: Schedule,
    rng: np.random.Generator,
    *,
    n_topics: int,
    progress: Callable[..., None] | None = None,
    keeper: Keeper | None = None,
) -> Trained:
    """Train a network on nine tenths of the documents, until the bound of the others has not risen for ten passes of 200 steps in all.

    The first 200 steps do not count: a network that has learned nothing gives all words about the same probability, and on a small
    corpus its bound is better than that of one that begins to learn, and sometimes than that of one that has learned.

    Args:
        dtm: (D, V) counts, D ≥ 10, none of them empty. embeddings: (D, E).
        rng: of the order of documents, the noise and the dropout. progress: called after each pass.
        keeper: keeps states to go on from.

    Raises:
        UsageError: a rate so high that the loss goes beyond all bounds.
    """
    D, K = dtm.shape[0], n_topics
    order = rng.permutation(D)
    held, train_rows = np.sort(order[: max(D // HELD_OUT, 1)]), np.sort(order[max(D // HELD_OUT, 1) :])
    held_noise = rng.standard_normal((len(held), K), np.float32)
    tokens = [float(dtm[rows].sum()) for rows in (train_rows, held)]
    parts = max(len(train_rows) // schedule.batch_size, 1)
    for weight in network.weights.values():
        weight.requires_grad_(True)
    adam = torch.optim.Adam(
        network.weights.values(), lr=schedule.rate, betas=schedule.betas, weight_decay=schedule.decay, fused=True
    )
    draw = Draw(rng, schedule.dropout)
    trace: list[NeuralPoint] = []
    best: NeuralPoint | None = None
    kept: dict[str, Float32Array] = {}
    tensors = network.weights | network.state
    inside = {name: tensor.detach().numpy() for name, tensor in tensors.items()}

    def replaced() -> dict[str, np.ndarray]:
        arrays = {f"kept {name}": values for name, values in kept.items()}
        for name, weight in network.weights.items():
            arrays |= {f"adam {name} {key}": value.numpy() for key, value in adam.state[weight].items()}
        return arrays

    def put_back(arrays: Arrays) -> None:
        kept.update({name: arrays[f"kept {name}"] for name in tensors if f"kept {name}" in arrays})
        for name, weight in network.weights.items():
            begin = f"adam {name} "
            adam.state[weight] = {
                key.removeprefix(begin): torch.from_numpy(values)
                for key, values in arrays.items()
                if key.startswith(begin)
            }

    state = RunningState(trace, NeuralPoint, inside, rng, replaced, put_back)
    with one_thread():
        for epoch in resumable(schedule.epochs, state, keeper):
            if best is None and kept:
                best = _best(trace, parts)
            total = 0.0
            for rows in np.array_split(rng.permutation(train_rows), parts):
                adam.zero_grad()
                losses = network.loss(*_inputs(dtm, embeddings, rows), draw, draw.noise(len(rows), K))
                losses.mean().backward()
                adam.step()
                total += float(losses.detach().sum())
            bound = _held_out(network, dtm, embeddings, held, held_noise)
            if not math.isfinite(total + bound):
                raise UsageError(
                    f"`rate={schedule.rate:g}`: the loss diverged in pass {epoch}; use a lower rate",
                    parameter="rate",
                )
            trace.append(NeuralPoint(epoch, total / tokens[0], bound / tokens[1]))
            begun = epoch * parts >= STEPS or epoch == schedule.epochs
            if begun and (best is None or trace[-1].held_out_loss < best.held_out_loss):
                best = trace[-1]
                kept.update({name: values.copy() for name, values in inside.items()})
            if progress is not None:
                progress(epoch, trace[-1])
            waited = 0 if best is None else epoch - best.epoch
            if best is not None and waited >= PATIENCE and waited * parts >= STEPS:
                return Trained(kept, trace, best, converged=True)
    assert best is not None
    return Trained(kept, trace, best, converged=False)


def _best(trace: list[NeuralPoint], parts: int) -> NeuralPoint:
    """Return the pass with the best bound after the first steps, the first of equal ones."""
    return min((point for point in trace if point.epoch * parts >= STEPS), key=lambda point: point.held_out_loss)


def _held_out(
    network: Network, dtm: CsrMatrix, embeddings: Float32Array | None, held: LongArray, noise: Float32Array
) -> float:
    """Return minus the sum of the bounds of the documents held out, by the same sample after each pass."""
    total = 0.0
    with torch.no_grad():
        for begin in range(0, len(held), ROWS):
            rows = held[begin : begin + ROWS]
            sample = torch.from_numpy(noise[begin : begin + ROWS])
            total += float(network.loss(*_inputs(dtm, embeddings, rows), None, sample).sum())
    return total


def _inputs(
    dtm: CsrMatrix, embeddings: Float32Array | None, rows: LongArray
) -> tuple[torch.Tensor, torch.Tensor | None]:
    bow = torch.from_numpy(dtm[rows].toarray().astype(np.float32))
    return bow, None if embeddings is None else torch.from_numpy(np.ascontiguousarray(embeddings[rows]))
