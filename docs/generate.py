"""Write the pages of docs/reference/ that come from the code: `python docs/generate.py` (`make docs` runs it first).

cli.md has the --help of every command, python-api.md the signatures and docstrings of `nlpkit.__all__`. A test fails while a
page differs from what this script would write.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

REFERENCE = Path(__file__).parent / "reference"
WIDTH = 100
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
    """Return the help of a command as a terminal of 100 columns shows it."""
    from typer.testing import CliRunner

    from nlpkit.cli.app import app

    settings = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    result = CliRunner().invoke(app, [*words, "--help"], env=settings, prog_name="nlpkit", terminal_width=WIDTH)
    if result.exit_code:
        raise RuntimeError(f"nlpkit {' '.join(words)} --help ended with {result.exit_code}: {result.output}")
    return "\n".join(line.rstrip() for line in result.stdout.replace("\b", "").strip("\n").splitlines())


def cli_page() -> str:
    """Return the page of all commands with their options."""
    from nlpkit.cli.app import app

    parts = [GENERATED, "# Commands\n", "What `nlpkit COMMAND --help` prints.\n", f"```text\n{help_of(())}\n```\n"]
    for words, _ in commands(typer.main.get_command(app)):
        parts.append(f"{'#' * (len(words) + 1)} {' '.join(words)}\n\n```text\n{help_of(words)}\n```\n")
    return "\n".join(parts)


def api_page() -> str:
    """Return the page of the public names of Python, in the order of `nlpkit.__all__`."""
    package = importlib.import_module("nlpkit")
    parts = [GENERATED, "# Python\n", "The public names of `import nlpkit as nk`.\n"]
    for name in package.__all__:
        value = getattr(package, name)
        if callable(value):
            parts.extend(_entry(name, value, level=2))
    return "\n".join(parts)


def _entry(name: str, value: Any, level: int) -> Iterator[str]:
    """Yield heading, signature and docstring of a name, then the public methods of a class."""
    yield f"{'#' * level} {name.rpartition('.')[2]}\n"
    is_protocol = getattr(value, "_is_protocol", False)
    if not (inspect.isclass(value) and (is_protocol or issubclass(value, BaseException))):
        yield f"```py\n{_signature(name, value)}\n```\n"
    yield f"{_prose(value)}\n"
    if inspect.isclass(value):
        for method, member in vars(value).items():
            if method.startswith("_") or not inspect.getdoc(member):
                continue
            if inspect.isfunction(member) or isinstance(member, classmethod | staticmethod | property):
                yield from _entry(f"{name}.{method}", getattr(value, method), level + 1)


def _signature(name: str, value: Any) -> str:
    """Return the call of a name on as many lines as it needs."""
    if isinstance(value, property):
        return name
    signature = inspect.signature(value)
    short = f"{name}{signature}"
    if len(short) <= WIDTH:
        return short
    lines, keyword_only = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            lines.append("    *,")
        keyword_only = keyword_only or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        lines.append(f"    {parameter},")
    returns = "" if signature.return_annotation is signature.empty else f" -> {signature.return_annotation}"
    return "\n".join([f"{name}(", *lines, f"){returns}"])


def _prose(value: Any) -> str:
    """Return a docstring as Markdown: what is indented in it stays as it is."""
    lines = (inspect.getdoc(value) or "").replace("<", "&lt;").replace("*", "\\*").splitlines()
    return "\n".join(lines)


PAGES = {"cli.md": cli_page, "python-api.md": api_page}


def main() -> None:
    """Write all pages."""
    REFERENCE.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
