"""What a person sees: notes, warnings and progress on stderr, tables and JSON on stdout. rich is loaded when needed."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from nlpkit.plain import shell_line, to_json


@dataclass(slots=True)
class Settings:
    """How much to say; set once per process by the shared options of a command.

    own_process: nlpkit was started as a program, not called from one.
    """

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json: bool = False
    progress: bool | None = None
    own_process: bool = False


settings = Settings()


def use(new: Settings) -> None:
    """Take over the settings of the command that runs, and route the log of the core to stderr."""
    for name in ("quiet", "verbose", "debug", "json", "progress"):
        setattr(settings, name, getattr(new, name))
    logger = logging.getLogger("nlpkit")
    logger.handlers = [_StderrHandler()]
    logger.propagate = False
    level = logging.DEBUG if settings.verbose else logging.INFO
    logger.setLevel(logging.ERROR if settings.quiet else level)


class _StderrHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        _write(f"{prefix}{record.getMessage()}")


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def error(message: str) -> None:
    """Print an error as one line."""
    _write("error: " + " ".join(message.splitlines()))


def note(message: str) -> None:
    """Print a line about what was done, unless --quiet."""
    if not settings.quiet:
        _write(message)


def warn(message: str) -> None:
    """Print a warning, unless --quiet."""
    if not settings.quiet:
        _write(f"warning: {message}")


def next_step(*words: object) -> str:
    """Return how it goes on, behind what was written: a command line that a shell takes as it stands."""
    return f"; next: {shell_line('nlpkit', *words)}"


def out(text: str) -> None:
    """Print a line of the result on stdout."""
    sys.stdout.write(text + "\n")


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    sys.stdout.write(to_json(value) + "\n")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), title: str = "") -> None:
    """Print a table for people on stdout. `right` names the columns of numbers; without column names there is no head."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 120)
    shown = Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False)
    unbounded = shown.options.update(width=10_000)

    def fill(gap: int) -> Table:
        out = Table(
            box=box.SIMPLE_HEAD, show_header=any(columns), pad_edge=False, show_edge=False, padding=(0, gap, 0, 0)
        )
        for i, name in enumerate(columns):
            numbers = name in right
            widest = max((len(row[i]) for row in rows), default=0) if numbers else None
            out.add_column(name, justify="right" if numbers else "left", min_width=widest, overflow="fold")
        for row in rows:
            out.add_row(*(Text(cell) for cell in row))
        return out

    out = fill(1)
    if 2 * len(right) > len(columns) and shown.measure(out, options=unbounded).maximum > shown.width:
        out = fill(0)  # numbers cannot be wrapped
    shown.width = max(shown.width, shown.measure(out, options=unbounded).minimum)
    with shown.capture() as capture:
        if title:
            shown.print(title)
        shown.print(out)
    lines = [line.rstrip() for line in capture.get().split("\n")]
    sys.stdout.write("\n".join(lines) + "\n")


def plan(amounts: dict[str, Any]) -> None:
    """Show what --dry-run found: a JSON object with --json, else a table."""
    if settings.json:
        emit_json(amounts)
        return
    names = [name.removesuffix("_about").replace("_mb", " (MB)").replace("_", " ") for name in amounts]
    values = [count(n) if isinstance(n, int | float) else str(n) for n in amounts.values()]
    table(["", "about"], list(zip(names, values, strict=True)), right=["about"])
    note("dry run: nothing was written")


def shows_progress() -> bool:
    """Tell whether bars are drawn: asked for, or stderr is a terminal and nothing forbids it."""
    if settings.progress is not None:
        return settings.progress
    return sys.stderr.isatty() and not settings.quiet


class Update(Protocol):
    """Takes the amount done, and a new label when the work has come to another stage."""

    def __call__(self, done: int, label: str | None = None, /) -> None:
        """Draw."""


@contextmanager
def progress(label: str, total: int | None, *, percent: bool = False) -> Iterator[Update]:
    """Yield a function that takes the amount done; draws a bar with rate and ETA on stderr when bars are shown.

    Where stderr is no terminal but bars were asked for (the log of a batch system), a line now and then takes its place.
    """
    if not shows_progress():
        yield lambda done, label=None, /: None
        return
    if not sys.stderr.isatty():
        with _lines(label, total, percent=percent) as line:
            yield line
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    amount = (TaskProgressColumn(),) if percent else (MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, rate="")

        def update(done: int, label: str | None = None, /) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, description=label, rate=f"{speed:,.0f}/s" if speed else "")

        yield update


_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def _lines(label: str, total: int | None, *, percent: bool) -> Iterator[Update]:
    start = told = time.perf_counter()
    done, name = 0, label

    def line() -> str:
        seconds = time.perf_counter() - start
        of = f" of {count(total)}" if total is not None else ""
        amount = f"{done}%" if percent else f"{count(done)}{of}, {count(done / max(seconds, 1e-9))}/s"
        left = f", about {seconds * (total - done) / done:.0f} s left" if total and 0 < done < total else ""
        return f"{name}: {amount} after {seconds:.0f} s{left}"

    def update(so_far: int, new: str | None = None) -> None:
        nonlocal done, name, told
        changed = new is not None and new != name
        done, name = so_far, new or name
        if changed or time.perf_counter() - told >= _SECONDS_BETWEEN_LINES:
            told = time.perf_counter()
            _write(line())

    yield update
    _write(line())


def count(n: float) -> str:
    """Return a number with thousands separators."""
    return f"{n:,.0f}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number and its noun: 1 document, 2 documents."""
    return f"{count(n)} {noun if n == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """Return a share that is not zero as per cent with one decimal: 12.3%, under 0.1%."""
    return "under 0.1%" if share < 0.0005 else f"{share:.1%}"
