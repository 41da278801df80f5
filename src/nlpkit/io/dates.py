"""A column of dates, however they are written, as days."""

from __future__ import annotations

import re
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError
from nlpkit.topics.lda.chunks import Days

_PERIOD = re.compile(r"(\d{4})(?:[-/](\d\d?))?()", re.ASCII)
_DAY = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[T\s].*)?", re.ASCII)


def days_of(column: pa.ChunkedArray, name: str = "date") -> tuple[Days, dict[int, str]]:
    """Return the day of each row (D,) datetime64[D], not-a-time where there is none, and why there is none, by row.

    Dates and timestamps are taken as they are, in the time zone that they carry. Texts are ISO 8601 (2008, 2008-07, 2008-07-03,
    what stands behind the day is passed over), with / or . for the hyphens of a day too; numbers are years, or 20080703. A
    year is its first of January, a month its first day: the day it begins. Nothing is guessed at: 07/03/2008 may be two days.

    Raises:
        ColumnError: the column holds neither texts, numbers nor dates.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind):
        column = column if kind.tz is None else pc.local_timestamp(column)
    elif not pa.types.is_date(kind):
        return _parsed(_as_text(column, name))
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
        f"column '{name}' holds {kind}, dates were needed, such as 2008-07-03; name another with --date-col"
    )


def _parsed(column: pa.ChunkedArray) -> tuple[Days, dict[int, str]]:
    codes = column.combine_chunks().dictionary_encode()
    texts = [(text or "").strip() for text in codes.dictionary.to_pylist()]
    found = np.array([_day(text) for text in texts], "datetime64[D]")
    known = np.append(found, np.datetime64("NaT", "D"))
    at = codes.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    days = known[at]
    lost = np.flatnonzero(np.isnat(days))
    reasons = {int(row): _reason(texts[at[row]] if at[row] < len(texts) else "") for row in lost}
    return days, reasons


def _reason(text: str) -> str:
    shown = text if len(text) <= 40 else text[:39] + "…"
    return f"date '{shown}' cannot be read; write it as 2008-07-03" if text else "date is missing"


def _day(text: str) -> date | None:
    """Return the day that a text means, None for another text."""
    match = _DAY.fullmatch(text) or _PERIOD.fullmatch(text)
    try:
        if match:
            return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
        return datetime.fromisoformat(text).date()
    except ValueError:
        return None
