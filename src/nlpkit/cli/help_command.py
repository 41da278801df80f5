"""`nlpkit help`: the front page, all commands, the help of one command, or a search."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated, Any, get_type_hints

import typer

from nlpkit.cli.help import HELP_ALL, HELP_NAMES, columns, command_class

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
        from nlpkit.cli.help_search import search_page

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
    """Register `nlpkit help`, whose own help is laid out as that of every command."""
    hints = get_type_hints(help_cli, include_extras=True)
    parameters = [
        p.replace(annotation=hints[p.name]) for p in inspect.signature(help_cli).parameters.values() if p.name != "ctx"
    ]
    app.command("help", cls=command_class(parameters, ("--all",)), context_settings=HELP_NAMES)(help_cli)
