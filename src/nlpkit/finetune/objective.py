"""What is trained, and on what: the interface of the training loop."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from nlpkit.finetune.engine import Lengths


class Objective(Protocol):
    """Parameters and examples of a training; beside these those of `engine.PerExampleLoss` or `engine.InBatchLoss`."""

    n: int  # examples of an epoch
    joint: bool
    lengths: Lengths  # (n,) tokens of each example; batches hold examples of like length where `by_length`
    by_length: bool

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""

    def head(self) -> set[str]:
        """Return the names of parameters that have the rate of the head."""

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""

    def begin(self, epoch: int, seed: int) -> None:
        """Get ready for an epoch: draw masks or pairs from the seed."""


class EveryParameter:
    """What an objective does that trains all of a network at one rate, on examples that stay as they are; see `Objective`."""

    network: Any
    joint: bool = False
    by_length: bool = True

    def parameters(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        trained: dict[str, Tensor] = self.network.trained
        return trained

    def head(self) -> set[str]:
        """Return no names."""
        return set()

    def mode(self, train: bool) -> None:
        """Put the network into training, or out of it."""
        self.network.model.train(train)

    def begin(self, epoch: int, seed: int) -> None:
        """Nothing changes from epoch to epoch."""
