"""The block of rows that a reader hands on, and the reading of plain text into such blocks.

Parts, in this order:
- The block of rows that a reader hands on, and the text lines that line-based readers share.
- Plain text → blocks of rows: one document a line, or the whole file as one document.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

BLOCK_ROWS = 1_000


@dataclass(slots=True)
class RowBlock:
    """Rows as columns of equal length; `numbers` are the row numbers of made ids, `lines` where the rows begin.

    reasons: why rows have no text, where more is known than that.
    """

    columns: dict[str, list[Any]]
    numbers: Sequence[int]
    size: int  # characters read for it, about
    lines: Sequence[int] | None = None
    unit: str = "row"
    reasons: Mapping[int, str] = field(default_factory=dict)

    def place(self, path: str, row: int) -> str:
        """Return where a row of this block is, as messages say it."""
        if self.lines is not None:
            return f"{path}:{self.lines[row]}"
        return f"{path}: {self.unit} {self.numbers[row]}"

    def with_constants(self, constants: Mapping[str, str | None]) -> RowBlock:
        """Return this block with columns that hold one value each."""
        n_rows = len(self.numbers)
        return replace(self, columns={**self.columns, **{name: [value] * n_rows for name, value in constants.items()}})

    def with_columns(self, columns: Mapping[str, list[Any]], kinds: Mapping[str, pa.DataType]) -> RowBlock:
        """Return this block with more columns."""
        return replace(self, columns={**self.columns, **columns})

    def cut(self, start: int, stop: int) -> RowBlock:
        """Return some rows of this block."""
        share = (min(stop, len(self.numbers)) - start) / max(1, len(self.numbers))
        lines = None if self.lines is None else self.lines[start:stop]
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        return RowBlock(columns, self.numbers[start:stop], int(self.size * share), lines, self.unit)


@dataclass(slots=True)
class ArrowBlock:
    """Rows as a batch of Arrow; `numbers` are the row numbers of made ids, and those of lines where the rows are lines."""

    batch: pa.RecordBatch
    numbers: range
    size: int | None = None  # characters read for it; None for batches that are handed on as they are
    lines: bool = False

    def place(self, path: str, row: int) -> str:
        """Return where a row of this block is, as messages say it."""
        return f"{path}{':' if self.lines else ': row '}{self.numbers[row]}"

    def with_constants(self, constants: Mapping[str, str | None]) -> ArrowBlock:
        """Return this block with columns that hold one value each."""
        batch = self.batch
        for name, value in constants.items():
            batch = batch.append_column(name, pa.array([value] * batch.num_rows, pa.string()))
        return replace(self, batch=batch)

    def with_columns(self, columns: Mapping[str, list[Any]], kinds: Mapping[str, pa.DataType]) -> ArrowBlock:
        """Return this block with more columns of some types."""
        batch = self.batch
        for name, values in columns.items():
            batch = batch.append_column(name, pa.array(values, kinds[name]))
        return replace(self, batch=batch)


def from_rows(rows: Sequence[dict[str, Any]], numbers: Sequence[int], size: int, **where: Any) -> RowBlock:
    """Return rows given as objects as a block; what an object does not have is null."""
    shapes = set(map(tuple, rows))
    if len(shapes) == 1:  # all have the same names in the same order
        columns = zip(*(row.values() for row in rows), strict=True)
        return RowBlock(dict(zip(shapes.pop(), map(list, columns), strict=False)), numbers, size, **where)
    names = dict.fromkeys(name for row in rows for name in row)
    return RowBlock({name: [row.get(name) for row in rows] for name in names}, numbers, size, **where)


def lines_with_ends(text: Iterable[str]) -> Iterator[str]:
    r"""Yield the lines of a text with their ends, which may be \n, \r\n or \r."""
    rest = ""
    for piece in text:
        rest += piece
        end = max(rest.rfind("\n"), rest.rfind("\r", 0, -1)) + 1  # a \r at the end may be half of a \r\n
        if end:
            yield from io.StringIO(rest[:end], newline="")
            rest = rest[end:]
    if rest:
        yield from io.StringIO(rest, newline="")


# ------------------------------------------------------------------------------------------------------------------------
# Plain text → blocks of rows: one document a line, or the whole file as one document.

_BLOCK_CHARS = 1 << 20


def read_lines(text: Iterator[str]) -> Iterator[RowBlock]:
    """Yield the lines that are not blank, without their ends, numbered by line."""
    texts: list[str] = []
    numbers: list[int] = []
    size = 0
    for number, line in enumerate(lines_with_ends(text), start=1):
        if line.isspace():
            continue
        texts.append(line.rstrip("\r\n"))
        numbers.append(number)
        size += len(line)
        if len(texts) == BLOCK_ROWS or size > _BLOCK_CHARS:
            yield RowBlock({"text": texts}, numbers, size, numbers)
            texts, numbers, size = [], [], 0
    if texts:
        yield RowBlock({"text": texts}, numbers, size, numbers)


def read_file(text: Iterator[str]) -> Iterator[RowBlock]:
    """Yield the whole text, as it is, as one document; an empty file is a document without words."""
    whole = "".join(text)
    yield RowBlock({"text": [whole]}, [1], len(whole), [1])
