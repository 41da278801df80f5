"""Torch on one thread: sums of several threads depend on their number.

Numbers below 1.2e-38 are 0 there, as a processor takes many times as long for them, and Adam makes many: the mean gradient of a
weight that gets none any more, of a dead unit or of a word that has gone, falls by a tenth in each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

_lock, _users, _before = Lock(), 0, 0


def compute_alone() -> None:
    """Let torch compute on this thread alone."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def compute_on(threads: int) -> None:
    """Let torch compute on threads of its own again."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread in this context, on as many as before when the last one has left it."""
    global _users, _before
    with _lock:
        before = torch.get_num_threads()  # also lets torch set up this thread, before its number is set
        _before = _before if _users else before
        _users += 1
        compute_alone()
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                torch.set_num_threads(_before)
        torch.set_flush_denormal(False)
