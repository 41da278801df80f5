"""A set of byte strings numbered in order of first appearance: open addressing, linear probing, FNV-1a.

The strings lie one after the other in `arena`, `places` (n+1,) says where, as in an Arrow string array. `slots` (a power
of two, more than n) holds ids, -1 for free; `hashes` (n,) those of the strings. Who inserts makes room first
(`text.bytestable.BytesTable`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nlpkit.kernels import njit
from nlpkit.kernels.arrays import copy_into

OFFSET_BASIS = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)


@njit(nogil=True)
def bytes_rehash(hashes: Any, n: int, size: int) -> Any:
    """Return `size` (a power of two) slots that hold the ids 0..n-1."""
    slots = np.full(size, -1, np.int32)
    mask = size - 1
    for known in range(n):
        at = np.int64(hashes[known] & np.uint64(mask))
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = known
    return slots


@njit(nogil=True, work="starts")
def bytes_insert(
    slots: Any, hashes: Any, arena: Any, places: Any, n: int, text: Any, starts: Any, ends: Any, ids: Any
) -> int:
    """Write the id of each string text[starts[t]:ends[t]] into ids (T,), new ones numbered from n; return how many there are."""
    mask = np.uint64(len(slots) - 1)
    for t in range(len(starts)):
        start, size = starts[t], ends[t] - starts[t]
        h = OFFSET_BASIS
        for i in range(size):
            h = (h ^ np.uint64(text[start + i])) * PRIME
        h ^= h >> np.uint64(32)
        slot = np.int64(h & mask)
        while True:
            known = slots[slot]
            if known < 0:
                used = places[n]
                copy_into(arena[used:], text[start : start + size])
                places[n + 1] = used + size
                hashes[n] = h
                slots[slot] = n
                known = n
                n += 1
                break
            first = places[known]
            if hashes[known] == h and places[known + 1] - first == size:
                same = True
                for i in range(size):
                    if arena[first + i] != text[start + i]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + 1) & np.int64(mask)
        ids[t] = known
    return n
