"""Work ahead of the one who asks for it, in threads, in order: what comes out does not depend on how many there are."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_WAIT = 0.1  # seconds after which a full queue looks whether anybody still wants what is in it
# Seconds after which a wait looks up: one without end does not hear a signal that came just before it, nor any once polars is loaded,
# which lets an interrupted wait go on (SA_RESTART).
TURN = 0.5


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
