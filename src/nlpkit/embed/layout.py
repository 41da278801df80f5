"""Configuration of a sentence-transformers folder: its modules, the longest text, the pooling.

Reads the folder layouts of sentence-transformers 2 to 6 and plain transformers folders (no modules.json: mean
pooling, as sentence-transformers does). Anything out of the ordinary is no error here: it is left to
sentence-transformers itself.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit.embed.pooling import read_modes
from nlpkit.errors import MissingError

logger = logging.getLogger("nlpkit.embed")

_PLAIN_VALUES: dict[str, tuple[Any, ...]] = {  # of sentence_bert_config.json; other keys have to be empty
    "transformer_task": ("feature-extraction",),
    "modality_config": ({"text": {"method": "forward", "method_output_name": "last_hidden_state"}},),
    "module_output_name": ("token_embeddings",),
}


# Modules of sentence-transformers that are nothing without a config.json of their own.
_CONFIGURED = ("Pooling", "Dense", "LayerNorm", "LSTM", "CNN", "WeightedLayerPooling", "Dropout", "BoW", "WordWeights")


@dataclass(frozen=True)
class ModelLayout:
    """A model made of a transformer, pooling and, perhaps, a norm."""

    folder: Path  # config.json, tokenizer.json and weights of the transformer
    config: Mapping[str, Any]  # of transformers
    modes: tuple[str, ...]  # of pooling
    max_tokens: int | None  # as the model was trained or set up, None when not said
    lowercase: bool  # texts are lowercased whatever the tokenizer says
    tokenizer: Mapping[str, Any]  # tokenizer_config.json


def read_layout(path: Path) -> ModelLayout | None:
    """Return the layout of a model folder, or None when it is not transformer + pooling [+ norm] for plain text.

    Raises MissingError for a configuration that is not JSON or names an unknown pooling mode, and for a module whose configuration
    is not there.
    """
    kinds, places = read_modules(path)
    if kinds not in (["Transformer"], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    if not all((places[0] / file).is_file() for file in ("config.json", "tokenizer.json")):
        return None
    if (places[0] / "adapter_config.json").is_file():
        return None
    if read_whole(path).get("model_type", "SentenceTransformer") != "SentenceTransformer":
        return None
    settings: dict[str, Any] = next(
        (read_json(file, {}) for file in sorted(places[0].glob("sentence_*_config.json"))), {}
    )
    for key, value in settings.items():
        if key not in ("max_seq_length", "do_lower_case") and value and value not in _PLAIN_VALUES.get(key, ()):
            logger.debug("%s: %s = %r is left to sentence-transformers", path, key, value)
            return None
    tokenizer = read_json(places[0] / "tokenizer_config.json", {})
    if tokenizer.get("truncation_side", "right") != "right":
        return None
    pooling = read_json(places[1] / "config.json", {}) if len(kinds) > 1 else {}
    if not pooling.get("include_prompt", True):
        return None
    try:
        modes = read_modes(pooling)
    except ValueError as error:
        raise MissingError(f"{places[1] / 'config.json'}: {error}") from None
    longest = settings.get("max_seq_length") or tokenizer.get("model_max_length")
    return ModelLayout(
        folder=places[0],
        config=read_json(places[0] / "config.json", {}),
        modes=modes,
        max_tokens=int(longest) if longest and longest < 1e9 else None,
        lowercase=bool(settings.get("do_lower_case")),
        tokenizer=tokenizer,
    )


def read_modules(path: Path) -> tuple[list[str], list[Path]]:
    """Return the kinds of the modules of a folder and where each is; a folder without modules.json is a transformer.

    Raises MissingError for a module that modules.json names and whose configuration is not there, as half a download leaves it.
    """
    modules = read_json(path / "modules.json", [{"type": "Transformer", "path": ""}])
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    places = [path / module.get("path", "") for module in modules]
    for kind, place in zip(kinds, places, strict=True):
        if kind in _CONFIGURED and not (place / "config.json").is_file():
            raise MissingError(
                f"{path / 'modules.json'} names {place.relative_to(path)}/config.json, which is missing, so the "
                "pooling of the model is unknown; download the model again"
            )
    return kinds, places


def read_whole(path: Path) -> Mapping[str, Any]:
    """Return what config_sentence_transformers.json says, which may not be there."""
    whole: Mapping[str, Any] = read_json(path / "config_sentence_transformers.json", {})
    return whole


def read_prompts(path: Path) -> tuple[dict[str, str], str]:
    """Return the prompts of a model by name, without empty ones, and the one that texts get by default, or ''."""
    whole = read_whole(path)
    prompts = {str(name): str(text) for name, text in (whole.get("prompts") or {}).items() if text}
    return prompts, prompts.get(str(whole.get("default_prompt_name")), "")


def read_json(path: Path, default: Any) -> Any:
    """Return what is in a JSON file, or `default` when there is no such file."""
    if not path.is_file():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MissingError(f"{path} is not JSON ({error}); download the model again") from None
