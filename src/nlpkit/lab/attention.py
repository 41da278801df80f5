"""What a transformer looks at: the weights of its attention for one text, and their rollout through the layers."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from nlpkit.errors import InputError, MissingError, UsageError, first_line, missing_extra
from nlpkit.platform.options import Param, options
from nlpkit.platform.types import Float32Array, FloatArray

LONGEST = 256  # tokens: the page has a map of T × T for each head


@options
class AttentionOptions:
    """How much of a text is looked at, and where the model is looked for."""

    PANEL: ClassVar[str] = "Attention"

    max_tokens: Annotated[
        int,
        Param(
            "Maximum number of tokens of the text, including special tokens. The rest is cut off.",
            metavar="N",
            min=3,
            max=LONGEST,
        ),
    ] = 64
    base: Annotated[
        str | None,
        Param("For fine-tuned adapters: the base model. Default: the model recorded in the adapter.", metavar="MODEL"),
    ] = None
    offline: Annotated[bool, Param("Never contact the Hugging Face hub.")] = False


@dataclass(frozen=True, slots=True)
class AttentionMaps:
    """Attention of one text. tokens (T,); weights (L, H, T, T) float32: from token i (rows, which sum to 1) to token j.

    causal: a token sees none after it. cut: tokens that were left out.
    """

    tokens: tuple[str, ...]
    weights: Float32Array
    causal: bool
    cut: int

    @property
    def rollout(self) -> FloatArray:
        """Rollout through all layers (T, T)."""
        last: FloatArray = rollout(self.weights)[-1]
        return last


def rollout(weights: Float32Array | FloatArray) -> FloatArray:
    """Return the rollout (L, T, T) of attention (L, H, T, T): how much of each first token is in each token after each layer.

        Â_l = ½ mean_h A_lh + ½ I,   R_l = Â_l R_{l-1},   R_0 = I

    Half of each layer is its residual connection. Rows sum to 1. Abnar & Zuidema 2020, "Quantifying attention flow in transformers".
    """
    L, _, T, _ = weights.shape
    out = np.empty((L, T, T))
    before = np.eye(T)
    for layer in range(L):
        mean = weights[layer].astype(np.float64).mean(axis=0)
        mean /= np.maximum(mean.sum(axis=1, keepdims=True), 1e-12)
        before = (0.5 * mean + 0.5 * np.eye(T)) @ before
        out[layer] = before
    return out


def load_attending(folder: Path) -> tuple[Any, Any]:
    """Return the model and the tokenizer of a transformers folder. Raises MissingError when it cannot be loaded."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        raise missing_extra("attention", "neural")
    import torch
    from transformers import AutoModel

    from nlpkit.embed.engines import quiet
    from nlpkit.embed.tokenizers import load_tokenizer, transformer_folder

    place = transformer_folder(folder)
    with quiet():
        try:
            model = AutoModel.from_pretrained(
                str(place), dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True
            )
        except Exception as error:  # every model fails in its own way
            raise MissingError(f"transformers cannot load the model in {place}: {first_line(error)}") from None
    return model.eval(), load_tokenizer(place, words=False)


def attention_maps(model: Any, tokenizer: Any, text: str, *, max_tokens: int, name: str) -> AttentionMaps:
    """Return the attention of a text; of a model with encoder and decoder that of its encoder.

    Args:
        model: a transformers model, perhaps with adapters. name: of the model in messages.

    Raises:
        InputError: the model has no attention of all tokens to all; UsageError: the text has no token.
    """
    import torch

    from nlpkit.embed.engines import quiet

    if getattr(model.config, "is_encoder_decoder", False):
        model = model.get_encoder()
    try:
        with quiet():
            model.set_attn_implementation("eager")
    except Exception as error:  # a model that has its own attention alone
        raise InputError(f"{name} does not show its attention: {first_line(error)}") from None
    window = int(getattr(model.config, "max_position_embeddings", None) or LONGEST)
    offset = 2 if model.config.model_type in ("roberta", "xlm-roberta", "camembert") else 0  # positions begin at 2
    most = min(max_tokens, max(window - offset, 1))
    with quiet():
        whole = len(tokenizer(text)["input_ids"])
        read = tokenizer(text, truncation=True, max_length=most, return_offsets_mapping=True, return_tensors="pt")
    spans = read.pop("offset_mapping")[0].tolist()
    if not any(end > start for start, end in spans):
        raise UsageError("the text has no token; give some words", parameter="text")
    ids = read["input_ids"][0].tolist()
    pieces = zip(tokenizer.convert_ids_to_tokens(ids), spans, strict=True)
    names = tuple(_shown(token, text[start:end]) for token, (start, end) in pieces)
    inputs = {key: value for key, value in read.items() if key in ("input_ids", "attention_mask", "token_type_ids")}
    if "token_type_ids" in inputs and int(getattr(model.config, "type_vocab_size", 0) or 0) < 1:
        del inputs["token_type_ids"]
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the sums of a product do not depend on the number of threads
    try:
        with torch.inference_mode(), quiet():
            layers = getattr(model(**inputs, output_attentions=True), "attentions", None)
    finally:
        torch.set_num_threads(before)
    T = len(ids)
    if not layers or any(a is None for a in layers):
        raise InputError(f"{name} is of type '{model.config.model_type}', which has no attention to show")
    if any(a.shape[-2:] != (T, T) for a in layers):
        raise InputError(
            f"{name} does not attend from every token to every token (its maps have {layers[0].shape[-2]} × "
            f"{layers[0].shape[-1]} cells for {T} tokens), as models with windows or with vectors before the text do"
        )
    weights = np.stack([a[0].float().numpy() for a in layers]).astype(np.float32)
    causal = not np.triu(weights.max(axis=(0, 1)), 1).any() and T > 1
    return AttentionMaps(names, weights, causal, max(0, whole - T))


def _shown(token: str, text: str) -> str:
    """Return a token as it stands in the text; special ones, and marks of the middle of a word, as the tokenizer has them."""
    return text.strip() if text.strip() and not token.startswith("##") else token
