"""A parameter of a classifier whose value is chosen among several by cross-validation inside the training documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nlpkit.errors import UsageError
from nlpkit.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from nlpkit.classify.kinds import ModelOptions

INNER_FOLDS = 3
# what "auto" tries: half a decade apart around what suits texts; of both the strongest smoothing first
AUTO = {
    "cost": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
    "alpha": (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003),
}


@dataclass(frozen=True, slots=True)
class Search:
    """Values of an option, cost or alpha, the strongest regularisation first."""

    option: str
    values: tuple[float, ...]

    def applied(self, model: ModelOptions, value: float) -> ModelOptions:
        """Return the options of a model with one of the values."""
        return replace(model, alpha=value) if self.option == "alpha" else replace(model, C=value)


@dataclass(frozen=True, slots=True)
class Searched:
    """Mean score over the inner folds of each value, of the metric of that name; the best is taken, of equals the first."""

    search: Search
    metric: str
    scores: tuple[float, ...]

    @property
    def value(self) -> float:
        """The value that was taken."""
        best = max if METRICS[self.metric].better == "high" else min
        return self.search.values[self.scores.index(best(self.scores))]

    @property
    def at_end(self) -> bool:
        """Whether it is the largest or the smallest that was tried, so that one beyond may be better."""
        return self.value in (self.search.values[0], self.search.values[-1])

    def to_dict(self) -> dict[str, Any]:
        """Return option, value, the metric, and the mean score of each value."""
        scores = [{"value": v, self.metric: s} for v, s in zip(self.search.values, self.scores, strict=True)]
        facts = {"option": self.search.option, "value": self.value, "metric": self.metric, "inner_folds": INNER_FOLDS}
        return facts | {"tried": scores}


def values_of(option: str, value: str | float | Sequence[float]) -> tuple[float, ...]:
    """Return the values that an option of AUTO names: one number, several, or `auto`; in the order of `Search`.

    Raises:
        UsageError: they are no different numbers above 0.
    """
    if value == "auto":
        return AUTO[option]
    parts: Sequence[Any] = (
        value.split(",") if isinstance(value, str) else (value,) if isinstance(value, int | float) else value
    )
    try:
        numbers = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        numbers = ()
    if not numbers or not all(0 < number < float("inf") for number in numbers):
        shown = value if isinstance(value, str) else f"{value:g}" if isinstance(value, int | float) else value
        raise UsageError(
            f"`{option}={shown}`: a number above 0 is needed, several such as 0.1,1,10, or auto", parameter=option
        )
    return tuple(sorted(set(numbers), reverse=option == "alpha"))
