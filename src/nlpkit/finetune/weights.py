"""Stored weights: their shapes, and models of transformers that need all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlpkit.errors import InputError, MissingError, first_line


def load_whole(kind: Any, folder: Path, *, what: str = "model", spare: str | None = None) -> Any:
    """Return a model of an Auto class of transformers in float32, from a folder that has all of its weights.

    Args:
        what: is loaded, in messages. spare: part of the names of weights that may be missing.

    Raises:
        MissingError: transformers cannot load it, or a weight is missing.
    """
    import torch

    from nlpkit.embed.engines import quiet

    with quiet():
        try:
            model, info = kind.from_pretrained(
                str(folder), dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True,
                output_loading_info=True,
            )  # fmt: skip
        except Exception as error:  # every model fails in its own way
            raise MissingError(f"transformers cannot load the {what} in {folder}: {first_line(error)}") from None
    missing = sorted(map(str, info.get("missing_keys") or ()))
    lost = [name for name in missing if spare is None or spare not in name]
    if lost:
        raise MissingError(f"the weights of the {what} in {folder} do not fit its config.json: missing '{lost[0]}'")
    return model


def tensor_shapes(file: Path) -> dict[str, list[int]]:
    """Return the shapes of the tensors of a safetensors file, without loading them. Raises InputError where it cannot be read."""
    from safetensors import safe_open

    if not file.is_file():
        raise InputError(f"{file.parent} has no {file.name}; nlpkit opens no pickles")
    try:
        with safe_open(str(file), framework="pt") as tensors:
            return {key: list(tensors.get_slice(key).get_shape()) for key in tensors.keys()}  # noqa: SIM118
    except Exception as error:  # safetensors has an error of its own
        raise InputError(f"{file} cannot be read ({error})") from None
