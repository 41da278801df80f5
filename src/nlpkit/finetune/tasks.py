"""Tasks of a network: one class of a text, one on a scale, several, a number, an answer in it, or a class of every word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from nlpkit.classify.calibration import fit_calibrator
from nlpkit.classify.models.logistic import class_probabilities
from nlpkit.finetune.training.crf import LinearChainCRF, of_words
from nlpkit.platform.types import FloatArray, IntArray, LongArray

TaskKind = Literal["single", "multi", "ordinal", "regression", "tokens", "answer"]
ONE_CLASS: tuple[TaskKind, ...] = ("single", "ordinal")
CLASSES: tuple[TaskKind, ...] = ("single", "multi", "ordinal")
IGNORED = -100  # target of tokens that are not scored: all but the first of a word


@dataclass(frozen=True, slots=True)
class FinetuneTask:
    """A task. names (J,): its classes, none of a regression, whose targets are (value - mean) / scale.

    Of ordered classes the lowest is first; the outputs are the log-odds of P(y > k) of all but the last (Frank & Hall 2001, §2).
    Of answers names has `none` where a text may have no answer; longest: tokens of an answer at most.
    crf: labels of words are those of the most probable sequence, see `nlpkit.finetune.training.crf`.
    """

    kind: TaskKind
    names: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    crf: bool = False
    longest: int = 30

    @property
    def n_outputs(self) -> int:
        """Numbers that the network gives for a text, or for a word."""
        return len(self.output_names)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of these numbers: the classes, of ordered ones `>` and all but the last, of a regression `value`."""
        if self.kind == "ordinal":
            return tuple(f">{name}" for name in self.names[:-1])
        if self.kind == "answer":
            return ("start", "end")
        return self.names or ("value",)


@dataclass(frozen=True, slots=True)
class Targets:
    """Labels of the examples: y (n,) int64, (n, J) float32 or (n,) float32; of words: one array per text.

    Of answers the first and the last token (n, 2) int64 of windows. crf: of words; y then has of each text the places of its words
    among the tokens and their labels, (2, W) int64.
    class_weights (J,) float32: weight of an example by its class; of several classes: of its positive part; None: all alike.
    shares (n, J) float32: of one class, the distribution over the classes that is learned in the place of y; None: y.
    """

    task: FinetuneTask
    y: Any
    class_weights: Tensor | None = None
    crf: LinearChainCRF | None = None
    shares: Tensor | None = None

    def weight(self, rows: LongArray) -> float:
        """Return the sum of the weights of some examples; of words: of their words."""
        if self.task.kind == "tokens":
            return float(sum(self._words(self.y[row]) for row in rows.tolist()))
        if self.shares is not None and self.class_weights is not None:
            return float((self.shares[torch.from_numpy(rows)] * self.class_weights).sum(dim=1).double().sum())
        if self.task.kind in ONE_CLASS and self.class_weights is not None:
            return float(self.class_weights[torch.from_numpy(self.y[rows])].double().sum())
        return float(len(rows))

    def _words(self, y: Any) -> float:
        labels = y if self.crf is None else y[1]
        known = labels[labels != IGNORED]
        return float(
            len(known) if self.class_weights is None else self.class_weights[torch.from_numpy(known)].double().sum()
        )

    def loss(self, logits: Tensor, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some examples.

        Cross-entropy of one class, or of a distribution over them, and of each word, with a CRF -log p of the labels of a text; of
        several classes the mean over them of the binary cross-entropies, of ordered ones over the places between them; of a number
        the squared error; of an answer the mean of the cross-entropies of its first and of its last token.

        Args:
            logits: (B, J) of the rows, or of words (B, T, J).
        """
        logits = logits.float()
        weights = None if self.class_weights is None else self.class_weights.to(logits.device)
        if self.crf is not None:
            places, labels = zip(*(self.y[row] for row in rows.tolist()), strict=True)
            emissions, mask = of_words(logits, places)
            padded = np.full(mask.shape, IGNORED, np.int64)
            for row, each in zip(padded, labels, strict=True):
                row[: len(each)] = each
            return -self.crf.log_likelihood(emissions, torch.from_numpy(padded).to(logits.device), mask).sum()
        if self.task.kind == "tokens":
            width = logits.shape[1]
            y = np.full((len(rows), width), IGNORED, np.int64)
            for i, row in enumerate(rows.tolist()):
                y[i, : len(self.y[row])] = self.y[row][:width]
            flat = torch.from_numpy(y).to(logits.device).reshape(-1)
            return functional.cross_entropy(
                logits.reshape(-1, logits.shape[-1]), flat, weights, ignore_index=IGNORED, reduction="sum"
            )
        if self.shares is not None:
            q = self.shares[torch.from_numpy(rows)].to(logits.device)
            return -((q if weights is None else q * weights) * torch.log_softmax(logits, 1)).sum()
        target = torch.from_numpy(self.y[rows]).to(logits.device)
        if self.task.kind == "answer":
            return functional.cross_entropy(logits, target, reduction="sum") / 2
        if self.task.kind == "single":
            return functional.cross_entropy(logits, target, weights, reduction="sum")
        if self.task.kind == "multi":
            total = functional.binary_cross_entropy_with_logits(logits, target, pos_weight=weights, reduction="sum")
            return total / logits.shape[1]
        if self.task.kind == "ordinal":
            above = (target[:, None] > torch.arange(logits.shape[1], device=target.device)).float()
            each = functional.binary_cross_entropy_with_logits(logits, above, reduction="none").mean(dim=1)
            return (each if weights is None else each * weights[target]).sum()
        return functional.mse_loss(logits[:, 0], target.float(), reduction="sum")


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


def balanced(sizes: LongArray | FloatArray, n: int, *, positive: bool = False) -> Tensor:
    """Return weights of classes (J,) float32: n / (J n_j); with `positive` (n - n_j) / n_j, for each class against the others.

    Raises nothing for an empty class: its weight is that of a class of one example; a class that all examples have weighs 1.
    """
    counts = np.maximum(sizes, 1)
    weights = np.where(counts < n, (n - counts) / counts, 1.0) if positive else n / (len(counts) * counts)
    return torch.from_numpy(weights.astype(np.float32))


def fit_temperature(task: FinetuneTask, outputs: FloatArray, y: LongArray) -> float | None:
    """Return the T of the least cross-entropy of outputs / T (Guo et al. 2017, §4.2); None where it has no minimum: all are right.

    Args:
        task: of one class, or ordered classes. outputs: (n, J), or (n, J-1), of documents that the network did not learn from.
        y: (n,) their classes.
    """
    targets: Any = y[:, None] > np.arange(outputs.shape[1]) if task.kind == "ordinal" else y
    right = (outputs > 0) == targets if task.kind == "ordinal" else outputs.argmax(axis=1) == targets
    if right.all():
        return None
    calibrator = fit_calibrator("temperature", outputs.astype(np.float64), targets)
    return 1.0 / float(calibrator.parts["inverse"][0])


def word_labels(task: FinetuneTask, outputs: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the labels (W,) of the words of a text and their probabilities, -1 and NaN for a word that the model did not see.

    Args:
        outputs: (W, J) logits, or of a CRF (W, J + 1): log-probabilities, then the label of the most probable sequence.
    """
    seen = np.isfinite(outputs).all(axis=1)
    J = len(task.names)
    p = np.zeros((len(outputs), J))
    if seen.any():
        p[seen] = np.exp(outputs[seen, :J]) if task.crf else probabilities(task, outputs[seen])
    codes = np.where(seen, np.nan_to_num(outputs[:, J]) if task.crf else p.argmax(axis=1), -1).astype(np.int32)
    return codes, np.where(seen, p[np.arange(len(p)), np.maximum(codes, 0)], np.nan)


def probabilities(task: FinetuneTask, decision: FloatArray) -> FloatArray:
    """Return the probabilities (n, J) of outputs: softmax of one class, sigmoids of several, differences of these of ordered ones."""
    z = decision.astype(np.float64)
    if task.kind in ("multi", "ordinal"):
        from scipy.special import expit

        several: FloatArray = expit(z)
        return class_probabilities(several) if task.kind == "ordinal" else several
    z = np.exp(z - z.max(axis=-1, keepdims=True))
    shares: FloatArray = z / z.sum(axis=-1, keepdims=True)
    return shares
