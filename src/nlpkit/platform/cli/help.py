"""The help of a command or of a group of commands: what it does, examples, then options or commands in named panels.

Plain text of at most 100 columns. A panel is the heading that a record of options (PANEL) or a single one (Param.panel) names.
`--help` of a command shows its main options, `--help-all` every option.
"""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo

from nlpkit.platform.cli.foreign import ForeignOptions
from nlpkit.platform.cli.light import PlainParameters

MOST_COLUMNS = 100
NAMES = 26  # columns of the names of options; longer ones have a line for themselves
NARROW, NARROW_NAMES = 72, 17  # below so many columns, the names have fewer
HELP, HELP_ALL = "--help", "--help-all"
HELP_NAMES = {"help_option_names": ["-h", HELP, HELP_ALL]}
LAST_PANELS = ("Words", "Embeddings", "Input", "Output", "Run", "More")  # after the arguments and the command's own
_TYPES = {int: "INT", float: "NUMBER", Path: "FILE"}


def command_class(parameters: Sequence[inspect.Parameter], main: Collection[str]) -> type[TyperCommand]:
    """Return the class of a command with these parameters, whose help is laid out here. main: its main options."""

    class Command(HelpAll, ForeignOptions, PlainParameters, TyperCommand):
        def get_help(self, ctx: Any) -> str:
            """Return the help with the main options, or with all."""
            shown = None if self.wants_all(ctx) else main
            return help_text(ctx.command_path, self.help or "", parameters, columns(ctx), shown)

    return Command


class HelpAll:
    """A command that knows whether its help was asked for by --help-all."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take note of --help-all and parse the words of the command line."""
        ctx.meta[HELP_ALL] = HELP_ALL in args
        words: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        return words

    @staticmethod
    def wants_all(ctx: Any) -> bool:
        """Whether --help-all is on the command line."""
        return bool(ctx.meta.get(HELP_ALL))


class HelpGroup(HelpAll, PlainParameters, TyperGroup):
    """A group of commands whose help is laid out here."""

    def get_help(self, ctx: Any) -> str:
        """Return the help: usage, the first sentence, examples, the commands in panels, options, and the epilog."""
        width = columns(ctx)
        summary, examples, details = _parts(self.help or "")
        options = [record for p in self.get_params(ctx) if (record := p.get_help_record(ctx)) is not None]
        panels = {**self.command_panels(), "Options": dict(options)}
        column = max(len(name) for rows in panels.values() for name in rows)
        blocks = [
            f"Usage: {ctx.command_path} [OPTIONS] COMMAND [ARGS]...",
            _wrapped(summary, width),
            *(["\n".join(examples)] if examples else []),
            *_laid_out(details, width),
            *(panel(title, rows.items(), width, column) for title, rows in panels.items()),
            *([_wrapped(self.epilog, width)] if self.epilog else []),
        ]
        return "\n\n".join(blocks)

    def command_panels(self) -> Mapping[str, Mapping[str, str]]:
        """Return the names and summaries of the commands by panel."""
        return {"Commands": {name: _parts(command.help or "")[0] for name, command in self.commands.items()}}


def columns(ctx: Any) -> int:
    """Return the columns that the help may have: those of the terminal, at most 100."""
    return min(ctx.terminal_width or shutil.get_terminal_size((MOST_COLUMNS, 24)).columns, MOST_COLUMNS)


def help_text(
    command: str,
    docstring: str,
    parameters: Sequence[inspect.Parameter],
    width: int,
    main: Collection[str] | None = None,
) -> str:
    """Return the help: usage, the first sentence, examples, details, and the options in panels.

    main: the options that are shown, as they are typed; None for all.
    """
    summary, examples, details = _parts(docstring)
    shown = [p for p in parameters if not _info(p).hidden]
    usage = " ".join(["Usage:", command, "[OPTIONS]", *(_argument(p) for p in shown if _is_argument(p))])
    blocks = [usage, _wrapped(summary, width), *(["\n".join(examples)] if examples else []), *_laid_out(details, width)]
    chosen = [p for p in shown if main is None or _is_argument(p) or _long_name(p) in main]
    blocks += [panel(title, rows, width) for title, rows in _panels(chosen)]
    if len(chosen) < len(shown):
        n_options = sum(not _is_argument(p) for p in shown)
        blocks.append(_wrapped(f"These are the main options. All {n_options}: {command} {HELP_ALL}", width))
    return "\n\n".join(blocks)


def _parts(text: str) -> tuple[str, list[str], list[str]]:
    """Return the first paragraph, the lines of the block of examples, and the other paragraphs of a docstring.

    A paragraph that begins with a line of \\b stays as it is written.
    """
    summary, *others = [part for part in inspect.cleandoc(text).split("\n\n") if part.strip()] or [""]
    examples: list[str] = []
    details = []
    for part in others:
        lines = part.splitlines()
        if lines[0] == "\b" and lines[1].startswith("Example"):
            examples += lines[1:] if not examples else ["", *lines[1:]]
        else:
            details.append(part)
    return summary, examples, details


def _laid_out(paragraphs: Iterable[str], width: int) -> list[str]:
    """Return paragraphs, those without a mark filled to the width."""
    return [part.removeprefix("\b\n") if part.startswith("\b\n") else _wrapped(part, width) for part in paragraphs]


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False)


def _info(parameter: inspect.Parameter) -> Any:
    """Return what Typer is told of a parameter."""
    return parameter.annotation.__metadata__[0]


def _is_argument(parameter: inspect.Parameter) -> bool:
    return isinstance(_info(parameter), ArgumentInfo)


def _panels(parameters: Sequence[inspect.Parameter]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the panels with names and help of their options: arguments, those of the command, those of all commands, the rest."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        if _is_argument(parameter):
            panels.setdefault("Arguments", []).append((_argument(parameter), _help(parameter)))
        else:
            title = _info(parameter).rich_help_panel or "Options"
            panels.setdefault(title, []).append((_names(parameter), _help(parameter)))
    run = panels.setdefault("Run", [])
    run.append((f"-h, {HELP}", "Show the main options and exit."))
    run.append((HELP_ALL, "Show all options and exit."))
    places = {name: i for i, name in enumerate(LAST_PANELS, start=len(panels))}
    order = sorted(enumerate(panels), key=lambda item: -1 if item[1] == "Arguments" else places.get(item[1], item[0]))
    return [(title, panels[title]) for _, title in order]


def _argument(parameter: inspect.Parameter) -> str:
    name = _info(parameter).metavar or parameter.name.upper()
    name = f"{name}..." if get_origin(_kind(parameter)) is list else name
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"


def _kind(parameter: inspect.Parameter) -> Any:
    """Return the type of a value that is given."""
    kind = parameter.annotation.__origin__
    kinds = [one for one in get_args(kind) if one is not NoneType]
    return kinds[0] if kinds and get_origin(kind) is not list else kind


def _spellings(parameter: inspect.Parameter) -> tuple[list[str], str]:
    """Return the names of an option, and what switches it off."""
    info = _info(parameter)
    on, _, off = str(info.default).partition("/")
    return [on, *(info.param_decls or ())], off


def _long_name(parameter: inspect.Parameter) -> str:
    """Return the name of an option that the help shows."""
    return next(name for name in _spellings(parameter)[0] if name.startswith("--"))


def _names(parameter: inspect.Parameter) -> str:
    """Return the names of an option, a short one first, what switches it off, and what its value is."""
    info, kind = _info(parameter), _kind(parameter)
    names, off = _spellings(parameter)
    short = [name for name in names if not name.startswith("--")]
    long = [name for name in names if name.startswith("--")]
    value = "" if kind is bool else f" {info.metavar or _TYPES.get(kind, 'TEXT')}"
    return ", ".join([*short, *long[:1], *([off] if off else [])]) + value


def _help(parameter: inspect.Parameter) -> str:
    """Return the help of an option, with its default and limits in brackets."""
    info, default, notes = _info(parameter), parameter.default, []
    if info.show_default and default not in (None, inspect.Parameter.empty) and not _is_argument(parameter):
        notes.append(f"default: {'on' if default is True else 'off' if default is False else default}")
    if info.min is not None and info.max is not None:
        notes.append(f"from {info.min:g} to {info.max:g}")
    elif info.min is not None or info.max is not None:
        notes.append(f"at least {info.min:g}" if info.min is not None else f"at most {info.max:g}")
    text = " ".join((info.help or "").split())
    bracket = f"[{'; '.join(notes)}]".replace(" ", "\N{NO-BREAK SPACE}")  # never broken in two
    return f"{text} {bracket}" if notes else text


def panel(title: str, rows: Iterable[tuple[str, str]], width: int, column: int = NAMES) -> str:
    """Return a heading with the names and help of what stands below it, the names in so many columns."""
    column = column if width >= NARROW else min(column, NARROW_NAMES)
    return "\n".join([f"{title}:", *(line for names, text in rows for line in _row(names, text, width, column))])


def _row(names: str, text: str, width: int, column: int) -> list[str]:
    """Return the lines of an option or command: names, then the help beside or below them."""
    indent = " " * (column + 4)
    lines = textwrap.wrap(text, width - len(indent), break_on_hyphens=False) or [""]
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
    first = f"  {names}"
    if len(names) > column:
        return [first, *(indent + line for line in lines)]
    return [f"{first:<{column + 4}}{lines[0]}", *(indent + line for line in lines[1:])]
