"""Byte strings numbered in order of first appearance; see `nlpkit.kernels.bytestable`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from nlpkit.kernels.bytestable import bytes_insert, bytes_rehash
from nlpkit.types import ByteArray, IntArray, LongArray
from nlpkit.widths import check_width

_FIRST_STRINGS = 1 << 15
_BYTES_EACH = 8


class BytesTable:
    """A set of byte strings; string n is arena[places[n]:places[n + 1]]."""

    def __init__(self) -> None:
        self.n = 0
        self.hashes = np.empty(_FIRST_STRINGS, np.uint64)
        self.slots = np.full(2 * _FIRST_STRINGS, -1, np.int32)
        self.arena = np.empty(_BYTES_EACH * _FIRST_STRINGS, np.uint8)
        self.places = np.zeros(_FIRST_STRINGS + 1, np.int64)

    @property
    def size(self) -> int:
        """Bytes of all strings."""
        return int(self.places[self.n])

    def reserve(self, strings: int, size: int) -> None:
        """Make room for so many strings of so many bytes in all. Raises OutOfMemoryError: more than 32 bits can number."""
        check_width(strings, "different strings")
        room = len(self.hashes)
        while room < strings:
            room *= 2
        if room > len(self.hashes):
            self.hashes, self.places = with_room(self.hashes, room), with_room(self.places, room + 1)
            self.slots = bytes_rehash(self.hashes, self.n, 2 * room)
        self.arena = with_room(self.arena, size)

    def insert(self, text: ByteArray, starts: LongArray, ends: LongArray) -> IntArray:
        """Return the numbers (T,) int32 of strings text[starts[t]:ends[t]], new ones numbered on."""
        # as if all were new and none twice: no insertion can need more
        self.reserve(self.n + len(starts), self.size + int((ends - starts).sum()))
        ids = np.empty(len(starts), np.int32)
        with np.errstate(over="ignore"):  # the hash wraps around, which NumPy tells of where kernels are not compiled
            self.n = bytes_insert(self.slots, self.hashes, self.arena, self.places, self.n, text, starts, ends, ids)
        return ids

    def string(self, n: int) -> str:
        """Return string n, which is UTF-8."""
        return self.arena[self.places[n] : self.places[n + 1]].tobytes().decode()

    def strings(self, start: int = 0) -> list[str]:
        """Return the strings from number `start` on; they are UTF-8."""
        ends = self.places[start : self.n + 1].tolist()
        data = self.arena[ends[0] : ends[-1]].tobytes()
        return [data[a - ends[0] : b - ends[0]].decode() for a, b in pairwise(ends)]


def with_room(array: Any, size: int) -> Any:
    """Return an array of at least `size` places that begins as the old one, which it is where that is large enough."""
    if size <= len(array):
        return array
    bigger = np.empty(max(size, 2 * len(array)), array.dtype)
    bigger[: len(array)] = array
    return bigger
