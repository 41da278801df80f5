"""Arrays copied inside other kernels: `a[i:j] = b` brings in the words of its error, 2 s to compile in each process that compiles one."""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.kernels import njit


@njit(nogil=True)
def copy_into(target: Any, values: Any) -> None:
    """Write values (n,) to the first n places of target. Raises IndexError where it has fewer."""
    if len(values) > len(target):
        raise IndexError("more values than places")
    for i in range(len(values)):
        target[i] = values[i]


@njit(nogil=True)
def longer(values: Any, n: int) -> Any:
    """Return values with zeros behind them, n in all."""
    extended = np.zeros(n, values.dtype)
    copy_into(extended, values)
    return extended
