"""The front page of the help: what nlpkit does by task, on one screen. `nlpkit help --all` lists every command.

Further parts, in this order:
- `nlpkit help`: the front page, all commands, the help of one command, or a search.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, get_type_hints

import typer

from nlpkit.platform.cli.catalogue import N_COMMANDS, front_panels
from nlpkit.platform.cli.help import HELP_ALL, HELP_NAMES, columns, command_class
from nlpkit.version import __version__

_TASK, _COMMAND = 18, 14  # columns of the left two of three columns
BESIDE = 78  # from so many columns on, a task stands beside its commands, else above them, without blank lines
EXAMPLE = ("nlpkit bertopic data/samples/news.jsonl -o run/", "nlpkit report run/ -o report.html")
_WAYS = (
    ("nlpkit COMMAND --help", "examples and the main options"),
    ("nlpkit help WORD...", "search commands, options and guides"),
    ("nlpkit help --all", f"all {N_COMMANDS + 1} commands, and exit codes"),
)


def front_page(width: int) -> str:
    """Return the front page for a terminal of so many columns."""
    lines = [
        f"nlpkit {__version__}: topic models and text analysis.",
        "",
        "Example: topics of the sample texts, read as a web page",
        *(f"  {line}" for line in EXAMPLE),
        "",
    ]
    for task, commands in front_panels().items():
        lines += [*_task(task, commands.items(), width), *([""] if width >= BESIDE else [])]
    lines += [] if width >= BESIDE else [""]
    lines += [line for way, text in _WAYS for line in _beside(f"{way:<23}", text, width)]
    return "\n".join(lines)


def _task(task: str, commands: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Return the lines of a task: its commands with a few words for each."""
    left = 2 if width < BESIDE else _TASK
    lines = [line for name, text in commands for line in _beside(f"{'':{left}}{name:<{_COMMAND}}", text, width)]
    return [task, *lines] if width < BESIDE else [f"{task:<{_TASK}}{lines[0][_TASK:]}", *lines[1:]]


def _beside(left: str, text: str, width: int) -> list[str]:
    """Return a text beside what stands left of it, on as many lines as it needs."""
    first, *others = textwrap.wrap(text, width - len(left)) or [""]
    return [f"{left}{first}", *(" " * len(left) + line for line in others)]


# ------------------------------------------------------------------------------------------------------------------------
# `nlpkit help`: the front page, all commands, the help of one command, or a search.

SUMMARY = "Show the help of a command, or search commands, options and guides."

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="COMMAND|WORD", help="A command, or words to search for.", show_default=False),
]
All = Annotated[bool, typer.Option("--all", "-a", help="List all commands by task.", show_default=False)]


def help_cli(ctx: typer.Context, words: Words = None, everything: All = False) -> None:
    """Show the help of a command, or search commands, options and guides.

    Without a word it shows the front page.

    \b
    Examples:
      nlpkit help --all
      nlpkit help topics
      nlpkit help number of topics
    """
    root = ctx.find_root()
    named = None if everything or not words else _command(root, words)
    if everything or not words:
        root.meta[HELP_ALL] = everything
        typer.echo(root.get_help())
    elif named is not None:
        typer.echo(named.get_help())
    else:
        from nlpkit.platform.cli.help_search import search_page

        typer.echo(search_page(" ".join(words), root.command, columns(ctx)))


def _command(root: Any, words: Sequence[str]) -> Any:
    """Return the context of the command that words name, None where they name none."""
    context = root
    for word in words:
        command = getattr(context.command, "commands", {}).get(word)
        if command is None:
            return None
        context = type(root)(command, info_name=word, parent=context)
    return context


def add_help(app: typer.Typer) -> None:
    """Register `nlpkit help`, whose own help is laid out as the help of every command."""
    hints = get_type_hints(help_cli, include_extras=True)
    parameters = [
        p.replace(annotation=hints[p.name]) for p in inspect.signature(help_cli).parameters.values() if p.name != "ctx"
    ]
    app.command("help", cls=command_class(parameters, ("--all",)), context_settings=HELP_NAMES)(help_cli)
