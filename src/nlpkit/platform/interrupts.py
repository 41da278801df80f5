"""Signals that end a process (Ctrl-C, SIGTERM, SIGHUP) as one exception, held back while a state is half done."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from nlpkit.platform import reporting

ENDING = ("SIGTERM", "SIGHUP")  # of batch systems, containers and terminals that close


class Ended(KeyboardInterrupt):
    """The process was asked to end by another signal than Ctrl-C; what is saved at Ctrl-C is saved here, too."""

    def __init__(self, number: int) -> None:
        """Take the number of the signal."""
        super().__init__()
        self.number = number


def end(number: int, _frame: Any = None) -> NoReturn:
    """Raise what a signal means: KeyboardInterrupt, or one that knows its number."""
    raise KeyboardInterrupt if number == signal.SIGINT else Ended(number)


def catch_ending_signals() -> None:
    """Let SIGTERM and SIGHUP end this process as Ctrl-C does; where one is ignored (nohup) it stays so."""
    for number in _numbers(ENDING):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def ignore_ending_signals() -> None:
    """Let SIGTERM and SIGHUP come too late: for the moment between the end of the work and that of the process."""
    for number in _numbers(ENDING):
        if signal.getsignal(number) is end:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while a process is started, for that process until `leave_interrupts` is called in it."""
    if sys.platform == "win32" or not hasattr(signal, "pthread_sigmask"):
        yield
    else:
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # whose own start lets Ctrl-C through
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_interrupts() -> None:
    """Ignore Ctrl-C, which comes to all processes of a terminal: the one that started this one decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32" and hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


class Stop:
    """The signal for a training to stop. `step` is called after each step, with its number and that of all."""

    def __init__(self) -> None:
        """Nothing has come, and no training under way."""
        self.pressed: int | None = None
        self.training = self.ending = False

    def step(self, number: int, total: int) -> None:
        """Raise KeyboardInterrupt where a signal has come since the step before."""
        self.training = number < total
        if self.pressed is not None:
            came, self.pressed, self.training, self.ending = self.pressed, None, False, True
            end(came)

    def press(self, number: int, _frame: Any = None) -> None:
        """Remember a signal for the end of the step; raise at the second Ctrl-C, and where nothing is trained.

        A batch system that says it again does not disturb what is saved meanwhile.
        """
        if number != signal.SIGINT and (self.ending or self.pressed is not None):
            return
        now = not self.training or (self.pressed is not None and number == signal.SIGINT)
        self.pressed = self.pressed or number  # for the next step, too: what is raised inside of a __del__ is lost
        if now:
            end(number)


@contextmanager
def between_steps() -> Iterator[Stop]:
    """Let signals end a training between two steps; one that cannot be caught, or that the caller handles, is left alone."""
    stop = Stop()
    usual = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in _numbers(("SIGINT", *ENDING))}
        usual = {
            number: handler for number, handler in handlers.items() if handler in (signal.default_int_handler, end)
        }
    for number in usual:
        signal.signal(number, stop.press)
    try:
        yield stop
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    if stop.pressed is not None:
        end(stop.pressed)


@contextmanager
def report_checkpoint_on_interrupt(what: str, path: Path | None) -> Iterator[None]:
    """Let Ctrl-C, a signal like it and a full disk say where the unfinished work is saved, if it is, and how to continue it."""
    saved = f"the {what} is saved in {path}: the same command with `resume` goes on with it"
    try:
        yield
    except KeyboardInterrupt as stopped:
        if path is not None and path.exists():
            stopped.args = (saved,)
        raise
    except Exception as error:
        if path is not None and path.exists() and _is_full(error):
            reporting.warn(saved, always=True)
        raise


def _is_full(error: Exception) -> bool:
    """Whether a disk is full, in the words of Python or of a library written in Rust."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left on device" in str(error)


def _numbers(names: tuple[str, ...]) -> list[signal.Signals]:
    return [getattr(signal, name) for name in names if hasattr(signal, name)]  # SIGHUP is not everywhere
