"""Phrases in files: a table as `phrases_table` makes it, or plain text with a phrase on each line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.errors import InputError, SchemaError, first_line
from nlpkit.io.artifacts import read_table
from nlpkit.io.plain_tables import TABLE_FORMATS, read_rows, table_format
from nlpkit.io.table_spec import Column, TableSpec
from nlpkit.io.wordlists import numbered_lines
from nlpkit.text.phrases import PhraseTable

PHRASES = "phrases"
PHRASES_TABLE = TableSpec(
    "phrases", "A phrase that is joined to one term.",
    Column("phrase", pa.string(), "The term that it becomes."),
    Column("words", pa.list_(pa.string()), "Its words."),
    Column("measure", pa.string(), "Measure of the score."),
    Column("score", pa.float64(), "Its score, null for a phrase of a list.", gaps=True),
    Column("count", pa.int64(), "Its occurrences, null for a phrase of a list.", gaps=True),
    Column("parts", pa.list_(pa.string()), "Terms that are joined, other than the words where one was joined at a lower level."),
    Column("level", pa.int32(), "Level at which it is joined."),
)  # fmt: skip
_PARQUET = b"PAR1"


def phrases_table(phrases: PhraseTable) -> pa.Table:
    """Return phrases as a table (phrase, words, measure, score, count, parts, level); given ones have no score or count."""
    counts = [None if count < 0 else count for count in phrases.counts]
    return PHRASES_TABLE.table(
        phrase=phrases.phrases, words=phrases.words, measure=[phrases.measure] * len(phrases), score=phrases.scores,
        count=counts, parts=phrases.parts, level=phrases.levels,
    )  # fmt: skip


def read_phrases(path: Path, split: Callable[[str], Sequence[str]] = str.split) -> PhraseTable:
    """Return the phrases of a file: those that were found and written, those of a column `phrase`, or of plain text, one a line.

    In plain text, empty lines and those that begin with # are left out, and a line that is one term stays one.

    Args:
        path: Parquet, CSV, TSV, JSON or text (packed or not, any encoding that corpora may have).
        split: cuts a line of text into terms as the documents are cut, so that the phrases occur in them.

    Raises:
        InputError: the file cannot be read, or holds no phrase.
        SchemaError, ColumnError: a Parquet file of another kind.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(len(_PARQUET)) == _PARQUET
    except OSError as error:
        raise InputError(f"phrases {path}: {error.strerror or error}; give a file with a phrase on each line") from None
    if packed:
        return _read_parquet(path)
    if table_format(path) in TABLE_FORMATS:
        return _read_rows(path, split)
    return _of_lines(path, [line.strip() for _, line in numbered_lines(path)], split)


def _read_rows(path: Path, split: Callable[[str], Sequence[str]]) -> PhraseTable:
    """Read CSV, TSV or JSON: the columns of `phrases_table`, or the phrases of a user in the column `phrase`."""
    rows = read_rows(path, hint="phrase")
    lines = [str(phrase or "").strip() for phrase in rows.column("phrase")]
    if not set(PHRASES_TABLE.schema.names) <= set(rows.columns):
        return _of_lines(path, lines, split)
    try:
        cells = {f.name: [_parse_cell(cell, f.type) for cell in rows.columns[f.name]] for f in PHRASES_TABLE.schema}
        return phrases_from(pa.table(cells, schema=PHRASES_TABLE.schema))
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(f"{path} is not as `save_phrases` wrote it: {first_line(error)}; write it again") from None


def _parse_cell(cell: Any, kind: pa.DataType) -> Any:
    """Return a cell of CSV as its column holds it: lists are JSON, numbers are text, nothing is null."""
    if not isinstance(cell, str) or pa.types.is_string(kind):
        return cell
    return json.loads(cell) if cell else None


def _of_lines(path: Path, lines: Sequence[str], split: Callable[[str], Sequence[str]]) -> PhraseTable:
    word_lists = [split(line) for line in lines if line and not line.startswith("#")]
    phrases = PhraseTable.from_words(word_lists)
    if not len(phrases):
        raise InputError(
            f"{path}: none of its {len(word_lists)} lines is a phrase of two words or more; write one per line: "
            "san francisco"
        )
    return phrases


def _read_parquet(path: Path) -> PhraseTable:
    table = read_table(path, [PHRASES], PHRASES_TABLE.schema.names)
    measures = sorted(set(table.column("measure").to_pylist()))
    if len(measures) > 1:
        raise SchemaError(f"{path}: its scores are of several measures ({', '.join(measures)})")
    return phrases_from(table)


def phrases_from(table: pa.Table) -> PhraseTable:
    """Return the phrases of a table that `phrases_table` made."""
    rows = table.to_pydict()
    order = sorted(range(len(rows["level"])), key=lambda m: rows["level"][m])  # stable: levels ascend
    return PhraseTable(
        tuple(tuple(rows["parts"][m]) for m in order),
        tuple(tuple(rows["words"][m]) for m in order),
        tuple(rows["level"][m] for m in order),
        tuple(float("nan") if rows["score"][m] is None else rows["score"][m] for m in order),
        tuple(-1 if rows["count"][m] is None else rows["count"][m] for m in order),
        rows["measure"][0] if order else "given",
    )
