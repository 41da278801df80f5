"""Messages of a running computation: notes and warnings go to the logger `nlpkit`, progress to whoever shows it.

In Python the notes are silent unless logging is configured, and there are no bars unless `progress_shown_by` names a function that
draws them. The command line writes notes to stderr and draws bars on a terminal.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol

log = logging.getLogger("nlpkit")


class Update(Protocol):
    """Takes the amount done, and a new label when the next stage begins."""

    def __call__(self, done: int, label: str | None = None, /) -> None:
        """Show it."""


Show = Callable[[str, int | None, bool], AbstractContextManager[Update]]  # label, total if known, whether in per cent
command_line: ContextVar[tuple[str, ...]] = ContextVar(
    "nlpkit_command_line", default=("python",)
)  # as manifests record it
_quiet: ContextVar[bool] = ContextVar("nlpkit_quiet", default=False)
_show: ContextVar[Show | None] = ContextVar("nlpkit_progress", default=None)


def note(message: str) -> None:
    """Report what was done."""
    if not _quiet.get():
        log.info("%s", message)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out notes and progress of what runs inside; warnings stay."""
    token = _quiet.set(True)
    try:
        with progress_shown_by(None):
            yield
    finally:
        _quiet.reset(token)


def warn(message: str, *, always: bool = False) -> None:
    """Warn; `always`: also where only errors are wanted."""
    log.warning("%s", message, extra={"always": always})


def progress(label: str, total: int | None, *, percent: bool = False) -> AbstractContextManager[Update]:
    """Return a context whose value takes the amount done of a total, or of 100 where it is in per cent; a label "" shows nothing."""
    show = _show.get()
    return nullcontext(_silent) if show is None or not label else show(label, total, percent)


@contextmanager
def progress_shown_by(show: Show | None) -> Iterator[None]:
    """Let a function show the progress of what runs inside, None for nobody."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


@contextmanager
def run_as(line: tuple[str, ...]) -> Iterator[None]:
    """Let manifests that are written inside record a command line."""
    token = command_line.set(line)
    try:
        yield
    finally:
        command_line.reset(token)


def _silent(_done: int, _label: str | None = None, /) -> None:
    """Show nothing."""
