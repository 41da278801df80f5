"""Models of several patterns that predict together, and where their trainings are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nlpkit.finetune.engine import Engine
from nlpkit.finetune.pattern_training import (
    PatternNetwork,
    ensemble_scores,
)
from nlpkit.finetune.patterns import (
    MASK,
    Patterns,
    fill_pattern,
    pattern_scores,
    verbalizers_of,
)
from nlpkit.finetune.text_inputs import TextInputs
from nlpkit.finetune.train import State
from nlpkit.types import FloatArray, LongArray


class Stages(Protocol):
    """Where the trainings of one method are kept by name, those that are done and the one under way."""

    def finished(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return facts and arrays of a training that is done, None when it is not."""

    def finish(self, name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Keep what comes of a training."""

    def save(self, name: str, state: State) -> None:
        """Keep the state of a training under way."""

    def state(self, name: str) -> State | None:
        """Return the state of a training under way, None when there is none."""


@dataclass(slots=True)
class PatternEnsemble:
    """Models of several patterns that predict together.

    patterns (P,): each with its words by label; weights (P,); load: p → the trained model of a pattern, in a network that the next
    call uses again.
    """

    patterns: Patterns
    labels: tuple[str, ...]
    weights: tuple[float, ...]
    load: Callable[[int], PatternNetwork]
    max_tokens: int

    def parameters(self) -> Mapping[str, Any]:
        """Return the weights of all models by name."""
        networks = ((p, self.load(p)) for p in range(len(self.patterns.texts)))
        return {
            f"pattern-{p}.{name}": weights
            for p, network in networks
            for name, weights in {**dict(network.mlm.model.named_parameters()), **network.head()}.items()
        }

    def scores(self, text_inputs: TextInputs, engine: Engine) -> tuple[FloatArray, LongArray]:
        """Return s(l|x) (n, J) of documents, and how many of each one's tokens were cut, by the first pattern."""
        by_pattern, cut = [], None
        for p, pattern in enumerate(self.patterns.texts):
            network = self.load(p).mlm
            gaps = fill_pattern(network, pattern, text_inputs.texts, text_inputs.second)
            verbalizer = verbalizers_of(network, self.patterns, self.labels)[pattern.count(MASK)]
            if network.words is not None:
                verbalizer = verbalizer.among(network.words.tokens.cpu().numpy())
            by_pattern.append(pattern_scores(network, gaps, verbalizer, engine))
            cut = gaps.inputs.cut if cut is None else cut
        assert cut is not None
        return ensemble_scores(by_pattern, self.weights), cut
