"""What a person sees: notes, warnings and progress on stderr, tables and JSON on stdout. rich is loaded when needed."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Settings:
    """How much to say; set once per process by the shared options of a command."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    json: bool = False
    progress: bool | None = None


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
    _write("error: " + " ".join(message.split("\n")))


def note(message: str) -> None:
    """Print a line about what was done, unless --quiet."""
    if not settings.quiet:
        _write(message)


def warn(message: str) -> None:
    """Print a warning, unless --quiet."""
    if not settings.quiet:
        _write(f"warning: {message}")


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), title: str = "") -> None:
    """Print a table for people on stdout. `right` names the columns of numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    width = None if terminal else int(os.environ.get("COLUMNS", "120"))
    out = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for name in columns:
        out.add_column(name, justify="right" if name in right else "left", no_wrap=name in right, overflow="fold")
    for row in rows:
        out.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout, width=width, highlight=False, soft_wrap=False).print(out)


def shows_progress() -> bool:
    """Tell whether bars are drawn: asked for, or stderr is a terminal and nothing forbids it."""
    if settings.progress is not None:
        return settings.progress
    return sys.stderr.isatty() and not settings.quiet


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the amount done; draws a bar with rate and ETA on stderr when bars are shown."""
    if not shows_progress():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total, rate="")

        def update(done: int) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, rate=f"{speed:,.0f}/s" if speed else "")

        yield update


def count(n: float) -> str:
    """Return a number with thousands separators."""
    return f"{n:,.0f}"
