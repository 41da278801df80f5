"""Dates however they are written, and the reasons for those that cannot be read."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.errors import ColumnError
from nlpkit.platform.documents.corpora import open_documents
from nlpkit.platform.documents.date_columns import calendar, check_years, days_of
from nlpkit.platform.documents.dates import LANGUAGES, PARTS, DateReader, check_format
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.runs.tables import save_table
from tests.refusals import refuses


def read(values: Any, kind: pa.DataType | None = None, format: str | None = None) -> tuple[list[str], dict[int, str]]:
    days, reasons = days_of(pa.chunked_array([pa.array(values, kind)]), format=format)
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
        "2023-02-29", "2008-13-01", "0000", "yesterday", "2008-07-03x", "12", "2008.5",
    ],
)  # fmt: skip
def test_texts_that_are_no_date(text: str) -> None:
    assert read(["2008", text]) == (
        ["2008-01-01", "NaT"],
        {1: f"date '{text}' cannot be read; write it as 2008-07-03, or give `date_format`"},
    )


@pytest.mark.parametrize(
    ("texts", "advice"),
    [
        (["1215043200", "946684800"], "Unix time in seconds: give `date_format=%s`"),
        (["1700000000000", "1703010412345", "946684800000"], "Unix time in milliseconds: give `date_format=%s`"),
        (["200807"], "give `date_format=%Y%m`"),
        (["20080703102030"], "give `date_format=%Y%m%d%H%M%S`"),
        (["45000", "45000.5"], "a serial number of Excel"),
        (["1/1/24", "01.02.24"], "its year has two digits"),
        (["July 4", "12 monkeys 2024", "March 32, 2024", "May the force be with you, 2024"], "write it as 2008-07-03"),
        (["0000-05-05"], "there is no year 0"),
        (["-44", "-44-03-15"], "give years before 1 four digits"),
    ],
)
def test_what_a_text_may_be_that_is_no_date(texts: list[str], advice: str) -> None:
    """Milliseconds since 1970 were taken for days of the year 1703 where their first digits happened to fit."""
    days, reasons = read(["2008", *texts])
    assert days == ["2008-01-01", *["NaT"] * len(texts)]
    assert all(advice in reason for reason in reasons.values())


@pytest.mark.parametrize(
    ("text", "day", "exact"),
    [
        ("2024-Q1", "2024-01-01", "quarter"),
        ("Q3 2008", "2008-07-01", "quarter"),
        ("2024q2", "2024-04-01", "quarter"),
        ("3 July 2008", "2008-07-03", "day"),
        ("Friday, March 1st, 2024, 10:30", "2024-03-01", "day"),
        ("Sept. 3, 2008", "2008-09-03", "day"),
        ("1. März 2024", "2024-03-01", "day"),
        ("Mai 2024", "2024-05-01", "month"),
        ("1er janvier 2024", "2024-01-01", "day"),
        ("martes, 5 de mar. de 2024", "2024-03-05", "day"),
        ("1 марта 2024 г.", "2024-03-01", "day"),
        ("31 grudnia 2023", "2023-12-31", "day"),
        ("5 Şubat 2024", "2024-02-05", "day"),
        ("2024年3月1日", "2024-03-01", "day"),
        ("2024年3月", "2024-03-01", "month"),
        ("2024년 3월 1일", "2024-03-01", "day"),
    ],
)
def test_quarters_and_names_of_months(text: str, day: str, exact: str) -> None:
    (moment,) = DateReader().read([text])
    assert moment is not None
    assert (str(moment.day), moment.exact) == (day, exact)
    assert (moment.part("month") is None) == (exact == "quarter")
    assert moment.part("quarter") is not None


@pytest.mark.parametrize(
    ("text", "day", "exact"),
    [
        ("-0043-03-15", "-0043-03-15", "day"),  # ISO 8601: the year before 1 is 0
        ("-0043-03", "-0043-03-01", "month"),
        ("-0043", "-0043-01-01", "year"),
        ("44 BC", "-0043-01-01", "year"),
        ("15 March 44 BC", "-0043-03-15", "day"),
        ("March 15, 44 B.C.", "-0043-03-15", "day"),
        ("15.03.44 v. Chr.", "-0043-03-15", "day"),
        ("15 mars 44 av. J.-C.", "-0043-03-15", "day"),
        ("公元前221年", "-0220-01-01", "year"),
        ("1 BCE", "0000-01-01", "year"),
        ("401 BC", "-0400-01-01", "year"),
        ("29 February 5 BC", "-0004-02-29", "day"),  # a leap year
        ("10000 BC", "-9999-01-01", "year"),
    ],
)
def test_years_before_1(text: str, day: str, exact: str) -> None:
    days, reasons = days_of(pa.chunked_array([pa.array(["0044-01-01", text])]))
    assert days[1] == np.datetime64(day, "D")
    assert not reasons
    (moment,) = DateReader().read([text])
    assert moment is not None
    assert moment.exact == exact
    with pytest.raises(ColumnError, match="dates before the year 1 cannot be grouped by year"):
        moment.part("year")
    with pytest.raises(ColumnError, match="column 'date' has dates before the year 1"):
        check_years(days, "date")


def test_days_before_the_year_1_travel_on(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "id,text,date\n1,caesar,-0043-03-15\n2,sulla,138 BC\n3,nero,0054-10-13\n", encoding="utf-8"
    )
    options = ReadOptions(types=(("date", "date"),))
    table = open_documents([str(tmp_path / "a.csv")], options).read_all()
    for suffix in ("jsonl", "csv", "parquet", "xlsx"):
        save_table(tmp_path / f"b.{suffix}", table, {"schema_version": 1, "kind": "documents"}, force=False)
        for read in (options, ReadOptions()):
            for condition, ids in (
                ("date < '-0040'", ["1", "2"]),
                ("date >= '-0043-03-15'", ["1", "3"]),
                ("date < '0001'", ["1", "2"]),
            ):
                chosen = open_documents([str(tmp_path / f"b.{suffix}")], replace(read, keep_if=condition)).read_all()
                assert chosen.column("id").to_pylist() == ids, (suffix, condition)


@pytest.mark.parametrize(
    "values", [["45352", "45353", "45400"], ["1709251200", "1709337600", "1713398400"]], ids=["Excel", "Unix"]
)
def test_counts_of_days_and_seconds_in_conditions(values: list[str], tmp_path: Path) -> None:
    """The check of the condition, without rows, decided that the column had none."""
    rows = "".join(f"{n},text {n},{value}\n" for n, value in enumerate(values))
    (tmp_path / "a.csv").write_text(f"id,text,date\n{rows}", encoding="utf-8")
    chosen = open_documents([str(tmp_path / "a.csv")], ReadOptions(keep_if="date >= '2024-04'")).read_all()
    assert chosen.column("id").to_pylist() == ["2"]


def test_no_year_before_1() -> None:
    assert (
        DateReader().read(["0 BC", "30 February 44 BC", "about BC", "ABC", "Washington D.C.", "12 a.C. x"])
        == [None] * 6
    )


def test_time_zones_in_formats() -> None:
    """The day is the one that is written, whatever the zone."""
    (moment,) = DateReader(format="%d.%m.%Y %H:%M %z").read(["03.07.2008 23:30 -0500"])
    assert moment is not None
    assert (str(moment.day), moment.time) == ("2008-07-03", timedelta(hours=23, minutes=30))


@pytest.mark.parametrize("language", LANGUAGES.split())
def test_names_of_months_are_those_of_the_cldr(language: str) -> None:
    babel = pytest.importorskip("babel.dates")
    for month in range(1, 13):
        day = date(2024, month, 17)
        for form in ("d MMMM y", "d MMM y", "LLLL y"):
            text = babel.format_date(day, form, locale=language)
            if re.search(r"[^\W\d_]{3}", text):  # some are numbers
                (moment,) = DateReader().read([text])
                assert moment is not None, text
                assert moment.day == day.replace(day=moment.day.day), text


@pytest.mark.parametrize(
    ("values", "days"),
    [
        ([1700000000, 1500000000, 1600000000], ["2023-11-14", "2017-07-14", "2020-09-13"]),
        ([1700000000.5, 1500000000.0, 1600000000.0], ["2023-11-14", "2017-07-14", "2020-09-13"]),
        ([1700000000000, 946684800000, 1500000000001], ["2023-11-14", "2000-01-01", "2017-07-14"]),
        (["45352", "45353", "45354.5"], ["2024-03-01", "2024-03-02", "2024-03-03"]),
    ],
    ids=["seconds", "fractions", "milliseconds", "Excel"],
)
def test_columns_of_counts(values: list[Any], days: list[str], caplog: pytest.LogCaptureFixture) -> None:
    assert read(values) == (days, {})
    assert "column 'date' is read as" in caplog.text
    assert read([*values, "2008-07-03"] if isinstance(values[0], str) else [*values, 2008])[0][:3] == ["NaT"] * 3
    assert read(values[:2])[0] == ["NaT"] * 2  # too few to be sure


def test_serial_numbers_of_excel_by_name() -> None:
    assert read(["45352", "1", "x"], format="excel")[0] == ["2024-03-01", "1899-12-31", "NaT"]


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
    ("format", "text", "day"),
    [
        ("%a %b %d %H:%M:%S %z %Y", "Sun Dec 25 23:30:00 +0900 2011", "2011-12-25"),
        ("%a, %d %b %Y %H:%M:%S %z", "Sun, 25 Dec 2011 23:30:00 -0500", "2011-12-25"),
        ("%Y-%m-%d %Z", "2011-12-25 UTC", "2011-12-25"),
        ("%s", "1324857600", "2011-12-26"),
        ("%s", "1324857600123", "2011-12-26"),
        ("%s", "-1", "1969-12-31"),
        ("%Y%m", "201112", "2011-12-01"),
    ],
)
def test_formats_with_an_offset_and_unix_time(format: str, text: str, day: str) -> None:
    """%z could never be used: the format was tried on a date without an offset."""
    days, reasons = days_of(pa.chunked_array([pa.array([text])]), format=format)
    assert ([str(one) for one in days], reasons) == ([day], {})


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Thu, 3 Jul 2008 10:00:00 +0100", "2008-07-03"),
        ("03 Jul 2008 23:59 GMT", "2008-07-03"),
        ("Thu Jul 03 10:00:00 +0000 2008", "2008-07-03"),
        ("Thu Jul  3 10:00:00 UTC 2008", "2008-07-03"),
    ],
)
def test_dates_of_mails_and_of_twitter(text: str, day: str) -> None:
    assert read([text]) == ([day], {})
    assert read([text.replace("Jul", "Xyz"), "2008"])[0] == ["NaT", "2008-01-01"]


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["2008-01-01"] * 3 + ["1700000000000"], ["1 of 4 values", "milliseconds"]),
        (["10000000", "10077777", "10310101", "10155554"], ["3 of 4 values", "'10000000' (3 of this form"]),
        (["2008"] * 3 + ["2024-X1", "n.d.", "1. März"], ["3 of 6", "'2024-X1'", "'n.d.'", "'1. März'"]),
    ],
)
def test_a_column_of_which_a_good_part_is_no_date(texts: list[str], shown: list[str]) -> None:
    column = pa.chunked_array([pa.array(texts)])
    with pytest.raises(ColumnError) as error:
        days_of(column, strict=True)
    assert all(part in str(error.value) for part in shown)
    days_of(pa.chunked_array([pa.array([*texts, *["2008"] * 20, None, ""])]), strict=True)  # some may be lost


def test_names_of_months_are_english() -> None:
    _, reasons = days_of(pa.chunked_array([pa.array(["1. März 2024"])]), format="%d. %B %Y")
    assert "names of months and days are English" in reasons[0]


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2008-07-03 10:30", 10.5), ("2008-07-03T10:30:00Z", 10.5), ("24-12-2015 11.45", 11.75), ("12/24/2015 1:15 PM", 13.25),
        ("12/24/2015 12:15 am", 0.25), ("20080703T103000", 10.5), ("Thu, 3 Jul 2008 10:30:00 +0100", 10.5), ("2008-07-03", 0),
        ("2008", 0),
    ],
)  # fmt: skip
def test_times_of_day(text: str, hours: float) -> None:
    (moment,) = DateReader().read([text])
    assert moment is not None
    assert moment.time.total_seconds() == hours * 3600


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
