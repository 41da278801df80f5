"""Values of options that need no Pydantic, which Typer loads to make a number of a word: a tenth of a second of every start.

What is neither of the option's type already nor plainly written is left to Typer, which converts it or says what is wrong with it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_NUMBERS = {
    int: re.compile(r"-?[0-9]{1,15}", re.ASCII),
    float: re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]{1,2})?", re.ASCII),
}


class PlainFirst:
    """Stands for what Typer (0.26 and later) builds to convert the values of a parameter, and builds it where it is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command gets it. Raises BadParameter as Typer does."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if several:
            if kind == list[str] and isinstance(value, list | tuple) and all(type(item) is str for item in value):
                return list(value)
        elif (plain := _plain(value, kind)) is not None and _within(plain, info):
            return plain
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param, ctx)


class PlainParameters:
    """A command of Typer that converts the plain values of its parameters, --help among them, without Pydantic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "_runtime_param", ...) is None:
                param._runtime_param = PlainFirst()
        return params


def _plain(value: Any, kind: Any) -> Any:
    """Return a value of a type, None where it is not plain."""
    if type(value) is kind:
        return value
    if kind is str and type(value) in _NUMBERS:  # the default of an option that takes a number or a word
        return str(value)
    written = type(value) is str and (kind is Path or (kind in _NUMBERS and _NUMBERS[kind].fullmatch(value)))
    return kind(value) if written or (kind is float and type(value) is int) else None


def _within(value: Any, info: Any) -> bool:
    if not isinstance(value, int | float):
        return True
    return (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
