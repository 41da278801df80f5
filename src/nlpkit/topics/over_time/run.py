"""The topics of a run over time and by group: shares with intervals, trends, differences between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.date_columns import calendar
from nlpkit.platform.documents.dates import FORMAT_KEY, PARTS, check_format
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.notebook import Tabular
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import IntArray, LongArray
from nlpkit.topics.base.tables import read_membership
from nlpkit.topics.over_time.options import PrevalenceOptions
from nlpkit.topics.over_time.prevalence import (
    LEAST_PERIODS,
    CellSums,
    Differences,
    Trends,
    differences,
    share_bounds,
    sum_cells,
    trends,
)
from nlpkit.topics.over_time.tables import labels_of, save_run_table, topic_run

SHARES = TableSpec(
    "topic_shares_of_cells",
    "A topic in a period and group, or in all documents; there is a row for each cell, also of those without documents.",
    Column("topic", pa.int32(), "Number of the topic, -1 for documents without one."),
    Column("topic_label", pa.string(), "Name of the topic."),
    Column("documents", pa.int64(), "Documents of the cell.", always=False),
    Column("count", pa.float64(), "Documents of the topic in the cell; where they count for all their topics, the sum of probabilities."),
    Column("share", pa.float64(), "Share of the documents of the cell, null where it has none.", gaps=True),
    Column("low", pa.float64(), "Lower end of its interval.", gaps=True),
    Column("high", pa.float64(), "Upper end.", gaps=True),
    is_open=True,
)  # fmt: skip
TRENDS = TableSpec(
    "topic_trends", "How the share of a topic changes over the periods: a logistic regression with periods as units.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("topic_label", pa.string(), "Name of the topic."),
    Column("share_first", pa.float64(), "Fitted share in the first period.", gaps=True),
    Column("share_last", pa.float64(), "Fitted share in the last period.", gaps=True),
    Column("odds_ratio", pa.float64(), "Odds of the topic in a period by those in the one before.", gaps=True),
    Column("low", pa.float64(), "Lower end of the interval of the odds ratio.", gaps=True),
    Column("high", pa.float64(), "Upper end.", gaps=True),
    Column("dispersion", pa.float64(), "Scatter of the periods, 1 for documents drawn independently.", gaps=True),
    Column("p", pa.float64(), "p-value of the F test.", gaps=True),
    Column("q", pa.float64(), "False discovery rate over all topics (Benjamini-Hochberg).", gaps=True),
    Column("change", pa.string(), "rises or falls, where q is small; else empty."),
)  # fmt: skip
DIFFERENCES = TableSpec(
    "topic_differences", "Whether the share of a topic differs between the groups of a column.",
    Column("by", pa.string(), "The column."),
    Column("topic", pa.int32(), "Number of the topic."),
    Column("topic_label", pa.string(), "Name of the topic."),
    Column("statistic", pa.float64(), "χ², or F where documents count for all their topics.", gaps=True),
    Column("p", pa.float64(), "Its p-value.", gaps=True),
    Column("q", pa.float64(), "False discovery rate over all topics of the column.", gaps=True),
    Column("effect", pa.float64(), "Root of the share of the variance that lies between groups: Cramér's V, or η.", gaps=True),
    Column("least_expected", pa.float64(), "Documents expected in the smallest group; below 5 p is rough.", gaps=True),
    Column("lowest", pa.string(), "Group with the smallest share, of those with five documents where there are two."),
    Column("lowest_share", pa.float64(), "That share.", gaps=True),
    Column("highest", pa.string(), "Group with the largest share, of the same."),
    Column("highest_share", pa.float64(), "That share.", gaps=True),
)  # fmt: skip
MOST_PERIODS = 20_000
MOST_ROWS = 5_000_000
OUTSIDE = "(no topic)"
_TAKEN = ("period", "topic", "topic_label", "documents", "count", "share", "low", "high")


@dataclass(frozen=True, slots=True)
class Axis:
    """One way in which documents are divided: its column in the tables, the names of its parts in order, the part of each document.

    part_of: (D,) int32, -1 for none; missing: documents of none.
    """

    column: str
    names: list[str]
    part_of: IntArray

    @property
    def missing(self) -> int:
        """Documents that belong to no part."""
        return int((self.part_of < 0).sum())


@dataclass(frozen=True)
class TopicShares(Tabular):
    """Shares of the topics of a run in cells: periods, groups, or both crossed. Every table is an Arrow table.

    Attributes:
        overall: share of each topic among all documents that are in a cell.
        shares: a row for each topic of each cell, with interval.
        counts: number of documents of each cell.
        trends: rise or fall of each topic over the periods, with tests.
        differences: differences of each topic between the groups, with tests.
        labels: names of the topics (K,).
    """

    # cells (C,): those of all periods and groups, the last axis fastest, also those without documents. options, mixed: how documents
    # counted; n_docs of the run; cell_of (D,): the cell of each document, -1 for none.

    _shown = "shares"

    run: Run
    options: PrevalenceOptions
    mixed: bool
    labels: list[str]
    n_docs: int
    axes: list[Axis]
    cell_of: LongArray
    cells: CellSums

    def __repr__(self) -> str:
        cells = wording.counted(len(self.cells.n), "period or group", "periods and groups")
        return wording.described(self, wording.counted(len(self.labels), "topic"), cells)

    @property
    def periods(self) -> Axis | None:
        """The axis of time, None where there is none."""
        return self.axes[0] if self.options.over is not None else None

    @property
    def groups(self) -> list[Axis]:
        """The axes of groups."""
        return self.axes[self.options.over is not None :]

    @property
    def left_out(self) -> int:
        """Documents that are in no cell, for want of a date or a value."""
        return self.n_docs - int(self.cells.n.sum())

    @cached_property
    def overall(self) -> pa.Table:
        """topic (-1: none), topic_label, count, share, low, high of all documents that are in a cell."""
        whole = self.cells.merged(np.zeros(len(self.cells.n), np.int64), 1)
        return self._of_topics(whole)

    @cached_property
    def counts(self) -> pa.Table:
        """A row for each cell: period and groups, documents."""
        return pa.table({**self.cell_names(np.arange(len(self.cells.n))), "documents": pa.array(self.cells.n)})

    @cached_property
    def shares(self) -> pa.Table:
        """A row for each topic of each cell: period and groups, topic (-1: none), topic_label, documents, count, share, low, high.

        count: documents of the topic (of mixtures the sum of their probabilities); share: of the documents of the cell, null where it
        has none; low and high: ends of its interval.
        """
        width = len(self.labels) + 1
        names = self.cell_names(np.repeat(np.arange(len(self.cells.n)), width))
        table = self._of_topics(self.cells, documents=np.repeat(self.cells.n, width))
        return pa.table({**names, **dict(zip(table.column_names, table.columns, strict=True))})

    @cached_property
    def trends(self) -> pa.Table | None:
        """A row for each topic: its trend over the periods (see `Trends`); None without periods, or with documents in too few.

        share_first and share_last are those of the fitted line; change: "rises" or "falls" where q is at most 1 - ci, else "".
        """
        of_periods = self.over_time
        if of_periods is None or int((of_periods.n > 0).sum()) < LEAST_PERIODS:
            return None
        tested: Trends = trends(of_periods, level=self.options.ci)
        K = len(self.labels)
        sure = tested.q[:K] <= 1 - self.options.ci + 1e-12
        change = np.where(sure, np.where(tested.last[:K] > tested.first[:K], "rises", "falls"), "")
        values = {
            "share_first": tested.first, "share_last": tested.last, "odds_ratio": tested.odds_ratio, "low": tested.low,
            "high": tested.high, "dispersion": tested.dispersion, "p": tested.p, "q": tested.q, "change": change,
        }  # fmt: skip
        return TRENDS.table(**self._topics(), **{name: column[:K] for name, column in values.items()})

    @cached_property
    def differences(self) -> pa.Table | None:
        """A row for each topic and column of groups: do they differ (see `Differences`)? None without groups."""
        if not self.groups:
            return None
        parts = []
        for axis in self.groups:
            cells = self.by_group(axis)
            tested: Differences = differences(cells)
            K = len(self.labels)
            shares, names = cells.shares, np.array(axis.names, object)
            at = np.arange(K)
            low, high = tested.lowest[:K], tested.highest[:K]
            values = {name: getattr(tested, name)[:K] for name in ("statistic", "p", "q", "effect", "least_expected")}
            values |= {"lowest": names[low], "lowest_share": shares[low, at]}
            values |= {"highest": names[high], "highest_share": shares[high, at]}
            parts.append(DIFFERENCES.table(by=[axis.column] * K, **self._topics(), **values))
        return pa.concat_tables(parts)

    @property
    def over_time(self) -> CellSums | None:
        """The sums of each period over all groups, None without periods."""
        return None if self.periods is None else self.by_group(self.periods)

    def by_group(self, axis: Axis) -> CellSums:
        """Return the sums of each part of an axis over all others."""
        return self.cells.merged(self._places()[self.axes.index(axis)], len(axis.names))

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values."""
        tables = {"topics": self.overall, "trends": self.trends, "differences": self.differences}
        if self.axes:
            tables["shares"] = self.shares
        return {**self.facts(), **{name: table.to_pylist() for name, table in tables.items() if table is not None}}

    def facts(self) -> dict[str, Any]:
        """Return what was in force: the run, periods and groups, how documents counted, and how many did."""
        return {
            "run": str(self.run.path),
            "over": self.options.over,
            "by": list(self.options.by),
            "count": "mixed" if self.mixed else "main",
            "ci": self.options.ci,
            "documents": self.n_docs,
            "left_out": self.left_out,
        }

    def save(self, target: str | Path, *, table: str = "shares", force: bool = False) -> None:
        """Write one of the tables: shares, counts, overall, trends or differences.

        Raises:
            InputError: there are no trends or differences; UsageError: the suffix is not one of a table; OutputExistsError: it is there.
        """
        save_run_table(target, self.rows(table), f"topic_{table}", [self.run], parameters=self.facts(), force=force)

    def rows(self, table: str) -> pa.Table:
        """Return one of the tables by its name. Raises InputError when there are no trends or differences."""
        rows: pa.Table | None = getattr(self, table)
        if rows is None:
            why = {
                "trends": f"trends need `over` and at least {LEAST_PERIODS} periods with documents",
                "differences": "differences are between the groups of `by`",
            }
            raise InputError(f"no {table}: {why[table]}", parameter=table)
        return rows

    def _places(self) -> list[LongArray]:
        """Return the part of each axis that every cell (C,) belongs to."""
        shape = tuple(len(axis.names) for axis in self.axes)
        return [np.asarray(place, np.int64) for place in np.unravel_index(np.arange(len(self.cells.n)), shape)]

    def cell_names(self, rows: LongArray) -> dict[str, pa.Array]:
        """Return the period and the groups of some cells, as columns."""
        if not self.axes:
            return {}
        places = zip(self.axes, self._places(), strict=True)
        return {axis.column: pa.array(axis.names, pa.string()).take(pa.array(place[rows])) for axis, place in places}

    def _topics(self) -> dict[str, Any]:
        return {"topic": range(len(self.labels)), "topic_label": self.labels}

    def _of_topics(self, cells: CellSums, **documents: LongArray) -> pa.Table:
        K, C = len(self.labels), len(cells.n)
        low, high = share_bounds(cells, level=self.options.ci)
        topics = np.tile(np.append(np.arange(K), -1), C)
        labels = pa.array([*self.labels, OUTSIDE], pa.string()).take(pa.array(np.where(topics < 0, K, topics)))
        numbers = {"count": cells.sums, "share": cells.shares, "low": low, "high": high}
        flat = {name: values.ravel() for name, values in numbers.items()}
        return SHARES.table(topic=topics, topic_label=labels, **documents, **flat)


def topics(
    run: Any,
    *,
    options: PrevalenceOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicShares:
    """Return the shares of the topics of a run in periods, groups, or both, with tests of trends and differences.

    Works for every run of a topic model. No text is read and nothing is embedded: the run has topics and columns of its
    documents. A document without a date or a value is in no cell, and is counted.

    Args:
        run: a run directory, a run that is open, or a saved model.
        options: periods, groups, and how documents count.
        execution: whether changed files are refused.
        settings: single fields of these records, such as over="date:month", by=("source",).

    Raises:
        InputError: no run of a topic model, or too many cells; ColumnError: a column is not there, or has no dates;
        UsageError: `over` names neither a part of a date nor whole numbers.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, labels=["nature", "finance"] * 10)
        >>> run = nk.fit_lda(corpus, k=2, sweeps=20).save("run")
        >>> shares = nk.topics(run, by="label")
        >>> shares.shares.num_rows >= 4
        True
    """
    options, execution = with_settings((options, execution), settings, (PrevalenceOptions, Execution))
    opened = topic_run(run, execution)
    documents, labels = opened.table("documents"), labels_of(opened)
    mixed = options.count == "mixed" or (options.count == "auto" and opened.is_mixture)
    axes = _axes(documents, options, opened)
    size = int(np.prod([len(axis.names) for axis in axes], dtype=np.float64))
    if size * (len(labels) + 1) > MOST_ROWS:
        sizes = " × ".join(
            wording.counted(len(axis.names), f"part of {axis.column}", f"parts of {axis.column}") for axis in axes
        )
        fewer = ["a longer part of the date with `over`"] * (options.over is not None) + [
            "a column of fewer values with `by`"
        ] * bool(options.by)
        raise InputError(
            f"{sizes} × {wording.counted(len(labels), 'topic')} are more than {MOST_ROWS:,} shares; name {', or '.join(fewer)}",
            parameter="by" if options.by else "over",
        )
    membership, cell_of = read_membership(opened, mixed=mixed), _cells(axes, documents.num_rows)
    result = TopicShares(
        opened, options, mixed, labels, documents.num_rows, axes,
        cell_of, sum_cells(membership, cell_of.astype(np.int32), max(size, 1)),
    )  # fmt: skip
    for axis in axes:
        if axis.missing:
            what = (
                f"a {_part_name(options)} in '{_column(options)}'"
                if axis is result.periods
                else f"a value in '{axis.column}'"
            )
            reporting.note(f"left out: {wording.counted(axis.missing, 'document')} without {what}")
    return result


def _cells(axes: Sequence[Axis], D: int) -> LongArray:
    """Return the cell of each document (D,), the last axis fastest, -1 for none."""
    cells = np.zeros(D, np.int64)
    for axis in axes:
        cells = np.where((cells < 0) | (axis.part_of < 0), -1, cells * len(axis.names) + axis.part_of)
    return cells


def _column(options: PrevalenceOptions) -> str:
    return (options.over or "").partition(":")[0]


def _part_name(options: PrevalenceOptions) -> str:
    return (options.over or "").partition(":")[2] or "value"


def _axes(documents: pa.Table, options: PrevalenceOptions, run: Run) -> list[Axis]:
    where = f"{run.path}/documents.parquet"
    if options.date_format is not None:
        check_format(options.date_format)
        if options.over is None or ":" not in options.over:
            raise UsageError("`date_format` needs dates in `over`, such as date:month", parameter="date_format")
        documents = _with_format(documents, _column(options), options.date_format)
    axes = [] if options.over is None else [_time_axis(documents, options.over, where)]
    taken = {"period"} if axes else set()
    for name in options.by:
        names, part_of = _grouped(documents, name, where, "by")
        column = name.replace(":", "_")
        column = f"{column}_group" if column in _TAKEN or column in taken else column
        taken.add(column)
        axes.append(Axis(column, names, part_of))
    return axes


def _with_format(documents: pa.Table, column: str, format: str) -> pa.Table:
    at = documents.schema.get_field_index(column)
    if at < 0:
        return documents
    field = documents.schema.field(at).with_metadata({FORMAT_KEY: format.encode()})
    return documents.set_column(at, field, documents.column(at))


def _grouped(documents: pa.Table, by: str, where: str, parameter: str) -> tuple[list[str], IntArray]:
    """Return the names of the groups of a column in order, and the group of each document (D,)."""
    groups = Groups(by, documents.schema, where, parameter=parameter)
    batches = documents.select([groups.column]).combine_chunks().to_batches()
    numbered = [groups.assign(batch) for batch in batches] or [np.zeros(0, np.int32)]
    names, places = groups.finish()
    return names, np.asarray(places[np.concatenate(numbered)], np.int32)


def _time_axis(documents: pa.Table, over: str, where: str) -> Axis:
    """Return the periods from the first to the last of a column, those without documents too."""
    column, _, part = (over, "", "") if over in documents.column_names else over.partition(":")
    if column not in documents.column_names:
        raise missing_column(where, column, documents.column_names, "over")
    if not part:
        kind = documents.schema.field(column).type
        if not pa.types.is_integer(kind):
            raise UsageError(
                f"`over={over}`: name the part of the date that is a period, such as {column}:month "
                f"({', '.join(PARTS)})",
                parameter="over",
            )
    names, part_of = _grouped(documents, over, where, "over")
    if part:
        every = calendar(part, names[0], names[-1], most=MOST_PERIODS)
    else:
        first, last = int(names[0]), int(names[-1])
        every = None if last - first >= MOST_PERIODS else [str(n) for n in range(first, last + 1)]
    if every is None:
        raise InputError(
            f"from {names[0]} to {names[-1]} in '{column}' there are more than {MOST_PERIODS:,} periods; check the "
            "dates, or name a longer part of the date with `over`",
            parameter="over",
        )
    place = {name: number for number, name in enumerate(every)}
    numbers = np.append(np.array([place[name] for name in names], np.int32), np.int32(-1))
    return Axis("period", every, numbers[part_of])
