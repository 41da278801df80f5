"""`--config FILE`: TOML values become the defaults of a command; an unknown key or a value of the wrong type is an error."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import typer

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting
from nlpkit.platform.foreign_names import native_parameter

PREFIX = "NLPKIT_"
_TYPES: dict[str, dict[str, Any]] = {}  # command → option → type


def declare(command: str, annotations: Mapping[str, Any]) -> None:
    """Take note of the types of the options of a command."""
    _TYPES[command] = {name: _bare(annotation) for name, annotation in annotations.items()}


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """Put the values of a TOML file under the flags and environment of a command.

    Keys are option names, with - or _, at the top or in a table named like the command (`[bertopic]`, `[annotate.task]`); tables of other
    commands are checked but not used, so that one file can serve a whole pipeline.

    Raises:
        InputError: the file is not there or not TOML.
        UsageError: a key is no option of its command, is there under two names, or its value is of another type.
    """
    if path is None:
        return None
    values = _read(path)
    commands = _commands(context.find_root().command)
    current = context.command_path.partition(" ")[2]
    defaults: dict[str, Any] = {}
    top = {k: v for k, v in values.items() if not isinstance(v, dict)}
    for key in top:
        if _find(commands[current], key) is None:
            raise _unknown_at_top(path, key, current, commands)
    defaults.update(_section(path, commands[current], current, top))
    for name, section in _sections(values, commands):
        if name not in commands:
            raise _unknown(path, name, commands, "a command")
        section_defaults = _section(path, commands[name], name, section)
        if name == current:
            defaults.update(section_defaults)
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def _commands(root: Any) -> dict[str, Any]:
    """Return the commands by name; those of a group have its name before theirs: annotate task."""
    commands: dict[str, Any] = {}
    for name, command in root.commands.items():
        members = getattr(command, "commands", None)
        commands |= {name: command} if members is None else {f"{name} {sub}": member for sub, member in members.items()}
    return commands


def _sections(values: Mapping[str, Any], commands: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of a file by the command they are for; that of a command in a group is [annotate.task]."""
    for name, section in values.items():
        if not isinstance(section, dict):
            continue
        if name in commands or not any(command.startswith(f"{name} ") for command in commands):
            yield name, section
            continue
        for sub, inner in section.items():
            yield f"{name} {sub}", inner if isinstance(inner, dict) else {}


def has_variables() -> bool:
    """Whether the environment has a variable NLPKIT_…."""
    return any(name.startswith(PREFIX) for name in os.environ)


def check_environment(*, verify: bool = True) -> None:
    """Warn about variables NLPKIT_… that are no option of any command, and about the one that switches a check off.

    A misspelt one would be ignored in silence. verify: whether this command refuses runs whose files were changed.

    Raises:
        UsageError: a number of threads for Numba is none; Numba itself would end with an error of another kind.
    """
    threads = os.environ.get("NUMBA_NUM_THREADS", "1")
    if not threads.strip().isdecimal() or int(threads) < 1:
        raise UsageError(
            f"the environment variable NUMBA_NUM_THREADS={threads} is not a number of threads; give 1 or more, "
            "or unset it"
        )
    if not has_variables():
        return
    if not verify and f"{PREFIX}VERIFY" in os.environ:
        reporting.warn(f"{PREFIX}VERIFY is set: runs are read even if their files were changed", always=True)
    from nlpkit.platform.llm_options import KEYS

    known = {PREFIX + name.upper() for options in _TYPES.values() for name in options}
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known and name not in KEYS:
            near = get_close_matches(name, known, n=1) if name != PREFIX else []
            hint = f"; did you mean {near[0]}?" if near else ""
            reporting.warn(f"the environment variable {name} is not an option of nlpkit and is ignored{hint}")


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"config file {path} does not exist") from None
    except IsADirectoryError:
        raise InputError(f"config file {path} is a directory") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"config file {path} is not TOML: {error}") from None


def _section(path: Path, command: Any, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameter → value of the keys of one command."""
    options: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for key, value in values.items():
        parameter = _find(command, key)
        if parameter is None:
            raise _unknown(path, key, _spellings(command), f"an option of '{name}'")
        if parameter in options:
            raise UsageError(f"config file {path}: '{keys[parameter]}' and '{key}' are the same option; keep one")
        keys[parameter] = key
        options[parameter] = _checked(path, key, value, _TYPES.get(name, {}).get(parameter, str))
    return options


def _checked(path: Path, key: str, value: Any, wanted: Any) -> Any:
    """Return a value as Typer takes it."""
    if get_origin(wanted) is list:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return items
        name = "a list of strings"
    elif wanted is bool:
        if isinstance(value, bool):
            return value
        name = "true or false"
    elif wanted in (int, float):
        if isinstance(value, int | wanted) and not isinstance(value, bool):
            return str(value)
        name = "a whole number" if wanted is int else "a number"
    else:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
        name = "a string or a number"
    raise UsageError(f"config file {path}: '{key}' takes {name}, not {_toml(value)}")


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _bare(annotation: Any) -> Any:
    """Return the type of an option: Annotated[int | None, …] is int."""
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    return annotation


def _find(command: Any, key: str) -> str | None:
    """Return the parameter that a key names, in any spelling, or as another program calls it."""
    spellings = _spellings(command)
    return spellings.get(key.replace("-", "_")) or native_parameter(key, set(spellings.values()))


def _spellings(command: Any) -> dict[str, str]:
    names = {o.lstrip("-").replace("-", "_"): p.name for p in command.params for o in p.opts if o.startswith("--")}
    return {spelling: name for spelling, name in names.items() if spelling not in ("config", "help")}


def _unknown_at_top(path: Path, key: str, current: str, commands: Mapping[str, Any]) -> UsageError:
    others = [name for name, command in commands.items() if _find(command, key) is not None]
    if not others:
        return _unknown(path, key, _spellings(commands[current]), f"an option of '{current}'")
    return UsageError(
        f"config file {path}: '{key}' is not an option of '{current}'; put it below a line "
        f"[{others[0].replace(' ', '.')}]"
    )


def _unknown(path: Path, key: str, known: Iterable[str], what: str) -> UsageError:
    near = get_close_matches(key, list(known), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else f" (known: {', '.join(sorted(known))})"
    return UsageError(f"config file {path}: '{key}' is not {what}{hint}")
