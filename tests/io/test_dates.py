"""Dates however they are written, and the reasons for those that cannot be read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import ColumnError
from nlpkit.io.dates import PARTS, DateReader, calendar, check_format, days_of
from tests.refusals import refuses


def read(values: Any, kind: pa.DataType | None = None) -> tuple[list[str], dict[int, str]]:
    days, reasons = days_of(pa.chunked_array([pa.array(values, kind)]))
    assert days.dtype == np.dtype("datetime64[D]")
    return [str(day) for day in days], reasons


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2008-07-03", "2008-07-03"),
        (" 2008-07-03 ", "2008-07-03"),
        ("2008-7-3", "2008-07-03"),
        ("2008/07/03", "2008-07-03"),
        ("2008.07.03", "2008-07-03"),
        ("20080703", "2008-07-03"),
        ("2008-07-03T23:59:59", "2008-07-03"),
        ("2008-07-03 23:59", "2008-07-03"),
        ("2008-07-03T23:59:59Z", "2008-07-03"),
        ("2010-05-26T00:30:00+0900", "2010-05-26"),  # the day as it was written, not that of another time zone
        ("1987-02-26T15:01:01.79", "1987-02-26"),
        ("2008-07", "2008-07-01"),
        ("1789", "1789-01-01"),
        ("2008-W27-4", "2008-07-03"),
        ("2024-02-29", "2024-02-29"),
    ],
)
def test_texts(text: str, day: str) -> None:
    assert read([text]) == ([day], {})


@pytest.mark.parametrize(
    "text",
    [
        "3 July 2008",
        "2023-02-29",
        "2008-13-01",
        "0000",
        "1215043200",
        "yesterday",
        "2008-07-03x",
        "12",
        "2008.5",
    ],
)
def test_texts_that_are_no_date(text: str) -> None:
    assert read(["2008", text]) == (
        ["2008-01-01", "NaT"],
        {1: f"date '{text}' cannot be read; write it as 2008-07-03, or give `date_format`"},
    )


def test_missing_dates_and_long_ones() -> None:
    days, reasons = read([None, "", "  ", "2008", "x" * 100])
    assert days == ["NaT", "NaT", "NaT", "2008-01-01", "NaT"]
    assert [reasons[row] for row in range(3)] == ["date is missing"] * 3
    assert reasons[4] == f"date '{'x' * 39}…' cannot be read; write it as 2008-07-03, or give `date_format`"


def test_columns_of_dates() -> None:
    assert read([date(2008, 7, 3), None], pa.date32()) == (["2008-07-03", "NaT"], {1: "date is missing"})
    assert read([date(1960, 7, 3)], pa.date64()) == (["1960-07-03"], {})
    moments = [datetime(1960, 7, 3, 23, 59), datetime(2008, 7, 3, 0, 0), None]
    for unit in ("s", "ms", "us", "ns"):
        assert read(moments, pa.timestamp(unit))[0] == ["1960-07-03", "2008-07-03", "NaT"]  # before 1970 as well
    late = pa.array([datetime(2010, 5, 26, 23, 0, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    assert read(late)[0] == ["2010-05-26"]
    assert read(late.cast(pa.timestamp("us", "Asia/Tokyo")))[0] == ["2010-05-27"]  # 8 in the morning there


def test_columns_of_numbers() -> None:
    assert read([1987, 20080703, None, 12])[0] == ["1987-01-01", "2008-07-03", "NaT", "NaT"]
    assert read([1987.0, float("nan"), None, 1987.5]) == (
        ["1987-01-01", "NaT", "NaT", "NaT"],
        {
            1: "date is missing",
            2: "date is missing",
            3: "date '1987.5' cannot be read; write it as 2008-07-03, or give `date_format`",
        },
    )


def test_other_layouts_of_text() -> None:
    texts = ["2008", None, "2009", "2008"]
    expected = ["2008-01-01", "NaT", "2009-01-01", "2008-01-01"]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert read(pa.array(texts).cast(kind))[0] == expected
    parts = pa.chunked_array([pa.array(texts[:1]), pa.array(texts[1:])])
    assert [str(day) for day in days_of(parts)[0]] == expected
    assert read([None, None])[0] == ["NaT", "NaT"]
    empty, reasons = days_of(pa.chunked_array([], pa.string()))
    assert len(empty) == 0
    assert reasons == {}


@pytest.mark.parametrize("values", [[True], [["2008"]], [{"y": 1}]])
def test_columns_of_something_else(values: Any) -> None:
    with pytest.raises(ColumnError):
        days_of(pa.chunked_array([pa.array(values)]), "when")


# ---------------------------------------------------------------- day and month first, formats, parts


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["01.02.2011", "3.2.2011"], ["2011-02-01", "2011-02-03"]),  # with dots the day is first
        (["01/02/2011", "25/12/2011 14:30"], ["2011-02-01", "2011-12-25"]),
        (["01/02/2011", "12/25/2011"], ["2011-01-02", "2011-12-25"]),
        (["01-02-2011", "25-12-2011", "2011"], ["2011-02-01", "2011-12-25", "2011-01-01"]),
        (["03/03/2011"], ["2011-03-03"]),
        (["31.12.2011", "12/25/2011", "01/02/2011"], ["2011-12-31", "2011-12-25", "2011-01-02"]),
    ],
)
def test_day_or_month_first(texts: list[str], days: list[str]) -> None:
    """01.02.2011 and 25/12/2011 could not be read at all."""
    assert read(texts) == (days, {})


@pytest.mark.parametrize(
    "texts",
    [
        ["01/02/2011"],
        ["25/12/2011", "12/25/2011"],
    ],
)
def test_dates_that_may_be_two_days(texts: list[str]) -> None:
    with pytest.raises(ColumnError):
        read(texts)


def test_a_format() -> None:
    texts = pa.chunked_array([pa.array(["01/02/11", "31/12/99", "2011-01-01", None, "7"])])
    days, reasons = days_of(texts, format="%d/%m/%y")
    assert [str(day) for day in days] == ["2011-02-01", "1999-12-31", "NaT", "NaT", "NaT"]
    assert reasons[2] == "date '2011-01-01' cannot be read; it is not like `date_format=%d/%m/%y`"
    for bad in ("%d/%m", "dd/mm/yyyy", "%Q", "%"):
        with refuses("date_format"):
            check_format(bad)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "2008-12-29",
            {
                "decade": "2000s",
                "year": "2008",
                "quarter": "2008-Q4",
                "month": "2008-12",
                "week": "2009-W01",
                "day": "2008-12-29",
            },
        ),
        (
            "2008-03",
            {"decade": "2000s", "year": "2008", "quarter": "2008-Q1", "month": "2008-03", "week": None, "day": None},
        ),
        ("1789", {"decade": "1780s", "year": "1789", "quarter": None, "month": None, "week": None, "day": None}),
    ],
)
def test_parts(text: str, parts: dict[str, str | None]) -> None:
    (moment,) = DateReader().read([text])
    assert moment is not None
    assert {name: moment.part(name) for name in PARTS} == parts


@pytest.mark.parametrize(
    ("part", "first", "last", "names"),
    [
        ("month", "2023-11", "2024-02", ["2023-11", "2023-12", "2024-01", "2024-02"]),
        ("quarter", "2023-Q3", "2024-Q2", ["2023-Q3", "2023-Q4", "2024-Q1", "2024-Q2"]),
        ("week", "2020-W52", "2021-W01", ["2020-W52", "2020-W53", "2021-W01"]),
        ("day", "2024-02-28", "2024-03-01", ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ("year", "1999", "2001", ["1999", "2000", "2001"]),
        ("decade", "1980s", "2000s", ["1980s", "1990s", "2000s"]),
        ("month", "2024-02", "2024-02", ["2024-02"]),
    ],
)
def test_the_parts_between_two(part: str, first: str, last: str, names: list[str]) -> None:
    assert calendar(part, first, last, most=10) == names
    assert calendar(part, first, last, most=len(names)) == names
    if len(names) > 1:
        assert calendar(part, first, last, most=len(names) - 1) is None
