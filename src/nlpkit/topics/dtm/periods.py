"""Periods of a dynamic topic model: dates cut into parts of equal length that follow each other without gaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.topics.lda.chunks import chunk_periods, first_of, parse_span
from nlpkit.types import BoolArray, Day, Days, LongArray

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
