"""Torch on one thread: sums of several threads depend on their number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

_lock, _users, _before = Lock(), 0, 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread in this context, on as many as before when the last one has left it."""
    global _users, _before
    with _lock:
        before = torch.get_num_threads()  # also lets torch set up this thread, before its number is set
        _before = _before if _users else before
        _users += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                torch.set_num_threads(_before)
