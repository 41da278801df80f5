"""A number of topics or clusters that is wanted: exactly so many, or the best within a range."""

from __future__ import annotations

from dataclasses import dataclass, field

from nlpkit.errors import UsageError


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers of topics to choose from: low … high (None = any), in steps (None = as the hierarchy gives them)."""

    low: int = 2
    high: int | None = None
    step: int | None = None

    def __contains__(self, k: int) -> bool:
        return self.low <= k and (self.high is None or k <= self.high)


@dataclass(frozen=True, slots=True)
class NumberOfTopics:
    """The number of topics that is wanted: exactly n, or the best cut within a range (auto = any number)."""

    exactly: int | None = None
    within: Range = field(default_factory=Range)

    @classmethod
    def parse(cls, k: int | str) -> NumberOfTopics:
        """Read `auto`, a number, `lo:hi` or `lo:hi:step`.

        Raises:
            UsageError: it is none of these, or the range is empty.
        """
        text = str(k)
        if text == "auto":
            return cls()
        parts = text.split(":")
        if not 1 <= len(parts) <= 3 or not all(p.isdecimal() for p in parts):
            raise UsageError(
                f"`k` takes auto, a number, or a range such as 5:50 or 10:100:10, got '{text}'", parameter="k"
            )
        numbers = [int(p) for p in parts]
        if len(numbers) == 1:
            if numbers[0] < 1:
                raise UsageError(f"`k={text}`: at least 1 topic is needed", parameter="k")
            return cls(exactly=numbers[0])
        if numbers[0] > numbers[1] or numbers[0] < 1 or (len(numbers) == 3 and numbers[2] < 1):
            why = "its step must be 1 or more" if len(numbers) == 3 and numbers[2] < 1 else "write it as lowest:highest"
            raise UsageError(f"`k={text}` is an empty range; {why}", parameter="k")
        return cls(within=Range(*numbers))
