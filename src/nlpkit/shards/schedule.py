"""Tasks divided among processes: those of lost processes are done again.

Parts, in this order:
- The schedule: which task waits, and which worker does which.
- Workers that are processes of this machine. Those of Ray are in ray.py.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any, Protocol

from nlpkit.errors import InputError, NlpkitError
from nlpkit.platform import reporting
from nlpkit.platform.interrupts import interrupts_held_back, leave_interrupts
from nlpkit.platform.parallel import START_SECONDS

ATTEMPTS = 3  # at one task, and at starting a worker


class WorkerLostError(Exception):
    """A worker died, cannot be reached, or lost what it was to give."""


class CorruptError(Exception):
    """What a task wrote is not as it was written."""


class Workers(Protocol):
    """Processes that do tasks: those of Ray or of this machine, or stand-ins in tests."""

    def start(self) -> Any:
        """Return a new worker, which may have to wait for room."""

    def ready(self, worker: Any) -> Any:
        """Return the event that comes when a worker has started."""

    def submit(self, worker: Any, task: Any, target: str) -> Any:
        """Have a worker do a task; return at once the event that comes when it is done."""

    def wait(self, events: Sequence[Any], seconds: float) -> list[Any]:
        """Return the events that have come, at most after so many seconds."""

    def result(self, event: Any) -> None:
        """Raise the error of an event that has come, where it has one; WorkerLostError where its worker is lost."""

    def stop(self, worker: Any) -> None:
        """End a worker, at once."""


@dataclass(slots=True)
class _Running:
    worker: Any
    task: Any
    since: float


def do_tasks(
    workers: Workers,
    tasks: Sequence[Any],
    path_of: Callable[[Any], Path],
    verify: Callable[[Path], None],
    *,
    n_workers: int,
    what: str = "part",
    timeout: float | None = None,
) -> int:
    """Have workers do all tasks; one whose worker is lost or late, or whose file is corrupt, is done again.

    Tasks go to workers that have started: where the cluster has no room for `n_workers`, fewer do them all. Returns how many did.

    Args:
        tasks: which can be told apart, and are called by their texts. path_of: what a task writes.
        verify: raises CorruptError for what is not whole. what: a task is called in messages.

    Raises:
        InputError: a task could not be done in ATTEMPTS attempts, or no worker could be started; NlpkitError: the work itself
            failed, which another attempt would not change.
    """
    return _Schedule(workers, tasks, path_of, verify, what, timeout).run(min(n_workers, len(tasks)))


class _Schedule:
    """Which tasks wait, which worker does which, and which workers are idle or not there yet."""

    def __init__(
        self,
        workers: Workers,
        tasks: Sequence[Any],
        path_of: Callable[[Any], Path],
        verify: Callable[[Path], None],
        what: str,
        timeout: float | None,
    ) -> None:
        self.workers, self.path_of, self.verify, self.what, self.timeout = workers, path_of, verify, what, timeout
        self.waiting, self.attempts = deque(tasks), dict.fromkeys(tasks, 0)
        self.idle: list[Any] = []
        self.starting: dict[Any, Any] = {}  # event → worker, like the next
        self.running: dict[Any, _Running] = {}
        self.n_done = self.failed_starts = 0

    def run(self, n_workers: int) -> int:
        """Start workers and see to it that all tasks are done; return how many worked at a time, at most."""
        patience = 1.0 if self.timeout is None else min(1.0, self.timeout / 4)
        most, alone_since, warned = 0, time.monotonic(), False
        for _ in range(n_workers):
            self.start()
        with reporting.progress(f"{self.what}s", len(self.waiting)) as update:
            while self.waiting or self.running:
                while self.waiting and self.idle:
                    task, worker = self.waiting.popleft(), self.idle.pop()
                    self.attempts[task] += 1
                    event = self.workers.submit(worker, task, str(self.path_of(task)))
                    self.running[event] = _Running(worker, task, time.monotonic())
                most = max(most, len(self.running))
                come = self.workers.wait([*self.running, *self.starting], patience)
                for event in come:
                    if event in self.starting:
                        self.started(event)
                    else:
                        self.finished(event)
                update(self.n_done)
                self.pass_over_late()
                if come or self.running:
                    alone_since, warned = time.monotonic(), False
                elif time.monotonic() - alone_since >= START_SECONDS and not warned:
                    warned = True
                    reporting.warn(f"no worker has started for {START_SECONDS:.0f} seconds; waiting for room")
        return most

    def start(self) -> None:
        """Ask for one more worker."""
        worker = self.workers.start()
        self.starting[self.workers.ready(worker)] = worker

    def started(self, event: Any) -> None:
        """Take on a worker that has started, or another one for it."""
        worker = self.starting.pop(event)
        try:
            self.workers.result(event)
        except WorkerLostError as error:
            self.failed_starts += 1
            if self.failed_starts < ATTEMPTS:
                self.start()
            elif not (self.running or self.starting or self.idle):
                raise InputError(f"no worker could be started, the last time because {error}") from None
        else:
            self.failed_starts = 0
            self.idle.append(worker)

    def finished(self, event: Any) -> None:
        """Take note of a task that is done, or have it done again."""
        one = self.running.pop(event)
        try:
            self.workers.result(event)
            self.verify(self.path_of(one.task))
        except WorkerLostError as error:
            self.again(one.task, str(error))
            self.workers.stop(one.worker)
            self.start()
        except CorruptError as error:
            self.again(one.task, str(error))
            self.idle.append(one.worker)
        else:
            self.n_done += 1
            self.idle.append(one.worker)

    def pass_over_late(self) -> None:
        """Give the tasks of workers that are over the time to others."""
        for event, one in list(self.running.items()):
            if self.timeout is not None and time.monotonic() - one.since >= self.timeout:
                del self.running[event]
                self.workers.stop(one.worker)
                self.again(one.task, f"it was not done after {self.timeout:g} seconds (`shard_timeout`)")
                self.start()

    def again(self, task: Any, reason: str) -> None:
        """Put a task before those that wait."""
        if self.attempts[task] >= ATTEMPTS:
            raise InputError(
                f"{self.what} {task} could not be made in {ATTEMPTS} attempts, the last time because {reason}; continue "
                f"with the finished {self.what}s: `resume`"
            )
        reporting.warn(f"{self.what} {task} is made again: {reason}")
        self.waiting.appendleft(task)


# ------------------------------------------------------------------------------------------------------------------------
# Workers that are processes of this machine.

Make = Callable[
    [Any, str], "list[str] | None"
]  # does a task and writes its target; returns warnings for the one who asks


class Maker:
    """What a worker holds: what it does, and the folder and command line of the program that asks for it."""

    def __init__(self, make: Make, folder: str, line: tuple[str, ...]) -> None:
        os.chdir(folder)
        self._make, self._line = make, line

    def ready(self) -> None:
        """Do nothing, as soon as the process is there; `__ray_ready__` is unknown to clients of a cluster."""

    def make(self, task: Any, target: str) -> list[str] | None:
        """Do a task."""
        with reporting.run_as(self._line):
            return self._make(task, target)


def warnings_of(make: Callable[[Any, str], None], task: Any, target: str) -> list[str]:
    """Do a task, and return its warnings, which nobody sees in another process."""
    heard: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    reporting.log.addHandler(handler)
    try:
        make(task, target)
    finally:
        reporting.log.removeHandler(handler)
    return heard


def maker_arguments(make: Make) -> tuple[Make, str, tuple[str, ...]]:
    """Return the arguments of a Maker for this program."""
    return make, str(Path.cwd()), reporting.command_line.get()


@dataclass(frozen=True, slots=True, eq=False)
class _Process:
    """A worker, and this end of the pipe to it, which is also the event of what it does."""

    process: Any
    pipe: Any


class ProcessWorkers:
    """Processes of this machine that do tasks, one at a time; they end with this process, whatever ends it.

    make: what they do; a function at the top of a module, a partial one or a method.
    """

    def __init__(self, make: Make) -> None:
        self._arguments = maker_arguments(make)
        self._workers: list[_Process] = []

    def __enter__(self) -> ProcessWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self.stop(worker)

    def start(self) -> _Process:
        """Return a new process."""
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, *self._arguments), daemon=True, name="nlpkit-worker")
        worker = _Process(process, here)
        with interrupts_held_back():
            process.start()
        self._workers.append(worker)
        there.close()
        return worker

    def ready(self, worker: _Process) -> Any:
        """Return the event of its first message."""
        return worker.pipe

    def submit(self, worker: _Process, task: Any, target: str) -> Any:
        """Send a task; a process that is lost by now is noticed when its answer is read."""
        with suppress(OSError):
            worker.pipe.send((task, target))
        return worker.pipe

    def wait(self, events: Sequence[Any], seconds: float) -> list[Any]:
        """Return the pipes with an answer, or with nobody at the other end."""
        return list(connection.wait(events, seconds))

    def result(self, event: Any) -> None:
        """Warn as the process did, and raise what it raised; WorkerLostError where it has ended."""
        try:
            error, heard = event.recv()
        except (EOFError, OSError):
            process = next(one.process for one in self._workers if one.pipe is event)
            process.join(1)
            raise WorkerLostError(f"process {process.pid} ended, exit code {process.exitcode}") from None
        for message in heard or ():
            reporting.warn(message)
        if error is not None:
            raise error

    def stop(self, worker: _Process) -> None:
        """Kill a process, and those that it started."""
        self._workers.remove(worker)
        _kill_group(worker.process.pid)
        worker.process.kill()
        worker.process.join()
        worker.pipe.close()


def _kill_group(leader: int) -> None:
    """Kill a process that leads a group, and all in it, also where it has ended before them."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _work(pipe: Any, make: Make, folder: str, line: tuple[str, ...]) -> None:
    """Do tasks until the other end of the pipe is closed: by the program that asks, or by its end."""
    leave_interrupts()
    if hasattr(os, "setsid"):
        os.setsid()  # a group with the processes that it starts
    maker, tasks = Maker(make, folder, line), queue.Queue[tuple[Any, str]]()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
        _kill_group(os.getpid())
        os._exit(1)

    threading.Thread(target=listen, daemon=True, name="nlpkit-listen").start()
    pipe.send((None, None))
    while True:
        error: Exception | None = None
        heard = None
        try:
            heard = maker.make(*tasks.get())
        except NlpkitError as raised:
            error = raised
        except Exception:
            error = RuntimeError(f"in a worker process: {traceback.format_exc()}")
        pipe.send((error, heard))
