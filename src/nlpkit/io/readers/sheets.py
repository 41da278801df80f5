"""The first sheet of an Excel workbook → blocks of rows: a header, then a document a row."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

from nlpkit.errors import InputError, NlpkitError, first_line, missing_extra
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock
from nlpkit.io.readers.delimited import columns_of, header_names
from nlpkit.io.readers.unreadable import MOST_UNPACKED_SHEETS, UnreadableFileError, opened_zip

log = logging.getLogger("nlpkit.io")


def read_sheet(content: bytes, path: str, *, report: bool) -> Iterator[RowBlock]:
    """Yield the rows below the header, values as Excel holds them: those of formulas as last computed, dates in ISO 8601.

    Args:
        report: say which sheet of several is read.

    Raises:
        UnreadableFileError: it is broken, protected, or no workbook; InputError: a row has values in a column without a name;
        MissingError: the extra is not installed.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise missing_extra("reading Excel workbooks", "documents") from None
    with opened_zip(content, "xlsx", MOST_UNPACKED_SHEETS) as archive:
        if "[Content_Types].xml" not in archive.namelist():
            raise UnreadableFileError("it is a zip archive, but no Excel workbook")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions
            book = load_workbook(BytesIO(content), read_only=True, data_only=True)
            sheets = book.worksheets
            if report and len(sheets) > 1:
                others = ", ".join(f"'{sheet.title}'" for sheet in sheets[1:])
                log.warning("%s: the first sheet, '%s', is read; not %s", path, sheets[0].title, others)
            yield from _blocks(sheets[0], path)
    except (NlpkitError, MemoryError):
        raise
    except Exception as error:  # a broken workbook may fail anywhere in the library
        raise UnreadableFileError(f"it is broken ({type(error).__name__}: {first_line(error)})") from None


def _blocks(sheet: Any, path: str) -> Iterator[RowBlock]:
    from openpyxl.cell.cell import ERROR_CODES

    errors = frozenset(ERROR_CODES)
    sheet.reset_dimensions()  # which other programs may write wrong
    names: list[str] = []
    rows: list[list[Any]] = []
    lines: list[int] = []
    done = 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        row = [_value(cell, errors) for cell in cells]
        while row and row[-1] is None:
            row.pop()
        if not row:
            continue
        if not names:
            names = header_names(["" if value is None else str(value) for value in row], path, number)
            yield RowBlock({name: [] for name in names}, range(0), 0, [])
            continue
        if len(row) > len(names):
            raise InputError(f"{path}:{number}: a value stands right of the last column that has a name, '{names[-1]}'")
        rows.append(row + [None] * (len(names) - len(row)))
        lines.append(number)
        if len(rows) == BLOCK_ROWS:
            yield _block(names, rows, lines, done)
            done += len(rows)
            rows, lines = [], []
    if rows:
        yield _block(names, rows, lines, done)


def _block(names: list[str], rows: list[list[Any]], lines: list[int], done: int) -> RowBlock:
    columns = columns_of(names, rows)
    size = sum(len(value) for values in columns.values() for value in values if isinstance(value, str))
    return RowBlock(columns, range(done + 1, done + len(rows) + 1), size, lines)


def _value(cell: Any, errors: frozenset[str]) -> Any:
    """Return a cell as a value of JSON; None for an empty one and for #N/A and other errors."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    return None if cell in errors or cell == "" else cell
