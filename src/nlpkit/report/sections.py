"""What the report of a topic run shows over time, by column, and of another run beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.date_columns import calendar, check_years, date_format_of, days_of
from nlpkit.platform.documents.dates import PARTS
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.types import IntArray, LongArray
from nlpkit.platform.views.html import write
from nlpkit.platform.views.page import Section
from nlpkit.report.options import ReportOptions
from nlpkit.topics.diff.run import TopicDiff, diff
from nlpkit.topics.diff.views import diff_blocks
from nlpkit.topics.edit.files import hidden_topics
from nlpkit.topics.over_time.prevalence import CellSums, share_bounds
from nlpkit.topics.over_time.run import TopicShares
from nlpkit.topics.over_time.run import topics as topic_shares

MOST_PERIODS = 60
FEWEST_DOCUMENTS = 30
MOST_VALUES = 30
MOST_COLUMNS = 4
LENGTHS = (("day", 1), ("week", 7), ("month", 30.4), ("quarter", 91.3), ("year", 365.25), ("decade", 3652.5))


def usual_periods(documents: pa.Table, *, groups: int = 1) -> str | None:
    """Return the part of the dates for periods, as date:month; None without dates or with one period.

    It is the shortest that makes at most 60 periods of 30 documents of each group on average; of few documents the longest that makes
    two.
    """
    if "date" not in documents.column_names:
        return None
    try:
        days, _ = days_of(documents.column("date"), format=date_format_of(documents.schema, "date"), strict=True)
        check_years(days, "date")
    except ColumnError as error:
        reporting.warn(f"the report has no topics over time: {error}", always=True)
        return None
    known = days[~np.isnat(days)]
    if not len(known):
        return None
    span = int((known.max() - known.min()).astype(np.int64))
    yearly = bool((known == known.astype("datetime64[Y]").astype("datetime64[D]")).all())  # years alone, perhaps
    most = min(MOST_PERIODS, max(len(known) // (FEWEST_DOCUMENTS * groups), 4))
    parts = [(name, length) for name, length in LENGTHS if not (yearly and length < 365)]
    n_periods = {name: _n_periods(name, known.min().item(), known.max().item()) for name, _ in parts}
    several = [(name, length) for name, length in parts if 2 <= n_periods[name] <= MOST_PERIODS]
    longest = several[-1][0] if several else None
    part = next((name for name, length in several if span / length <= most), longest)
    return f"date:{part}" if part else None


def _n_periods(part: str, first: date, last: date) -> int:
    """Return the number of periods from one day to another, both in it; one more than the most where they are too many."""
    write = PARTS[part][1]
    names = calendar(part, write(first), write(last), most=MOST_PERIODS)
    return MOST_PERIODS + 1 if names is None else len(names)


def over_time(run: Run, documents: pa.Table, options: ReportOptions, execution: Execution) -> dict[str, Any] | None:
    """Return shares of the topics in periods with their intervals, and changes where the run tested for them.

    "of" holds the period of each document (D,), -1 for none.
    """
    over = options.over or usual_periods(documents)
    if over is None:
        return None
    shares = topic_shares(run, over=over, execution=execution)
    periods, sums = shares.periods, shares.over_time
    if periods is None or sums is None or len(periods.names) < 2:
        return None
    series = _series(shares, sums)
    trends = shares.trends
    for k, row in enumerate(trends.to_pylist() if trends is not None else []):
        if row["change"]:
            series[k]["change"] = row["change"]
            series[k]["note"] = (
                f"{row['change']} from {wording.percent(row['share_first'])} to {wording.percent(row['share_last'])} (q = {row['q']:.2g})"
            )
    _mark_changes(run, over, periods.names, series)
    return {
        "over": over,
        "cells": periods.names,
        "n": sums.n,
        "series": series,
        "left_out": shares.left_out,
        "tested": trends is not None,
        "of": shares.cell_of,
    }


def _mark_changes(run: Run, over: str, names: Sequence[str], series: list[dict[str, Any]]) -> None:
    """Mark the periods in which a rolling model found that the words of a topic changed."""
    if not (run.path / "changes.parquet").is_file() or ":" not in over:
        return
    table = run.table("changes")
    place = {name: i for i, name in enumerate(names)}
    part = over.partition(":")[2]
    with run.intact():
        for row in table.filter(pc.field("changed")).to_pylist():
            period = place.get(PARTS[part][1](row["start_date"]))
            if period is None:
                continue
            one = series[row["topic"]]
            one.setdefault("changed", [False] * len(names))[period] = True
            one.setdefault("changes", {}).setdefault(names[period], []).extend(row["words"][:3])
    for one in series:
        changes = [f"{name} ({', '.join(dict.fromkeys(words))})" for name, words in one.pop("changes", {}).items()]
        if changes:
            one["note"] = "; ".join(filter(None, [one.get("note"), f"words change: {wording.listed(changes, 3)}"]))


def by_column(
    run: Run,
    documents: pa.Table,
    columns: Sequence[str],
    options: ReportOptions,
    execution: Execution,
    *,
    most: int = MOST_COLUMNS,
) -> list[dict[str, Any]]:
    """Return shares of the topics in the values of columns, with their intervals, and how many topics differ between them.

    Without `by`: of the first columns, `most` of them, of 2 to 30 values that are neither numbers nor dates. "of" holds which of the
    values each document has (D,), -1 for none.
    """
    tables = []
    for name in options.by or [c for c in columns if has_few_values(documents, c)][:most]:
        shares = topic_shares(run, by=(name,), execution=execution)
        axis = shares.groups[0]
        sums = shares.by_group(axis)
        order = np.lexsort((np.arange(len(axis.names)), -np.asarray(sums.n)))[:MOST_VALUES]
        tested = shares.differences
        differ = int(np.sum(np.array(tested.column("q").to_pylist(), float) <= 0.05)) if tested is not None else 0
        note = f"{differ} of {len(shares.labels)} topics differ between the values (false discovery rate 5 %)."
        if len(axis.names) > len(order):
            note += f" The {len(order)} most frequent of {len(axis.names)} values."
        if shares.left_out:
            note += f" {wording.counted(shares.left_out, 'document')} without a value."
        series: list[dict[str, Any]] = [
            {key: [values[i] for i in order] for key, values in row.items()} for row in _series(shares, sums)
        ]
        for k, row in enumerate(tested.to_pylist() if tested is not None else []):
            tests: dict[str, Any] = {name: row[name] for name in ("q", "effect")}
            series[k].update(tests)
        tables.append(
            {
                "name": name,
                "values": [axis.names[i] for i in order],
                "n": np.asarray(sums.n)[order],
                "series": series,
                "note": note,
                "of": _places(order, len(axis.names))[shares.cell_of],
            }
        )
    return tables


def _places(order: LongArray, n: int) -> IntArray:
    """Return the place in an order of each of n cells (n+1,), -1 for those that are not in it, and for the cell -1."""
    places: IntArray = np.full(n + 1, -1, np.int32)
    places[order] = np.arange(len(order))
    return places


def has_few_values(documents: pa.Table, name: str) -> bool:
    """Whether a column of documents holds 2 to 30 texts that are no dates."""
    kind = documents.schema.field(name).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)):
        return False
    n = pc.count_distinct(documents.column(name)).as_py()
    return 1 < n <= MOST_VALUES and name != "date"


def _series(shares: TopicShares, sums: CellSums) -> list[dict[str, Any]]:
    """Return share, low and high of each topic in each cell, None where a cell has no document."""
    low, high = share_bounds(sums, level=shares.options.ci)
    tables = {"share": sums.shares, "low": low, "high": high}
    return [
        {name: [_short(v) for v in values[:, k]] for name, values in tables.items()} for k in range(len(shares.labels))
    ]


def _short(value: float) -> float | None:
    known = finite_or_none(value)
    return None if known is None else round(known, 5)


# ------------------------------------------------------------------------------------------------------------------------
# What the report shows of another run beside its own: which topics correspond, and how documents went from one to the other.


def comparison(other: Path, run: Run, execution: Execution) -> tuple[Section, dict[str, Any]]:
    """Return the section on what became of the topics of another run in this one, and its data for the picture.

    Raises:
        InputError: the other is no run of a topic model.
    """
    result = diff(other, run.path, execution=execution)
    hidden = [hidden_topics(one) for one in (result.a, result.b)]
    seen = replace(result, links=[link for link in result.links if link.a not in hidden[0] and link.b not in hidden[1]])
    by_documents = bool(result.shared)
    flows = [
        [row["a"], row["b"], row["documents"] if by_documents else round(row["words"], 3)]
        for row in result.overlaps.to_pylist()
        if row["a"] not in (-1, *hidden[0])
        and row["b"] not in (-1, *hidden[1])
        and (row["documents"] if by_documents else (row["words"] or 0) >= 0.15)
    ]
    data = {
        "of": result.a.path.name,
        "by": "documents" if by_documents else "words",
        "flows": flows,
        "before": _topics(result),
        "hidden": sorted(hidden[0]),
    }
    return Section("compared", "Compared", write(diff_blocks(seen))), data


def _topics(result: TopicDiff) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = result.a.table("topics", ["label", "size"]).to_pylist()
    return rows
