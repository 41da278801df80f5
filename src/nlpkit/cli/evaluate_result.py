"""What an evaluation came to: the scores of each target, and how the targets compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlpkit.metrics.bootstrap import Comparison
from nlpkit.metrics.score import Score


@dataclass(slots=True)
class TargetResult:
    """Scores of one target, in the order of METRICS, and what else is told of it.

    units: what Score.values are of (topic or class), with the columns that name them; facts: plain values for JSON; tables:
    further tables to show, title → (columns, rows); notes: lines for people.
    """

    name: str
    kind: str
    scores: dict[str, Score] = field(default_factory=dict)
    unit: str = "topic"
    units: list[str] = field(default_factory=list)
    unit_texts: list[str] = field(default_factory=list)
    unit_words: list[list[str]] = field(default_factory=list)  # of topics: the words that were scored
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unmade: dict[str, str] = field(default_factory=dict)  # scores that lack what they need, and why

    def add(self, score: Score) -> None:
        """Add a score."""
        self.scores[score.name] = score

    def plain(self) -> dict[str, Any]:
        """Return it as values that go into JSON."""
        return {
            "target": self.name,
            "kind": self.kind,
            **self.facts,
            f"{self.unit}{'es' if self.unit == 'class' else 's'}": [
                {"name": name, **({"words": self.unit_words[k]} if self.unit_words else {})}
                for k, name in enumerate(self.units)
            ],
            "metrics": {name: score.plain() for name, score in self.scores.items()},
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Compared:
    """One score of two targets, first minus second."""

    metric: str
    first: str
    second: str
    found: Comparison

    def plain(self) -> dict[str, Any]:
        """Return it as values that go into JSON."""
        interval = self.found.interval
        out: dict[str, Any] = {
            "metric": self.metric,
            "first": self.first,
            "second": self.second,
            "difference": self.found.difference,
            "p_value": self.found.p_value,
        }
        if interval is not None:
            out |= {"low": interval.low, "high": interval.high, "level": interval.level, "interval": interval.method}
        return out


@dataclass(slots=True)
class Evaluation:
    """All of it. facts: what concerns all targets, such as matched topics."""

    targets: list[TargetResult]
    comparisons: list[Compared] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = field(default_factory=dict)
    shared: dict[str, Score] = field(default_factory=dict)  # of all targets together: stability

    def plain(self) -> Mapping[str, Any]:
        """Return it as values that go into JSON."""
        return {
            "targets": [target.plain() for target in self.targets],
            **({"together": {name: score.plain() for name, score in self.shared.items()}} if self.shared else {}),
            **({"comparisons": [c.plain() for c in self.comparisons]} if self.comparisons else {}),
            **self.facts,
        }
