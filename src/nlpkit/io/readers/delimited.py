"""CSV and TSV → blocks of rows: a header, the csv module, every field a string, but for the lists that nlpkit writes."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, lines_with_ends
from nlpkit.io.readers.quoting import (
    BOM,
    LONGEST_FIELD,
    Dialect,
    Lines,
    OpenBytes,
    OpenText,
    find_quoting,
    rows_in,
    rows_of,
    what_is_wrong,
)
from nlpkit.io.readers.roles import text_columns
from nlpkit.wording import counted

_BLOCK_CHARS = 1 << 20
_SAMPLE_LINES = 200
_SEPARATOR = re.compile(r'"?sep=([!-~\t])"?', re.IGNORECASE)
REPEATED_HEADER = "the row repeats the header"
# columns of nlpkit that hold lists or objects, which are JSON in a cell (see `nlpkit.io.tables`)
_NESTED = ("tokens", "embedding", "prediction_prob", "probabilities")


log = logging.getLogger("nlpkit.io")


def dialect_of(
    open_text: OpenText,
    path: str,
    *,
    delimiter: str | None,
    text_col: str,
    whole: bool = True,
    open_bytes: OpenBytes | None = None,
) -> Dialect:
    """Return how the rows of a text are told apart; a `delimiter` of None is detected from the first lines.

    A first line such as `sep=;`, which Excel reads, names the delimiter. See `find_quoting` for the rest.
    """
    csv.field_size_limit(LONGEST_FIELD)
    try:
        first = list(islice(lines_with_ends(open_text()), _SAMPLE_LINES))
    except InputError:  # it comes up again when the rows are read
        first = []
    named = _SEPARATOR.fullmatch(first[0].strip(f"{BOM}\r\n")) if first else None
    delimiter = named[1] if named else delimiter or _sniff(first, text_col)
    return find_quoting(
        open_text, path, Dialect(delimiter, skip=int(named is not None)), whole=whole, open_bytes=open_bytes
    )


def read_delimited(
    text: Iterable[str], path: str, dialect: Dialect, *, na_values: Sequence[str] = ()
) -> Iterator[RowBlock]:
    """Yield the rows below the header.

    Rows that repeat the header, and rows of empty cells, have the reason why they are no documents, and no values. Cells that are one of
    `na_values` are empty ones; a warning says how many there were in which columns.

    Raises InputError with path:line for a repeated column name, a row of another length, and a cell that is not quoted as the dialect says.
    """
    csv.field_size_limit(LONGEST_FIELD)
    lines = Lines(islice(lines_with_ends(text), dialect.skip, None))
    lines.number = dialect.skip
    header: list[str] = []
    names: list[str] = []
    rows: list[list[str]] = []
    starts: list[int] = []
    reasons: dict[int, str] = {}
    done = rowlike = 0  # rows handed on, rows that may be several
    start = lines.number + 1  # line where the next row begins
    emptied: Counter[str] = Counter()  # cells of each column

    def block() -> RowBlock:
        numbers = range(done + 1, done + len(rows) + 1)
        return RowBlock(columns_of(names, rows), numbers, lines.size, starts, reasons=reasons)

    try:
        for row in rows_of(lines, dialect):
            taken, lines.taken = lines.taken, []
            if row and not header:
                header, names = row, header_names(row, path, start)
                yield RowBlock({name: [] for name in names}, range(0), 0, [])
            elif row:
                if len(row) != len(names):
                    raise InputError(_ragged(path, start, lines.number, row, names))
                if len(taken) > 1 and not dialect.certain and rows_in(taken, dialect.delimiter, len(names)):
                    rowlike += 1
                    log.log(
                        logging.WARNING if rowlike == 1 else logging.DEBUG,
                        "%s:%d: a quoted cell runs to line %d, and each of these lines may be a row; from a file, which can be "
                        "looked at as a whole, nlpkit may tell",
                        path, start, lines.number,
                    )  # fmt: skip
                if any(value in row for value in na_values):
                    emptied.update(name for name, cell in zip(names, row, strict=True) if cell in na_values)
                    row = ["" if cell in na_values else cell for cell in row]
                if row == header:
                    reasons[len(rows)] = REPEATED_HEADER
                    row = [""] * len(names)
                elif not any(row):
                    reasons[len(rows)] = "all cells of the row are empty"
                rows.append(row)
                starts.append(start)
                if len(rows) == BLOCK_ROWS or lines.size > _BLOCK_CHARS:
                    yield block()
                    done += len(rows)
                    rows, starts, reasons, lines.size = [], [], {}, 0
            start = lines.number + 1
    except csv.Error as error:
        hint = "" if dialect.certain else ", or read a file instead of a pipe: it is looked at as a whole"
        raise InputError(
            f"{path}:{start}: {what_is_wrong(error, start, lines.number)}; double the quotation marks inside quoted cells{hint}"
        ) from error
    finally:
        if emptied:
            columns = ", ".join(f"{name} {count:,}" for name, count in emptied.most_common(5))
            cells = f"{emptied.total():,} {'cell is' if emptied.total() == 1 else 'cells are'} {' or '.join(na_values)}"
            log.warning("%s: %s, which is not a value: %s (see `na_values`)", path, cells, columns)
    if lines.marks:
        log.warning("%s: %s inside the file left out", path, counted(lines.marks, "byte order mark"))
    if rows:
        yield block()


def _sniff(lines: list[str], text_col: str) -> str:
    """Return the delimiter under which the header holds the text column and the rows are as long as the header."""
    best, delimiter = (False, False, 0.0, 0), ","
    for candidate in (",", ";", "\t", "|"):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            try:
                rows = [row for row in csv.reader(lines, delimiter=candidate, quoting=quoting) if row]
            except csv.Error:
                continue
            if len(lines) == _SAMPLE_LINES and len(rows) > 1:
                rows.pop()  # the sample may cut it
            if not rows:
                continue
            header = [" ".join(name.strip(f'{BOM}"').split()) for name in rows[0]]
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
