"""Classifiers that read the mean of all tokens, as sentence encoders were trained to be read.

transformers' classifiers of BERT and its kin read the first token, through a layer that no sentence encoder was trained with. Few
documents do not teach the head that anew (docs/benchmarks/finetune.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nlpkit.architectures.pooling import mean_of_tokens
from nlpkit.embed.layout import read_json
from nlpkit.embed.pooling import read_modes
from nlpkit.embed.tokenizers import transformer_folder
from nlpkit.errors import MissingError, UsageError, unknown_value
from nlpkit.finetune.architectures import MODEL_TYPES
from nlpkit.finetune.tasks import TaskKind

POOLINGS = ("auto", "mean", "transformers")


def pooling_of(folder: Path, wanted: str, kind: TaskKind) -> str:
    """Return what the head of a base reads for a kind of task: the `mean` of the tokens, or what it reads in `transformers`.

    Args:
        folder: of the base. wanted: one of POOLINGS; auto: the mean where the base is a sentence encoder with mean pooling.

    Raises:
        UsageError: the mean is asked for where each word has a head of its own, or of a model without such an encoder;
        MissingError: a folder whose first module is no transformer, or whose pooling is not known.
    """
    if wanted not in POOLINGS:
        raise unknown_value("pooling", wanted, POOLINGS)
    of_words = kind in ("tokens", "answer")
    encoder = read_json(transformer_folder(folder) / "config.json", {}).get("model_type") in MODEL_TYPES
    if wanted == "mean" and (of_words or not encoder):
        why = "the head reads each word" if of_words else f"the base is not an encoder of type {', '.join(MODEL_TYPES)}"
        raise UsageError(f"`pooling=mean`: {why}; leave it out", parameter="pooling")
    if wanted != "auto":
        return wanted
    return "mean" if encoder and not of_words and _modes(folder) == ("mean",) else "transformers"


def _modes(folder: Path) -> tuple[str, ...]:
    """Return how the vectors of tokens become one in a folder of sentence-transformers, whatever comes after; () in any other."""
    modules = read_json(folder / "modules.json", [])
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        return ()
    file = folder / str(modules[1].get("path", "")) / "config.json"
    try:
        return read_modes(read_json(file, {}))
    except ValueError as error:
        raise MissingError(f"{file}: {error}") from None


class MeanForSequenceClassification(nn.Module):  # type: ignore[misc]
    """An encoder of transformers with a linear layer on the mean of its last states: what sentence-transformers calls Transformer,
    Pooling and Dense. It takes what the encoder takes, and is used like a classifier of transformers.
    """

    base_model_prefix = "encoder"
    HEAD = ("classifier.weight", "classifier.bias")

    def __init__(self, encoder: Any, n_outputs: int) -> None:
        super().__init__()
        self.config, self.encoder = encoder.config, encoder
        pooler = getattr(encoder, "pooler", None)
        if pooler is not None:  # of the first token, which nobody reads
            pooler.requires_grad_(False)
        rates = (getattr(self.config, name, None) for name in ("hidden_dropout_prob", "dropout"))
        self.dropout = nn.Dropout(next((float(rate) for rate in rates if rate is not None), 0.0))
        self.classifier = nn.Linear(int(self.config.hidden_size), n_outputs)
        nn.init.normal_(self.classifier.weight, std=float(getattr(self.config, "initializer_range", 0.02)))
        nn.init.zeros_(self.classifier.bias)

    def forward(
        self, attention_mask: Tensor, past_key_values: Any = None, labels: Any = None, return_dict: Any = None, **inputs: Any
    ) -> Any:  # fmt: skip
        """Return the logits (B, J) of texts whose tokens, and vectors put before them, have a 1 in attention_mask.

        past_key_values is named because peft puts a prefix only before models that take it; of others it takes the pooler's output.
        """
        from transformers.modeling_outputs import SequenceClassifierOutput

        present = {n: value for n, value in {**inputs, "past_key_values": past_key_values}.items() if value is not None}
        out = self.encoder(attention_mask=attention_mask, **present)
        mean = mean_of_tokens(out.last_hidden_state, attention_mask)
        return SequenceClassifierOutput(
            logits=self.classifier(self.dropout(mean)), attentions=getattr(out, "attentions", None)
        )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.classifier.weight.device
        return device

    def get_input_embeddings(self) -> Any:
        """Return the word embeddings of the encoder."""
        return self.encoder.get_input_embeddings()

    def set_input_embeddings(self, table: Any) -> None:
        """Put others in their place."""
        self.encoder.set_input_embeddings(table)

    def set_attn_implementation(self, name: str) -> None:
        """Choose how attention is computed."""
        self.encoder.set_attn_implementation(name)


def is_mean(model: torch.nn.Module) -> bool:
    """Whether a network, perhaps in a model of peft, reads the mean."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return isinstance(inner, MeanForSequenceClassification)
