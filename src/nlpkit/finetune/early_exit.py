"""How sure a fine-tuned model is after each of its layers, and where it could stop: early exit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from nlpkit.finetune.architectures import describe
from nlpkit.finetune.network import Network
from nlpkit.finetune.text_inputs import TextInputs
from nlpkit.types import FloatArray


@dataclass(frozen=True, slots=True)
class LayerConfidence:
    """What a classifier would say of a text after each of L layers.

    probabilities (L, J) of the classes; entropies (L,) in nats, H = −Σ_j p_j ln p_j, from 0 (sure) to ln J.
    """

    names: tuple[str, ...]
    probabilities: FloatArray

    @property
    def entropies(self) -> FloatArray:
        """The entropy of each layer (L,)."""
        p = self.probabilities
        entropies: FloatArray = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        return entropies

    @property
    def settled(self) -> int:
        """The first layer, from 1, from which on the class is that of the last one."""
        classes = self.probabilities.argmax(axis=1)
        others = np.flatnonzero(classes != classes[-1])
        return 1 if not len(others) else int(others[-1]) + 2

    def to_list(self) -> list[dict[str, Any]]:
        """Return layer, prediction, probability and entropy of each layer in plain values."""
        best = self.probabilities.argmax(axis=1)
        return [
            {"layer": i + 1, "prediction": self.names[j], "probability": float(self.probabilities[i, j]), "entropy": float(h)}
            for i, (j, h) in enumerate(zip(best.tolist(), self.entropies, strict=True))
        ]  # fmt: skip


def layer_confidence(network: Network, text: str) -> LayerConfidence:
    """Return the guesses of a classifier for one text when only its first 1, 2 … L layers are run.

    In DeeBERT (Xin et al. 2020, §3) each layer has a classifier that is trained for it, and a text leaves at the first layer whose
    entropy is below a threshold. Here all layers share the classifier of the last, for which alone it was trained: after the last layer
    the guess is that of the model, before it a lower bound of what trained classifiers would know.

    Raises:
        UsageError: a kind of model whose layers are not known.
    """
    model = network.model.get_base_model() if hasattr(network.model, "get_base_model") else network.model
    architecture = describe(model)
    inputs = TextInputs([text]).inputs(network)
    guesses = []
    network.mode(False)
    with torch.inference_mode():
        for n in range(1, len(architecture.layers) + 1):
            with _first_layers(model, f"{architecture.encoder}{architecture.layer_list}", n):
                guesses.append(network.logits(inputs, np.zeros(1, np.int64))[0].double().softmax(dim=-1).numpy())
    return LayerConfidence(tuple(network.task.names), np.stack(guesses))


@contextmanager
def _first_layers(model: Any, name: str, n: int) -> Iterator[None]:
    """While it lasts, a model runs only the first n layers of a list."""
    parent, _, leaf = name.rpartition(".")
    holder = model.get_submodule(parent)
    layers = getattr(holder, leaf)
    setattr(holder, leaf, layers[:n])
    try:
        yield
    finally:
        setattr(holder, leaf, layers)
