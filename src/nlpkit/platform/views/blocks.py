"""What a command says, as plain data: tables, figures, notes and sentences. A function beside a result returns its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from nlpkit.platform import wording


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts. Without the names of columns it has no head.

    Attributes:
        right: columns of numbers. texts: columns that may be cut, so that each row is one line.
        noun: what the rows are, where they may be many; then at most as many as are wanted are shown.
        sizes: of the rows; the largest are shown, without sizes the first. rest: a file or an option that has the others.
        after: rows that are always shown.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()
    title: str = ""
    noun: str = ""
    sizes: Sequence[float] | None = None
    rest: str = ""
    after: Sequence[Sequence[str]] = ()
    texts: Sequence[str] = ()

    def shown(self, most: int | None) -> tuple[list[Sequence[str]], str]:
        """Return the rows that are shown, and the line that tells of the others, "" where there are none."""
        n = len(self.rows)
        kept = shown_rows(n, most, self.sizes) if self.noun else list(range(n))
        line = "" if len(kept) == n else rest_line(len(kept), n, self.noun, self.rest, largest=self.sizes is not None)
        return [*(self.rows[i] for i in kept), *self.after], line


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of characters, of one line or several."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """What is said about the result, and not part of it."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """Text of the result."""

    text: str


Block = Table | Figure | Note | Sentence


def shown_rows(n: int, most: int | None, sizes: Sequence[float] | None = None) -> list[int]:
    """Return which of n rows are shown, in their order: all for None, else at most `most`; the largest if there are sizes."""
    if most is None or n <= most:
        return list(range(n))
    return list(range(most)) if sizes is None else sorted(sorted(range(n), key=lambda i: -sizes[i])[:most])


def rest_line(shown: int, n: int, noun: str, rest: str, *, largest: bool = False) -> str:
    """Return the line below a table that is not whole."""
    which = "the largest" if largest else "the first"
    return f"… {which} {wording.count(shown)} of {wording.count(n)} {noun}; all of them: --show all{f', or {rest}' if rest else ''}"


def cell(value: Any, form: str = "", missing: str = "") -> str:
    """Return a value as a cell: whole numbers with separators, others with three decimals, lists with commas; `missing` for NaN."""
    if value is None or value != value:
        return missing
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    return f"{value:{form or (',' if isinstance(value, Integral) else '.3f')}}"


def interval(low: Any, high: Any, form: str = ".3f") -> str:
    """Return the ends of an interval as [low, high], "" where there is none."""
    return "" if low is None or high is None else f"[{low:{form}}, {high:{form}}]"
