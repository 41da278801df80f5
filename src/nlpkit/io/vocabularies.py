"""Vocabularies in files: written with their frequencies, read to be used again unchanged."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from nlpkit.errors import ColumnError, InputError
from nlpkit.io.artifacts import read_parquet
from nlpkit.io.plain_tables import TABLE_FORMATS, read_rows, table_format
from nlpkit.io.wordlists import numbered_lines
from nlpkit.types import LongArray


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """Return the terms of a file in its order: the column `term` of a table (Parquet, CSV, TSV, JSON), else the lines of a text.

    Lines may hold spaces (n-grams); empty ones and those that begin with # are left out.

    Raises:
        InputError: the file cannot be read, has no term, an empty one, or one twice; ColumnError: a table without a
            column term of text.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(4) == b"PAR1"
    except OSError as error:
        raise InputError(
            f"vocabulary {path}: cannot be opened ({error.strerror or error})", parameter="vocab"
        ) from None
    if packed:
        terms = _of_parquet(path)
    elif table_format(path) in TABLE_FORMATS:
        terms = _of_rows(path)
    else:
        lines = (line.strip() for _, line in numbered_lines(path))
        terms = [line for line in lines if line and not line.startswith("#")]
    if not terms:
        raise InputError(f"vocabulary {path} has no term; give a file with a term on each line")
    seen: set[str] = set()
    twice = next((t for t in terms if t in seen or seen.add(t)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise InputError(f"vocabulary {path} lists the term '{twice}' twice")
    return tuple(terms)


def _of_rows(path: Path) -> list[str]:
    rows = read_rows(path, hint="term")
    terms = rows.column("term")
    for term, place in zip(terms, rows.places, strict=True):
        if not isinstance(term, str) or not term:
            what = "empty" if term in (None, "") else f"{type(term).__name__}, not text"
            raise InputError(f"vocabulary {place}: the term is {what}")
    return terms


def _of_parquet(path: Path) -> list[str]:
    column = read_parquet(path, ["term"]).column("term")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise ColumnError(f"vocabulary {path}: the column 'term' holds {kind}, not text")
    terms = column.to_pylist()
    for unusable, what in ((None, "null"), ("", "empty")):
        if unusable in terms:
            raise InputError(f"vocabulary {path}: a term is {what}, in row {terms.index(unusable) + 1}")
    return list(terms)


def vocabulary_table(terms: tuple[str, ...], cf: LongArray, df: LongArray) -> pa.Table:
    """Return term, cf, df (V,) as a table, kind "vocab"."""
    return pa.table({"term": pa.array(terms, pa.string()), "cf": cf, "df": df})
