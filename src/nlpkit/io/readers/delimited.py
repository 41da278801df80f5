"""CSV and TSV → blocks of rows: a header, the csv module, every field a string, but for the lists that nlpkit writes."""

from __future__ import annotations

import csv
import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, lines_with_ends
from nlpkit.io.readers.roles import text_columns

_BLOCK_CHARS = 1 << 20
_LONGEST_FIELD = (1 << 31) - 1  # the csv module stops at 131,072 characters unless told
_SAMPLE_LINES = 200
# columns of nlpkit that hold lists or objects, which are JSON in a cell (see `nlpkit.io.tables`)
_NESTED = ("tokens", "embedding", "prediction_prob", "probabilities")


log = logging.getLogger("nlpkit.io")


def read_delimited(
    text: Iterator[str], path: str, *, delimiter: str | None, text_col: str, na_values: Sequence[str] = ()
) -> Iterator[RowBlock]:
    """Yield the rows below the header; a `delimiter` of None is detected from the first lines.

    Cells that are one of `na_values` are empty ones; a warning says how many there were in which columns.

    Raises InputError with path:line for a repeated column name, a row of another length, and an unclosed quote.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = _Lines(lines_with_ends(text))
    delimiter = delimiter or _sniff(lines.ahead(_SAMPLE_LINES), text_col)
    reader = csv.reader(lines, delimiter=delimiter)
    names: list[str] = []
    rows: list[list[str]] = []
    starts: list[int] = []
    done = 0  # rows handed on
    start = 1  # line where the next row begins
    last: list[str] = []  # the lines of the last row
    emptied: Counter[str] = Counter()  # cells of each column
    try:
        for row in reader:
            last, lines.taken = lines.taken, []
            if row and not names:
                names = header_names(row, path, start)
                yield RowBlock({name: [] for name in names}, range(0), 0, [])
            elif row:
                if len(row) != len(names):
                    raise InputError(_ragged(path, start, reader.line_num, row, names))
                if any(value in row for value in na_values):
                    emptied.update(name for name, cell in zip(names, row, strict=True) if cell in na_values)
                    row = ["" if cell in na_values else cell for cell in row]
                rows.append(row)
                starts.append(start)
                if len(rows) == BLOCK_ROWS or lines.size > _BLOCK_CHARS:
                    yield _block(names, rows, starts, done, lines.size)
                    done += len(rows)
                    rows, starts, lines.size = [], [], 0
            start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not {'TSV' if delimiter == chr(9) else 'CSV'}: {error}") from error
    finally:
        if emptied:
            columns = ", ".join(f"{name} {count:,}" for name, count in emptied.most_common(5))
            cells = f"{emptied.total():,} {'cell is' if emptied.total() == 1 else 'cells are'} {' or '.join(na_values)}"
            log.warning("%s: %s, which is no value: %s (see `na_values`)", path, cells, columns)
    if _is_unclosed(last, delimiter):
        raise InputError(f"{path}:{start - len(last)}: a quote opened in this row is not closed by the end of the file")
    if rows:
        yield _block(names, rows, starts, done, lines.size)


class _Lines:
    """The lines that the csv reader takes: those of the row it is in, and how many characters."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.taken: list[str] = []
        self.size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.taken.append(line)
        self.size += len(line)
        return line

    def ahead(self, count: int) -> list[str]:
        """Return the next lines without taking them."""
        lines = list(islice(self._lines, count))
        self._lines = chain(lines, self._lines)
        return lines


def _sniff(lines: list[str], text_col: str) -> str:
    """Return the delimiter under which the header holds the text column and the rows are as long as the header."""
    best, delimiter = (False, False, 0.0, 0), ","
    for candidate in (",", ";", "\t", "|"):
        try:
            rows = [row for row in csv.reader(lines, delimiter=candidate) if row]
        except csv.Error:
            continue
        if len(lines) == _SAMPLE_LINES and len(rows) > 1:
            rows.pop()  # the sample may cut it
        if not rows:
            continue
        header = [" ".join(name.split()) for name in rows[0]]
        even = sum(len(row) == len(header) for row in rows) / len(rows)
        score = (
            text_col in header or set(text_columns(text_col)) <= set(header),
            len(header) > 1 and even >= 0.8,
            even,
            len(header),
        )
        if score > best:
            best, delimiter = score, candidate
    return delimiter


def header_names(row: list[str], path: str, line: int) -> list[str]:
    """Return the names of columns in a header, white space made even; raises InputError for one that is there twice."""
    names = [" ".join(name.split()) or f"column_{number}" for number, name in enumerate(row, start=1)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(f"{path}:{line}: the header has the column '{twice}' twice; rename one of them")
    return names


def _block(names: list[str], rows: list[list[str]], starts: list[int], done: int, size: int) -> RowBlock:
    return RowBlock(columns_of(names, rows), range(done + 1, done + len(rows) + 1), size, starts)


def columns_of(names: list[str], rows: list[list[Any]]) -> dict[str, list[Any]]:
    """Return rows of cells as columns; those of nlpkit that hold JSON are read."""
    columns: dict[str, list[Any]] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    for name in _NESTED:
        if name in columns:
            columns[name] = _json_values(columns[name]) or columns[name]
    return columns


def with_lists(blocks: Iterable[RowBlock], texts: Collection[str]) -> Iterator[RowBlock]:
    """Yield blocks in which a column of JSON lists of strings holds lists, the columns of `texts` apart; the first rows decide."""
    listed: list[str] | None = None
    for block in blocks:
        lists = {name: string_lists(cells) for name, cells in block.columns.items() if listed is None or name in listed}
        if listed is None and block.numbers:
            listed = [
                name for name, values in lists.items() if name not in texts and any(v is not None for v in values or ())
            ]
        block.columns |= {name: values for name in listed or () if (values := lists[name]) is not None}
        yield block


def string_lists(cells: Sequence[Any]) -> list[Any] | None:
    """Return cells that are JSON lists of strings as lists, empty ones as null; None when one is anything else."""
    values = _json_values(cells, opening="[")
    strings = all(item is None or isinstance(item, str) for value in values or () for item in value or ())
    return values if strings else None


def _json_values(cells: Sequence[Any], *, opening: str = "[{") -> list[Any] | None:
    """Return cells that are JSON lists or objects as these, empty ones as null; None when one is anything else."""
    values: list[Any] = []
    for cell in cells:
        if cell and not (isinstance(cell, str) and cell[0] in opening and cell[-1] in "]}"):
            return None
        try:
            values.append(json.loads(cell) if cell else None)
        except (ValueError, RecursionError):
            return None
    return values


def _ragged(path: str, start: int, end: int, row: list[str], names: list[str]) -> str:
    what = f"{path}:{start}: {len(row)} {'field' if len(row) == 1 else 'fields'}, but the header has {len(names)}"
    if end > start:
        return f"{what}; the row runs to line {end}, is a quote not closed?"
    return f"{what}; put fields with the delimiter in them into quotes" if len(row) > len(names) else what


def _is_unclosed(lines: list[str], delimiter: str) -> bool:
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False
