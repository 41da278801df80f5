"""Initial period, chunks and memory, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlpkit.errors import InputError, NlpkitError, UsageError
from nlpkit.platform.documents.chunks import Span, chunk_periods, initial_end, memory_start, parse_span, shift
from tests.refusals import refuses


def day(text: str) -> Any:
    return np.datetime64(text, "D")


def days(*texts: str) -> Any:
    return np.array(texts, "datetime64[D]")


def periods(dates: Any, span: str, anchor: str, **keywords: Any) -> list[tuple[int, str, str]]:
    found = chunk_periods(dates, parse_span(span, "chunks"), anchor=day(anchor), **keywords)
    return [(i, str(first), str(last)) for i, first, last in found]


@pytest.mark.parametrize(
    ("text", "role", "span"),
    [
        ("month", "chunks", Span(1, "month")),
        ("3 quarter", "memory", Span(3, "quarter")),  # as rollinglda spells it
        ("3 quarters", "memory", Span(3, "quarter")),
        (" 10 Days ", "chunks", Span(10, "day")),
        ("2weeks", "chunks", Span(2, "week")),
        ("500", "chunks", Span(500, "document")),
        ("500 documents", "memory", Span(500, "document")),
        ("500 docs", "init", Span(500, "document")),
        ("3 chunks", "memory", Span(3, "chunk")),
        ("YEAR", "init", Span(1, "year")),
    ],
)
def test_spans(text: str, role: str, span: Span) -> None:
    assert parse_span(text, role) == span


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("", "chunks"),
        ("0", "memory"),
        ("0 months", "memory"),
        ("-3 months", "memory"),
        ("1.5 years", "chunks"),
        ("monthly", "chunks"),
        ("2 chunks", "chunks"),
        ("s", "memory"),
        ("months 3", "memory"),
    ],
)
def test_what_is_no_span(text: str, role: str) -> None:
    with pytest.raises(UsageError, match=f"`{role}` '{text}' is not a length of time"):
        parse_span(text, role)


def test_a_span_reads_as_it_was_meant() -> None:
    assert [str(Span(1, "month")), str(Span(3, "quarter"))] == ["1 month", "3 quarters"]


@pytest.mark.parametrize(
    ("start", "n", "unit", "expected"),
    [
        ("2008-01-31", 1, "month", "2008-02-29"),  # leap year; R's seq.Date gives 2008-03-02
        ("2007-01-31", 1, "month", "2007-02-28"),
        ("2007-01-31", 2, "month", "2007-03-31"),
        ("2007-12-15", 1, "month", "2008-01-15"),
        ("2008-10-04", -3, "quarter", "2008-01-04"),
        ("2008-03-31", -1, "month", "2008-02-29"),
        ("2008-02-29", 1, "year", "2009-02-28"),
        ("2008-02-29", 4, "year", "2012-02-29"),
        ("2008-02-28", 1, "week", "2008-03-06"),
        ("2007-02-28", 1, "day", "2007-03-01"),
        ("1969-12-31", 1, "month", "1970-01-31"),
        ("1900-01-31", 1, "month", "1900-02-28"),  # no leap year
    ],
)
def test_shift(start: str, n: int, unit: str, expected: str) -> None:
    assert shift(day(start), n, unit) == day(expected)


DATES = days("2007-03-17", "2007-03-17", "2007-05-02", "2007-05-02", "2008-06-30", "2009-01-01")


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("2007-12-31", "2007-12-31"),
        ("2008-02", "2008-02-29"),
        ("1", "2007-03-17"),
        ("2 documents", "2007-03-17"),
        ("3", "2007-05-02"),
        ("5", "2008-06-30"),
        ("1 day", "2007-03-17"),
        ("1 week", "2007-03-18"),  # 17 March 2007 was a Saturday
        ("month", "2007-03-31"),
        ("12 months", "2008-02-29"),
        ("2 quarters", "2007-06-30"),
        ("1 year", "2007-12-31"),
    ],
)
def test_initial_period(init: str, expected: str) -> None:
    assert initial_end(DATES, init) == day(expected)


ALL, BEFORE = (
    ("6", "100", "2009-01-01", "3 years", "2012-01-01"),
    "2007-03-16",
)  # an initial period of all documents, or of none


@pytest.mark.parametrize(
    ("init", "kind"),
    [
        *((init, InputError) for init in (*ALL, BEFORE)),
        *(
            (init, UsageError) for init in ("2007", "2007-02-29", "2007-13", "year 2007")
        ),  # perhaps a year; days that are none
    ],
)
def test_what_is_no_initial_period(init: str, kind: type[NlpkitError]) -> None:
    with refuses("init", kind):
        initial_end(DATES, init)


def test_one_date_is_refused() -> None:
    with pytest.raises(InputError):
        initial_end(days("2020-01-01", "2020-01-01"), "1")


def test_months_have_their_own_lengths_and_empty_ones_are_there() -> None:
    dates = days("2007-11-20", "2008-01-01", "2008-03-31", "2008-04-01")
    assert periods(dates, "month", "2007-12-01") == [
        (1, "2007-12-01", "2007-12-31"),  # nothing is dated here
        (2, "2008-01-01", "2008-01-31"),
        (3, "2008-02-01", "2008-02-29"),
        (4, "2008-03-01", "2008-03-31"),
        (5, "2008-04-01", "2008-04-30"),  # of one day so far
    ]


def test_months_from_the_31st_do_not_overlap() -> None:
    assert periods(days("2007-05-01"), "month", "2007-01-31") == [
        (1, "2007-01-31", "2007-02-27"),
        (2, "2007-02-28", "2007-03-30"),
        (3, "2007-03-31", "2007-04-29"),
        (4, "2007-04-30", "2007-05-30"),
    ]


def test_quarters_of_the_example_of_rollinglda() -> None:
    assert periods(days("2008-12-29"), "quarter", "2008-07-04") == [
        (1, "2008-07-04", "2008-10-03"),
        (2, "2008-10-04", "2009-01-03"),
    ]


def test_weeks_years_and_days() -> None:
    dates = days("2008-02-20", "2008-03-01")
    assert periods(dates, "week", "2008-02-20") == [(1, "2008-02-20", "2008-02-26"), (2, "2008-02-27", "2008-03-04")]
    assert periods(dates, "year", "2007-01-01") == [(1, "2007-01-01", "2007-12-31"), (2, "2008-01-01", "2008-12-31")]
    assert periods(dates, "10 days", "2008-02-20") == [(1, "2008-02-20", "2008-02-29"), (2, "2008-03-01", "2008-03-10")]
    assert periods(dates, "10 days", "2008-02-20", chunk_id=2) == [(2, "2008-03-01", "2008-03-10")]


def test_chunks_of_documents_hold_whole_days() -> None:
    dates = days("2008-01-01", "2008-01-05", "2008-01-06", "2008-01-06", "2008-01-06", "2008-01-09", "2008-01-20")
    # from 2 January: the 2nd document is one of three on 6 January, then two more days
    assert periods(dates, "2 documents", "2008-01-02") == [
        (1, "2008-01-02", "2008-01-06"),
        (2, "2008-01-07", "2008-01-20"),
    ]
    assert periods(dates, "4", "2008-01-02")[1] == (2, "2008-01-07", "2008-01-20")  # an incomplete one
    assert periods(dates, "2", "2008-01-02", chunk_id=2, start=day("2008-01-07")) == [(2, "2008-01-07", "2008-01-20")]


MODELLED = days("2008-01-01", "2008-01-20", "2008-02-10", "2008-02-10", "2008-03-31")
STARTS = list(days("2008-01-01", "2008-02-01", "2008-03-01"))


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        ("month", "2008-03-01"),
        ("2 months", "2008-02-01"),
        ("3 quarters", "2007-07-01"),
        ("1 day", "2008-03-31"),
        ("1 document", "2008-03-31"),
        ("2 documents", "2008-02-10"),  # both documents of that day
        ("3 documents", "2008-02-10"),
        ("4 documents", "2008-01-20"),
        ("50 documents", "2008-01-01"),  # fewer are there: all of them
        ("1 chunk", "2008-03-01"),
        ("3 chunks", "2008-01-01"),
        ("9 chunks", "2008-01-01"),
    ],
)
def test_memory(memory: str, expected: str) -> None:
    assert memory_start(parse_span(memory, "memory"), day("2008-04-01"), STARTS, MODELLED, 0) == day(expected)


def test_an_empty_memory_falls_back_on_the_last_documents() -> None:
    week = Span(1, "week")
    late = day("2008-06-01")
    assert memory_start(week, late, STARTS, MODELLED, 0) is None
    assert memory_start(week, late, STARTS, MODELLED, 1) == day("2008-03-31")
    assert memory_start(week, late, STARTS, MODELLED, 2) == day("2008-02-10")
    assert memory_start(week, late, STARTS, MODELLED, 99) == day("2008-01-01")
    assert memory_start(week, day("2008-04-07"), STARTS, MODELLED, 2) == day(
        "2008-03-31"
    )  # the memory's first day counts
    assert memory_start(week, day("2008-04-08"), STARTS, MODELLED, 0) is None
    assert memory_start(week, late, STARTS, MODELLED[:0], 5) is None
