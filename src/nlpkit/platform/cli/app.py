"""The command line application: its commands and error boundary, the front page, and `nlpkit help`.

Parts, in this order:
- The Typer app, its commands and its error boundary. Importing it loads nothing heavy.
- The front page: what nlpkit does by task, on one screen. `nlpkit help --all` lists every command.
- `nlpkit help`: the front page, all commands, the help of one command, or a search.
"""

from __future__ import annotations

import gc
import inspect
import io
import os
import re
import signal
import sys
import textwrap
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import typer

from nlpkit import __version__
from nlpkit.errors import EXIT_BUG, InputError, NlpkitError, OutOfMemoryError, UsageError, is_shortage
from nlpkit.platform.cli import config, console
from nlpkit.platform.cli.catalogue import N_COMMANDS, Commands, command_panels, front_panels
from nlpkit.platform.cli.foreign import new_spelling, no_command
from nlpkit.platform.cli.help import HELP_ALL, HELP_NAMES, HelpGroup, columns, command_class
from nlpkit.platform.interrupts import Ended, catch_ending_signals, ignore_ending_signals


class NlpkitGroup(HelpGroup):
    """Turns every error into one line on stderr and an exit code (DESIGN §4). The only place where that is done."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands(self.commands)  # type: ignore[assignment]  # it is only read

    def get_help(self, ctx: Any) -> str:
        """Return the front page, or all commands for --help-all."""
        return super().get_help(ctx) if self.wants_all(ctx) else front_page(columns(ctx))

    def command_panels(self) -> dict[str, dict[str, str]]:
        """Return the names and summaries of the commands by task; none of them is imported for that."""
        return command_panels() | {"Help": {"help": SUMMARY}}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names; say what to type where there is none."""
        if args and not args[0].startswith("-") and args[0] not in self.commands and not ctx.resilient_parsing:
            raise UsageError(no_command(args[0], list(self.commands)))
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the words before the command."""
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            _let_go_of_pipes()
            raise typer.Exit(0) from None
        except Exception as error:
            self._usage(error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command and say on one line why it failed."""
        words = [*getattr(ctx, "_protected_args", ()), *ctx.args]
        try:
            if config.has_variables():
                list(self.commands.values())  # a variable may be an option of any of them
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe is still noticed
            return result
        except NlpkitError as error:
            self._fail(str(error), error.exit_code)
        except BrokenPipeError:
            _let_go_of_pipes()
            raise typer.Exit(0) from None
        except KeyboardInterrupt as stopped:
            exec("")  # clears what CPython remembers of Ctrl-C inside of an `exec`: `python -m` would end by the signal
            came = stopped.number if isinstance(stopped, Ended) else signal.SIGINT
            reason = "interrupted" if came == signal.SIGINT else f"ended by {signal.Signals(came).name}"
            self._fail(f"{reason}; {str(stopped) or 'nothing was written'}", 128 + came)
        except MemoryError as error:
            self._short_of_memory(error)
        except OSError as error:
            if is_shortage(error):
                self._short_of_memory(error)
            if error.errno is None:
                self._bug(error)
            where = f"{error.filename}: " if error.filename is not None else "cannot read or write: "
            self._fail(f"{where}{error.strerror}", InputError.exit_code)
        except Exception as error:
            if _is_typers(error):  # usage errors, --help, exit
                self._usage(error, words)
                raise
            if is_shortage(error):
                self._short_of_memory(error)
            number = re.search(r"\(os error (\d+)\)", str(error))
            if number is not None:  # of libraries written in Rust, such as safetensors on a full disk
                self._fail(f"cannot read or write: {os.strerror(int(number[1]))}", InputError.exit_code)
            if type(error).__name__ == "ArrowCapacityError" or "offset overflow" in str(
                error
            ):  # Arrow's 32-bit offsets
                self._fail("a column holds 2 GB of text or more; cut the corpus into parts", OutOfMemoryError.exit_code)
            self._bug(error)

    def _usage(self, error: Exception, words: Sequence[str] = ()) -> None:
        """Say a usage error on one line; the help that is shown without any argument is left to Typer. words: of the command line."""
        if not _is_typers(error) or not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            return
        message = _in_our_words(error.format_message().rstrip("."))
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "nlpkit"
        renamed = new_spelling(command.partition(" ")[2], getattr(error, "option_name", None) or "", words)
        if renamed is not None:
            self._fail(renamed, UsageError.exit_code)
        see = f" See: {command} -h" if message.endswith("?") else f"; see: {command} -h"
        self._fail(f"{message[:1].lower()}{message[1:]}{see}", UsageError.exit_code)

    def _short_of_memory(self, error: Exception) -> None:
        reason = str(error).partition("\n")[0].partition(" from resource location")[0]
        self._fail(
            f"out of memory{': ' + reason if reason else ''}; try --limit N, or see --dry-run",
            OutOfMemoryError.exit_code,
        )

    @staticmethod
    def _fail(message: str, code: int) -> None:
        if console.settings.debug:
            import traceback

            traceback.print_exc()
        with suppress(OSError):  # of a terminal that is gone
            console.error(message)
        raise typer.Exit(code)

    def _bug(self, error: Exception) -> None:
        hint = "" if console.settings.debug else "; run again with --debug for the traceback"
        self._fail(f"a bug in nlpkit: {type(error).__name__}: {error}{hint}", EXIT_BUG)


_BOUNDS = (
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"it must be at least \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"it must be at most \1"),
    (re.compile(r"Input should be greater than (\S+)"), r"it must be above \1"),
    (re.compile(r"Input should be less than (\S+)"), r"it must be below \1"),
    (re.compile(r"Input should be a valid integer.*"), "it must be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "it must be a number"),
    (re.compile(r"(\S+) \(Possible options: (.+)\)"), lambda match: _similar_options(match[1], match[2].split(", "))),
)


def _similar_options(typed: str, options: list[str]) -> str:
    """Return an unknown option with those spelled alike, the most similar first."""
    from difflib import SequenceMatcher

    def unlike(option: str) -> tuple[bool, float]:
        return not option.startswith(typed), -SequenceMatcher(None, typed, option).ratio()

    return f"{typed}; similar options: {', '.join(sorted(options, key=unlike))}"


def _in_our_words(message: str) -> str:
    """Return a message of Typer's with its bounds on numbers said as nlpkit says them."""
    for pattern, replacement in _BOUNDS:
        message = pattern.sub(replacement, message)
    return message


def _is_typers(error: Exception) -> bool:
    return type(error).__module__.split(".")[0] in ("typer", "click")  # older Typers use Click's own


def _let_go_of_pipes() -> None:
    """Point closed pipes at nothing: their reader has what it wanted, and the interpreter flushes them at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = typer.Typer(
    cls=NlpkitGroup,
    name="nlpkit",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
    epilog="Exit codes: 0 ok, 1 quality gate failed, 2 usage, 3 input, 4 missing model or extra, 5 out of memory, 70 a bug, "
    "130 Ctrl-C, 143 SIGTERM.",
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"nlpkit {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Topic models and text analysis on the command line.

    \b
    Example, from raw text to named topics in one line:
      nlpkit bertopic data/samples/news.jsonl --k auto -o run/
    \b
    Example, step by step:
      nlpkit preprocess data/samples/news.jsonl -o docs.parquet
      nlpkit sbert-embed docs.parquet -o embedded.parquet
      nlpkit bertopic embedded.parquet --k auto -o run2/

    nlpkit COMMAND --help shows the main options of a command, with examples; --help-all shows every option.
    """


@app.command("version", hidden=True)
def version_cli() -> None:
    """Show the version and exit."""
    _print_version(True)


def main() -> None:
    """Run the command line."""
    console.settings.own_process = True
    gc.set_threshold(100_000, 20, 100)  # a corpus is many small objects and few cycles: a twentieth of the time
    _prepare_streams()
    catch_ending_signals()
    _spare_memory()
    threading.excepthook = _report_thread_error
    try:
        app(prog_name="nlpkit")
    finally:
        ignore_ending_signals()  # all is written: Python gives signals up at its end, which would then end it as a failure
        _let_go_of_pipes()
        gc.freeze()  # the process ends: without it, a quarter of a second goes into a last search for cycles


def _spare_memory() -> None:
    """Let OpenBLAS take one thread where memory is limited: each reserves tens of megabytes, and without them it ends the process."""
    with suppress(ImportError, OSError):
        resource: Any = import_module("resource")  # which Windows has not
        if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _report_thread_error(ended: threading.ExceptHookArgs) -> None:
    """Say on one line that a thread ended by an error which nobody waits for."""
    if console.settings.debug and ended.exc_value is not None:
        sys.__excepthook__(ended.exc_type, ended.exc_value, ended.exc_traceback)
    console.error(f"a bug in nlpkit: a thread ended: {ended.exc_type.__name__}: {ended.exc_value}")


def _prepare_streams() -> None:
    """Make pipes and files UTF-8 whatever the locale, and replace streams that the caller closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            stream.reconfigure(errors="replace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace" if stream is sys.stderr else "strict")


# ------------------------------------------------------------------------------------------------------------------------
# The front page: what nlpkit does by task, on one screen. `nlpkit help --all` lists every command.

_TASK, _COMMAND = 18, 14  # columns of the left two of three columns
BESIDE = 78  # from so many columns on, a task stands beside its commands, else above them, without blank lines
EXAMPLE = ("nlpkit bertopic data/samples/news.jsonl -o run/", "nlpkit report run/ -o report.html")
_WAYS = (
    ("nlpkit COMMAND --help", "examples and the main options"),
    ("nlpkit help WORD...", "search commands, options and guides"),
    ("nlpkit help --all", "all {} commands, and exit codes"),
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
    lines += [line for way, text in _WAYS for line in _beside(f"{way:<23}", text.format(N_COMMANDS + 1), width)]
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


add_help(app)
