"""JSON Lines by Arrow's reader, without Python objects and without the GIL, where it reads the same as Python."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from nlpkit.io.readers.columns import TYPES, ValueKind
from nlpkit.types import ByteArray

_MOST_MISSES = 4  # after which the rest is read by Python
_LARGEST = 1 << 30  # bytes of a piece, which is larger than usual where a line is: Arrow counts in 32 bits
_LONG = 2.0**53  # from here on, floats do not hold all whole numbers
_NULL = re.compile(rb"\s*null")


class ArrowLines:
    """Reads lines whose columns are known and plain; what these columns do not fit is left to Python, also to say what is wrong.

    Arrow takes some things that Python does not, or otherwise: several objects on a line, one object over several, -NaN, and -0 as a
    float. These are found and left to Python, too.
    """

    def __init__(self) -> None:
        self._parsing: pa.json.ParseOptions | None = None
        self._misses = 0

    def expect(self, columns: Mapping[str, ValueKind]) -> None:
        """Take the columns of the lines that come, by name; all of them have a type in `TYPES`."""
        from pyarrow.json import ParseOptions

        schema = pa.schema([pa.field(name, TYPES[kind.name]) for name, kind in columns.items()])
        self._parsing = ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")

    def read(self, lines: bytes) -> pa.RecordBatch | None:
        r"""Return the objects of lines of UTF-8, a row each; None where Python is to read them. Each ends with \n."""
        if self._parsing is None or self._misses == _MOST_MISSES:
            return None
        batch = self._parsed(lines)
        self._misses += batch is None
        return batch

    def _parsed(self, stored: bytes) -> pa.RecordBatch | None:
        n_lines = _count_objects(np.frombuffer(stored, np.uint8))
        if not n_lines or len(stored) > _LARGEST or _has_null_behind_object(stored):
            return None
        from pyarrow.json import ReadOptions, read_json

        options = ReadOptions(use_threads=False, block_size=len(stored))
        try:
            table = read_json(pa.BufferReader(stored), options, self._parsing)
            table.validate(full=True)  # texts are UTF-8
        except pa.ArrowInvalid:
            return None
        if table.num_rows != n_lines or any(_is_unlike_python(column) for column in table.columns):
            return None
        (batch,) = table.combine_chunks().to_batches()
        return batch


def _count_objects(stored: ByteArray) -> int:
    r"""Return the number of lines, 0 if one does not begin with { and end with }.

    The end of a line is no part of a JSON value, so }\n{ always stands between two of them: if Arrow reads as many objects as there are
    lines, then each line is one.
    """
    ends = np.flatnonzero(stored == ord("\n"))
    last = np.where(stored[ends - 1] == ord("\r"), stored[ends - 2], stored[ends - 1])
    fine = (
        stored[0] == ord("{")
        and stored[-1] == ord("\n")
        and (stored[ends[:-1] + 1] == ord("{")).all()
        and (last == ord("}")).all()
    )
    return len(ends) if fine else 0


def _has_null_behind_object(stored: bytes) -> bool:
    """Return whether a null follows an object, which ends Arrow 26 by a segmentation fault; texts with such words count, too."""
    bytes_ = np.frombuffer(stored, np.uint8)
    behind = np.flatnonzero(bytes_[:-1] == ord("}")) + 1
    begins = behind[np.isin(bytes_[behind], np.frombuffer(b" \t\rn", np.uint8))]
    return any(_NULL.match(stored, at) for at in begins.tolist())


def _is_unlike_python(column: pa.ChunkedArray) -> bool:
    """Return whether numbers may not be what Python reads: those that are not finite, the sign of a whole zero, and long ones."""
    if not pa.types.is_floating(column.type):
        return False
    values = column.drop_null().to_numpy()
    odd = (np.signbit(values) & (values == 0)) | (np.abs(values) >= _LONG)
    return not np.isfinite(values).all() or bool(odd.any())
