"""Dates however they are written, as days and times of day, and the parts of dates: years, quarters, weeks …"""

from __future__ import annotations

import calendar
import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from nlpkit import wording
from nlpkit.errors import ColumnError, UsageError
from nlpkit.text.month_names import months, weekdays
from nlpkit.wording import truncated

log = logging.getLogger("nlpkit.text")

FORMAT_KEY = b"nlpkit.date_format"  # of a column that carries the format its dates are written in
COPY_KEY = b"nlpkit.copy_of"  # of a column id, label or date that is a copy of the one named for it
UNIX = "%s"  # the format of seconds, or milliseconds, since 1970
EXCEL = "excel"  # the format of days since the end of 1899, as Excel counts them
MOST_UNREAD = 0.2  # of the values of a column; above it the column is taken for something else than dates
SHOWN = 5  # forms of unread dates in a message

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr) if name}
_PERIOD = re.compile(r"(\d{4})(?:[-/](\d\d?))?()", re.ASCII)
_DAY = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)(?:[T\s](.*))?", re.ASCII)
_DAY_OR_MONTH = re.compile(r"(\d\d?)([-/.])(\d\d?)\2(\d{4})(?:[T\s](.*))?", re.ASCII)  # 03.07.2008, 07/03/2008
_ISO = re.compile(r"(?:\d{8}|\d{4}-?W\d\d(?:-?\d)?)(?:[T ].*)?", re.ASCII)  # of numbers those of eight digits alone
_ZONE = r"(?: (?:[+-]\d{4}|[A-Z]{1,4}))?"
_MAIL = re.compile(  # RFC 2822: Thu, 3 Jul 2008 10:00:00 +0100
    rf"(?:[A-Z][a-z]{{2}}, )?(?P<day>\d\d?) (?P<month>[A-Z][a-z]{{2}}) (?P<year>\d{{4}}) (?P<time>\d\d:\d\d(?::\d\d)?){_ZONE}",
    re.ASCII,
)
_STAMP = re.compile(  # of Twitter, and of the command date: Thu Jul 03 10:00:00 +0000 2008
    rf"[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) +(?P<day>\d\d?) (?P<time>\d\d:\d\d(?::\d\d)?){_ZONE} (?P<year>\d{{4}})",
    re.ASCII,
)
_QUARTER = re.compile(r"(\d{4})[-/ ]?[Qq]([1-4])|[Qq]([1-4])[-/ ]?(\d{4})", re.ASCII)
_CJK = re.compile(r"(\d{4})[年년] ?(?:(\d\d?)[月월])? ?(?:(\d\d?)[日일])?(?:[T\s](.*))?", re.ASCII)
_PIECES = re.compile(r"[^\W\d_]+|\d+")
_CLOCK = re.compile(r"\b\d\d?:\d\d.*")
_SHORT_WORD = 3  # letters of words beside the month: of, the, de, den, st, th
_TIME = re.compile(r"\s*(\d\d?)[:.](\d\d)(?:[:.](\d\d)(?:[.,](\d{1,9}))?)?\s*([AaPp])?", re.ASCII)

# What a part of a date is called, and how much of the date must be known.
PARTS: dict[str, tuple[str, Callable[[date], str]]] = {
    "decade": ("year", lambda day: f"{day.year // 10 * 10:04}s"),
    "year": ("year", lambda day: f"{day.year:04}"),
    "quarter": ("quarter", lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}"),
    "month": ("month", lambda day: f"{day.year:04}-{day.month:02}"),
    "week": ("day", lambda day: f"{day.isocalendar().year:04}-W{day.isocalendar().week:02}"),
    "day": ("day", lambda day: day.isoformat()),
}
_EXACT = ("year", "quarter", "month", "day")

# Numbers that are dates where a column holds no others: from 1990 to 2100, about, so that they are no years, ids or 20080703.
_COUNTS = (
    (re.compile(r"(?:[6-9]\d{8}|[1-3]\d{9})(?:\.\d+)?"), "Unix time in seconds", UNIX),
    (re.compile(r"(?:[6-9]\d{11}|[1-3]\d{12})"), "Unix time in milliseconds", UNIX),
    (re.compile(r"[2-6]\d{4}(?:\.\d+)?"), "serial numbers of Excel", EXCEL),
)
_FEWEST_COUNTS = 3  # different ones
# What a text that is no date may be, and what to do about it.
_HINTS = tuple(
    (re.compile(form), hint)
    for form, hint in (
        (r"\d{9,10}(?:\.\d+)?", "it looks like Unix time in seconds: give `date_format=%s`"),
        (r"\d{12,13}", "it looks like Unix time in milliseconds: give `date_format=%s`"),
        (r"(?:19|20)\d\d(?:0[1-9]|1[0-2])", "it looks like a year and a month: give `date_format=%Y%m`"),
        (r"(?:19|20)\d{12}", "it looks like a date with a time: give `date_format=%Y%m%d%H%M%S`"),
        (r"[2-6]\d{4}(?:\.\d+)?", "it looks like a serial number of Excel: give `date_format=excel`"),
        (r"-\d+(?:-\d+)*|0000.+|.*\bB\.?C\.?.*", "years begin with 1"),
        (r"\d\d?([-/.])\d\d?\1\d\d", "its year has two digits: give a format such as `date_format=%d/%m/%y`"),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, how exactly it is known (year, quarter, month or day), and the time since its begin, as it is written."""

    day: date
    exact: str
    time: timedelta = timedelta(0)

    def part(self, name: str) -> str | None:
        """Return a part of the date by its name in PARTS, None where it is not known as exactly as that."""
        needed, write = PARTS[name]
        return write(self.day) if _EXACT.index(self.exact) >= _EXACT.index(needed) else None


class DateReader:
    """Reads the texts of one column, in parts that come one after the other.

    ISO 8601 (2008, 2008-07, 2008-07-03), with / or . for the hyphens of a day too, and a time behind it; numbers are years, or
    20080703. 2008-Q3 is a quarter. The month may have a name in any of 42 languages: 3 July 2008, 3. Juli 2008. 03.07.2008 begins
    with the day. 03/07/2008 and 03-07-2008 begin with the day or the month, as the other dates of the column show: 25/12/2011 in it
    means that the day is first. Dates of mails (RFC 2822) and of Twitter are read, too. A column of nothing but Unix time or Excel's
    serial numbers is read as these. The day is the one in the time zone in which a date is written.

    Args:
        name: of the column, for messages.
        format: as of `datetime.strptime`, %s for seconds or milliseconds since 1970, or excel for Excel's serial numbers; all dates
            are then written like that.

    Raises:
        UsageError: the format has no year, or is none.
    """

    def __init__(self, name: str = "date", format: str | None = None) -> None:
        self.name, self._format = name, format
        self._counted: str | None = None  # UNIX or EXCEL where all dates are such numbers, "" where they are not
        self._first: dict[str, str] = {}  # "day" and "month": the first text that begins with one
        if format is not None:
            check_format(format)

    def read(self, texts: Sequence[str]) -> list[Moment | None]:
        """Return what each text means, None where that is no date, or may be two.

        Raises:
            ColumnError: it is not known of most dates whether day or month comes first, or both do.
        """
        if self._format is not None:
            return [_of_format(text.strip(), self._format) for text in texts]
        stripped = [text.strip() for text in texts]
        if self._counted is None:
            self._counted = self._count_of(stripped)
        if self._counted:
            return [_of_format(text, self._counted) for text in stripped]
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
                f"column '{self.name}' has dates that begin with the day ('{self._first['day']}') and others that "
                f"begin with the month ('{self._first['month']}'); use one format, such as 2008-07-03"
            )
        moments = [self._moment(text) for text in stripped]
        unclear = [
            text for text, moment in zip(stripped, moments, strict=True) if moment is None and self.is_unclear(text)
        ]
        if len(unclear) > sum(moment is not None for moment in moments):
            raise unclear_dates(self.name, unclear[0])
        return moments

    def is_unclear(self, text: str) -> bool:
        """Return whether a text is a date of which it is unknown whether day or month comes first."""
        match = _DAY_OR_MONTH.fullmatch(text.strip())
        if self._format is not None or not match or match[2] == "." or self._first:
            return False
        return match[1] != match[3] and 1 <= int(match[1]) <= 12 and 1 <= int(match[3]) <= 12

    def reason(self, text: str) -> str:
        """Return why a text is not a date."""
        text = text.strip()
        shown = truncated(text, 40)
        if not text:
            return "date is missing"
        if self.is_unclear(text):
            return f"date '{shown}' may begin with the day or with the month; write it as 2008-07-03, or give `date_format`"
        return f"date '{shown}' cannot be read; {self.advice(text)}"

    def advice(self, text: str) -> str:
        """Return what to do about a text that cannot be read."""
        return self.hint(text) or "write it as 2008-07-03, or give `date_format`"

    def hint(self, text: str) -> str | None:
        """Return what a text that cannot be read may be, and what to do about it; None where it looks like no date that is known."""
        text = text.strip()
        if self._format is None:
            return next((hint for form, hint in _HINTS if form.fullmatch(text)), None)
        english = ""
        if re.search(r"%[aAbB]", self._format) and re.search(r"[^\W\d_]", text):
            english = ", in which names of months and days are English"
        return f"it is not like `date_format={self._format}`{english}"

    def check(self, n_read: int, unread: Mapping[str, int]) -> None:
        """Raise ColumnError where over a fifth of the values of a column cannot be read, or may be two dates.

        Args:
            n_read: number of values that were read. unread: how often each other text is there.
        """
        lost = sum(unread.values())
        if lost <= MOST_UNREAD * (n_read + lost):
            return
        forms: dict[str, Counter[str]] = {}
        for text, n in unread.items():
            forms.setdefault(_form(text), Counter())[text] += n
        ranked = sorted(forms.values(), key=lambda texts: -texts.total())
        parts = [f"'{truncated(next(iter(texts)), 40)}' ({wording.count(texts.total())} of this form; {self._why(next(iter(texts)))})"
                 for texts in ranked[:SHOWN]]  # fmt: skip
        further = f"; and {wording.counted(len(ranked) - SHOWN, 'form')} more" if len(ranked) > SHOWN else ""
        raise ColumnError(
            f"column '{self.name}': {wording.count(lost)} of {wording.counted(n_read + lost, 'value')} cannot be read as dates: "
            f"{'; '.join(parts)}{further}"
        )

    def _why(self, text: str) -> str:
        return "day or month first?" if self.is_unclear(text) else self.advice(text)

    def _count_of(self, texts: Sequence[str]) -> str:
        """Return the format of a column that holds nothing but counts of seconds, milliseconds or days; "" for another column."""
        filled = {text for text in texts if text}
        if len(filled) < _FEWEST_COUNTS:
            return ""
        for form, what, format in _COUNTS:
            if all(form.fullmatch(text) for text in filled):
                log.warning("column '%s' is read as %s (`date_format=%s`)", self.name, what, format)
                return format
        return ""

    def _moment(self, text: str) -> Moment | None:
        try:
            match = _DAY_OR_MONTH.fullmatch(text)
            if match:
                first, second, year = int(match[1]), int(match[3]), int(match[4])
                if self.is_unclear(text):
                    return None
                if "month" in self._first and match[2] != ".":
                    first, second = second, first
                return Moment(date(year, second, first), "day", _time(match[5]))
            match = _DAY.fullmatch(text)
            if match:
                return Moment(date(int(match[1]), int(match[2]), int(match[3])), "day", _time(match[4]))
            match = _PERIOD.fullmatch(text)
            if match:
                return Moment(date(int(match[1]), int(match[2] or 1), 1), "month" if match[2] else "year")
            match = _MAIL.fullmatch(text) or _STAMP.fullmatch(text)
            if match:
                day = date(int(match["year"]), _MONTHS.get(match["month"], 0), int(match["day"]))
                return Moment(day, "day", _time(match["time"]))
            if _ISO.fullmatch(text):
                return _moment_of(datetime.fromisoformat(text), "day")
            return _quarter(text) or _of_characters(text) or _with_name_of_month(text)
        except ValueError:
            return None


def _of_format(text: str, format: str) -> Moment | None:
    try:
        moment = _COUNTED[format](text) if format in _COUNTED else datetime.strptime(text, format)
        return _moment_of(moment, _exactness(format))
    except (ValueError, OverflowError):
        return None


def _quarter(text: str) -> Moment | None:
    """Return what 2024-Q1 or Q1 2024 means."""
    match = _QUARTER.fullmatch(text)
    if match is None:
        return None
    year, quarter = int(match[1] or match[4]), int(match[2] or match[3])
    return Moment(date(year, 3 * quarter - 2, 1), "quarter")


def _of_characters(text: str) -> Moment | None:
    """Return what 2024年3月1日 or 2024년 3월 1일 means."""
    match = _CJK.fullmatch(text)
    if match is None:
        return None
    exact = "day" if match[3] else "month" if match[2] else "year"
    return Moment(date(int(match[1]), int(match[2] or 1), int(match[3] or 1)), exact, _time(match[4]))


def _with_name_of_month(text: str) -> Moment | None:
    """Return what a date with the name of a month means: 1. März 2024, Friday, March 1st, 2024, 10:30, mars 2024.

    There is one month, one year of four digits and at most one day; other words are weekdays, or short.
    """
    clock = _CLOCK.search(text)
    pieces = _PIECES.findall(text[: clock.start()] if clock else text)
    words = [piece.lower() for piece in pieces if not piece.isdecimal()]
    numbers = [piece for piece in pieces if piece.isdecimal()]
    years = [int(number) for number in numbers if len(number) == 4]
    days = [int(number) for number in numbers if len(number) <= 2]
    if not words or len(years) != 1 or len(years) + len(days) != len(numbers) or len(days) > 1:
        return None
    named = [word for word in words if word in months()]
    if len(named) > 1:  # mar is March, and Tuesday in Spanish
        named = [word for word in named if word not in weekdays()]
    others = [word for word in words if word not in named]
    if len(named) != 1 or any(len(word) > _SHORT_WORD and word not in weekdays() for word in others):
        return None
    day = date(years[0], months()[named[0]], days[0] if days else 1)
    return Moment(day, "day" if days else "month", _time(clock[0] if clock else None))


def unclear_dates(name: str, text: str) -> ColumnError:
    """Return the error that it is not known whether day or month comes first."""
    return ColumnError(
        f"column '{name}' has dates such as '{text}', and no value shows whether the day or the month comes first; "
        "use `date_format=%d/%m/%Y` or `date_format=%m/%d/%Y`"
    )


def check_format(format: str) -> None:
    """Raise UsageError for a format of dates that `datetime.strptime` does not take, or that has no year; %s is Unix time."""
    if format in _COUNTED:
        return
    try:
        datetime.strptime(datetime(2011, 12, 25, tzinfo=UTC).strftime(format), format)
    except ValueError as error:
        raise UsageError(f"`date_format={format}`: {error}") from None
    if not re.search(r"%[-]?[YyGcx]", format):
        raise UsageError(
            f"`date_format={format}`: it has no year. %d/%m/%Y is 25/12/2011, %y a two-digit year, %B the name "
            "of a month"
        )


def _moment_of(moment: datetime, exact: str) -> Moment:
    return Moment(
        moment.date(),
        exact,
        timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond),
    )


def _of_unix(text: str) -> datetime:
    """Return the moment in UTC of seconds since 1970; numbers too large for seconds are milliseconds, microseconds or nanoseconds."""
    value = float(text)
    while abs(value) >= 1e11:  # seconds until the year 5138
        value /= 1000.0
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)


def _of_excel(text: str) -> datetime:
    """Return the moment of a serial number of Excel: days since 30 December 1899, right from 1 March 1900 on."""
    return datetime(1899, 12, 30, tzinfo=UTC) + timedelta(days=float(text))


_COUNTED: dict[str, Callable[[str], datetime]] = {UNIX: _of_unix, EXCEL: _of_excel}


def _time(text: str | None) -> timedelta:
    """Return the time of the day that stands behind a date, its begin where none is there."""
    match = _TIME.match(text or "")
    if match is None:
        return timedelta(0)
    hours = int(match[1])
    if match[5]:
        hours = hours % 12 + (12 if match[5] in "Pp" else 0)
    seconds = int(match[3] or 0) + float(f"0.{match[4] or 0}")
    return timedelta(hours=hours, minutes=int(match[2]), seconds=seconds)


def _exactness(format: str) -> str:
    if format in _COUNTED:
        return "day"
    codes = set(re.findall(r"%[-]?([A-Za-z])", format))
    if codes & set("djcxUWVD"):
        return "day"
    return "month" if codes & set("mbB") else "year"


def _form(text: str) -> str:
    """Return the form of a text: digits as 9, one or two as one, and words as a."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"(?<!\d)\d\d?(?!\d)", "9", re.sub(r"\d", "9", text.strip())))
