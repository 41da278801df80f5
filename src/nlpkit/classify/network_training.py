"""Training of the small torch networks among the classifiers: Adam on one thread, the same bytes for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.classify.mlp import batch_size
from nlpkit.errors import missing_extra
from nlpkit.types import BoolArray, Float32Array, FloatArray, IntArray

SMALLEST = 32  # documents that are looked at before the weights change


@dataclass(frozen=True, slots=True)
class Passes:
    """Length and rates of a training: the rate falls to 0; decay of weights as in AdamW."""

    epochs: int
    rate: float
    decay: float


def train_network(
    new_network: Callable[[], Any],
    inputs: Any,
    target: IntArray | BoolArray | FloatArray,
    passes: Passes,
    *,
    weights: FloatArray | None,
    seed: int,
) -> dict[str, Float32Array]:
    """Return the parameters, by name, of the least cross-entropy that Adam finds.

    Args:
        new_network: a module of rows of `inputs` → scores (B, J), with weights drawn from torch's generator.
        inputs: (D, …) array. target: (D,) 0 … J-1; (D, J) float64 shares of classes; or (D, J) bool for labels, each a score of its own.
        weights: (D,) of the documents; None: all alike. seed: of the first weights, dropout and the order of the documents.

    Raises:
        MissingError: the extra `neural` is not installed.
    """
    try:
        import torch
    except ImportError:
        raise missing_extra("classify", "neural") from None
    from torch.nn import functional

    from nlpkit.architectures.threads import one_thread

    rng, multi_label = np.random.default_rng(seed), target.dtype == np.bool_
    rows = torch.from_numpy(inputs)
    y = torch.from_numpy(np.asarray(target, np.float32 if target.ndim == 2 else np.int64))
    w = torch.from_numpy(np.asarray(np.ones(len(rows)) if weights is None else weights, np.float32))
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = new_network().train()
        optimizer = torch.optim.AdamW(network.parameters(), lr=passes.rate, weight_decay=passes.decay, fused=True)
        size = max(SMALLEST, batch_size(len(rows)))
        rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, passes.epochs * -(-len(rows) // size))
        for _ in range(passes.epochs):
            for batch in torch.from_numpy(rng.permutation(len(rows))).split(size):
                scores = network(rows[batch])
                if multi_label:
                    losses = functional.binary_cross_entropy_with_logits(scores, y[batch], reduction="none").sum(1)
                else:
                    losses = functional.cross_entropy(scores, y[batch], reduction="none")
                optimizer.zero_grad()
                (losses * w[batch]).mean().backward()
                optimizer.step()
                rate.step()
    return {name: p.detach().numpy() for name, p in network.named_parameters()}


def run_network(
    new_network: Callable[[], Any], parameters: Mapping[str, Float32Array], inputs: Any, *, n_classes: int, block: int
) -> FloatArray:
    """Return the scores (D, J) of a network with these parameters, computed in float64, `block` rows at a time, on one thread."""
    import torch

    from nlpkit.architectures.threads import one_thread

    scores = np.empty((len(inputs), n_classes))
    with one_thread(), torch.random.fork_rng(devices=[]), torch.no_grad():
        network = new_network().eval().double()
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.tensor(parameters[name]).view_as(parameter))
        for start in range(0, len(inputs), block):
            part = inputs[start : start + block]
            rows = torch.from_numpy(
                part[np.arange(block) % len(part)]
            )  # products of fewer rows are added up in another order
            values = network(rows.double() if rows.is_floating_point() else rows)
            scores[start : start + len(part)] = values[: len(part)].numpy()
    return scores
