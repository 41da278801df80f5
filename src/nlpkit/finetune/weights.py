"""The shapes of stored weights."""

from __future__ import annotations

from pathlib import Path

from nlpkit.errors import InputError


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
