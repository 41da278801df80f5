"""Training of neural topic models on the CPU: Adam on one thread, stopped by documents that were held out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from nlpkit.architectures.threads import one_thread
from nlpkit.errors import UsageError
from nlpkit.topics.mixtures.steps import Arrays, Keeper, RunningState, resumable
from nlpkit.topics.neural.networks import Draw, Network
from nlpkit.topics.neural.points import NeuralPoint
from nlpkit.types import CsrMatrix, Float32Array, LongArray

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
