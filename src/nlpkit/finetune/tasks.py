"""Tasks of a network: one class of a text, several, a number, or a class of every word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.types import FloatArray, LongArray

TaskKind = Literal["single", "multi", "regression", "tokens"]
IGNORED = -100  # target of tokens that are not scored: all but the first of a word


@dataclass(frozen=True, slots=True)
class FinetuneTask:
    """A task. names (J,): its classes, none of a regression, whose targets are (value - mean) / scale."""

    kind: TaskKind
    names: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0

    @property
    def n_outputs(self) -> int:
        """Numbers that the network gives for a text, or for a word."""
        return len(self.names) or 1


@dataclass(frozen=True, slots=True)
class Targets:
    """Labels of the examples: y (n,) int64, (n, J) float32 or (n,) float32; of words: one array per text.

    class_weights (J,) float32: weight of an example by its class; of several classes: of its positive part; None: all alike.
    """

    task: FinetuneTask
    y: Any
    class_weights: Tensor | None = None

    def weight(self, rows: LongArray) -> float:
        """Return the sum of the weights of some examples; of words: of their words."""
        if self.task.kind == "tokens":
            return float(sum(self._words(self.y[row]) for row in rows.tolist()))
        if self.task.kind == "single" and self.class_weights is not None:
            return float(self.class_weights[torch.from_numpy(self.y[rows])].double().sum())
        return float(len(rows))

    def _words(self, y: Any) -> float:
        known = y[y != IGNORED]
        return float(
            len(known) if self.class_weights is None else self.class_weights[torch.from_numpy(known)].double().sum()
        )

    def loss(self, logits: Tensor, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some examples.

        Cross-entropy of one class, and of each word; of several classes the mean over them of the binary cross-entropies; of a
        number the squared error.

        Args:
            logits: (B, J) of the rows, or of words (B, T, J).
        """
        logits = logits.float()
        weights = None if self.class_weights is None else self.class_weights.to(logits.device)
        if self.task.kind == "tokens":
            width = logits.shape[1]
            y = np.full((len(rows), width), IGNORED, np.int64)
            for i, row in enumerate(rows.tolist()):
                y[i, : len(self.y[row])] = self.y[row][:width]
            flat = torch.from_numpy(y).to(logits.device).reshape(-1)
            return functional.cross_entropy(
                logits.reshape(-1, logits.shape[-1]), flat, weights, ignore_index=IGNORED, reduction="sum"
            )
        target = torch.from_numpy(self.y[rows]).to(logits.device)
        if self.task.kind == "single":
            return functional.cross_entropy(logits, target, weights, reduction="sum")
        if self.task.kind == "multi":
            total = functional.binary_cross_entropy_with_logits(logits, target, pos_weight=weights, reduction="sum")
            return total / logits.shape[1]
        return functional.mse_loss(logits[:, 0], target, reduction="sum")


@dataclass(frozen=True, slots=True)
class SoftTargets:
    """Probabilities q (n, J) of the classes as targets: T² times the cross-entropy of softmax(z / T) with q (Hinton et al. 2015, §2)."""

    q: FloatArray
    temperature: float

    def weight(self, rows: LongArray) -> float:
        """Return the number of examples."""
        return float(len(rows))

    def loss(self, logits: Tensor, rows: LongArray) -> Tensor:
        """Return the sum of the losses of some examples of logits (B, J)."""
        q = torch.from_numpy(self.q[rows].astype(np.float32)).to(logits.device)
        T = self.temperature
        return T * T * functional.cross_entropy(logits.float() / T, q, reduction="sum")


def balanced(sizes: LongArray, n: int, *, positive: bool = False) -> Tensor:
    """Return weights of classes (J,) float32: n / (J n_j); with `positive` (n - n_j) / n_j, for each class against the others.

    Raises nothing for an empty class: its weight is that of a class of one example; a class that all examples have weighs 1.
    """
    counts = np.maximum(sizes, 1)
    weights = np.where(counts < n, (n - counts) / counts, 1.0) if positive else n / (len(counts) * counts)
    return torch.from_numpy(weights.astype(np.float32))


def probabilities(task: FinetuneTask, decision: FloatArray) -> FloatArray:
    """Return the probabilities (n, J) of logits (n, J): softmax of one class, sigmoids of several."""
    z = decision.astype(np.float64)
    if task.kind == "multi":
        from scipy.special import expit

        several: FloatArray = expit(z)
        return several
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    shares: FloatArray = z / z.sum(axis=-1, keepdims=True)
    return shares
