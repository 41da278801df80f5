"""Tables without texts, read whole: predictions beside labels, the labels of several coders, answers of people."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, MissingFileError, missing_column
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.blocks import ArrowBlock, RowBlock
from nlpkit.platform.documents.readers.delimited import FURTHER_HEADER, REPEATED_HEADER, string_lists
from nlpkit.platform.documents.readers.files import FileInput
from nlpkit.platform.documents.readers.guess import ReadingNotes
from nlpkit.platform.documents.readers.parquet import ArrowInput, ParquetInput
from nlpkit.platform.documents.readers.rows import RowInput
from nlpkit.platform.documents.sources import Source, StoredBytes, missing_path, split_suffix
from nlpkit.platform.values import python_values, text_of
from nlpkit.platform.wording import counted

TABLE_FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx", "dta", "sav")
_SPREADSHEETS = (".xls", ".ods")
_BATCH = 100_000

log = logging.getLogger("nlpkit.io")


@dataclass(frozen=True, slots=True)
class PlainTable:
    """A table read whole: its columns as Python values of equal length.

    places: where each row is, as messages say it; numbers: which row of the file it is, from 0 and without the header.
    """

    path: str
    columns: dict[str, list[Any]]
    places: list[str]
    numbers: list[int]

    def column(self, name: str, option: str | None = None) -> list[Any]:
        """Return a column. Raises ColumnError when it is not there; `option` is what names it."""
        if name not in self.columns:
            raise missing_column(self.path, name, self.columns, option)
        return self.columns[name]


def table_format(path: Path) -> str | None:
    """Return the format that the suffix of a file names, None when it names none."""
    return split_suffix(path.name)[1]


def refuse_spreadsheet(path: Path) -> None:
    """Raise InputError for a file of LibreOffice or an old one of Excel, by its suffix."""
    if path.suffix.lower() in _SPREADSHEETS:
        raise InputError(f"{path} is a spreadsheet; save it as CSV (UTF-8) or xlsx and name that file")


def column_names(path: Path, *, encoding: str | None = None) -> list[str]:
    """Return the columns of a table, in their order. Raises as `read_rows`."""
    reader = _open(path, encoding, hint="id", silent=True)
    try:
        return list(reader.columns())
    finally:
        reader.close()


def read_columns(
    path: Path, names: Sequence[str], *, encoding: str | None = None, option: str | None = None
) -> dict[str, list[Any]]:
    """Return some columns of a table with all its rows; empty strings and missing values are None, JSON lists of strings in CSV lists.

    Args:
        path: csv, tsv, jsonl, json or parquet, also packed, or xlsx.
        names: the columns.
        encoding: of the text; told from the bytes if not given.
        option: the option that names a column, for the message when one is not there.

    Raises:
        ColumnError: a column is not there; and as `read_rows`.
    """
    rows = _read(path, encoding, hint=names[0], wanted=names)
    for name in names:
        if name not in rows.columns:
            raise missing_column(str(path), name, column_names(path, encoding=encoding), option)
    return {name: _cells(rows.columns[name], path) for name in names}


def read_rows(path: Path, *, encoding: str | None = None, hint: str = "id") -> PlainTable:
    """Return a table whole, with the place of each row; rows in which all cells are empty fall away.

    Args:
        path, encoding: see `read_columns`.
        hint: a column of the CSV, by which its delimiter is recognised.

    Raises:
        InputError: it cannot be read as a table; EncodingError: bytes that are not text.
    """
    rows = _read(path, encoding, hint=hint)
    kept = [i for i, row in enumerate(zip(*rows.columns.values(), strict=True)) if any(text_of(v) for v in row)]
    if len(kept) == len(rows.places):
        return rows
    columns = {name: [values[i] for i in kept] for name, values in rows.columns.items()}
    return PlainTable(rows.path, columns, [rows.places[i] for i in kept], kept)


def arrow_table(path: Path, *, encoding: str | None = None) -> pa.Table:
    """Return a table whole with all rows of the file: Parquet as it is stored, of others each column as it can be typed.

    A column of CSV is of strings, or of lists of them where all cells are such JSON (of a workbook, too), empty cells null; one of
    JSON whose values are of several kinds is of strings, too.
    Raises as `read_rows`.
    """
    if table_format(path) in ("parquet", "dta", "sav") and path.is_file():
        reader = _open(path, encoding, hint="id")
        assert isinstance(reader, ArrowInput)
        try:
            return pa.Table.from_batches(reader.batches(list(reader.columns()), _BATCH), reader.schema)
        finally:
            reader.close()
    rows = _read(path, encoding, hint="id")
    return pa.table({name: _arrow(_cells(values, path)) for name, values in rows.columns.items()})


def _open(path: Path, encoding: str | None, *, hint: str, silent: bool = False) -> RowInput | FileInput | ArrowInput:
    if not path.exists():
        raise MissingFileError(missing_path(path))
    if path.is_dir():
        raise InputError(f"{path} is a directory; name the table in it")
    format = table_format(path)
    refuse_spreadsheet(path)
    if format not in TABLE_FORMATS:
        raise InputError(f"{path} is not a table by its file name; it must end in one of .{' .'.join(TABLE_FORMATS)}")
    source = Source(str(path), path.name, format)
    if format == "parquet":
        return ParquetInput(source, StoredBytes(source))
    if format in ("dta", "sav"):
        from nlpkit.platform.documents.readers.workbooks import StatisticsInput

        return StatisticsInput(source, format, None, None)
    options = ReadOptions(encoding=encoding, text_col=hint, na_values="")
    if format == "xlsx":
        return FileInput(source, format, options, alone=True, notes=ReadingNotes())
    on_detect = _pass_over if silent else _detected
    return RowInput(source, format, options, alone=True, per_file=False, on_detect=on_detect, lists=False)


def _read(path: Path, encoding: str | None, *, hint: str, wanted: Sequence[str] | None = None) -> PlainTable:
    """Return all rows, also empty ones, with the wanted columns that are there; all of them where it is None."""
    reader = _open(path, encoding, hint=hint)
    places: list[str] = []
    try:
        n_rows = 0
        if isinstance(reader, ArrowInput):
            columns: dict[str, list[Any]] = {n: [] for n in reader.columns() if wanted is None or n in wanted}
            for batch in reader.batches(list(columns), _BATCH):
                for name, values in columns.items():
                    values += python_values(batch.column(name))
                n_rows += batch.num_rows
            places = [f"{path}: row {n}" for n in range(1, n_rows + 1)] if wanted is None else []
            return PlainTable(str(path), columns, places, list(range(len(places))))
        columns = {}
        for block in reader.blocks():
            block = _without_headers(block, str(path))
            for name in block.columns:
                if wanted is None or name in wanted:
                    columns.setdefault(name, [None] * n_rows)
            for name, values in columns.items():
                values += block.columns.get(name, [None] * len(block.numbers))
            if wanted is None:
                places += [block.place(str(path), row) for row in range(len(block.numbers))]
            n_rows += len(block.numbers)
    finally:
        reader.close()
    return PlainTable(str(path), columns, places, list(range(len(places))))


def _without_headers(block: RowBlock | ArrowBlock, path: str) -> RowBlock:
    """Return a block without the rows that repeat the header."""
    assert isinstance(block, RowBlock)  # none are expected as Arrow
    repeated = {row for row, reason in block.reasons.items() if reason in (REPEATED_HEADER, FURTHER_HEADER)}
    if not repeated:
        return block
    kept = [row for row in range(len(block.numbers)) if row not in repeated]
    log.warning(
        "%s: the row repeats the header and is left out (%s)",
        block.place(path, min(repeated)),
        counted(len(repeated), "row"),
    )
    columns = {name: [values[row] for row in kept] for name, values in block.columns.items()}
    lines = None if block.lines is None else [block.lines[row] for row in kept]
    return RowBlock(columns, [block.numbers[row] for row in kept], block.size, lines, block.unit)


def _detected(path: str, encoding: str) -> None:
    log.warning("%s: read as %s (detected); force with `encoding`", path, encoding)


def _pass_over(path: str, encoding: str) -> None:
    pass


def _cells(values: list[Any], path: Path) -> list[Any]:
    lists = string_lists(values) if table_format(path) in ("csv", "tsv", "xlsx") else None
    return [None if value == "" else value for value in values] if lists is None else lists


def _arrow(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else text_of(value) for value in cells], pa.string())
