"""Training a head on a frozen body: what the body makes of each example is computed once, not in every epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nlpkit.embed.pooling import mean_of_tokens
from nlpkit.finetune.data.inputs import Inputs
from nlpkit.finetune.tasks import Targets
from nlpkit.finetune.training.architectures import MODEL_TYPES
from nlpkit.finetune.training.engine import Engine, autocast_if_supported
from nlpkit.finetune.training.heads import is_mean
from nlpkit.finetune.training.network import ClassifierObjective, Network
from nlpkit.platform.types import LongArray

MOST_BYTES = 2**30  # of states that are kept; above, the body is run in every epoch


class Bypass(nn.Module):  # type: ignore[misc]
    """Stands in the place of a body: its last states are given, as `inputs_embeds`; of BERT the pooler, part of the head, is run."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.pooler = getattr(body, "pooler", None)

    def forward(self, *_: Any, inputs_embeds: Tensor, **__: Any) -> Any:
        """Return what a transformers encoder returns, of last states (B, T, E)."""
        from transformers.modeling_outputs import BaseModelOutputWithPooling

        pooled = None if self.pooler is None else self.pooler(inputs_embeds)
        return BaseModelOutputWithPooling(last_hidden_state=inputs_embeds, pooler_output=pooled)


class FrozenBodyObjective(ClassifierObjective):
    """Trains the head of a network whose body is frozen, on the states (Σ T, E) of the examples.

    Heads read the first token of a text, or the mean of all, which is one state as well; those of words and of a ModernBERT that
    takes the mean read all tokens.
    """

    def __init__(self, network: Network, inputs: Inputs, targets: Targets, rows: LongArray, engine: Engine) -> None:
        """Run the body over the examples `rows` of the inputs."""
        super().__init__(network, inputs, targets, rows)
        if not reads_all_tokens(network):
            self.lengths = np.ones(self.n, np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self._body: Any = getattr(network.model, network.model.base_model_prefix)
        self._states = self._run(engine)

    def _run(self, engine: Engine) -> Tensor:
        self.network.mode(False)
        inputs, rows, device = self.inputs, self.rows, engine.device
        hidden = torch.empty(int(self._starts[-1]), int(self.network.model.config.hidden_size), device=device)
        every, mean = reads_all_tokens(self.network), is_mean(self.network.model)

        def states(part: LongArray) -> Tensor:
            batch = inputs.batch(rows[part], device)
            with autocast_if_supported(self._body):
                last: Tensor = self._body(**batch).last_hidden_state
            if mean:
                return mean_of_tokens(last, batch["attention_mask"])[:, None].float()
            return last.float() if every else last[:, :1].float().clone()  # a view would hold on to all tokens

        for part, last_states in engine.run(states, inputs.lengths[rows]):
            for place, last in zip(part.tolist(), last_states, strict=True):
                start, end = self._starts[place], self._starts[place + 1]
                hidden[start:end] = last[: end - start]
        return hidden

    def mode(self, train: bool) -> None:
        """Put the network into training, with the body bypassed; or out of it, whole."""
        model = self.network.model
        setattr(model, model.base_model_prefix, self._body)
        self.network.mode(train)
        if train:
            bypass = Bypass(self._body)
            bypass.training = False
            setattr(model, model.base_model_prefix, bypass)

    def loss(self, rows: LongArray) -> Tensor:
        """Return the weighted sum of the losses of some examples."""
        lengths = self.lengths[rows]
        at = np.arange(int(lengths.max()))[None, :]
        seen = at < lengths[:, None]
        places = np.where(seen, self._starts[rows][:, None] + at, 0)
        device = self._states.device
        states = self._states[torch.from_numpy(places).to(device)]
        mask = torch.from_numpy(seen.astype(np.int64)).to(device)
        with autocast_if_supported(self.network.model):
            logits = self.network.model(inputs_embeds=states, attention_mask=mask).logits
        return self.targets.loss(logits, self.rows[rows])


def reads_all_tokens(network: Network) -> bool:
    """Whether the head of a network reads the states of all tokens, and not of the first alone."""
    return network.task.kind == "tokens" or getattr(network.model.config, "classifier_pooling", "cls") == "mean"


def objective_of(
    network: Network, inputs: Inputs, targets: Targets, rows: LongArray, engine: Engine
) -> ClassifierObjective:
    """Return what trains a network: of `head` on states that are kept, where these are no more than `MOST_BYTES`.

    Of kinds of models that are not in the table of architectures it is not known which states the head reads: their bodies are run.
    """
    if (
        network.method.kind.trains == "head"
        and network.task.kind != "answer"
        and network.model.config.model_type in MODEL_TYPES
    ):
        n = int(inputs.lengths[rows].sum()) if reads_all_tokens(network) else len(rows)
        if 4 * n * int(network.model.config.hidden_size) <= MOST_BYTES:
            return FrozenBodyObjective(network, inputs, targets, rows, engine)
    return ClassifierObjective(network, inputs, targets, rows)
