"""The values of Arrow columns as Python objects, as text and as labels.

Parts, in this order:
- Values of Arrow columns as Python has them; as text where Python has none: nanoseconds, and years before 1 and after
  9999.
- Cells of tables as text and as labels.
"""

from __future__ import annotations

from datetime import timedelta
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def python_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column, null as None; times that Python cannot hold are text, all digits of them."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in python_values(chunk)]
    if not _has_nanoseconds(array.type):
        try:
            return list(array.to_pylist())
        except (ValueError, OverflowError):  # a year that Python does not have
            pass
    kind = array.type
    if pa.types.is_dictionary(kind):
        return python_values(array.dictionary_decode())
    if pa.types.is_struct(kind):
        fields = [python_values(field) for field in array.flatten()]
        names = [field.name for field in kind]
        rows = zip(*fields, strict=True) if fields else iter([()] * len(array))
        present = array.is_valid().to_pylist()
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, present, strict=True)]
    if _is_list(kind):
        return _lists(array, python_values(array.flatten()))
    if pa.types.is_map(kind):
        begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        pairs = [python_values(part.slice(begin, end - begin)) for part in (array.keys, array.items)]
        return _lists(array, list(zip(*pairs, strict=True)))
    return _texts(array)


def _has_nanoseconds(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_nanoseconds(kind.value_type)
    if pa.types.is_map(kind):
        return _has_nanoseconds(kind.key_type) or _has_nanoseconds(kind.item_type)
    if pa.types.is_nested(kind):
        return any(_has_nanoseconds(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_temporal(kind)) and getattr(kind, "unit", "") == "ns"


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _lists(array: pa.Array, items: list[Any]) -> list[list[Any] | None]:
    """Return the items of all lists as lists."""
    lists: list[list[Any] | None] = []
    at = 0
    lengths = (
        pc.list_value_length(array)
        if not pa.types.is_map(array.type)
        else pc.subtract(array.offsets[1:], array.offsets[:-1])
    )
    for length, there in zip(lengths.to_pylist(), array.is_valid().to_pylist(), strict=True):
        lists.append(items[at : at + length] if there else None)
        at += (length or 0) if there else 0
    return lists


def _texts(array: pa.Array) -> list[str | None]:
    """Return times, dates or durations as `str` writes those of Python."""
    kind = array.type
    if pa.types.is_date(kind):
        days = array.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return [None if day is None else iso_day(np.datetime64(day, "D")) for day in days]
    per_second = _PER_SECOND[kind.unit]
    plain = pa.int32() if kind.bit_width == 32 else pa.int64()
    counts = array.cast(plain).to_pylist()
    if pa.types.is_duration(kind):
        return [None if n is None else _duration(n, per_second) for n in counts]
    if pa.types.is_time(kind):
        return [
            None if n is None else f"{timedelta(seconds=n // per_second)!s:0>8}{_fraction(n, per_second)}"
            for n in counts
        ]
    offsets: list[int | None] = [None] * len(counts)
    if kind.tz is not None:
        local = pc.local_timestamp(array).cast(plain).to_pylist()
        offsets = [None if n is None else (there - n) // per_second for there, n in zip(local, counts, strict=True)]
        counts = local
    return [None if n is None else _moment(n, per_second, offset) for n, offset in zip(counts, offsets, strict=True)]


def iso_day(moment: np.datetime64) -> str:
    """Return a moment in ISO 8601, years before 0 with four digits: -0043-03-15, for which NumPy has -043-03-15."""
    text = str(moment)
    year, dash, rest = text[1:].partition("-")
    return f"-{year:0>4}{dash}{rest}" if text.startswith("-") else text


def _moment(count: int, per_second: int, offset: int | None) -> str:
    text = iso_day(np.datetime64(count // per_second, "s")).replace("T", " ") + _fraction(count, per_second)
    if offset is None:
        return text
    hours, minutes = divmod(abs(offset) // 60, 60)
    return f"{text}{'-' if offset < 0 else '+'}{hours:02}:{minutes:02}"


def _duration(count: int, per_second: int) -> str:
    days, seconds = divmod(count // per_second, 86_400)
    text = f"{timedelta(seconds=seconds)}{_fraction(count, per_second)}"
    return f"{days} day{'' if abs(days) == 1 else 's'}, {text}" if days else text


def _fraction(count: int, per_second: int) -> str:
    """Return the digits behind the second: none, six, or nine."""
    nanoseconds = count % per_second * (10**9 // per_second)
    if not nanoseconds:
        return ""
    return f".{nanoseconds:09}" if nanoseconds % 1000 else f".{nanoseconds // 1000:06}"


# ------------------------------------------------------------------------------------------------------------------------
# Cells of tables as text and as labels.

LARGEST = 1e100  # largest number that is scored: squares of larger ones, and their sums, overflow


def text_of(value: Any) -> str:
    """Return a cell as text, stripped; a whole number without its decimals; empty for None and NaN."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def as_label(value: Any) -> str | None:
    """Return a cell as a label, None for an empty one: 1 and 1.0 are the label '1', as CSV has it."""
    return text_of(value) or None


def is_missing(value: Any) -> bool:
    """Whether a value in memory is missing: None, NaN, NaT or pandas.NA."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def is_number(label: str) -> bool:
    """Whether a label is a finite number."""
    try:
        return isfinite(float(label))
    except ValueError:
        return False
