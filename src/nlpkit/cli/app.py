"""The Typer app, its commands and its error boundary. Importing it loads nothing heavy."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from nlpkit import __version__
from nlpkit.cli import console
from nlpkit.errors import EXIT_BUG, EXIT_INTERRUPTED, NlpkitError, OutOfMemoryError


class NlpkitGroup(TyperGroup):
    """Turns every error into one line on stderr and an exit code (DESIGN §4). The only place where that is done."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except NlpkitError as error:
            self._fail(str(error), error.exit_code)
        except BrokenPipeError:
            # the reader of a pipe has what it wanted; keep the interpreter from complaining when it flushes
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            self._fail("interrupted; nothing was written", EXIT_INTERRUPTED)
        except MemoryError as error:
            lines = str(error).splitlines()
            self._fail(
                f"out of memory{': ' + lines[0] if lines else ''}; try --limit N, or see --dry-run",
                OutOfMemoryError.exit_code,
            )
        except OSError as error:
            if error.filename is None:
                self._bug(error)
            self._fail(f"{error.filename}: {error.strerror}", 3)
        except Exception as error:
            if type(error).__module__.startswith("typer"):  # usage errors, --help, exit: Typer's own
                raise
            self._bug(error)

    @staticmethod
    def _fail(message: str, code: int) -> None:
        if console.settings.debug:
            import traceback

            traceback.print_exc()
        console.error(message)
        raise typer.Exit(code)

    def _bug(self, error: Exception) -> None:
        hint = "" if console.settings.debug else "; run again with --debug for the traceback"
        self._fail(f"a bug in nlpkit: {type(error).__name__}: {error}{hint}", EXIT_BUG)


app = typer.Typer(
    cls=NlpkitGroup,
    name="nlpkit",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 ok, 1 quality gate failed, 2 usage, 3 input, 4 missing model or extra, 5 out of memory, 70 bug.",
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
    """Topic modeling and text pipelines that chain through Parquet.

    \b
    One line, from raw text to named topics:
      nlpkit bertopic data/samples/news.jsonl --k auto -o run/
    \b
    Or step by step:
      nlpkit preprocess data/samples/news.jsonl -o docs.parquet
      nlpkit sbert-embed docs.parquet -o embedded.parquet
      nlpkit bertopic embedded.parquet --k auto -o run/
    """


def _register() -> None:
    # imported here, not above: the commands import `app` never, and stay importable one by one in tests
    from nlpkit.cli import bertopic, ctfidf, info, preprocess, sbert_embed

    for module in (bertopic, preprocess, sbert_embed, ctfidf, info):
        module.register(app)


_register()


def main() -> None:
    """Run the command line."""
    app(prog_name="nlpkit")
