"""Classifiers of causal language models of transformers: a linear head on the last token of a text, which has seen all others, or, of
Mamba, on the mean of the tokens.

transformers finds the last token as the last one that is no padding token, and takes the last place where it is given vectors in place of
tokens, as prompt tuning does: with padding, that is the wrong one. Here the attention mask says where a text ends. For texts that do
not end with padding tokens of their own, the outputs are those of transformers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, MambaConfig
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.mamba.modeling_mamba import MambaModel, MambaPreTrainedModel

from nlpkit.embed.pooling import mean_of_tokens
from nlpkit.platform.lab_networks import with_scan


class CausalClassifier:
    """The forward of a model with a body and a head `score`. Weights and their names are those of transformers."""

    base_model_prefix: str
    score: Any

    def forward(
        self, input_ids: Tensor | None = None, attention_mask: Tensor | None = None, inputs_embeds: Tensor | None = None,
        past_key_values: Any = None, **_: Any,
    ) -> SequenceClassifierOutput:  # fmt: skip
        """Return logits (B, J); attention_mask (B, l + T): 1 for tokens, also for l vectors before them, 0 for padding behind them."""
        before = {} if past_key_values is None else {"past_key_values": past_key_values}
        body = getattr(self, self.base_model_prefix)
        hidden = body(
            input_ids=input_ids, attention_mask=attention_mask, inputs_embeds=inputs_embeds, use_cache=False, **before
        ).last_hidden_state
        mask = torch.ones(hidden.shape[:2]) if attention_mask is None else attention_mask[:, -hidden.shape[1] :]
        return SequenceClassifierOutput(logits=self.score(self.pooled(hidden, mask.to(hidden.device))))

    def pooled(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the vectors (B, h) that the head reads, of those of all tokens (B, T, h)."""
        rows, places = (torch.arange(n, device=hidden.device) for n in hidden.shape[:2])
        return hidden[rows, (mask * places).argmax(dim=-1)]


class MambaForSequenceClassification(CausalClassifier, MambaPreTrainedModel):  # type: ignore[misc]
    """Mamba with a head on the mean of the tokens, which transformers does not have; see `model.SequenceClassifier` for why the mean."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.backbone = MambaModel(config)
        self.score = nn.Linear(config.hidden_size, config.num_labels, bias=False)
        self.post_init()
        with_scan(self)

    def pooled(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the mean of the tokens (B, h)."""
        return mean_of_tokens(hidden, mask)


def is_causal_classifier(model: Any) -> bool:
    """Whether a model of transformers is a causal one with a head for classes, `score`."""
    return hasattr(model, "score") and type(model).__name__.endswith("ForSequenceClassification")


def with_last_token(model: Any) -> Any:
    """Let a causal classifier of transformers find the end of a text by the attention mask; the model is returned, others as they are."""
    if is_causal_classifier(model) and not isinstance(model, CausalClassifier):
        kind = type(model)  # config.json is to have its name
        model.__class__ = type(kind.__name__, (CausalClassifier, kind), {"__module__": kind.__module__})
    return model


def register() -> None:
    """Let transformers load Mamba as a classifier by its Auto class."""
    AutoModelForSequenceClassification.register(MambaConfig, MambaForSequenceClassification, exist_ok=True)
