"""Attention of a transformer for one text: a table of weights, and a page with a map of each head."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit.embed.models import find_model, folder_problem
from nlpkit.errors import InputError, UsageError
from nlpkit.lab.attention import AttentionMaps, AttentionOptions, attention_maps, load_attending, rollout
from nlpkit.platform import reporting, wording
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.artifacts import footer_block
from nlpkit.platform.runs.atomic import MANIFEST
from nlpkit.platform.runs.saving import write_picture
from nlpkit.platform.runs.tables import FORMATS, save_table
from nlpkit.platform.types import FloatArray
from nlpkit.platform.views.html import paragraphs, table
from nlpkit.platform.views.page import Page, Section, read_attention_code, render

if TYPE_CHECKING:
    from nlpkit.finetune.attribution import LayerConfidence

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
