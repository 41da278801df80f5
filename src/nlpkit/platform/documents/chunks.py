"""The periods of models over time: chunks of a rolling model, equal periods of a dynamic one.

Parts, in this order:
- Periods of a rolling model: from dates to the initial period, the chunks after it and the memory of each chunk.
- Periods of a dynamic topic model: dates cut into parts of equal length that follow each other without gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import BoolArray, Day, Days, LongArray

CHUNKS_REMEMBERED, MONTHS_REMEMBERED = 3, 3
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "week": 7}
_CALENDAR = (*_DAYS, *_MONTHS)
_UNITS = {
    "init": (*_CALENDAR, "document"),
    "chunks": (*_CALENDAR, "document"),
    "every": (*_CALENDAR, "document"),
    "memory": (*_CALENDAR, "document", "chunk"),
}
_SPAN = re.compile(r"(?P<n>[0-9]+)?\s*(?P<unit>[a-z]+?)?s?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """A length of time (n days, weeks, months, quarters, years), or a number of documents or of chunks."""

    n: int
    unit: str

    def __str__(self) -> str:
        return f"{self.n} {self.unit}{'s' if self.n > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """One row of the chunk table; chunk 0 is the initial period.

    start_date, end_date: the period, both days in it, whether documents are dated there or not. first_date, last_date: of
    its documents (start.date and end.date of rollinglda::getChunks), None without any. memory: day from which documents
    count as memory; n_memory: how many do; both None for the initial period, and where nothing is sampled. n: documents
    that are modelled; n_discarded: documents with too few words of the vocabulary; n_tokens: tokens of the n documents;
    n_vocab: terms of the vocabulary after the chunk.
    """

    chunk_id: int
    start_date: date
    end_date: date
    first_date: date | None
    last_date: date | None
    memory: date | None
    n: int
    n_discarded: int
    n_memory: int | None
    n_vocab: int
    n_tokens: int


def parse_span(text: str, role: str) -> Span:
    """Return the span that a text means: 'month', '3 quarters', '10 days', '500 documents', and 500 for 500 documents.

    Args:
        text: in English, singular or plural, any case.
        role: init, chunks, every or memory; a memory can also be a number of chunks.

    Raises:
        UsageError: the text is none of these, or the number is 0.
    """
    match = _SPAN.fullmatch(text.strip())
    unit = (match["unit"] or ("document" if match["n"] else "")).lower() if match else ""
    unit = "document" if unit == "doc" else unit
    n = int(match["n"] or 1) if match else 0
    if unit not in _UNITS[role] or n < 1:
        example = {
            "init": "2008-06-30, '12 months' or 500",
            "chunks": "month or '2 weeks'",
            "every": "year or '2 weeks'",
            "memory": "'3 quarters'",
        }
        raise UsageError(
            f"`{role}` '{text}' is not a length of time; give {example[role]} (units: {', '.join(_UNITS[role])}; a "
            "number alone means documents)",
            parameter=role,
        )
    return Span(n, unit)


def default_memory(chunks: str) -> str:
    """Return what chunks of a span remember by default: three chunks, at least three months; three chunks of documents."""
    span = parse_span(chunks, "chunks")
    if span.unit == "document":
        return f"{CHUNKS_REMEMBERED} chunks"
    if span.unit in ("day", "week"):
        days = CHUNKS_REMEMBERED * span.n * _DAYS[span.unit]
        return f"{days} days" if days > 31 * MONTHS_REMEMBERED else f"{MONTHS_REMEMBERED} months"
    return str(replace(span, n=CHUNKS_REMEMBERED * span.n))


def parse_init(text: str) -> Day | Span:
    """Return the last day of the initial period (YYYY-MM-DD, or YYYY-MM for that of a month), or its span, that a text means.

    Raises:
        UsageError: the text is neither.
    """
    match = re.fullmatch(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?", text.strip())
    if not match:
        return parse_span(text, "init")
    try:
        return np.datetime64(match[0], "D") if match[1] else last_of(np.datetime64(match[0], "M"))
    except ValueError as error:
        raise UsageError(f"`init` '{text}' is not a day of the calendar", parameter="init") from error


def shift(day: Day, n: int, unit: str) -> Day:
    """Return the day n units later (n < 0: earlier); 31 January and a month is the last day of February.

    R's seq.Date counts days over the end of a month on into the next one (3 March); here months never overlap.
    """
    if unit in _DAYS:
        return day + n * _DAYS[unit]
    month = day.astype("datetime64[M]")
    target = month + n * _MONTHS[unit]
    return min(target.astype("datetime64[D]") + (day - month.astype("datetime64[D]")), last_of(target))


def last_of(month: Any) -> Day:
    """Return the last day of a month (numpy.datetime64[M])."""
    return (month + 1).astype("datetime64[D]") - 1


def initial_end(dates: Days, init: str) -> Day:
    """Return the last day of the initial period.

    init is that day (YYYY-MM-DD), or its month (YYYY-MM); or a number of documents N: the day of the N-th document (as in
    rollinglda); or a span: the first N calendar units, the one that holds the first document included ('12 months' with a
    first document on 17 March ends on the last day of February; weeks begin on Monday).

    Args:
        dates: (D,) of the documents, ascending.
        init: see above.

    Raises:
        UsageError: init means none of these, or a number alone may also be a year of the documents.
        InputError: no document lies in the initial period, or none after it.
    """
    first, last = dates[0], dates[-1]
    if first == last:
        who = f"all {len(dates):,} documents are" if len(dates) > 1 else "the only document is"
        raise InputError(
            f"{who} dated {first}; a rolling model needs documents before and after the end of "
            "its initial period: check the date column, or fit one model without chunks"
        )
    end = parse_init(init)
    if isinstance(end, Span):
        n, unit = end.n, end.unit
        if init.strip() == str(n) and first.astype(object).year <= n <= last.astype(object).year:
            raise UsageError(
                f"`init` '{n}' can mean a year or a number of documents; write {n}-12-31 or '{n} documents'",
                parameter="init",
            )
        end = dates[min(n, len(dates)) - 1] if unit == "document" else shift(first_of(first, unit), n, unit) - 1
    if end < first or end >= last:
        side = "before" if end < first else "on or after"
        raise InputError(
            f"the initial period ends on {end}, {side} the {'first' if end < first else 'last'} document "
            f"({first if end < first else last}); give an `init` from {first} to {last - 1}",
            parameter="init",
        )
    return end


def first_of(day: Day, unit: str) -> Day:
    """The first day of the calendar unit that holds a day."""
    if unit == "day":
        return day
    if unit == "week":
        return day - (int(day.astype(np.int64)) + 3) % 7  # 1970-01-01 was a Thursday
    month = day.astype("datetime64[M]")
    return (month - int(month.astype(np.int64)) % _MONTHS[unit]).astype("datetime64[D]")


def chunk_periods(
    dates: Days, span: Span, *, anchor: Day, chunk_id: int = 1, start: Day | None = None
) -> Iterator[tuple[int, Day, Day]]:
    """Yield (chunk_id, first day, last day) of the chunks, without gaps, up to the one that holds the last document.

    Chunks of a length of time start at anchor + i · span, as in rollinglda (by months they are calendar months when the
    anchor is the first of a month), and those without documents are there too. Chunks of N documents hold whole days, as
    many as are needed for N documents. The last chunk may be incomplete and is a chunk like the others: of a length of
    time it keeps its last day, of documents it ends with the last of them.

    Args:
        dates: (D,) of the documents, ascending; those before the first chunk wanted are passed over.
        span: length of a chunk.
        anchor: the day after the initial period.
        chunk_id: number of the first chunk that is wanted; the first after the initial period is 1.
        start: its first day; needed where chunk_id > 1 and chunks are counted in documents.
    """
    if span.unit != "document":
        while (first := shift(anchor, (chunk_id - 1) * span.n, span.unit)) <= dates[-1]:
            yield chunk_id, first, shift(anchor, chunk_id * span.n, span.unit) - 1
            chunk_id += 1
        return
    first = anchor if start is None else start
    row = int(np.searchsorted(dates, first))
    while row < len(dates):
        last = dates[min(row + span.n, len(dates)) - 1]
        yield chunk_id, first, last
        chunk_id, first, row = chunk_id + 1, last + 1, int(np.searchsorted(dates, last, side="right"))


def memory_start(span: Span, start: Day, starts: Sequence[Day], modelled: Days, fallback: int) -> Day | None:
    """Return the day from which modelled documents count as memory of a chunk; None where there is none to count.

    A length of time goes back from the first day of the chunk; N documents is the day of the N-th last modelled document
    (all of that day count), or the first one's if there are fewer; N chunks the first day of the N-th chunk back, the
    initial period being the first of them. Without a document since that day, it is the day of the `fallback`-th last
    modelled document, if fallback is above 0 (rollinglda 0.1.3: memory, memory.fallback).

    Args:
        span: length of the memory.
        start: first day of the chunk.
        starts: (C,) first days of the chunks before it, the initial period first.
        modelled: (M,) days of the documents modelled before it, ascending, those discarded not among them.
        fallback: number of documents, 0 for none.
    """
    if not len(modelled):
        return None
    if span.unit == "document":
        return modelled[-min(span.n, len(modelled))]
    begin = starts[-min(span.n, len(starts))] if span.unit == "chunk" else shift(start, -span.n, span.unit)
    if modelled[-1] >= begin:
        return begin
    return modelled[-min(fallback, len(modelled))] if fallback else None


# ------------------------------------------------------------------------------------------------------------------------
# Periods of a dynamic topic model: dates cut into parts of equal length that follow each other without gaps.

MOST = 1000


@dataclass(frozen=True, slots=True)
class Periods:
    """T periods: bounds (T + 1,) datetime64[D], the first day of each and the day after the last."""

    bounds: Days

    @property
    def n(self) -> int:
        """T."""
        return len(self.bounds) - 1

    @property
    def start_dates(self) -> list[date]:
        """The first day of each (T,)."""
        return list(self.bounds[:-1].astype(object))

    @property
    def end_dates(self) -> list[date]:
        """The last day of each (T,)."""
        return list((self.bounds[1:] - 1).astype(object))

    def nearest(self, days: Days) -> LongArray:
        """Return the period of each day (D,): the first or the last one for days before or after all of them."""
        return np.asarray(np.clip(np.searchsorted(self.bounds, days, side="right") - 1, 0, self.n - 1), np.int64)

    def outside(self, days: Days) -> BoolArray:
        """Return which days (D,) lie before or after all periods."""
        return np.asarray((days < self.bounds[0]) | (days >= self.bounds[-1]))


def cut_periods(days: Days, every: str) -> Periods:
    """Return the periods of documents of some days (D,), in any order; periods of a length of time can have no document.

    Years, quarters, months and weeks are those of the calendar, from the one of the first document on. N documents are as many whole days
    as are needed for them.

    Raises:
        UsageError: every is no length of time, or makes more than 1000 periods; InputError: there is only one.
    """
    span, ordered = parse_span(every, "every"), np.sort(days)
    first = ordered[0] if span.unit == "document" else first_of(ordered[0], span.unit)
    starts: list[Day] = []
    end: Day = None
    for _, start, last in chunk_periods(ordered, span, anchor=first):
        end = last
        if len(starts) == MOST:
            raise UsageError(
                f"`every={every}`: more than {MOST:,} periods from {ordered[0]} to {ordered[-1]}; give a longer one",
                parameter="every",
            )
        starts.append(start)
    if len(starts) == 1:
        raise InputError(
            f"all documents with a date lie in one period of {span}, from {starts[0]} to {end}; "
            "a dynamic topic model needs at least two: give a shorter `every`, or fit a model without dates"
        )
    return Periods(np.array([*starts, end + 1], "datetime64[D]"))
