"""A column of dates as days, and all parts of dates from one to another."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError
from nlpkit.platform.documents.dates import FORMAT_KEY, PARTS, DateReader, check_format
from nlpkit.platform.values import iso_day

if TYPE_CHECKING:
    from nlpkit.platform.types import Days

__all__ = ["FORMAT_KEY", "PARTS", "DateReader", "calendar", "check_format", "date_format_of", "days_of"]


def date_format_of(schema: pa.Schema, name: str) -> str | None:
    """Return the format that a column of dates carries, None where it carries none."""
    at = schema.get_field_index(name)
    stored = None if at < 0 else (schema.field(at).metadata or {}).get(FORMAT_KEY)
    return None if stored is None else stored.decode("utf-8", "replace")


def days_of(
    column: pa.ChunkedArray, name: str = "date", *, format: str | None = None, strict: bool = False
) -> tuple[Days, dict[int, str]]:
    """Return the day of each row (D,) datetime64[D], not-a-time where there is none, and why there is none, by row.

    Dates and timestamps are taken as they are, in the time zone that they carry; texts and numbers as `DateReader` reads them.
    A year is its first of January, a month its first day: the day it begins.

    Args:
        strict: whether many values that cannot be read, beside others that can, are an error.

    Raises:
        ColumnError: the column holds neither texts, numbers nor dates, or it is not known which of day and month comes first;
            with `strict`, over a fifth of the values that are there cannot be read.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind):
        column = column if kind.tz is None else pc.local_timestamp(column)
    elif not pa.types.is_date(kind):
        return _parsed(_as_text(column, name), DateReader(name, format), strict=strict)
    days = column.cast(pa.date32(), safe=False).to_numpy().astype("datetime64[D]")
    return days, dict.fromkeys(np.flatnonzero(np.isnat(days)).tolist(), "date is missing")


def _as_text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_floating(kind):  # years beside missing ones
        whole = pc.and_(pc.is_finite(column), pc.equal(pc.floor(column), column))
        digits = pc.if_else(whole, column, None).cast(pa.int64()).cast(pa.string())
        return pc.if_else(whole, digits, pc.if_else(pc.is_nan(column), None, column.cast(pa.string())))
    if pa.types.is_integer(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column
    raise ColumnError(
        f"column '{name}' holds {kind}, but dates such as 2008-07-03 are needed; name another column with `date_col`"
    )


def _parsed(column: pa.ChunkedArray, reader: DateReader, *, strict: bool) -> tuple[Days, dict[int, str]]:
    codes = column.combine_chunks().dictionary_encode()
    texts = [text or "" for text in codes.dictionary.to_pylist()]
    missing = np.datetime64("NaT", "D")
    numbers = [missing if moment is None else np.datetime64(moment.number, "D") for moment in reader.read(texts)]
    known = np.array([*numbers, missing], "datetime64[D]")
    at = codes.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    days = known[at]
    lost = np.flatnonzero(np.isnat(days))
    if strict and len(lost) < len(days):
        unread = Counter(texts[i] for i in at[lost].tolist() if i < len(texts) and texts[i].strip())
        reader.check(len(days) - len(lost), unread)
    return days, {int(row): reader.reason(texts[at[row]] if at[row] < len(texts) else "") for row in lost}


def check_years(days: Days, name: str) -> None:
    """Raise ColumnError where days (D,) lie before the year 1, of which no periods are made."""
    known = days[~np.isnat(days)]
    if len(known) and known.min() < np.datetime64("0001-01-01", "D"):
        raise ColumnError(
            f"column '{name}' has dates before the year 1, such as {iso_day(known.min())}, and these are not grouped into periods; leave "
            "the documents out with `keep_if`, or give the periods a column of their own"
        )


def calendar(part: str, first: str, last: str, *, most: int) -> list[str] | None:
    """Return all parts of dates from one to another, both in it, as `Moment.part` names them; None where they are more than `most`."""
    _, write = PARTS[part]
    day, names = _first_day(part, first), [first]
    while names[-1] < last:
        if len(names) == most:
            return None
        day = _next_day(part, day)
        names.append(write(day))
    return names


def _first_day(part: str, name: str) -> date:
    """Return the day on which a part of a date begins, by its name."""
    year = int(name[:4])
    if part == "week":
        return date.fromisocalendar(year, int(name[6:]), 1)
    if part == "day":
        return date.fromisoformat(name)
    month = {"quarter": lambda: 3 * int(name[6:]) - 2, "month": lambda: int(name[5:])}.get(part, lambda: 1)()
    return date(year, month, 1)


def _next_day(part: str, day: date) -> date:
    """Return the first day of the part of a date after the one that begins on a day."""
    if part in ("day", "week"):
        return day + timedelta(days=7 if part == "week" else 1)
    months = 12 * day.year + day.month - 1 + {"decade": 120, "year": 12, "quarter": 3, "month": 1}[part]
    return date(months // 12, months % 12 + 1, 1)
