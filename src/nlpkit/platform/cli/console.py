"""What a person sees: notes, warnings and progress on stderr, tables and JSON on stdout. rich is loaded when needed."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nlpkit.platform import reporting, wording
from nlpkit.platform.cli.foreign import as_options
from nlpkit.platform.plain import shell_line, to_json
from nlpkit.platform.views import markdown
from nlpkit.platform.views.blocks import Block, Note, Table


@dataclass(slots=True)
class Settings:
    """How much to say; set once per process by the shared options of a command.

    own_process: nlpkit was started as a program, not called from one. show: the most rows of a table, None for all.
    """

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json: bool = False
    progress: bool | None = None
    own_process: bool = False
    show: int | None = None


settings = Settings()


def use(new: Settings) -> None:
    """Take over the settings of the command that runs, and route the log of the core to stderr."""
    for name in ("quiet", "verbose", "debug", "json", "progress", "show"):
        setattr(settings, name, getattr(new, name))
    logger = logging.getLogger("nlpkit")
    logger.handlers = [_StderrHandler()]
    logger.propagate = False
    level = logging.DEBUG if settings.verbose else logging.INFO
    logger.setLevel(level)


class _StderrHandler(logging.Handler):
    """Writes warnings and notes to stderr; a warning that several steps of a command give is written once."""

    def __init__(self) -> None:
        super().__init__()
        self._warned: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            if record.getMessage() in self._warned:
                return
            self._warned.add(record.getMessage())
        if settings.quiet and record.levelno < logging.ERROR and not getattr(record, "always", False):
            return
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        _write(f"{prefix}{as_options(record.getMessage())}")


def _write(line: str) -> None:
    print(wording.visible(line), file=sys.stderr, flush=True)  # noqa: T201


def error(message: str) -> None:
    """Print an error as one line."""
    _write("error: " + " ".join(as_options(message).splitlines()))


def next_step(*words: object) -> str:
    """Return how it goes on, behind what was written: a command line that a shell takes as it stands."""
    return f"; next: {shell_line('nlpkit', *words)}"


def out(text: str) -> None:
    """Print a line of the result on stdout; what comes from a corpus steers no terminal (see `wording.visible`)."""
    sys.stdout.write(wording.visible(text) + "\n")


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout, on a terminal with escapes for what would steer it, which JSON reads as the same."""
    text = to_json(value)
    sys.stdout.write((wording.visible_json(text) if sys.stdout.isatty() else text) + "\n")


def say(
    blocks: Iterable[Block], facts: Callable[[], Mapping[str, Any]] | None = None, target: str | None = None
) -> None:
    """Print what a command says: its facts as one JSON object with --json, else blocks; of these only notes where a table is on stdout."""
    if settings.json and facts is not None:
        emit_json(dict(facts()))
        return
    from nlpkit.platform.views import terminal

    for block in blocks:
        if target != "-" or isinstance(block, Note):
            terminal.write(block, settings.show)


def say_markdown(blocks: Iterable[Block]) -> None:
    """Print blocks as Markdown on stdout, notes too."""
    for block in blocks:
        sys.stdout.write(wording.visible(markdown.write(block, settings.show)))


def plan(amounts: dict[str, Any]) -> None:
    """Show what --dry-run found: a JSON object with --json, else a table."""
    if settings.json:
        emit_json(amounts)
        return
    names = [name.removesuffix("_about").replace("_mb", " (MB)").replace("_", " ") for name in amounts]
    values = [wording.count(n) if isinstance(n, int | float) else str(n) for n in amounts.values()]
    from nlpkit.platform.views import terminal

    terminal.write(Table(["", "about"], list(zip(names, values, strict=True)), right=["about"]))
    reporting.note("dry run: nothing was written")


def shows_progress() -> bool:
    """Tell whether bars are drawn: asked for, or stderr is a terminal and nothing forbids it."""
    if settings.progress is not None:
        return settings.progress
    return sys.stderr.isatty() and not settings.quiet


@contextmanager
def progress(label: str, total: int | None, percent: bool) -> Iterator[reporting.Update]:
    """Yield a function that takes the amount done and draws a bar with rate and ETA on stderr, where bars are shown.

    Where stderr is no terminal but bars were asked for (the log of a batch system), a line now and then takes its place.
    """
    if not shows_progress():
        yield lambda done, label=None, /: None
        return
    if not sys.stderr.isatty():
        with _lines(label, total, percent=percent) as line:
            yield line
        return
    from nlpkit.platform.views import terminal

    with terminal.bar(label, total, percent) as update:
        yield update


_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def _lines(label: str, total: int | None, *, percent: bool) -> Iterator[reporting.Update]:
    start = reported = time.perf_counter()
    done, name = 0, label

    def line() -> str:
        seconds = time.perf_counter() - start
        total_text = f" of {wording.count(total)}" if total is not None else ""
        amount = (
            f"{done}%"
            if percent
            else f"{wording.count(done)}{total_text}, {wording.count(done / max(seconds, 1e-9))}/s"
        )
        left = f", about {seconds * (total - done) / done:.0f} s left" if total and 0 < done < total else ""
        return f"{name}: {amount} after {seconds:.0f} s{left}"

    def update(so_far: int, new: str | None = None) -> None:
        nonlocal done, name, reported
        changed = new is not None and new != name
        done, name = so_far, new or name
        if changed or time.perf_counter() - reported >= _SECONDS_BETWEEN_LINES:
            reported = time.perf_counter()
            _write(line())

    yield update
    _write(line())
