"""Classifiers that read the first token alone: the rest of the last layer is not computed for the other tokens.

Behind the attention of the last layer nothing goes from token to token. The dense layer of its attention and its feed-forward network,
three quarters of the products of a layer of BERT, are therefore computed for one token of a text, forward and back; the outputs
are the same but for rounding.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from nlpkit.finetune.architectures import describe

# whose heads read the first token, and have `attention.output(context, x)`
KINDS = ("bert", "roberta", "xlm-roberta", "deberta-v2")


def read_first_token(model: Any) -> None:
    """Let the last layer of a classifier of KINDS go on with the first token from behind its attention; others stay as they are."""
    if model.config.model_type in KINDS and (layers := describe(model).layers):
        model.get_submodule(f"{layers[-1].whole}.attention.output").register_forward_pre_hook(_first)


def _first(module: Any, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the first token (B, 1, d) of the context and of the input of the layer (B, T, d)."""
    return tuple(x[:, :1] for x in states)
