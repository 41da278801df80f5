"""What a transformer looks at: the weights of its attention for one text, and their rollout through the layers."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa

from nlpkit.embed.models import find_model, folder_problem
from nlpkit.errors import InputError, MissingError, UsageError, first_line, missing_extra
from nlpkit.platform import reporting, wording
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, Param, options, with_settings
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.runs.tables import FORMATS, save_table
from nlpkit.platform.types import Float32Array, FloatArray
from nlpkit.platform.views.html import paragraphs, table
from nlpkit.platform.views.page import Page, Section, read_attention_code, render

if TYPE_CHECKING:
    from nlpkit.finetune.attribution import LayerConfidence

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


# ------------------------------------------------------------------------------------------------------------------------
# Attention of a transformer for one text: a table of weights, and a page with a map of each head.

PAGES = (".html", ".htm")
HOW = (
    "Each row of a map is a token that looks, each column one that is looked at; the weights of a row sum to 1.",
    "Rollout multiplies the mean maps of the layers, half of each being the residual connection: Â = ½ A + ½ I, R = Â_L … Â_1 "
    "(Abnar & Zuidema 2020). It says how much of each token of the text is in each token of the last layer.",
    "Attention says where a model looks, not why it decides: a weight may be large and the vector behind it small (Jain & Wallace 2019).",
)


@dataclass(frozen=True, slots=True)
class Attention(Tabular):
    """The attention of a model for a text. maps: its weights. name: of the model. confidence: of a run of finetune for classes, what it
    would say after each layer; None where there is none, or the layers of such a model are not known.
    """

    name: str
    text: str
    maps: AttentionMaps
    parameters: dict[str, Any]
    seed: int
    confidence: LayerConfidence | None = None

    def table(self) -> pa.Table:
        """Return layer, head (both from 1), from_position, from, to_position, to, weight; the rollout has head 0."""
        maps = self.maps
        L, H, T, _ = maps.weights.shape
        rolled = rollout(maps.weights).astype(np.float32)[:, None]
        values = np.concatenate([rolled, maps.weights], axis=1)
        place = np.indices(values.shape, np.int32)
        names = pa.array(maps.tokens, pa.string())
        columns = {
            "layer": pa.array(place[0].ravel() + 1),
            "head": pa.array(place[1].ravel()),
            "from_position": pa.array(place[2].ravel() + 1),
            "from": names.take(pa.array(place[2].ravel())),
            "to_position": pa.array(place[3].ravel() + 1),
            "to": names.take(pa.array(place[3].ravel())),
            "weight": pa.array(values.ravel()),
        }
        assert values.shape == (L, H + 1, T, T)
        return pa.table(columns)

    @property
    def reader(self) -> int:
        """The place of the token that reads the whole text: the first, as [CLS] is, or the last of a model that sees none after it."""
        return len(self.maps.tokens) - 1 if self.maps.causal else 0

    def received(self) -> FloatArray:
        """Return how much of each token (T,) is in the reading token after the last layer (rollout), its own share included."""
        shares: FloatArray = self.maps.rollout[self.reader]
        return shares

    def to_dict(self) -> dict[str, Any]:
        """Return tokens, sizes and the rollout of the reading token in plain values."""
        maps = self.maps
        return {
            "model": self.name, "tokens": list(maps.tokens), "layers": maps.weights.shape[0], "heads": maps.weights.shape[1],
            "causal": maps.causal, "tokens_cut": maps.cut, "reader": self.reader + 1, "rollout": self.received().tolist(),
            "confidence": None if self.confidence is None else self.confidence.to_list(),
        }  # fmt: skip

    def html(self) -> str:
        """Return a page with the map of each head and the rollout; it needs no network."""
        maps = self.maps
        L, H, T, _ = maps.weights.shape
        stacked = np.concatenate([maps.weights.reshape(L * H, T, T), rollout(maps.weights).astype(np.float32)])
        cells = np.rint(stacked * 65_535).astype(np.uint16)
        lead = f"{wording.counted(L, 'layer')}, {wording.counted(H, 'head')} each, {wording.counted(T, 'token')} of "
        lead += f"“{wording.truncated(self.text, 200)}”"
        reads = maps.tokens[self.reader]
        received = [
            (token, f"{100 * share:.1f}") for token, share in zip(maps.tokens, self.received().tolist(), strict=True)
        ]
        sections = [
            Section("text", "Text"),
            Section("heads", "All heads"),
            Section("one", "One head"),
            Section(
                "rollout",
                "Rollout",
                paragraphs([f"Share of each token in {reads} (token {self.reader + 1}) after the last layer."])
                + table(["Token", "Share, %"], received, numeric=(1,)),
            ),
            Section("about", "How to read it", paragraphs(HOW)),
        ]
        data = {"tokens": maps.tokens, "layers": L, "heads": H, "reader": self.reader}
        arrays = {"cells": cells.ravel()}
        return render(Page(f"Attention of {self.name}", lead, sections, data, arrays, {}), read_attention_code())

    def save(self, target: str | Path, *, force: bool = False) -> None:
        """Write a page (.html), or the table (.parquet, .csv …).

        Raises:
            UsageError: the name is of neither; OutputExistsError: it is there.
        """
        if Path(target).suffix.lower() in PAGES:
            write_picture(Path(target), self.html(), force=force)
            return
        block = footer_block("attention", command="attention", parameters=self.parameters, seed=self.seed, inputs=[])
        save_table(target, self.table(), block, force=force)


def attention(
    model: str | Path,
    text: str,
    *,
    options: AttentionOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> Attention:
    """Return what a transformer looks at in a text: A = softmax(Q Kᵀ / √d_k) of each head, (L, H, T, T), and its rollout.

    Args:
        model: a run of finetune or train-encoder, a folder of transformers or sentence-transformers, or a name (`find_model`).
        text: one text. options: tokens of it. settings: fields of AttentionOptions and Execution.

    Raises:
        UsageError: a text without a token; InputError: a model without attention, or a damaged run; MissingError: there is no such model.
    """
    options, execution = with_settings((options, execution), settings, (AttentionOptions, Execution))
    if not text.strip():
        raise UsageError("the text has no token; give some words", parameter="text")
    network, tokenizer = _loaded(model, options, execution)
    maps = attention_maps(network, tokenizer, text, max_tokens=options.max_tokens, name=str(model))
    if maps.cut:
        reporting.note(
            f"the text is longer than {wording.counted(len(maps.tokens), 'token')}: {maps.cut:,} at its end are "
            "not read; see `max_tokens`"
        )
    parameters = {"model": str(model), "text": text, **asdict(options)}
    return Attention(str(model), text, maps, parameters, execution.seed, _confidence(model, text, options))


def _confidence(model: str | Path, text: str, options: AttentionOptions) -> LayerConfidence | None:
    """Return what a classifier would say of the text after each layer, None where the model is none."""
    path = Path(model)
    if not (path / MANIFEST).is_file() or (path / "model" / "sentence-transformers").is_dir():
        return None
    from torch import device

    from nlpkit.finetune.attribution import layer_confidence
    from nlpkit.finetune.files import load_tuned_network
    from nlpkit.finetune.foreign_files import open_model
    from nlpkit.finetune.training.architectures import LAYERED

    folder, config = open_model(path, verify=False)
    if config is None or config.task.kind != "single" or config.format in ("setfit", "patterns"):
        return None
    network = load_tuned_network(folder, config, base=options.base, device=device("cpu"), offline=options.offline)
    return layer_confidence(network, text) if network.model.config.model_type in LAYERED else None


def _loaded(model: str | Path, options: AttentionOptions, execution: Execution) -> tuple[Any, Any]:
    """Return the model with adapters, as it was trained, and its tokenizer."""
    path = Path(model)
    if (path / MANIFEST).is_file() and not (path / "model" / "sentence-transformers").is_dir():
        from torch import device

        from nlpkit.finetune.files import load_tuned_network
        from nlpkit.finetune.foreign_files import open_model

        folder, config = open_model(path, verify=execution.verify)
        if config is not None and config.format not in ("transformers", "setfit"):
            network = load_tuned_network(
                folder, config, base=options.base, device=device("cpu"), offline=options.offline
            )
            return network.model.eval(), network.tokenizer
        path = folder
    elif not path.is_dir() or (path / MANIFEST).is_file():
        path = find_model(str(model), offline=options.offline).path
    if options.base is not None:
        raise UsageError(f"{model} is a complete model and needs no `base`; leave it out", parameter="base")
    if (path / "adapter_config.json").is_file() and not (path / "config.json").is_file():
        raise InputError(f"{path} holds only adapters; merge them, or name their run of `finetune()`")
    problem = folder_problem(path)
    if problem:
        raise InputError(f"model folder {path} {problem}")
    return load_attending(path)


def check_attention_name(target: str) -> None:
    """Raise UsageError when the name of an output is neither that of a page nor that of a table."""
    suffix = Path(target).suffix.lower()
    if suffix not in PAGES and suffix not in FORMATS:
        raise UsageError(
            f"{target}: attention is written as a page (.html) or a table (.parquet, .csv …); name it attention.html",
            parameter="output",
        )
