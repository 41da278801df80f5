"""A column of dates, however they are written, as days, and the parts of dates: years, quarters, weeks …"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError, UsageError
from nlpkit.wording import truncated

if TYPE_CHECKING:
    from nlpkit.topics.lda.chunks import Days

_PERIOD = re.compile(r"(\d{4})(?:[-/](\d\d?))?()", re.ASCII)
_DAY = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[T\s].*)?", re.ASCII)


_DAY_OR_MONTH = re.compile(r"(\d\d?)([-/.])(\d\d?)\2(\d{4})(?:[T\s].*)?", re.ASCII)  # 03.07.2008, 07/03/2008
FORMAT_KEY = b"nlpkit.date_format"  # of a column that carries the format its dates are written in

# What a part of a date is called, and how much of the date must be known.
PARTS: dict[str, tuple[str, Callable[[date], str]]] = {
    "decade": ("year", lambda day: f"{day.year // 10 * 10:04}s"),
    "year": ("year", lambda day: f"{day.year:04}"),
    "quarter": ("month", lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}"),
    "month": ("month", lambda day: f"{day.year:04}-{day.month:02}"),
    "week": ("day", lambda day: f"{day.isocalendar().year:04}-W{day.isocalendar().week:02}"),
    "day": ("day", lambda day: day.isoformat()),
}
_EXACT = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, and how exactly it is known: year, month or day."""

    day: date
    exact: str

    def part(self, name: str) -> str | None:
        """Return a part of the date by its name in PARTS, None where it is not known as exactly as that."""
        needed, write = PARTS[name]
        return write(self.day) if _EXACT.index(self.exact) >= _EXACT.index(needed) else None


class DateReader:
    """Reads the texts of one column, in parts that come one after the other.

    ISO 8601 (2008, 2008-07, 2008-07-03, what stands behind the day is passed over), with / or . for the hyphens of a day too; numbers
    are years, or 20080703. 03.07.2008 begins with the day. 03/07/2008 and 03-07-2008 begin with the day or the month, as the
    other dates of the column tell: 25/12/2011 in it says that the day is first.

    Args:
        name: of the column, for messages.
        format: as of `datetime.strptime`; all dates are then written like that.

    Raises:
        UsageError: the format has no year, or is none.
    """

    def __init__(self, name: str = "date", format: str | None = None) -> None:
        self._name, self._format = name, format
        self._first: dict[str, str] = {}  # "day" and "month": the first text that begins with one
        if format is not None:
            check_format(format)

    def read(self, texts: Sequence[str]) -> list[Moment | None]:
        """Return what each text means, None where that is no date, or may be two.

        Raises:
            ColumnError: it is not known of most dates whether day or month comes first, or both do.
        """
        if self._format is not None:
            return [self._formatted(text.strip()) for text in texts]
        stripped = [text.strip() for text in texts]
        for text in stripped:
            match = _DAY_OR_MONTH.fullmatch(text)
            if match and match[2] != ".":
                first, second = int(match[1]), int(match[3])
                if first > 12 >= second:
                    self._first.setdefault("day", text)
                elif second > 12 >= first:
                    self._first.setdefault("month", text)
        if len(self._first) > 1:
            raise ColumnError(
                f"column '{self._name}' has dates that begin with the day ('{self._first['day']}') and others that begin with the "
                f"month ('{self._first['month']}'); write them alike, such as 2008-07-03"
            )
        moments = [self._moment(text) for text in stripped]
        unclear = [
            text for text, moment in zip(stripped, moments, strict=True) if moment is None and self._is_unclear(text)
        ]
        if len(unclear) > sum(moment is not None for moment in moments):
            raise ColumnError(
                f"column '{self._name}' has dates such as '{unclear[0]}', and no other tells whether the day or the month comes "
                "first; say `date_format=%d/%m/%Y` or `date_format=%m/%d/%Y`"
            )
        return moments

    def _is_unclear(self, text: str) -> bool:
        """Return whether a text is a date of which it is unknown whether day or month comes first."""
        match = _DAY_OR_MONTH.fullmatch(text)
        if not match or match[2] == "." or self._first:
            return False
        return match[1] != match[3] and 1 <= int(match[1]) <= 12 and 1 <= int(match[3]) <= 12

    def reason(self, text: str) -> str:
        """Return why a text is no date."""
        text = text.strip()
        shown = truncated(text, 40)
        if not text:
            return "date is missing"
        if self._format is None and self._is_unclear(text):
            return f"date '{shown}' may begin with the day or with the month; write it as 2008-07-03, or give `date_format`"
        advice = (
            f"it is not like `date_format={self._format}`"
            if self._format
            else "write it as 2008-07-03, or give `date_format`"
        )
        return f"date '{shown}' cannot be read; {advice}"

    def _formatted(self, text: str) -> Moment | None:
        assert self._format is not None
        try:
            return Moment(datetime.strptime(text, self._format).date(), _exactness(self._format))
        except ValueError:
            return None

    def _moment(self, text: str) -> Moment | None:
        try:
            match = _DAY_OR_MONTH.fullmatch(text)
            if match:
                first, second, year = int(match[1]), int(match[3]), int(match[4])
                if self._is_unclear(text):
                    return None
                if "month" in self._first and match[2] != ".":
                    first, second = second, first
                return Moment(date(year, second, first), "day")
            match = _DAY.fullmatch(text) or _PERIOD.fullmatch(text)
            if match:
                exact = "day" if match[3] else "month" if match[2] else "year"
                return Moment(date(int(match[1]), int(match[2] or 1), int(match[3] or 1)), exact)
            return Moment(datetime.fromisoformat(text).date(), "day")
        except ValueError:
            return None


def check_format(format: str) -> None:
    """Raise UsageError for a format of dates that `datetime.strptime` does not take, or that has no year."""
    try:
        datetime.strptime(datetime(2011, 12, 25).strftime(format), format)
    except ValueError as error:
        raise UsageError(f"`date_format={format}`: {error}") from None
    if not re.search(r"%[-]?[YyGcxs]", format):
        raise UsageError(
            f"`date_format={format}`: it has no year; %d/%m/%Y is 25/12/2011, %y a year of two digits, %B a month's name"
        )


def _exactness(format: str) -> str:
    codes = set(re.findall(r"%[-]?([A-Za-z])", format))
    if codes & set("djcxUWVDs"):
        return "day"
    return "month" if codes & set("mbB") else "year"


def date_format_of(schema: pa.Schema, name: str) -> str | None:
    """Return the format that a column of dates carries, None where it carries none."""
    at = schema.get_field_index(name)
    stored = None if at < 0 else (schema.field(at).metadata or {}).get(FORMAT_KEY)
    return None if stored is None else stored.decode("utf-8", "replace")


def days_of(column: pa.ChunkedArray, name: str = "date", *, format: str | None = None) -> tuple[Days, dict[int, str]]:
    """Return the day of each row (D,) datetime64[D], not-a-time where there is none, and why there is none, by row.

    Dates and timestamps are taken as they are, in the time zone that they carry; texts and numbers as `DateReader` reads them.
    A year is its first of January, a month its first day: the day it begins.

    Raises:
        ColumnError: the column holds neither texts, numbers nor dates, or it is not known which of day and month comes first.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind):
        column = column if kind.tz is None else pc.local_timestamp(column)
    elif not pa.types.is_date(kind):
        return _parsed(_as_text(column, name), DateReader(name, format))
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
        f"column '{name}' holds {kind}, dates were needed, such as 2008-07-03; name another with `date_col`"
    )


def _parsed(column: pa.ChunkedArray, reader: DateReader) -> tuple[Days, dict[int, str]]:
    codes = column.combine_chunks().dictionary_encode()
    texts = [text or "" for text in codes.dictionary.to_pylist()]
    distinct_days = np.array([None if moment is None else moment.day for moment in reader.read(texts)], "datetime64[D]")
    known = np.append(distinct_days, np.datetime64("NaT", "D"))
    at = codes.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    days = known[at]
    lost = np.flatnonzero(np.isnat(days))
    return days, {int(row): reader.reason(texts[at[row]] if at[row] < len(texts) else "") for row in lost}


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
