"""Numbers of a computation that may outgrow memory: beside the output from some size on, in files without a name.

A file is gone when its array is, also after a signal: it never has a name that could stay.
"""

from __future__ import annotations

import mmap
import tempfile
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from nlpkit.platform.runs.atomic import naming

HELD = 4 << 20  # bytes of a column that are held in memory before its file is begun

_PIECE = 1 << 20  # numbers that are copied at a time

Array = np.ndarray[Any, np.dtype[Any]]


class Column:
    """Numbers of one type: appended piece by piece, then one array."""

    def __init__(self, dtype: Any, directory: Path | None) -> None:
        self._dtype, self._directory = np.dtype(dtype), directory
        self._held: list[Array] = []
        self._file: IO[bytes] | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, numbers: Array) -> None:
        """Append a copy of numbers. Raises InputError: the disk is full."""
        self._size += len(numbers)
        if self._file is None:
            self._held.append(np.array(numbers, self._dtype))
            if self._size * self._dtype.itemsize > HELD:
                with self._naming():
                    self._file = tempfile.TemporaryFile(prefix=".nlpkit-scratch-", dir=self._directory)  # noqa: SIM115
                    for piece in self._held:
                        self._file.write(piece.data.cast("B"))
                self._held.clear()
            return
        with self._naming():
            self._file.write(np.ascontiguousarray(numbers, self._dtype).data.cast("B"))

    def _naming(self) -> AbstractContextManager[None]:
        return naming(self._directory or Path(tempfile.gettempdir()))

    def array(self) -> Array:
        """Return all numbers, and end the column. Raises InputError: the disk is full."""
        if self._file is None:
            return np.concatenate([np.zeros(0, self._dtype), *self._held])
        with self._naming():
            self._file.flush()
        array = np.memmap(self._file, self._dtype, "r", shape=(self._size,))
        self.close()
        return array

    def close(self) -> None:
        """Let the file go; an array of it keeps its content."""
        if self._file is not None:
            with suppress(OSError):  # what a full disk did not take, which is told by then
                self._file.close()

    def __del__(self) -> None:
        self.close()


class Scratch:
    """Makes columns whose files lie in a directory, None for the temporary one."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory

    def column(self, dtype: Any) -> Column:
        """Return an empty column."""
        return Column(dtype, self.directory)


def take(array: Array, start: int, stop: int) -> Any:
    """Return a copy of a part of an array; of one in a file, nothing else stays in memory."""
    part = np.empty(max(min(stop, len(array)) - start, 0), array.dtype)
    for i in range(0, len(part), _PIECE):
        part[i : i + _PIECE] = array[start + i : min(start + i + _PIECE, stop)]
        release(array)
    return part


def release(*arrays: Array) -> None:
    """Let go of the memory of arrays that lie in files, whose content stays there; where the system cannot, it does so itself."""
    for array in arrays:
        pages = getattr(array, "_mmap", None)  # of a memmap, None of a copy
        if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)
