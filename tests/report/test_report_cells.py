"""The periods that a report has without being asked for others."""

from __future__ import annotations

from datetime import date, timedelta

import pyarrow as pa
import pytest

from nlpkit.report.sections import usual_periods


def spread(n: int, first: date, last: date) -> pa.Table:
    """Return the dates of n documents, from the first to the last day in even steps."""
    span = (last - first).days
    return pa.table({"date": [(first + timedelta(days=round(i * span / (n - 1)))).isoformat() for i in range(n)]})


@pytest.mark.parametrize(
    ("documents", "part"),
    [
        (spread(3000, date(2020, 1, 1), date(2023, 12, 31)), "date:month"),
        (spread(100, date(2010, 1, 1), date(2014, 9, 1)), "date:year"),  # a little over four years, all in one decade
        (spread(12, date(2024, 1, 3), date(2024, 6, 3)), "date:quarter"),  # one year
        (spread(5, date(2024, 5, 1), date(2024, 5, 3)), "date:day"),  # one week
        (
            pa.table({"date": [str(1970 + i % 55) for i in range(60)]}),
            "date:decade",
        ),  # more decades than 60 documents fill
    ],
)
def test_few_documents_have_the_longest_part_that_makes_two_periods(documents: pa.Table, part: str) -> None:
    assert usual_periods(documents) == part


def test_one_day_and_no_dates_have_no_periods() -> None:
    assert usual_periods(spread(40, date(2024, 5, 1), date(2024, 5, 1))) is None
    assert usual_periods(pa.table({"id": ["a"]})) is None
    assert usual_periods(pa.table({"date": ["1999", "1999"]})) is None
