"""A small table of any format read whole, each row with its place, so that messages can name it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, missing_column
from nlpkit.io.corpora import ReadOptions
from nlpkit.io.readers.parquet import ParquetInput
from nlpkit.io.readers.rows import RowInput
from nlpkit.io.sources import Source, StoredBytes, missing_path, split_suffix

FORMATS = ("csv", "tsv", "jsonl", "json", "parquet")

log = logging.getLogger("nlpkit.io")


@dataclass(frozen=True, slots=True)
class Rows:
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


def read_rows(path: Path, *, encoding: str | None = None, hint: str = "id") -> Rows:
    """Return a table whole, with the place of each row; rows in which all cells are empty fall away.

    Args:
        path: csv, tsv, jsonl, json or parquet, also packed.
        encoding: of the text; told from the bytes if not given.
        hint: a column that a CSV has, to tell its delimiter by.

    Raises:
        InputError: it cannot be read as a table; EncodingError: bytes that are not text.
    """
    return _without_empty(_read(path, encoding, hint=hint))


def _read(path: Path, encoding: str | None, *, hint: str) -> Rows:
    """Return all rows, also empty ones."""
    if not path.exists():
        raise InputError(missing_path(path))
    if path.is_dir():
        raise InputError(f"{path} is a directory; name the table in it")
    format = split_suffix(path.name)[1]
    if path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise InputError(f"{path} is a spreadsheet; save it there as CSV (UTF-8) and name that file")
    if format not in FORMATS:
        raise InputError(f"{path} is not a table by its suffix; needed is one of .{' .'.join(FORMATS)}")
    source = Source(str(path), path.name, format)
    columns: dict[str, list[Any]] = {}
    places: list[str] = []
    if format == "parquet":
        parquet = ParquetInput(source, StoredBytes(source))
        columns = {name: [] for name in parquet.columns()}
        try:
            for batch in parquet.batches(list(columns), 100_000):
                for name, values in columns.items():
                    values += batch.column(name).to_pylist()
        finally:
            parquet.close()
        places = [f"{path}: row {n}" for n in range(1, parquet.rows + 1)]
        return Rows(str(path), columns, places, list(range(len(places))))
    reader = RowInput(
        source, format, ReadOptions(encoding=encoding, text_col=hint), alone=True, per_file=False, on_detect=_detected
    )
    try:
        for block in reader.blocks():
            for name in block.columns:
                columns.setdefault(name, [None] * len(places))
            for name, values in columns.items():
                values += block.columns.get(name, [None] * len(block.numbers))
            places += [block.place(str(path), row) for row in range(len(block.numbers))]
    finally:
        reader.close()
    return Rows(str(path), columns, places, list(range(len(places))))


def _without_empty(rows: Rows) -> Rows:
    kept = [i for i, row in enumerate(zip(*rows.columns.values(), strict=True)) if any(text_of(v) for v in row)]
    if len(kept) == len(rows.places):
        return rows
    columns = {name: [values[i] for i in kept] for name, values in rows.columns.items()}
    return Rows(rows.path, columns, [rows.places[i] for i in kept], kept)


def _detected(path: str, encoding: str) -> None:
    log.warning("%s: read as %s (detected); force with --encoding", path, encoding)


def text_of(value: Any) -> str:
    """Return a cell as text, stripped; a whole number without its decimals; empty for None and NaN."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def arrow_table(path: Path, *, encoding: str | None = None) -> pa.Table:
    """Return a table whole with all rows of the file: Parquet as it is stored, of others each column as it can be typed.

    A column of CSV is of strings, empty cells null; one of JSON whose values are of several kinds is of strings, too.

    Raises:
        InputError, EncodingError: see `read_rows`.
    """
    if split_suffix(path.name)[1] == "parquet" and path.is_file():
        source = Source(str(path), path.name, "parquet")
        parquet = ParquetInput(source, StoredBytes(source))
        try:
            return pa.Table.from_batches(parquet.batches(list(parquet.columns()), 100_000), parquet.schema)
        finally:
            parquet.close()
    rows = _read(path, encoding, hint="id")
    return pa.table({name: _arrow(values) for name, values in rows.columns.items()})


def _arrow(values: list[Any]) -> pa.Array:
    given = [None if value == "" else value for value in values]
    try:
        return pa.array(given)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else text_of(value) for value in given], pa.string())
