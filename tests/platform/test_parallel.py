"""Threads ahead: the order, the errors, the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from nlpkit.platform.parallel import ahead, map_ahead, result_of


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_ahead_keeps_the_order(depth: int) -> None:
    assert list(ahead(range(50), depth=depth)) == list(range(50))
    assert list(ahead([], depth=depth)) == []


def test_an_error_comes_after_what_was_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("third")

    running = ahead(items())
    assert [next(running), next(running)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(running)


def test_whoever_stops_early_ends_the_thread() -> None:
    made = []

    def items() -> Iterator[int]:
        for i in range(1_000_000):
            made.append(i)
            yield i

    before = set(threading.enumerate())  # of an earlier test one may still be about to end
    running = ahead(items(), depth=2)
    assert next(running) == 0
    (own,) = set(threading.enumerate()) - before
    running.close()
    own.join(60)
    assert not own.is_alive()
    assert len(made) < 10


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_map_keeps_the_order_whatever_takes_longest(threads: int) -> None:
    def slow_first(x: int) -> int:
        time.sleep(0.02 if x == 0 else 0)
        return x * x

    assert list(map_ahead(slow_first, range(20), threads=threads)) == [(x, x * x) for x in range(20)]


def test_an_error_of_the_function_is_raised_at_its_item() -> None:
    running = map_ahead(lambda x: 1 // (3 - x), range(10), threads=2)
    assert [next(running)[0] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        next(running)


def never() -> Iterator[int]:
    threading.Event().wait(60)
    yield 0


@pytest.mark.parametrize("wait", [lambda: result_of(Future()), lambda: next(ahead(never()))], ids=["future", "ahead"])
def test_ctrl_c_ends_a_wait_where_polars_lets_it_go_on(wait: Callable[[], Any]) -> None:
    signal.siginterrupt(signal.SIGINT, False)  # as polars does when it is loaded
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            wait()
    finally:
        signal.siginterrupt(signal.SIGINT, True)
        timer.join()


def test_one_thread_covers_libraries_that_are_loaded_inside() -> None:
    """In a process of its own: scipy's BLAS, which k-means brings, is not there before."""
    code = (
        "from nlpkit.platform.parallel import one_thread\n"
        "from threadpoolctl import threadpool_info\n"
        "with one_thread():\n"
        "    import sklearn.cluster\n"
        "    print([one['num_threads'] for one in threadpool_info() if one['user_api'] == 'blas'])"
    )
    env = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    threads = json.loads(done.stdout)
    assert threads
    assert set(threads) == {1}
