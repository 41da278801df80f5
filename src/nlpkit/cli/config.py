"""`--config FILE`: TOML values become the defaults of a command; an unknown key is an error."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from nlpkit.errors import InputError, UsageError


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Put the values of a TOML file under the flags and environment of a command.

    Keys are option names, with - or _, at the top or in a table named like the command (`[bertopic]`); tables of other
    commands are skipped, so that one file can serve a whole pipeline.

    Raises:
        InputError: the file is not there or not TOML.
        UsageError: a key is no option of the command.
    """
    if path is None:
        return None
    import tomllib

    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"config file {path} does not exist") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"config file {path} is not TOML: {error}") from None

    command = context.info_name or ""
    root: Any = context.find_root().command
    flat = {k: v for k, v in values.items() if not isinstance(v, dict)}
    for name, section in values.items():
        if isinstance(section, dict):
            if name not in root.commands:
                raise _unknown(path, name, root.commands, "command")
            if name == command:
                flat.update(section)
    names = {n: p for p in context.command.params for n in _spellings(p)}
    defaults = {}
    for key, value in flat.items():
        parameter = names.get(key.replace("_", "-"))
        if parameter is None:
            raise _unknown(path, key, {n.replace("-", "_") for n in names}, f"option of '{command}'")
        defaults[parameter.name] = (
            str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
        )
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def _spellings(parameter: Any) -> set[str]:
    names = {o.lstrip("-") for o in parameter.opts if o.startswith("--")}
    return names - {"config", "help"}


def _unknown(path: Path, key: str, known: Any, what: str) -> UsageError:
    near = get_close_matches(key, list(known), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return UsageError(f"config file {path}: '{key}' is no {what}{hint} (known: {', '.join(sorted(known))})")
