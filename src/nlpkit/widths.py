"""Checks of numbers kept in 32 bits: one that does not fit is an error and never wraps around."""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.errors import OutOfMemoryError
from nlpkit.types import IntArray

MOST = 2**31 - 1


def check_width(n: int, what: str) -> int:
    """Return n, how many of `what` there are. Raises OutOfMemoryError where 32 bits do not hold it."""
    if n > MOST:
        raise OutOfMemoryError(
            f"{n:,} {what} are more than the {MOST:,} that can be counted; cut the corpus, or its longest texts, into parts"
        )
    return n


def narrow(values: Any, what: str) -> IntArray:
    """Return integers of 0 or more as int32. Raises OutOfMemoryError where one does not fit."""
    integers = np.asarray(values)
    check_width(int(integers.max(initial=0)), what)
    narrowed: IntArray = integers.astype(np.int32)
    return narrowed
