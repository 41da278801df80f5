"""The result of an evaluation: the scores of each target, how the targets compare, and which gates they pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from nlpkit.metrics.catalogue import metric_of
from nlpkit.metrics.intervals import Comparison
from nlpkit.metrics.score import Score
from nlpkit.platform import notebook, wording
from nlpkit.platform.notebook import Tabular

FORMAT = "nlpkit.format"  # key of the metadata of a field
ALL_TARGETS = "all targets"  # the name under which scores of all targets together stand
MODEL = "predictions"  # the target of a classifier's own scores in its metrics.json, beside those of guesses
SCORES_SCHEMA = pa.schema(
    [
        ("target", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),  # topic or class; null: the whole
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int64()),
    ]
)


def detail_table(
    names: Sequence[str], rows: Iterable[Sequence[Any]], formats: Mapping[str, str] | None = None
) -> pa.Table:
    """Return a table of what lies behind scores, with the format in which people see a column in the metadata of its field.

    Args:
        names, rows: of the table.
        formats: of some columns, such as ".0%"; by default "," of whole numbers and ".3f" of others; "short" of long texts.
    """
    arrays = [pa.array(values) for values in zip(*rows, strict=True)] or [pa.nulls(0)] * len(names)
    fields = [
        pa.field(name, array.type, metadata={FORMAT: (formats or {}).get(name, "")})
        for name, array in zip(names, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@dataclass(slots=True)
class TargetResult:
    """Scores of one target, in the order of METRICS, and further facts about it.

    units: what Score.values are of (topic or class), with the columns that name them; facts: plain values for JSON; tables:
    further tables by title (see `detail_table`); notes: sentences for people; unmade: scores that lack what they need, with the
    reason.
    """

    name: str
    kind: str
    scores: dict[str, Score] = field(default_factory=dict)
    unit: str = "topic"
    units: list[str] = field(default_factory=list)
    unit_texts: list[str] = field(default_factory=list)
    unit_words: list[list[str]] = field(default_factory=list)  # of topics: the words that were scored
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unmade: dict[str, str] = field(default_factory=dict)

    def add(self, score: Score) -> None:
        """Add a score."""
        self.scores[score.name] = score

    def to_dict(self) -> dict[str, Any]:
        """Return the result as values that go into JSON."""
        return {
            "target": self.name,
            "kind": self.kind,
            **self.facts,
            f"{self.unit}{'es' if self.unit == 'class' else 's'}": [
                {"name": name, **({"words": self.unit_words[k]} if self.unit_words else {})}
                for k, name in enumerate(self.units)
            ],
            "metrics": {name: score.to_dict() for name, score in self.scores.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """One score of two targets, first minus second."""

    metric: str
    first: str
    second: str
    comparison: Comparison

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as values that go into JSON."""
        interval = self.comparison.interval
        out: dict[str, Any] = {
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            "difference": self.comparison.difference,
            "p_value": self.comparison.p_value,
        }
        if interval is not None:
            out |= {"low": interval.low, "high": interval.high, "level": interval.level, "interval": interval.method}
        return out


@dataclass(frozen=True, slots=True)
class Bound:
    """A bar that a score must keep. kind: under, over, or drop (from a baseline; relative: as a share of it)."""

    metric: str
    value: float
    kind: str
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """The outcome of a bound for one target: whether it passed, and a line that says so."""

    target: str
    bound: Bound
    value: float | None
    passed: bool
    line: str

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as values that go into JSON."""
        return {
            "target": self.target,
            "metric": self.bound.metric,
            "kind": self.bound.kind,
            "bound": self.bound.value,
            "value": self.value,
            "passed": self.passed,
            "line": self.line,
        }


@dataclass(slots=True, repr=False)
class Evaluation(Tabular, Mapping[str, Score]):
    """Scores of one target or several. With one target it is a mapping from the name of a metric to its Score.

    Attributes:
        targets: the scores of each target.
        comparisons: differences of each target from the first, with intervals.
        shared: scores of all targets together (stability).
        facts: plain values that concern all targets.
        tables: tables that concern all targets, such as matched topics.
        gates: outcomes of the bounds that were set.
    """

    targets: list[TargetResult]
    comparisons: list[ScoreDifference] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    shared: dict[str, Score] = field(default_factory=dict)
    gates: list[Gate] = field(default_factory=list)

    @property
    def scores(self) -> dict[str, Score]:
        """The scores of the only target, and those of all targets together."""
        return {**(self.targets[0].scores if len(self.targets) == 1 else {}), **self.shared}

    @property
    def notes(self) -> list[str]:
        """Notes on the scores, each with the name of its target."""
        return [f"{target.name}: {note}" for target in self.targets for note in target.notes]

    @property
    def passed(self) -> bool:
        """Whether all gates passed."""
        return all(gate.passed for gate in self.gates)

    def __getitem__(self, name: str) -> Score:
        """Return a score by the name or alias of its metric. Raises KeyError when it was not made."""
        metric = metric_of(name)
        key = name if metric is None else metric.name
        if key in self.scores:
            return self.scores[key]
        if len(self.targets) > 1 and any(key in target.scores for target in self.targets):
            raise KeyError(f"there are {len(self.targets)} targets; use evaluation.targets[0].scores['{key}']")
        raise KeyError(f"no score '{name}' (scores: {', '.join(self.scores) or 'none'})")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the scores."""
        return iter(self.scores)

    def __len__(self) -> int:
        """Return the number of scores."""
        return len(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as values that go into JSON."""
        gates = {"gates": [gate.to_dict() for gate in self.gates], "passed": self.passed} if self.gates else {}
        return {
            "targets": [target.to_dict() for target in self.targets],
            **({"together": {name: score.to_dict() for name, score in self.shared.items()}} if self.shared else {}),
            **({"comparisons": [c.to_dict() for c in self.comparisons]} if self.comparisons else {}),
            **self.facts,
            **gates,
        }

    def table(self) -> pa.Table:
        """Return a row for each score: target, metric, unit (topic or class; null: the whole), value, low, high, n."""
        rows = []
        for target in self.targets:
            for score in target.scores.values():
                rows.append(_row(target.name, score))
                if score.values is not None and len(score.values) == len(target.units):
                    rows += [
                        {"target": target.name, "metric": score.name, "unit": unit, "value": None if v != v else v}
                        for unit, v in zip(target.units, score.values.tolist(), strict=True)
                    ]
        rows += [_row(ALL_TARGETS, score) for score in self.shared.values()]
        return pa.Table.from_pylist(rows, schema=SCORES_SCHEMA)

    def __repr__(self) -> str:
        scored = wording.counted(len(self.targets), "target") if len(self.targets) != 1 else self.targets[0].name
        return wording.described(self, scored, *(f"{name} {score.shown}" for name, score in self.scores.items()))

    def _repr_html_(self) -> str:
        """Return the scores as a table for notebooks."""
        head = ("target", "metric", "value", "low", "high")
        rows = [row for row in self.table().to_pylist() if row["unit"] is None]
        return notebook.html(head, [[row[name] for name in head] for row in rows])


def _row(target: str, score: Score) -> dict[str, Any]:
    low, high = (None, None) if score.interval is None else (score.interval.low, score.interval.high)
    return {"target": target, "metric": score.name, "value": score.value, "low": low, "high": high, "n": score.n}
