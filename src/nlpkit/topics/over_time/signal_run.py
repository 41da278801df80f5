"""Trends with names: what each topic of a run does over the periods, with the false alarms that dates without meaning give."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import FloatArray, LongArray
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.tables import read_membership
from nlpkit.topics.over_time.options import PrevalenceOptions, SignalOptions
from nlpkit.topics.over_time.prevalence import LEAST_PERIODS, CellSums, Membership, sum_cells
from nlpkit.topics.over_time.run import TopicShares, topics
from nlpkit.topics.over_time.signals import LEAST_CYCLES, BurstNull, Signals, burst_null, season_columns, signals
from nlpkit.topics.over_time.tables import TopicTable

SIGNALS = TableSpec(
    "topic_signals", "What the share of a topic does over the periods, by three tests with periods as units.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("topic_label", pa.string(), "Name of the topic."),
    Column("signal", pa.string(), "weak signal, strong signal, fading, seasonal or burst; steady or noise where no test finds anything."),
    Column("also", pa.string(), "Further names that hold, with commas; else empty."),
    Column("count", pa.float64(), "Documents of the topic; where they count for all their topics, the sum of probabilities."),
    Column("share", pa.float64(), "Share of all documents that have a period."),
    Column("share_last", pa.float64(), "Fitted share in the last period."),
    Column("p_trend", pa.float64(), "p-value of the trend.", gaps=True),
    Column("q_trend", pa.float64(), "False discovery rate over all topics and tests (Benjamini-Hochberg).", gaps=True),
    Column("p_season", pa.float64(), "p-value of the season, null where it is not tested.", gaps=True),
    Column("q_season", pa.float64(), "False discovery rate.", gaps=True),
    Column("season_ratio", pa.float64(), "Odds of the topic at the height of the season by those at its low.", gaps=True),
    Column("season_peak", pa.string(), "Part of the season with the largest share, such as 12 for December.", gaps=True),
    Column("p_burst", pa.float64(), "p-value of the strongest burst, null where it is not tested.", gaps=True),
    Column("q_burst", pa.float64(), "False discovery rate.", gaps=True),
    Column("burst_first", pa.string(), "First period of the strongest burst.", gaps=True),
    Column("burst_last", pa.string(), "Its last period.", gaps=True),
    Column("burst_ratio", pa.float64(), "Documents of the topic in it by those expected.", gaps=True),
)  # fmt: skip
CYCLES = {"quarter": 4.0, "month": 12.0, "week": 365.25 / 7, "day": 7.0}  # periods of a season, by the part of the date
PERMUTATIONS = 20  # of the dates, by which false alarms are counted
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def topic_signals(
    run: Any,
    *,
    options: PrevalenceOptions | None = None,
    signal_options: SignalOptions | None = None,
    execution: Execution | None = None,
    **settings: Any,
) -> TopicTable:
    """Return what each topic of a run does over time: weak signal, strong signal, fading, seasonal, burst; else steady or noise.

    Three tests (trend, season, burst; see `nlpkit.topics.over_time.signals.signals`) have periods as units, and are corrected
    together for their number. The facts hold `false_alarms`: the share of topics that the same tests name where the dates are permuted
    over the documents 20 times, and so have no meaning.

    Args:
        run: a run directory, a run that is open, or a saved model.
        options: periods (`over`), how documents count, and the level; signal_options: the length of a season.
        execution: the seed of permutations and simulations.
        settings: single fields of these records, such as over="date:month", cycle=12.

    Raises:
        UsageError: no periods, or groups; InputError: fewer than three periods with documents; and what `topics` raises.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 48
        >>> corpus = nk.Corpus.from_texts(texts, dates=[f"2024-{n // 8 + 1:02}-01" for n in range(96)])
        >>> run = nk.fit_lda(corpus, k=2, sweeps=20).save("run")
        >>> set(nk.topic_signals(run, over="date:month").table["signal"].to_pylist()) <= {"steady", "noise"}
        True
    """
    options, signal_options, execution = with_settings(
        (options, signal_options, execution), settings, (PrevalenceOptions, SignalOptions, Execution)
    )
    check_periods(options, "signals")
    shares = topics(run, options=options, execution=execution)
    return signals_of_shares(shares, signal_options, execution)


def check_periods(options: PrevalenceOptions, what: str) -> None:
    """Refuse options that do not name periods alone. Raises UsageError."""
    if options.over is None:
        raise UsageError(f"`{what}` needs periods; name them with `over`, such as date:month", parameter="over")
    if options.by:
        raise UsageError(f"`{what}` takes all documents of a period together; leave `by` out", parameter="by")


def signals_of_shares(shares: TopicShares, options: SignalOptions, execution: Execution) -> TopicTable:
    """Return the signals of shares that are known, as `topic_signals` does, which says what is raised."""
    cells, cycle = shares.over_time, cycle_of(shares, options)
    assert cells is not None
    assert shares.periods is not None
    covered = int((cells.n > 0).sum())
    if covered < LEAST_PERIODS:
        raise InputError(
            f"signals need at least {LEAST_PERIODS} periods with documents; there are {covered}. "
            "Name a shorter part of the date with `over`",
            parameter="over",
        )
    null = period_noise(cells, cycle, execution)
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "permuted dates")))
    tested = signals(cells, cycle, null, level=shares.options.ci)
    membership = read_membership(shares.run, mixed=shares.mixed)
    periods = shares.cell_of.astype(np.int32)
    alarms = false_alarms(membership, periods, cycle, null, rng, level=shares.options.ci)
    has_season = bool(season_columns(np.flatnonzero(cells.n > 0), cycle).shape[1])
    facts = {
        **shares.facts(), "periods": len(shares.periods.names), "cycle": cycle, "season_tested": has_season,
        "burst_tested": null is not None, "permutations": PERMUTATIONS, "false_alarms": float(alarms.mean()),
        "permutations_with_false_alarms": int((alarms > 0).sum()),
    }  # fmt: skip
    return TopicTable([shares.run], "signals", _table(shares, tested, cells, cycle), facts)


def period_noise(cells: CellSums, cycle: float | None, execution: Execution) -> BurstNull | None:
    """Return `burst_null` of the periods for the seed of the execution."""
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "bursts")))
    return burst_null(cells.n, cycle, rng)


def cycle_of(shares: TopicShares, options: SignalOptions) -> float | None:
    """Return the periods of a season: those of the options, or of the part of the date; None for none.

    Raises:
        InputError: the periods do not cover two of the seasons that were asked for.
    """
    assert shares.periods is not None
    if options.cycle is None:
        return CYCLES.get((shares.options.over or "").rpartition(":")[2])
    if len(shares.periods.names) < LEAST_CYCLES * options.cycle:
        raise InputError(
            f"`cycle={options.cycle}` needs {LEAST_CYCLES * options.cycle} periods, two seasons; there are "
            f"{len(shares.periods.names)}",
            parameter="cycle",
        )
    return float(options.cycle)


def false_alarms(
    membership: Membership, period_of: Any, cycle: float | None, null: BurstNull | None, rng: np.random.Generator, *,
    level: float, permutations: int = PERMUTATIONS,
) -> FloatArray:  # fmt: skip
    """Return the share of topics that are named where the dates are permuted over the documents, for each permutation.

    Args:
        period_of: (D,) int32 period of each document, -1 for none, which keeps none.
    """
    rows = np.flatnonzero(period_of >= 0)
    T = int(period_of.max(initial=-1)) + 1
    shares = np.zeros(permutations)
    with reporting.progress("permutations", permutations) as done:
        for i in range(permutations):
            mixed = period_of.copy()
            mixed[rows] = rng.permutation(period_of[rows])
            shares[i] = float(signals(sum_cells(membership, mixed, T), cycle, null, level=level).called.mean())
            done(i + 1)
    return shares


def _table(shares: TopicShares, tested: Signals, cells: CellSums, cycle: float | None) -> pa.Table:
    assert shares.periods is not None
    names = [*shares.periods.names, None]  # -1: none
    values = {
        name: getattr(tested, name)
        for name in ("p_trend", "q_trend", "p_season", "q_season", "season_ratio", "p_burst", "q_burst", "burst_ratio")
    }
    return SIGNALS.table(
        topic=range(len(shares.labels)), topic_label=shares.labels, signal=list(tested.name), also=list(tested.also),
        count=cells.sums[:, :-1].sum(axis=0), share=tested.share, share_last=tested.last,
        season_peak=[_season_part(names, k, cycle, shares) for k in tested.peak],
        burst_first=[names[k] for k in tested.burst_first], burst_last=[names[k] for k in tested.burst_last], **values,
    )  # fmt: skip


def _season_part(names: list[Any], period: LongArray | int, cycle: float | None, shares: TopicShares) -> str | None:
    """Return the part of the season that a period is: 12, Q4 or W51, a weekday, or its place in the cycle."""
    name, part = names[int(period)], (shares.options.over or "").rpartition(":")[2]
    if name is None or cycle is None:
        return None
    if cycle != CYCLES.get(part):
        return f"{int(period % cycle) + 1} of {cycle:g}"
    return _WEEKDAYS[date.fromisoformat(name).weekday()] if part == "day" else str(name.rpartition("-")[2])
