"""Write the pages of docs/reference/ that come from the code: `python docs/generate.py` (`make docs` runs it first).

cli.md has the --help-all of every command, python-api.md the signatures and docstrings of `nlpkit.__all__`, json-output.md and schemas/
what docs/json_output.toml says of --json. A test fails while a file differs from what this script would write.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import guide_index
import json_output
import typer

REFERENCE = Path(__file__).parent / "reference"
WIDTH = 80
GENERATED = "<!-- Written by docs/generate.py: change the code, then run `make docs`. -->\n"


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command below a group, by its words, in the order of the help."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


def help_of(words: tuple[str, ...]) -> str:
    """Return the help of a command as a terminal of 80 columns shows it."""
    from typer.testing import CliRunner

    from nlpkit.cli.app import app

    settings = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(app, [*words, "--help-all"], env=settings, prog_name="nlpkit", terminal_width=WIDTH)
    if result.exit_code:
        raise RuntimeError(f"nlpkit {' '.join(words)} --help-all ended with {result.exit_code}: {result.output}")
    return "\n".join(line.rstrip() for line in result.stdout.replace("\b", "").strip("\n").splitlines())


def cli_page() -> str:
    """Return the page of all commands with their options."""
    from nlpkit.cli.app import app

    parts = [GENERATED, "# Commands\n", "What `nlpkit COMMAND --help-all` prints.\n", f"```text\n{help_of(())}\n```\n"]
    for words, _ in commands(typer.main.get_command(app)):
        parts.append(f"{'#' * (len(words) + 1)} {' '.join(words)}\n\n```text\n{help_of(words)}\n```\n")
    return "\n".join(parts)


def api_page() -> str:
    """Return the page of the public names of Python, in the order of `nlpkit.__all__`, then the records of their options."""
    package = importlib.import_module("nlpkit")
    parts = [GENERATED, "# Python\n", "The public names of `import nlpkit as nk`.\n"]
    records: dict[str, type] = {}
    for name in package.__all__:
        value = getattr(package, name)
        if not callable(value):
            continue
        if _is_record(value):
            records.setdefault(name, value)
        else:
            parts.extend(_entry(name, value, 2, records))
    parts.append("## Options\n")
    parts.append(
        "A function takes these records, or single fields of them as keywords: `nk.fit_bertopic(texts, k=20, min_df=5)`.\n"
    )
    queue = list(records)
    for name in queue:  # grows while records hold other records
        parts.extend(_record(name, records[name], records))
        queue.extend(other for other in records if other not in queue)
    return "\n".join(parts)


def _entry(name: str, value: Any, level: int, records: dict[str, type]) -> Iterator[str]:
    """Yield heading, signature and docstring of a name, then the public methods of a class; collect the records it takes."""
    yield f"{'#' * level} {name.rpartition('.')[2]}\n"
    if not isinstance(value, property) and not (inspect.isclass(value) and inspect.isabstract(value)):
        yield f"```py\n{_signature(name, value, records)}\n```\n"
    yield f"{_prose(value)}\n"
    if inspect.isclass(value):
        for method, member in vars(value).items():
            if not method.startswith("_") and isinstance(member, FunctionType | classmethod | staticmethod | property):
                yield from _entry(f"{name}.{method}", getattr(value, method), level + 1, records)


def _signature(name: str, value: Any, records: dict[str, type]) -> str:
    """Return the call of a name, on as many lines as it needs."""
    arguments: list[str] = []
    signature = inspect.signature(value)
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in arguments):
            arguments.append("*")
        annotation = str(parameter.annotation).strip("'")
        stars = (
            "*"
            if parameter.kind is parameter.VAR_POSITIONAL
            else "**"
            if parameter.kind is parameter.VAR_KEYWORD
            else ""
        )
        text = stars + parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {annotation}"
        if parameter.default is not parameter.empty:
            text += " = …" if repr(parameter.default).startswith("<") else f" = {parameter.default!r}"
        arguments.append(text)
        for word in re.findall(r"\w+Options\b|\bExecution\b", annotation):
            records.setdefault(word, _named(word, value))
    returned = str(signature.return_annotation).strip("'")
    end = (
        f") -> {returned}" if not inspect.isclass(value) and signature.return_annotation is not signature.empty else ")"
    )
    short = f"{name}({', '.join(arguments)}{end}"
    return short if len(short) <= WIDTH else "\n".join([f"{name}(", *(f"    {text}," for text in arguments), end])


def _named(name: str, value: Any) -> type:
    """Return the class that an annotation of a function or class names, wherever its module has it from."""
    module = importlib.import_module(value.__module__)
    if hasattr(module, name):
        return cast(type, getattr(module, name))
    for node in ast.walk(ast.parse(inspect.getsource(module))):  # imported for types only
        if isinstance(node, ast.ImportFrom) and node.module and name in [alias.name for alias in node.names]:
            return cast(type, getattr(importlib.import_module(node.module), name))
    raise LookupError(f"{value.__module__} does not import {name}")


def _is_record(value: Any) -> bool:
    return inspect.isclass(value) and is_dataclass(value) and "Param" in str(inspect.signature(value))


def _record(name: str, record: type, records: dict[str, type]) -> Iterator[str]:
    """Yield heading, docstring and a table of the fields of a record of options."""
    yield f"### {name}\n"
    yield f"{_prose(record)}\n"
    yield "| field | type | default | |\n|---|---|---|---|"
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        hint, meaning = hints[field.name], ""
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            meaning = next((note.help for note in notes if hasattr(note, "help")), "")
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        shown = (
            "" if default is MISSING else f"`{type(default).__name__}()`" if is_dataclass(default) else f"`{default!r}`"
        )
        if inspect.isclass(hint) and is_dataclass(hint):
            records.setdefault(hint.__name__, hint)
        cells = (f"`{field.name}`", f"`{_type(hint)}`", shown, meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def _type(hint: Any) -> str:
    """Return a type as it is written in code, without the modules."""
    text = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _prose(value: Any) -> str:
    """Return a docstring as Markdown; what is indented under `Args:` and the like becomes a list."""
    lines, inside = [], False
    for line in (inspect.getdoc(value) or "").replace("<", "&lt;").replace("*", "\\*").splitlines():
        heading = re.fullmatch(r"(Args|Returns|Raises|Yields):", line)
        entry = re.fullmatch(r" {4}(\S.*)", line)
        inside = bool(heading) or (inside and (bool(entry) or line.startswith("     ") or not line))
        lines.append(f"**{heading[1]}**\n" if heading else f"- {entry[1]}" if inside and entry else line)
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Return the text of every file by its path below docs/reference."""
    json_page = f"{GENERATED}\n{json_output.page()}"
    return {
        "cli.md": cli_page(),
        "python-api.md": api_page(),
        "json-output.md": json_page,
        **json_output.schema_files(),
    }


def main() -> None:
    """Write all files."""
    (REFERENCE / "schemas").mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    guide_index.write()


if __name__ == "__main__":
    main()
