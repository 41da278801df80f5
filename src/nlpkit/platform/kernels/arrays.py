"""Small array operations inside other kernels (copy, sort, search) that compile faster than NumPy's.

Parts, in this order:
- Arrays copied inside other kernels: `a[i:j] = b` brings in the words of its error, 2 s to compile in each process that
  compiles one.
- Sorting and searching inside other kernels: np.sort takes four times as long to compile, and longer for short lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.platform.kernels import njit


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


# ------------------------------------------------------------------------------------------------------------------------
# Sorting and searching inside other kernels: np.sort takes four times as long to compile, and longer for short lists.

SHORT = 24  # lists of so many are sorted by insertion


@njit(nogil=True)
def sort(values: Any) -> None:
    """Sort values (n,) of whole numbers in place: Hoare's quicksort by the median of three, its short parts by insertion."""
    if len(values) > SHORT:
        begins = np.empty(64, np.int64)  # of parts that wait: the longer half of each, so that log2(n) are enough
        ends = np.empty(64, np.int64)
        begins[0], ends[0], waiting = 0, len(values) - 1, 1
        while waiting > 0:
            waiting -= 1
            begin, end = begins[waiting], ends[waiting]
            while end - begin >= SHORT:
                a, b, c = values[begin], values[(begin + end) // 2], values[end]
                pivot = max(min(a, b), min(max(a, b), c))
                i, j = begin, end
                while i <= j:
                    while values[i] < pivot:
                        i += 1
                    while values[j] > pivot:
                        j -= 1
                    if i <= j:
                        values[i], values[j] = values[j], values[i]
                        i += 1
                        j -= 1
                if j - begin < end - i:
                    begins[waiting], ends[waiting], end = i, end, j
                else:
                    begins[waiting], ends[waiting], begin = begin, j, i
                waiting += 1
    for i in range(1, len(values)):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@njit(nogil=True)
def rank(ordered: Any, value: Any) -> int:
    """Return how many of the ascending numbers ordered (n,) are below a value."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
