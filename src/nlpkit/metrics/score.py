"""Scores: a number with its interval, its definition and its units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nlpkit.metrics.catalogue import Metric
from nlpkit.metrics.intervals import Interval, Statistic, edge_interval, interval, jackknife_interval, mean_of
from nlpkit.platform.plain import finite_or_none
from nlpkit.platform.types import FloatArray

MANY_UNITS = 2000
OF_DOCUMENTS = (
    "classification",
    "multilabel",
    "ranking",
    "spans",
    "people",
)  # groups of means that lie at an end when all documents do


@dataclass(frozen=True, slots=True)
class Score:
    """One score of one target.

    value: None where it is not defined, and why says why. values: of each unit (topics, classes), NaN where not defined.
    over: what it is a mean of. parameters: the definition in force, as plain values.
    """

    metric: Metric
    value: float | None
    over: str
    n: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    values: FloatArray | None = None
    median: float | None = None
    interval: Interval | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.metric.name

    @property
    def shown(self) -> str:
        """The value in four digits, or why it is not defined."""
        return f"not defined: {self.why}" if self.value is None else f"{self.value:.4g}"

    def __repr__(self) -> str:
        """Return name and value, with the interval where there is one: Score(npmi 0.123 [0.101, 0.145], 95 % by …)."""
        value = self.shown
        interval = self.interval
        if interval is not None and interval.low is not None and interval.high is not None:
            value += f" [{interval.low:.4g}, {interval.high:.4g}], {interval.level:.0%} by {interval.method}"
        return f"Score({self.name} {value})"

    def to_dict(self) -> dict[str, Any]:
        """Return the score as values that go into JSON."""
        out: dict[str, Any] = {"value": self.value}
        if self.median is not None:
            out["median"] = self.median
        if self.interval is not None:
            bounds = self.interval
            out |= {
                "low": bounds.low,
                "high": bounds.high,
                "level": bounds.level,
                "interval": bounds.method,
            }
        out |= {
            "better": self.metric.better or None,
            "over": self.over,
            "n": self.n,
            "parameters": dict(self.parameters),
        }
        if self.why:
            out["why"] = self.why
        if self.values is not None:
            out["values"] = [finite_or_none(v) for v in self.values]
        return out


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Settings of intervals: level, None for none; seed of the draws."""

    level: float | None
    seed: int


def mean_score(
    metric: Metric,
    values: FloatArray,
    uncertainty: Uncertainty,
    *,
    over: str = "topics",
    parameters: Mapping[str, Any] | None = None,
    why: str = "no topic has two words that count",
) -> Score:
    """Return the mean of values as a score, with median and interval; NaN values are left out of both and counted in n."""
    known_values = values[np.isfinite(values)]
    if not len(known_values):
        return Score(metric, None, over, 0, parameters or {}, values, why=why)
    statistic, counts = mean_of(values), np.ones(len(values), np.int64)
    return Score(
        metric,
        float(known_values.mean()),
        over,
        len(known_values),
        parameters or {},
        values,
        float(np.median(known_values)),
        bounds(metric, statistic, counts, uncertainty, over, value=float(known_values.mean()), n=len(known_values)),
    )


def statistic_score(
    metric: Metric,
    statistic: Statistic,
    counts: Any,
    uncertainty: Uncertainty,
    *,
    over: str,
    parameters: Mapping[str, Any] | None = None,
    values: FloatArray | None = None,
    why: str = "it is not defined here",
    jackknife: bool = False,
    known: Interval | None = None,
) -> Score:
    """Return the value of a statistic of all units as a score, with its interval (see `nlpkit.metrics.intervals`).

    Args:
        jackknife: for scores that units drawn twice would bias (see `nlpkit.metrics.intervals`).
        known: the interval, where a better one is known than that of draws (see `nlpkit.metrics.intervals`).
    """
    counts = np.asarray(counts, np.int64)
    value = float(statistic(counts[None].astype(np.float64))[0]) if len(counts) else float("nan")
    if not np.isfinite(value):
        return Score(metric, None, over, int(counts.sum()), parameters or {}, values, why=why)
    n = int(counts.sum()) if metric.group in OF_DOCUMENTS else None
    value_bounds = known or bounds(metric, statistic, counts, uncertainty, over, value=value, jackknife=jackknife, n=n)
    return Score(
        metric,
        value,
        over,
        int(counts.sum()),
        parameters or {},
        values,
        None,
        value_bounds,
    )


def bounds(
    metric: Metric,
    statistic: Statistic,
    counts: Any,
    uncertainty: Uncertainty,
    over: str,
    *,
    value: float,
    jackknife: bool = False,
    n: int | None = None,
) -> Interval | None:
    """Return the interval of a score, cut at its range; None when none is wanted or it is undefined.

    Of very many units it is that of a jackknife, too, which then agrees with a bootstrap and takes a fraction of the time.

    Args:
        value: of the score; a cut never leaves it out, also where rounding takes it past the range.
        n: of a mean of so many values, which has an interval also where all of them lie at one end of the range; else None.
    """
    if uncertainty.level is None:
        return None
    if n is not None:
        low, high = metric.range
        edge = edge_interval(value, n, low=low, high=high, level=uncertainty.level)
        if edge is not None:
            return edge
    if jackknife or np.count_nonzero(counts) > MANY_UNITS:
        resampled = jackknife_interval(statistic, counts, level=uncertainty.level, over=over)
    else:
        resampled = interval(statistic, counts, level=uncertainty.level, seed=uncertainty.seed, over=over)
    if resampled is None:
        return None
    low, high = metric.range
    return replace(resampled, low=max(resampled.low, min(low, value)), high=min(resampled.high, max(high, value)))
