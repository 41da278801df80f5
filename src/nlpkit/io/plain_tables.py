"""Tables without texts, read whole: predictions beside labels, the labels of several coders, answers of people."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlpkit.errors import InputError, missing_column
from nlpkit.io.corpora import ReadOptions
from nlpkit.io.readers.parquet import ParquetInput
from nlpkit.io.readers.rows import RowInput
from nlpkit.io.sources import Source, StoredBytes, missing_path, split_suffix

TABLE_FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")

log = logging.getLogger("nlpkit.io")


def table_format(path: Path) -> str | None:
    """Return the format that the suffix of a file names, None when it names none."""
    return split_suffix(path.name)[1]


def column_names(path: Path, *, encoding: str | None = None) -> list[str]:
    """Return the columns of a table, in their order.

    Raises:
        InputError: it cannot be read as a table; EncodingError: bytes that are not text.
    """
    reader = _open(path, encoding, silent=True)
    try:
        return list(reader.columns())
    finally:
        reader.close()


def read_columns(
    path: Path, names: Sequence[str], *, encoding: str | None = None, option: str | None = None
) -> dict[str, list[Any]]:
    """Return some columns of a table as Python values; empty strings and missing values are None.

    Args:
        path: jsonl, json, csv, tsv or parquet, also packed.
        names: the columns.
        option: the option that names a column, for the message when one is not there.

    Raises:
        ColumnError: a column is not there; InputError: it cannot be read as a table; EncodingError: bytes that are not text.
    """
    reader = _open(path, encoding)
    try:
        found = list(reader.columns())
        for name in names:
            if name not in found:
                raise missing_column(str(path), name, found, option)
        columns: dict[str, list[Any]] = {name: [] for name in names}
        if isinstance(reader, ParquetInput):
            for batch in reader.batches(list(dict.fromkeys(names)), 100_000):
                for name in columns:
                    columns[name] += batch.column(name).to_pylist()
        else:
            for block in reader.blocks():
                for name, values in columns.items():
                    values += block.columns.get(name, [None] * len(block.numbers))
    finally:
        reader.close()
    return {name: [None if value == "" else value for value in values] for name, values in columns.items()}


def as_label(value: Any) -> str | None:
    """Return a label as a string: 1 and 1.0 are the label '1', as CSV has it; NaN and None are missing."""
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _open(path: Path, encoding: str | None, *, silent: bool = False) -> RowInput | ParquetInput:
    if not path.exists():
        raise InputError(missing_path(path))
    format = table_format(path)
    if format not in TABLE_FORMATS:
        raise InputError(
            f"{path} is not a table that can be read here; {', '.join(TABLE_FORMATS)} are, by their suffix"
        )
    source = Source(str(path), path.name, format)
    if format == "parquet":
        return ParquetInput(source, StoredBytes(source))
    return RowInput(
        source,
        format,
        ReadOptions(encoding=encoding),
        alone=True,
        per_file=False,
        on_detect=_silent if silent else _detected,
    )


def _detected(path: str, encoding: str) -> None:
    log.warning("%s: read as %s (detected); force with --encoding", path, encoding)


def _silent(path: str, encoding: str) -> None:
    pass
