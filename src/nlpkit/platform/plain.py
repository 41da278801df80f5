"""Values as JSON holds them, words as a shell takes them. Imports nothing heavy: the command line uses it first of all."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from typing import Any


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that every reader takes: NaN and infinity, which JSON does not have, become null; arrays become lists.

    Bytes of file names that are no UTF-8, which Python has as lone surrogates, are escaped.
    """
    text = json.dumps(_json_value(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode()


def shell_line(*words: object) -> str:
    """Return words as a line that a shell takes as these words: names with blanks or other signs are put in quotes."""
    return shlex.join(map(str, words))


def finite_or_none(value: float) -> float | None:
    """Return a number, None for NaN and infinity, which neither JSON nor a column with gaps holds."""
    return float(value) if math.isfinite(value) else None


def whole_or_text(value: object) -> int | str:
    """Return a number of a command line as a number (--k 5), other words (auto, 10:100:10) as they are, as a manifest holds them."""
    text = str(value)
    return int(text) if text.isdecimal() else text


def rounded(values: Mapping[str, Any], digits: int = 6) -> dict[str, Any]:
    """Return values with their fractions rounded, as a manifest holds them."""
    return {name: round(value, digits) if isinstance(value, float) else value for name, value in values.items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _json_value(v) for k, v in value.items()}
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_json_value(v) for v in value]
    if isinstance(value, float):
        return finite_or_none(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)
