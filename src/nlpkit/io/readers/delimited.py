"""CSV and TSV → blocks of rows: a header, the csv module, every field a string, but for the lists that nlpkit writes."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile, islice
from typing import Any

from nlpkit.errors import InputError
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, lines_with_ends
from nlpkit.io.readers.guess import titles_above
from nlpkit.io.readers.quoting import (
    BOM,
    LONGEST_FIELD,
    Dialect,
    Lines,
    OpenBytes,
    OpenText,
    Quoting,
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
    options: ReadOptions,
    whole: bool = True,
    open_bytes: OpenBytes | None = None,
) -> Dialect:
    """Return how the rows of a text are told apart; a `delimiter` of None is detected from the first lines.

    A first line such as `sep=;`, which Excel reads, names the delimiter. Lines above the header that begin with # and have not
    the fields of the rows are comments. Rows with one field more than the header begin with the names that R gives to rows.
    See `find_quoting` for the rest.
    """
    csv.field_size_limit(LONGEST_FIELD)
    try:
        first = list(islice(lines_with_ends(open_text()), options.skip_rows + _SAMPLE_LINES))[options.skip_rows :]
    except InputError:  # it comes up again when the rows are read
        first = []
    skip = options.skip_rows
    named = _SEPARATOR.fullmatch(first[0].strip(f"{BOM}\r\n")) if first else None
    if named:
        first, skip = first[1:], skip + 1
    below = _below_comments(first)
    delimiter = options.delimiter or (named[1] if named else delimiter or _sniff(below, options.text_col))
    comments = _comments(first, len(first) - len(below), delimiter)
    if comments:
        _note_left_out(path, comments, "line that begins with #", "lines that begin with #")
    row_names = options.header and _has_row_names(first[comments:], delimiter)
    titles = titles_above(_rows_by_line(first[comments:], delimiter)) if options.header and not row_names else 0
    if titles:
        _note_left_out(path, titles, "line of a title", "lines of titles")
    dialect = Dialect(
        delimiter,
        skip=skip + comments + titles,
        header=options.header,
        row_names=row_names,
        escape=options.escape or "",
    )
    if options.quoting != "auto" or options.escape is not None:
        return replace(dialect, quoting=Quoting.NONE if options.quoting == "none" else Quoting.DOUBLED)
    return find_quoting(open_text, path, dialect, whole=whole, open_bytes=open_bytes)


def _below_comments(lines: list[str]) -> list[str]:
    """Return the lines from the first on that does not begin with #."""
    return list(dropwhile(lambda line: line.lstrip(BOM).startswith("#"), lines))


def _fields(lines: Iterable[str], delimiter: str) -> list[int]:
    """Return how many fields each row has; quotation marks quote."""
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return []


def _comments(lines: list[str], n_marked: int, delimiter: str) -> int:
    """Return how many of the first lines, which begin with #, are comments: up to one that has the fields of the rows below."""
    if not n_marked:
        return 0
    below = Counter(_fields(lines[n_marked:], delimiter)).most_common(1)
    if not below or below[0][0] < 2:  # a file of one column: they may be texts
        return 0
    width = below[0][0]
    return next((i for i, line in enumerate(lines[:n_marked]) if _fields([line], delimiter) == [width]), n_marked)


def _rows_by_line(lines: list[str], delimiter: str) -> list[list[str]]:
    """Return the cells of each line as if it were a row of its own."""
    return [next(csv.reader([line], delimiter=delimiter), []) for line in lines]


def _has_row_names(lines: list[str], delimiter: str) -> bool:
    """Return whether all rows have one field more than the header: different names in marks, or 1, 2, 3 in files without commas."""
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return False
    if len(lines) == _SAMPLE_LINES and len(rows) > 2:
        rows.pop()  # the sample may cut it
    if len(rows) < 2 or any(len(row) != len(rows[0]) + 1 for row in rows[1:]):
        return False
    names = [row[0] for row in rows[1:]]
    if len(set(names)) < len(names):
        return False
    is_numbered = delimiter != "," and names == [str(number) for number in range(1, len(names) + 1)]
    return is_numbered or all(
        line.startswith(f'"{name}"{delimiter}') for line, name in zip(lines[1:], names, strict=False)
    )


def _note_left_out(path: str, n: int, noun: str, plural: str) -> None:
    log.warning("%s: %s above the header left out", path, counted(n, noun, plural))


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
            if row and not names:
                header = row if dialect.header else []
                names = header_names([""] * dialect.row_names + (header or [""] * len(row)), path, start)
                yield RowBlock({name: [] for name in names}, range(0), 0, [])
                row = [] if dialect.header else row
            if row:
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
                if row[dialect.row_names :] == header:
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
    best, delimiter = (False, False, 0.0, 0, 0), ","
    for candidate in (",", ";", "\t", "|"):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            try:
                rows = [row for row in csv.reader(lines, delimiter=candidate, quoting=quoting) if row]
            except csv.Error:
                continue
            if len(lines) == _SAMPLE_LINES and len(rows) > 1:
                rows.pop()  # the sample may cut it
            titles = titles_above(rows)
            rows = rows[titles:]
            if not rows:
                continue
            header = [" ".join(name.strip(f'{BOM}"').split()) for name in rows[0]]
            even = sum(len(row) == len(header) for row in rows) / len(rows)
            score = (
                text_col in header or set(text_columns(text_col)) <= set(header),
                len(header) > 1 and even >= 0.8,
                even,
                -titles,
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


def with_numbers(
    blocks: Iterable[RowBlock], decimal: str, thousands: str | None, texts: Collection[str]
) -> Iterator[RowBlock]:
    """Yield blocks in which cells that are numbers in another notation have it as Python does, the columns of `texts` apart."""
    mark = re.escape(decimal)
    whole = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|\d+" if thousands else r"\d+"
    number = re.compile(rf"\s*[+-]?(?:(?:{whole})(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d+)?\s*")

    def plain(cell: Any) -> Any:
        if not isinstance(cell, str) or not number.fullmatch(cell):
            return cell
        return (cell.replace(thousands, "") if thousands else cell).replace(decimal, ".").strip()

    for block in blocks:
        block.columns |= {
            name: [plain(cell) for cell in cells] for name, cells in block.columns.items() if name not in texts
        }
        yield block


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
    if len(names) == 1:
        what += "; a title above the header can be left out with `skip_rows=1`"
    return f"{what}; put fields with the delimiter in them into quotes" if len(row) > len(names) else what
