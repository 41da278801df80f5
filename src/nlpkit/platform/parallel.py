"""Parallel work whose results do not depend on the number of workers: threads, local processes, a Ray cluster.

Parts, in this order:
- One thread for the libraries.
- Work ahead of the one who asks for it, in threads, in order: what comes out does not depend on how many there are.
- Objects that stay where they are, in threads, local processes or on a Ray cluster, and are called together.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeAlias, TypeVar

from nlpkit.errors import ActorLostError, MissingError, NlpkitError, first_line, missing_extra
from nlpkit.platform import reporting, wording
from nlpkit.platform.interrupts import interrupts_held_back, leave_interrupts

T = TypeVar("T")
R = TypeVar("R")

_WAIT = 0.1  # seconds after which a full queue looks whether anybody still wants what is in it
# Seconds after which a wait looks up: one without end does not hear a signal that came just before it, nor any once polars is loaded,
# which lets an interrupted wait go on (SA_RESTART).
TURN = 0.5


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which libraries multiply matrices on one thread, so that no digit depends on the number of threads.

    It covers scipy's BLAS, which is not NumPy's. A context of threadpoolctl alone leaves out what is first loaded inside it: with scipy's
    BLAS waiting in a loop, the evidence for a number of topics took 43 s of the processor, and it takes 8.
    """
    import scipy.linalg  # noqa: F401  (it is limited only once it is there)
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def ahead(items: Iterable[T], *, depth: int = 2, join: bool = False) -> Generator[T, None, None]:
    """Yield the items of an iterable, prefetched by a background thread, at most `depth` items ahead.

    An error of the iterable is raised where the item would have come. Closing the generator ends the thread when its
    current item is there; a thread that waits for input that never comes does not hold up the end of the process.

    Args:
        join: closing waits for the thread, so that what it reads can be used again; not for input that may never come.
    """
    waiting: queue.Queue[tuple[bool, T | BaseException | None]] = queue.Queue(depth)
    stop = threading.Event()

    def put(is_item: bool, value: T | BaseException | None) -> None:
        while not stop.is_set():
            try:
                waiting.put((is_item, value), timeout=_WAIT)
            except queue.Full:
                continue
            return

    def run() -> None:
        try:
            for item in items:
                put(True, item)
                if stop.is_set():
                    return
        except BaseException as error:
            put(False, error)
        else:
            put(False, None)

    thread = threading.Thread(target=run, daemon=True, name="nlpkit-ahead")
    thread.start()
    try:
        while True:
            try:
                is_item, value = waiting.get(timeout=TURN)
            except queue.Empty:
                continue
            if is_item:
                yield value  # type: ignore[misc]
            elif value is not None:
                raise value  # type: ignore[misc]
            else:
                return
    finally:
        stop.set()
        with suppress(queue.Empty):
            while True:
                waiting.get_nowait()  # room, so that the thread need not wait to see that it can stop
        if join:
            thread.join()


def result_of(future: Future[R]) -> R:
    """Return what a future comes to; unlike with its own method, Ctrl-C always ends the wait."""
    while not future.done():
        wait([future], timeout=TURN)
    return future.result()


def map_ahead(function: Callable[[T], R], items: Iterable[T], *, threads: int, depth: int = 2) -> Iterator[tuple[T, R]]:
    """Yield (item, function(item)) in order, with up to `threads` calls at a time; the function should release the GIL.

    An error of the function is raised at its item. At most depth · threads items wait at a time.
    """
    with ThreadPoolExecutor(max(threads, 1), thread_name_prefix="nlpkit") as pool:
        pending: deque[tuple[T, Future[R]]] = deque()
        try:
            for item in items:
                pending.append((item, pool.submit(function, item)))
                if len(pending) >= depth * max(threads, 1):
                    first, future = pending.popleft()
                    yield first, result_of(future)
            while pending:
                first, future = pending.popleft()
                yield first, result_of(future)
        finally:
            for _, future in pending:
                future.cancel()


# ------------------------------------------------------------------------------------------------------------------------
# Objects that stay where they are, in threads, local processes or on a Ray cluster, and are called together.
#
# Each has its own state. A call goes to all of them, and its answers come back in their order: what they are does not depend on
# where they stay or on how many work at a time.

LOCAL = "local"  # address of processes of Ray on this machine
START_SECONDS = 30.0  # after which it is said that workers have not started
STORE = 500 << 20  # bytes of the memory in which Ray keeps what goes from one of them to another

Build: TypeAlias = Callable[..., Any]  # makes one object; for processes a function or class at the top of a module


class Actors(Protocol):
    """N objects; call them until they are closed."""

    can_be_lost: bool  # with their state, where ActorLostError is raised

    def call(self, method: str, *common: Any) -> list[Any]:
        """Return what a method of each gives for the same arguments."""

    def answers(self, method: str, *common: Any) -> Iterator[Any]:
        """Yield what `call` returns, one after the other; in threads they are let go as they are taken."""

    def call_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return what a method of each gives for arguments of its own, of which few are on their way at a time."""

    def close(self) -> None:
        """End them."""


Start: TypeAlias = Callable[[Build, Sequence[tuple[Any, ...]]], Actors]  # the arguments of N objects → N objects


class ThreadActors:
    """Objects in this process, called by threads."""

    can_be_lost = False

    def __init__(self, build: Build, arguments: Sequence[tuple[Any, ...]], *, threads: int = 1) -> None:
        """Make the objects one after the other."""
        self._objects = [build(*each) for each in arguments]
        self._threads = max(1, min(threads, len(self._objects)))

    def call(self, method: str, *common: Any) -> list[Any]:
        """See Actors."""
        return list(self.answers(method, *common))

    def answers(self, method: str, *common: Any) -> Iterator[Any]:
        """See Actors."""
        return self._answers(method, [common] * len(self._objects))

    def call_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """See Actors."""
        return list(self._answers(method, arguments))

    def _answers(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        def one(at: int) -> Any:
            return getattr(self._objects[at], method)(*arguments[at])

        if self._threads == 1:
            yield from map(one, range(len(self._objects)))
            return
        with ThreadPoolExecutor(self._threads, thread_name_prefix="nlpkit") as pool:
            yield from pool.map(one, range(len(self._objects)))

    def close(self) -> None:
        """Let them go."""
        self._objects = []


class Host:
    """The objects of one process."""

    def __init__(self, build: Build) -> None:
        """Begin without any."""
        self._build = build
        self._objects: dict[int, Any] = {}

    def add(self, number: int, arguments: tuple[Any, ...]) -> None:
        """Make the object of a number."""
        self._objects[number] = self._build(*arguments)

    def call(self, method: str, *common: Any) -> list[Any]:
        """Call a method of each object, in the order of their numbers."""
        return [getattr(self._objects[number], method)(*common) for number in sorted(self._objects)]

    def call_one(self, number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """Call a method of one object."""
        return getattr(self._objects[number], method)(*arguments)

    def pid(self) -> int:
        """Return the number of the process."""
        return os.getpid()


class HostedActors:
    """Objects shared out among hosts, of which each works on its own: the base of those in processes and on a cluster."""

    can_be_lost = True

    def __init__(self, n_hosts: int, arguments: Sequence[tuple[Any, ...]]) -> None:
        """Make the objects, those of one host one after the other. Hosts have been started."""
        self._n, self._n_hosts = len(arguments), n_hosts
        self._rounds("add", lambda number: (number, arguments[number]))

    def call(self, method: str, *common: Any) -> list[Any]:
        """See Actors."""
        answers: list[Any] = [None] * self._n
        shared = tuple(map(self._share, common))
        for host, results in enumerate(self._ask("call", dict.fromkeys(range(self._n_hosts), (method, *shared)))):
            answers[host :: self._n_hosts] = results
        return answers

    def answers(self, method: str, *common: Any) -> Iterator[Any]:
        """See Actors."""
        return iter(self.call(method, *common))

    def call_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """See Actors."""
        return self._rounds("call_one", lambda number: (number, method, arguments[number]))

    def _rounds(self, method: str, of_number: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """Ask each host about one of its objects at a time, so that arguments of all objects are never copied at once."""
        answers = []
        for first in range(0, self._n, self._n_hosts):
            numbers = range(first, min(first + self._n_hosts, self._n))
            answers += self._ask(method, {number - first: of_number(number) for number in numbers})
        return answers

    def _share(self, value: Any) -> Any:
        """Return what stands for a value that goes to all hosts."""
        return value

    def _ask(self, method: str, arguments: dict[int, tuple[Any, ...]]) -> list[Any]:
        """Return what a method of Host gives on some hosts, in their order."""
        raise NotImplementedError


class ProcessActors(HostedActors):
    """Objects in processes of this machine, which end with this one, whatever ends it."""

    def __init__(self, build: Build, arguments: Sequence[tuple[Any, ...]], *, processes: int) -> None:
        """Start up to as many processes as there are objects.

        Raises:
            ActorLostError: one ended at once.
        """
        context = get_context("spawn")
        self._processes: list[tuple[Any, Any]] = []  # with the end of a pipe, which is of another type on Windows
        for _ in range(max(1, min(processes, len(arguments)))):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, build), daemon=True, name="nlpkit-worker")
            with interrupts_held_back():
                process.start()
            there.close()
            self._processes.append((process, here))
        super().__init__(len(self._processes), arguments)

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [process.pid for process, _ in self._processes]

    def close(self) -> None:
        """End the processes."""
        for process, connection in self._processes:
            connection.close()
            process.terminate()
            process.join()
        self._processes = []

    def _ask(self, method: str, arguments: dict[int, tuple[Any, ...]]) -> list[Any]:
        for host, each in arguments.items():
            with self._watched(host) as connection:
                connection.send((method, each))
        answers = []
        for host in arguments:
            with self._watched(host) as connection:
                answers.append(connection.recv())
        for went_well, answer in answers:
            if not went_well:
                raise answer
        return [answer for _, answer in answers]

    @contextmanager
    def _watched(self, host: int) -> Iterator[Connection]:
        """Give the connection to a process. Raises ActorLostError where nobody is at its other end."""
        process, connection = self._processes[host]
        try:
            yield connection
        except (EOFError, ConnectionError) as error:
            process.join(1)
            raise ActorLostError(
                f"a worker process (pid {process.pid}) ended in the middle of its work, exit code {process.exitcode}"
            ) from error


def _serve(connection: Connection, build: Build) -> None:
    """Do what is asked for until the other end is closed: by this program, or by its end."""
    leave_interrupts()
    host = Host(build)
    while True:
        try:
            method, arguments = connection.recv()
        except (EOFError, ConnectionError):
            return
        try:
            answer = (True, getattr(host, method)(*arguments))
        except NlpkitError as error:
            answer = (False, error)
        except Exception:
            answer = (False, RuntimeError(f"in a worker process: {traceback.format_exc()}"))
        connection.send(answer)


class RayActors(HostedActors):
    """Objects in Ray actors, on this machine or on a cluster."""

    def __init__(
        self, build: Build, arguments: Sequence[tuple[Any, ...]], *, workers: int, address: str = LOCAL
    ) -> None:
        """Start up to as many Ray actors as there are objects.

        Args:
            address: local (new processes here), auto (the cluster that runs here) or ray://HOST:PORT; without a meaning where the
                process is connected to Ray already.

        Raises:
            MissingError: Ray is not installed, or cannot be reached. ActorLostError: one ended at once.
        """
        self._ray, _ = connected_ray(address, workers)
        remote: Any = self._ray.remote(num_cpus=1, max_restarts=0)(Host)
        self.hosts: list[Any] = [remote.remote(build) for _ in range(max(1, min(workers, len(arguments))))]
        started = [host.pid.remote() for host in self.hosts]
        _, starting = self._ray.wait(started, num_returns=len(started), timeout=START_SECONDS)
        if starting:
            reporting.warn(
                f"{len(starting)} of {wording.counted(len(started), 'worker')} did not start in {START_SECONDS:.0f} "
                "seconds. They work together, and the cluster has no room for all of them; waiting for room"
            )
        super().__init__(len(self.hosts), arguments)

    def close(self) -> None:
        """End the actors; what this process is connected to stays."""
        for host in self.hosts:
            self._ray.kill(host)
        self.hosts = []

    def _share(self, value: Any) -> Any:
        return self._ray.put(value)  # once, not once for each host

    def _ask(self, method: str, arguments: dict[int, tuple[Any, ...]]) -> list[Any]:
        errors = self._ray.exceptions
        waiting = [getattr(self.hosts[host], method).remote(*each) for host, each in arguments.items()]
        try:
            return list(self._ray.get(waiting))
        except errors.RayTaskError as error:
            if isinstance(error.cause, NlpkitError):
                raise error.cause from None
            raise
        except (errors.RayError, ConnectionError) as error:
            raise ActorLostError(f"a Ray actor was lost in the middle of its work ({type(error).__name__})") from error


def connected_ray(address: str, n_cpus: int, *, store: int = STORE) -> tuple[Any, bool]:
    """Return the module ray, connected to a cluster, and whether this call connected it: if not, it was before, to whatever cluster.

    Args:
        n_cpus, store: cores, and bytes of memory for objects, of a cluster that is started on this machine.

    Raises:
        MissingError: Ray is not installed, or the cluster cannot be reached.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = not logging.getLogger("ray").handlers
    try:
        import ray
    except ImportError:
        raise missing_extra("Ray", "ray") from None
    if quiet:  # the import sets a level of its own
        logging.getLogger("ray").setLevel(logging.ERROR)
    if ray.is_initialized():
        return ray, False
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "configure_logging": False}
    if address == LOCAL:
        options |= {"num_cpus": n_cpus, "object_store_memory": store, "include_dashboard": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a connection that timed out, which is an error here
            ray.init(**options, logging_level=logging.ERROR)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise MissingError(
            f"the cluster of Ray at '{address}' cannot be reached ({first_line(error)}); start one with: ray start --head, or give "
            "`ray=local`",
            parameter="ray",
        ) from None
    return ray, True
