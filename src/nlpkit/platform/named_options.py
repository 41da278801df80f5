"""Choices with options in brackets, such as `lora(r=8,alpha=16)`: how they are spelled and read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nlpkit.errors import UsageError

Value = int | float | str | bool
SPELLING = re.compile(r"\s*(?P<name>(?:\(ia\))?[^\s(),=]+)\s*(?:\((?P<options>[^()]*)\))?\s*", re.IGNORECASE)


def parse_options(text: str, tables: Mapping[str, Mapping[str, Value]], option: str) -> tuple[str, dict[str, Value]]:
    """Return the name in front and all options of what is spelled like `triplet(margin=1)`.

    Args:
        tables: the options of each name with their defaults. option: the parameter that it is the value of, for messages.

    Raises:
        UsageError: no such name or option, or a value of another type.
    """
    match = SPELLING.fullmatch(text)
    name = "" if match is None else match["name"].lower()
    if match is None or name not in tables:
        raise UsageError(
            f"`{option}={text}` is not known; give one of {', '.join(tables)}, with options in brackets",
            parameter=option,
        )
    return name, options_of(match["options"], tables[name], f"`{option}={text}`", name)


def options_of(text: str | None, usual: Mapping[str, Value], what: str, name: str) -> dict[str, Value]:
    """Return the options in brackets over the defaults."""
    values = dict(usual)
    seen: set[str] = set()
    for item in (text or "").split(","):
        if not item.strip():
            continue
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or key not in values:
            known = ", ".join(f"{k}={spelled(v)}" for k, v in usual.items()) or "none"
            raise UsageError(f"{what}: '{item.strip()}' is not an option of {name} (its options: {known})")
        if key in seen:
            raise UsageError(f"{what}: {key} occurs twice")
        seen.add(key)
        values[key] = _value(value, usual[key], f"{what}: {key}")
    return values


def spelled(value: Value) -> str:
    """Return a value as it is read again."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


def _value(text: str, like: Any, what: str) -> Value:
    """Return a value of the type of `like`."""
    if isinstance(like, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise UsageError(f"{what} is {text}, needed true or false")
    if isinstance(like, str):
        return text
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"{what} is {text}, a number was needed such as {like}") from None
    if number != number or abs(number) == float("inf") or number < 0:
        raise UsageError(f"{what} is {text}, a number of 0 or more was needed")
    if isinstance(like, int):
        if number != int(number):
            raise UsageError(f"{what} is {text}, a whole number was needed")
        return int(number)
    return number
