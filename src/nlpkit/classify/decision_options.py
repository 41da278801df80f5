"""What a decision for a class must reach, as options name it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from nlpkit.errors import UsageError, unknown_value

Measure = Literal["recall", "precision"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A recall or precision, above 0 and at most 1, that the decision for a class must have at least."""

    measure: Measure
    value: float
    label: str

    @classmethod
    def parse(cls, text: str) -> Wanted:
        """Return what `recall=0.95:LABEL` or `precision=0.9:LABEL` wants. Raises UsageError."""
        bound, colon, label = text.partition(":")
        measure, _, number = bound.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = 0.0
        if measure not in ("recall", "precision") or not 0 < value <= 1 or not colon or not label:
            raise UsageError(
                f"`threshold={text}`: recall=R:LABEL or precision=P:LABEL is needed, R and P above 0 and at most 1",
                parameter="threshold",
            )
        return cls(cast(Measure, measure), value, label)


def parse_thresholds(texts: Sequence[str]) -> tuple[Wanted, ...]:
    """Return what texts want (see `Wanted.parse`). Raises UsageError, also for a class that is named twice."""
    wanted = tuple(Wanted.parse(text) for text in texts)
    labels = [one.label for one in wanted]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise UsageError(f"`threshold` names '{twice}' twice; give each class one threshold", parameter="threshold")
    return wanted


def check_wanted(wanted: Sequence[Wanted], names: Sequence[str], *, multiple: bool) -> None:
    """Raise UsageError where a class is not known, or several have a threshold and a document has one label only."""
    for one in wanted:
        if one.label not in names:
            raise unknown_value("threshold", one.label, names)
    if len(wanted) > 1 and not multiple:
        raise UsageError(
            f"`threshold`: with one label per document, only one class can have a threshold, not {len(wanted)}",
            parameter="threshold",
        )
