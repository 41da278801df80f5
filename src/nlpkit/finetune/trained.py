"""What a training gives, and what is called during it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nlpkit.finetune.patterns.seq2seq import ChoiceModel
from nlpkit.finetune.patterns.training import PatternEnsemble
from nlpkit.finetune.setfit.setfit import SetFitModel
from nlpkit.finetune.training.network import Network
from nlpkit.finetune.training.train import LogPoint, Outcome, Schedule, State


@dataclass(frozen=True, slots=True)
class TrainingCallbacks:
    """Functions that are called during training, and the state that it resumes from."""

    state: State | None = None
    save: Callable[[State], None] = lambda state: None
    on_step: Callable[[int, int, LogPoint | None], None] = lambda step, steps, point: None
    on_truncation: Callable[[int, float], None] = lambda documents, share: (
        None
    )  # see Trained.cut; before training starts


@dataclass(slots=True)
class Trained:
    """A training that is done. outputs: of the rows that were to be predicted, as `network.predict` gives them; logits of SetFit.

    A model is one of three: a network, an embedder with a SetFit model, or an ensemble of pattern models, whose words and weights
    `patterns` has also where a network has learned from it.

    options: of the method, in force. cut: of the documents used, how many were longer than the window, and the share of the tokens
    that was not seen.
    """

    outputs: Any
    outcome: Outcome
    plan: Schedule
    seconds: float
    predict_seconds: float
    n_trained: int
    n_parameters: int
    cut: tuple[int, float]
    options: Mapping[str, Any]
    network: Network | None = None
    embedder: Any = None
    model: SetFitModel | None = None
    unfit: int = 0  # documents that were not learned from: no window has all of their answer
    temperature: float | None = None  # that the outputs are divided by
    ensemble: PatternEnsemble | ChoiceModel | None = None
    patterns: Mapping[str, Any] | None = None
    domain: Mapping[str, Any] | None = None  # of AdaSent: its training on masked words

    @property
    def layer_weights(self) -> dict[str, Any] | None:
        """How much each layer of ELMo weighs (see `nlpkit.platform.lab_networks`); None for other models."""
        from nlpkit.platform.lab_networks import layer_weights

        return None if self.network is None else layer_weights(self.network.model)

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model sees."""
        holder: Any = self.network or self.embedder or self.ensemble
        return int(holder.max_tokens)
