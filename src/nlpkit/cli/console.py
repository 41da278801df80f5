"""What a person sees: notes, warnings and progress on stderr, tables and JSON on stdout. rich is loaded when needed."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlpkit import reporting, wording
from nlpkit.cli.render.layout import one_line_rows, table_lines
from nlpkit.cli.spelling import as_options
from nlpkit.plain import shell_line, to_json


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
    def emit(self, record: logging.LogRecord) -> None:
        if settings.quiet and record.levelno < logging.ERROR and not getattr(record, "always", False):
            return
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        _write(f"{prefix}{as_options(record.getMessage())}")


def _write(line: str) -> None:
    print(wording.visible(line), file=sys.stderr, flush=True)  # noqa: T201


def error(message: str) -> None:
    """Print an error as one line."""
    _write("error: " + " ".join(as_options(message).splitlines()))


def note_topic_run(target: Path) -> None:
    """Say where the run of a topic model is, and which commands read it."""
    reporting.note(f"wrote {target}/{next_step('info', target)}")
    predict = shell_line("nlpkit", "predict", target, "NEW.jsonl", "-o", "predicted.parquet")
    reporting.note(f"              or: {predict}")


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


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    title: str = "",
    noun: str = "",
    sizes: Sequence[float] | None = None,
    rest: str = "",
    after: Sequence[Sequence[str]] = (),
    always: bool = False,
    texts: Sequence[str] = (),
) -> None:
    """Print a table for people on stdout. `right` names the columns of numbers; without column names there is no head.

    The columns of `texts` are cut or left out so that each row is one line, see `one_line_rows`; other texts are wrapped.

    Where there is a noun for the rows, at most --show of them are printed, the largest if there are sizes, and a line tells
    that `rest` (a file, an option) has the others.
    Rows `after` them are always printed. With --show 0 no table is, but one that is `always`. What comes from a corpus steers
    no terminal (see `wording.visible`).
    """
    if settings.show == 0 and not always:
        return
    kept = shown_rows(len(rows), sizes) if noun else range(len(rows))
    names, *cells = [[wording.visible(cell) for cell in row] for row in (columns, *(rows[i] for i in kept), *after)]
    numbers = [wording.visible(name) for name in right]
    if texts:
        head, lines = one_line_rows(names, cells, texts=texts, right=numbers, width=width())
    else:
        head, lines = table_lines(names, cells, right=numbers, width=width())
    if sys.stdout.isatty():
        head = [f"\x1b[1m{line}\x1b[0m" for line in head[:-1]] + head[-1:]
    omitted = [] if len(kept) == len(rows) else [rest_line(len(kept), len(rows), noun, rest, largest=sizes is not None)]
    around = [wording.visible(line) for line in ([title] if title else [])], [wording.visible(line) for line in omitted]
    sys.stdout.write("\n".join([*around[0], *head, *lines, *around[1]]) + "\n\n")


def width() -> int:
    """Return how many cells a line of stdout has: COLUMNS, the width of the terminal, or 120 where stdout is not one."""
    fixed = os.environ.get("COLUMNS") or ("" if sys.stdout.isatty() else "120")
    return int(fixed) if fixed.isdecimal() and int(fixed) else shutil.get_terminal_size().columns


def shown_rows(n: int, sizes: Sequence[float] | None = None) -> list[int]:
    """Return which of n rows are shown, in their order: all, or as many as --show says; the largest if there are sizes."""
    most = n if settings.show is None else settings.show
    if n <= most or sizes is None:
        return list(range(min(n, most)))
    return sorted(sorted(range(n), key=lambda i: -sizes[i])[:most])


def rest_line(shown: int, n: int, noun: str, rest: str, *, largest: bool = False) -> str:
    """Return the line below a table that is not whole."""
    which = "the largest" if largest else "the first"
    return f"… {which} {wording.count(shown)} of {wording.count(n)} {noun}; all of them: --show all{f', or {rest}' if rest else ''}"


def plan(amounts: dict[str, Any]) -> None:
    """Show what --dry-run found: a JSON object with --json, else a table."""
    if settings.json:
        emit_json(amounts)
        return
    names = [name.removesuffix("_about").replace("_mb", " (MB)").replace("_", " ") for name in amounts]
    values = [wording.count(n) if isinstance(n, int | float) else str(n) for n in amounts.values()]
    table(["", "about"], list(zip(names, values, strict=True)), right=["about"], always=True)
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
        task = bar.add_task(wording.visible(label), total=total, rate="")

        def update(done: int, label: str | None = None, /) -> None:
            speed = bar.tasks[task].speed
            named = None if label is None else wording.visible(label)
            bar.update(task, completed=done, description=named, rate=f"{speed:,.0f}/s" if speed else "")

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
