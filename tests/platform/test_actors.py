"""Objects in threads, in processes and on a cluster: the same answers in the same order, and errors that cross over."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from nlpkit.errors import ActorLostError, MissingError, UsageError
from nlpkit.platform import parallel as actors
from nlpkit.platform.parallel import ProcessActors, RayActors, Start, ThreadActors


class Counter:
    """An object of a test."""

    def __init__(self, number: int) -> None:
        self.number = number

    def add(self, amount: int) -> int:
        self.number += amount
        return self.number

    def refuse(self, _: int) -> None:
        raise UsageError(f"no {self.number}", parameter="number")

    def fail(self) -> None:
        raise ZeroDivisionError("a bug")


STARTS: Sequence[Start] = (
    ThreadActors,
    partial(ThreadActors, threads=3),
    partial(ProcessActors, processes=1),
    partial(ProcessActors, processes=3),
)


@pytest.mark.parametrize("start", STARTS)
def test_answers_come_in_the_order_of_the_objects(start: Start) -> None:
    all_of_them = start(Counter, [(n,) for n in range(5)])
    try:
        assert all_of_them.call("add", 10) == [10, 11, 12, 13, 14]
        assert all_of_them.call_each("add", [(n,) for n in range(5)]) == [10, 12, 14, 16, 18]
        with pytest.raises(UsageError, match="no 10") as refused:
            all_of_them.call("refuse", 1)
        assert refused.value.parameter == "number"
        with pytest.raises((ZeroDivisionError, RuntimeError), match="a bug"):
            all_of_them.call("fail")
        assert all_of_them.call("add", 0) == [10, 12, 14, 16, 18]  # what was refused is forgotten
    finally:
        all_of_them.close()


def test_a_killed_process_is_told() -> None:
    two = ProcessActors(Counter, [(n,) for n in range(4)], processes=2)
    try:
        os.kill(two.pids[0], signal.SIGKILL)
        with pytest.raises(ActorLostError, match="exit code -9"):
            two.call("add", 1)
    finally:
        two.close()


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    usual = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingError, match="extra 'ray'"):
        RayActors(Counter, [(1,)], workers=1)
    assert actors.RayActors.can_be_lost
