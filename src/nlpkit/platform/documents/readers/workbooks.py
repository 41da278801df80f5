"""Tables of other programs read as blocks of rows: Excel workbooks, and files of Stata, SPSS, SAS and R.

Parts, in this order:
- The first sheet of an Excel workbook → blocks of rows: a header, then a document a row.
- Files of Stata, SPSS, SAS and R → tables, with the labels of values in place of their codes.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from io import BytesIO
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, NlpkitError, first_line, missing_extra
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.blocks import BLOCK_ROWS, RowBlock
from nlpkit.platform.documents.readers.delimited import (
    FURTHER_HEADER,
    NESTED,
    REPEATED_HEADER,
    columns_of,
    further_header,
    header_names,
    string_lists,
)
from nlpkit.platform.documents.readers.guess import (
    MOST_UNPACKED_SHEETS,
    SAMPLE_ROWS,
    UnreadableFileError,
    opened_zip,
    titles_above,
)
from nlpkit.platform.documents.readers.parquet import TableInput
from nlpkit.platform.documents.readers.r_files import columns_of_r
from nlpkit.platform.documents.sources import Source, StoredBytes
from nlpkit.platform.wording import counted, listed

_CHUNK = 1 << 20
_MOST_IN_CELL = 4 << 20  # bytes of XML; the text of a cell that Excel writes takes at most 230 KB
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_HIDDEN = re.compile(rb'<(?:\w+:)?(row|col)\b([^>]*?\bhidden="(?:1|true)"[^>]*)>')
_ATTRIBUTE = re.compile(rb'\b(r|min|max)="(\d+)"')
_LONGEST_RANGE = 400
_MOST_COLUMNS = 1 << 14
_UNDERSCORE = b"x005F_"
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


class Merged(NamedTuple):
    """Rows of one column that are one cell, or the first column of several; rows from 1, the column from 0."""

    first: int
    last: int
    column: int


class Look(NamedTuple):
    """What openpyxl does not say where it reads row by row.

    merged: cells that are one with those below them, ordered by row. has_underscores: whether a text has an escaped underscore.
    rows, columns: numbers of the hidden ones, rows from 1 and columns from 0.
    """

    merged: list[Merged]
    has_underscores: bool
    rows: frozenset[int]
    columns: frozenset[int]


log = logging.getLogger("nlpkit.io")


def read_sheet(content: bytes, path: str, options: ReadOptions, *, report: bool) -> Iterator[RowBlock]:
    """Yield the rows below the header, values as Excel holds them: those of formulas as last computed, dates in ISO 8601.

    Args:
        options: the sheet, and the rows above its header.
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
        shared = next((name for name in archive.namelist() if name.lower().endswith("sharedstrings.xml")), None)
        has_underscores = shared is not None and _look(archive, shared).has_underscores
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions
            book = load_workbook(BytesIO(content), read_only=True, data_only=True)
            sheet = _chosen(book.worksheets, options.sheet, path)
            if report and options.sheet is None and len(book.worksheets) > 1:
                others = ", ".join(f"'{other.title}'{_state(other)}" for other in book.worksheets if other is not sheet)
                log.warning(
                    "%s: the first sheet, '%s', is read; not %s (`sheet` names another)", path, sheet.title, others
                )
            if report and _state(sheet):
                log.warning("%s: the sheet '%s', which is read, is hidden in the workbook", path, sheet.title)
            with opened_zip(content, "xlsx", MOST_UNPACKED_SHEETS) as archive:
                look = _look(archive, sheet._worksheet_path)
                if has_underscores:
                    sheet._shared_strings = _shared_strings(archive, shared)
            yield from _blocks(sheet, path, look, options.skip_rows, report=report)
    except (NlpkitError, MemoryError):
        raise
    except Exception as error:  # a broken workbook may fail anywhere in the library
        raise UnreadableFileError(f"it is broken ({type(error).__name__}: {first_line(error)})") from None


def _chosen(sheets: list[Any], name: str | None, path: str) -> Any:
    """Return a sheet by its name, or by its number, which counts from 1; None is the first one."""
    if name is None:
        return sheets[0]
    for number, sheet in enumerate(sheets, start=1):
        if name in (sheet.title, str(number)):
            return sheet
    names = ", ".join(f"'{sheet.title}'" for sheet in sheets)
    raise InputError(f"{path}: no sheet '{name}' (it has {names})", parameter="sheet")


def _state(sheet: Any) -> str:
    return "" if sheet.sheet_state == "visible" else " (hidden)"


def _look(archive: ZipFile, name: str) -> Look:
    """Return what a sheet has beside its cells.

    Raises:
        UnreadableFileError: a text is too long for a cell, which openpyxl would hold in memory several times.
    """
    from openpyxl.utils import column_index_from_string

    ranges: set[Merged] = set()
    rows: set[int] = set()
    columns: set[int] = set()
    has_underscores = False
    rest = b""
    length = 0  # since the last tag
    with archive.open(name) as file:
        while chunk := file.read(_CHUNK):
            tags = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("<"))
            longest = (
                max(length + int(tags[0]), int(np.diff(tags).max(initial=0))) if len(tags) else length + len(chunk)
            )
            length = len(chunk) - int(tags[-1]) if len(tags) else longest
            if max(longest, length) > _MOST_IN_CELL:
                raise UnreadableFileError(
                    f"a cell holds more than {_MOST_IN_CELL / 1000000.0:,.0f} MB, although Excel itself allows only "
                    "32,767 characters"
                )
            for column, first, _, last in _MERGED.findall(rest + chunk):
                if int(last) > int(first):
                    ranges.add(Merged(int(first), int(last), column_index_from_string(column.decode()) - 1))
            if b'hidden="' in rest + chunk:
                for tag, attributes in _HIDDEN.findall(rest + chunk):
                    numbers = {key: int(number) for key, number in _ATTRIBUTE.findall(attributes)}
                    if tag == b"row" and b"r" in numbers:
                        rows.add(numbers[b"r"])
                    elif tag == b"col" and {b"min", b"max"} <= numbers.keys():
                        columns.update(range(numbers[b"min"] - 1, min(numbers[b"max"], _MOST_COLUMNS)))
            has_underscores |= _UNDERSCORE in rest + chunk
            rest = chunk[-_LONGEST_RANGE:]
    return Look(sorted(ranges), has_underscores, frozenset(rows), frozenset(columns))


def _shared_strings(archive: ZipFile, name: str | None) -> list[str]:
    """Return the texts that cells refer to, escapes as they are; openpyxl undoes those of underscores alone."""
    from openpyxl.cell.text import Text
    from openpyxl.xml.constants import SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    texts: list[str] = []
    with archive.open(name or "") as file:
        for _, node in iterparse(file):
            if node.tag == f"{{{SHEET_MAIN_NS}}}si":
                texts.append(Text.from_tree(node).content)
                node.clear()
    return texts


class _Filled:
    """Gives the value of merged cells to all rows of theirs."""

    def __init__(self, merged: list[Merged]) -> None:
        self._merged = merged[::-1]
        self._values: dict[int, tuple[int, Any]] = {}  # last row and value, by column
        self.ranges = self.cells = 0

    def fill(self, row: list[Any], number: int, n_columns: int) -> None:
        while self._merged and self._merged[-1].first <= number:
            first, last, column = self._merged.pop()
            if first == number and column < len(row) and row[column] is not None:
                self._values[column] = last, row[column]
                self.ranges += 1
        for column, (last, value) in list(self._values.items()):
            if number > last:
                del self._values[column]
            elif column < n_columns:
                row += [None] * (column + 1 - len(row))
                if row[column] is None:
                    row[column] = value
                    self.cells += 1


def _blocks(sheet: Any, path: str, look: Look, skip: int, *, report: bool) -> Iterator[RowBlock]:
    from openpyxl.cell.cell import ERROR_CODES

    errors = frozenset(ERROR_CODES)
    sheet.reset_dimensions()  # which other programs may write wrong
    header: list[Any] = []
    names: list[str] = []
    rows: list[list[Any]] = []
    lines: list[int] = []
    reasons: dict[int, str] = {}
    done = 0
    filled = _Filled(look.merged)
    hidden: list[int] = []
    numbered = enumerate(sheet.iter_rows(values_only=True), start=1)
    for number, row in _below_titles(((n, _row(cells, errors)) for n, cells in numbered if n > skip), path, report):
        if not names:
            header = row
            names = header_names(["" if value is None else str(value) for value in row], path, number)
            yield RowBlock({name: [] for name in names}, range(0), 0, [])
            continue
        if len(row) > len(names):
            raise InputError(
                f"{path}:{number}: a value is to the right of the last named column, '{names[-1]}'. The first "
                "non-empty row is the header; leave a title above it out with `skip_rows`"
            )
        if row == header:
            reasons[len(rows)] = REPEATED_HEADER
            row = []
        if number in look.rows:
            hidden.append(number)
        filled.fill(row, number, len(names))
        rows.append(row + [None] * (len(names) - len(row)))
        lines.append(number)
        if len(rows) == BLOCK_ROWS:
            yield _block(names, rows, lines, done, reasons)
            done += len(rows)
            rows, lines, reasons = [], [], {}
    if rows:
        yield _block(names, rows, lines, done, reasons)
    unseen = [name for column, name in enumerate(names) if column in look.columns]
    if report and (hidden or unseen):
        facts = [f"{counted(len(hidden), 'row')}, such as row {hidden[0]}"] if hidden else []
        facts += [f"{counted(len(unseen), 'column')} ({listed(unseen, 5)})"] if unseen else []
        log.warning("%s: hidden in the workbook, but read: %s", path, "; ".join(facts))
    if filled.cells and report:
        log.warning(
            "%s: %s gave %s below their value (%s)",
            path, counted(filled.ranges, "merged range"), counted(filled.cells, "empty cell"), "a merged cell is one for all its rows",
        )  # fmt: skip


def _below_titles(rows: Iterator[tuple[int, list[Any]]], path: str, report: bool) -> Iterator[tuple[int, list[Any]]]:
    """Yield the rows that hold something from the header on, with their numbers."""
    filled = ((number, row) for number, row in rows if row)
    first = list(islice(filled, SAMPLE_ROWS))
    titles = titles_above([row for _, row in first])
    if titles and report:
        log.warning("%s: %s above the header left out", path, counted(titles, "row of a title", "rows of titles"))
    yield from chain(first[titles:], filled)


def _row(cells: Iterable[Any], errors: frozenset[str]) -> list[Any]:
    """Return the values of a row up to the last cell that holds something."""
    row = [_value(cell, errors) for cell in cells]
    while row and row[-1] is None:
        row.pop()
    return row


def _block(names: list[str], rows: list[list[Any]], lines: list[int], done: int, reasons: dict[int, str]) -> RowBlock:
    for i in range(0 if done else further_header(rows)):
        reasons[i], rows[i] = FURTHER_HEADER, [None] * len(names)
    columns = columns_of(names, rows)
    size = sum(len(value) for values in columns.values() for value in values if isinstance(value, str))
    return RowBlock(columns, range(done + 1, done + len(rows) + 1), size, lines, reasons=reasons)


def _value(cell: Any, errors: frozenset[str]) -> Any:
    """Return a cell as a value of JSON; None for an empty one and for #N/A and other errors."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell)
    if isinstance(cell, str) and "_x" in cell:
        cell = _unescaped(cell)
    return None if cell in errors or cell == "" else cell


def _unescaped(text: str) -> str:
    """Return a text with the characters that OOXML writes as _xHHHH_ (ISO/IEC 29500, ST_Xstring); _x005F_ is an underscore."""
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# ------------------------------------------------------------------------------------------------------------------------
# Files of Stata, SPSS, SAS and R → tables, with the labels of values in place of their codes.

_OF_R = ("rds", "rdata")
_LARGEST_WHOLE = 2.0**53
VALUE_LABELS_KEY = b"nlpkit.value_labels"  # of a column: JSON pairs of its codes and their labels
COLUMN_LABEL_KEY = b"nlpkit.column_label"  # of a column: what it is, in words


class StatisticsInput(TableInput):
    """One file of a statistics program, which is read whole.

    A column whose values all have labels holds the labels. Numbers that are all whole are integers, and times that are all midnight
    are days.

    Args:
        name: of a data frame, where a file of R has several.

    Raises:
        InputError: it cannot be read, or holds no table; MissingError: the extra `statistics` is not there.
    """

    def __init__(self, source: Source, format: str, name: str | None, stdin: BinaryIO | None) -> None:
        with StoredBytes(source, stdin) as stored, tempfile.NamedTemporaryFile(suffix=f".{format}") as copy:
            for chunk in stored:
                copy.write(chunk)
            copy.flush()
            self._sha256 = stored.sha256()
            table = _read(copy.name, format, name, source.shown)
        super().__init__(source, table)

    def sha256(self) -> str:
        """Return the sha256 of the file as stored."""
        return self._sha256


def _read(path: str, format: str, name: str | None, shown: str) -> pa.Table:
    try:
        if format not in _OF_R:
            return _of_readstat(path, format, shown)
        columns = columns_of_r(path, format, name, shown)
        return pa.table({column: _plain(pa.chunked_array([pa.array(values)])) for column, values in columns.items()})
    except ImportError:
        raise missing_extra(f"reading .{format}", "statistics") from None
    except (NlpkitError, MemoryError):
        raise
    except Exception as error:  # a broken file may fail anywhere in the libraries
        raise InputError(f"{shown}: not a readable file of this format ({first_line(error)})") from None


def _of_readstat(path: str, format: str, shown: str) -> pa.Table:
    import pyreadstat

    reader = getattr(pyreadstat, f"read_{format}")
    frame, about = reader(path, output_format="polars")
    table = frame.to_arrow()
    columns: list[pa.ChunkedArray] = []
    fields: list[pa.Field] = []
    for column in table.column_names:
        labels = about.variable_value_labels.get(column) or {}
        values = _plain(_labelled(table.column(column), labels, f"{shown}: column '{column}'"))
        about_it: dict[bytes, bytes | str] = {}
        if labels:
            pairs = [
                [int(code) if isinstance(code, float) and code.is_integer() else code, label]
                for code, label in labels.items()
            ]
            about_it[VALUE_LABELS_KEY] = json.dumps(pairs)
        if about.column_names_to_labels.get(column):
            about_it[COLUMN_LABEL_KEY] = about.column_names_to_labels[column]
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            cells = values.to_pylist() if column in NESTED else []
            read = columns_of([column], [[cell] for cell in cells])[column] if cells else cells
            values = values if read == cells else pa.chunked_array([pa.array(read)])
        columns.append(values)
        fields.append(pa.field(column, values.type, metadata=about_it or None))
    return pa.table(columns, schema=pa.schema(fields))


def _labelled(values: pa.ChunkedArray, labels: Mapping[Any, str], where: str) -> pa.ChunkedArray:
    """Return the labels of values, where all of them have one; else the values, with a warning."""
    if not labels:
        return values
    names = {str(float(code)) if isinstance(code, int | float) else str(code): label for code, label in labels.items()}
    is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    texts = values.cast(pa.float64()).to_pylist() if is_number else values.to_pylist()
    keys = [None if value is None else str(value) for value in texts]
    unlabelled = {key for key in keys if key is not None and key not in names}
    if unlabelled:
        log.warning("%s keeps its codes: not all of its values have a label (such as %s)", where, min(unlabelled))
        return values
    return pa.chunked_array([pa.array([None if key is None else names[key] for key in keys], pa.string())])


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whole numbers as integers, moments that are all midnight as days, and the lists that nlpkit writes as lists."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if not pc.all(pc.starts_with(pc.filter(values, pc.not_equal(values, "")), "[")).as_py():
            return values
        lists = string_lists(values.to_pylist())
        is_list = lists is not None and any(value is not None for value in lists)
        return pa.chunked_array([pa.array(lists, pa.list_(pa.string()))]) if is_list else values
    if pa.types.is_floating(kind):
        values = pc.if_else(pc.is_nan(values), None, values)
        present = values.drop_null()
        whole = pc.all(pc.and_(pc.equal(pc.floor(present), present), pc.less(pc.abs(present), _LARGEST_WHOLE))).as_py()
        return values.cast(pa.int64()) if len(present) and whole else values
    if pa.types.is_timestamp(kind) and kind.tz is None:
        days = values.cast(pa.date32(), safe=False)
        return days if pc.all(pc.equal(days.cast(kind), values)).as_py() else values
    return values
