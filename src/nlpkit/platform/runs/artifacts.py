"""Every Parquet artifact: its columns, and how it is checked, read and written. Its footer block: see `footers`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nlpkit.errors import InputError, SchemaError, first_line, missing_column
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.documents.readers.parquet import check_values
from nlpkit.platform.runs.footers import FOOTER_KEY, SCHEMA_VERSION, check_footer
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.version import __version__

# Stored as list<string>: every reader sees plain strings, and the codes of the Parquet dictionary are read as they are.
TOKENS_TYPE = pa.list_(pa.string())
DICTIONARY_BYTES = 1 << 28


def footer_block(
    kind: str,
    *,
    command: str,
    parameters: dict[str, Any],
    seed: int | None,
    inputs: Sequence[InputInfo],
    steps: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return the provenance block of an artifact; `steps` is what was done to the documents it was made from."""
    return {
        "kind": kind,
        "schema_version": SCHEMA_VERSION,
        "nlpkit_version": __version__,
        "command": command,
        "parameters": parameters,
        "seed": seed,
        "inputs": [i.listed() for i in inputs],
        "steps": list(steps),
    }


def with_footer(schema: pa.Schema, block: dict[str, Any]) -> pa.Schema:
    """Return a schema that carries the block, its keys in a fixed order."""
    return schema.with_metadata(
        {FOOTER_KEY: json.dumps(block, sort_keys=True, ensure_ascii=False).encode("utf-8", "backslashreplace")}
    )


def read_footer(path: Path) -> dict[str, Any] | None:
    """Return the block of a Parquet file, or None when it has none.

    Raises:
        InputError: the file is not Parquet; SchemaError: the block is no JSON object.
    """
    metadata = _open(path).schema_arrow.metadata or {}
    if FOOTER_KEY not in metadata:
        return None
    try:
        block = json.loads(metadata[FOOTER_KEY])
    except ValueError:
        block = None
    if not isinstance(block, dict):
        raise SchemaError(f"{path}: the footer block 'nlpkit' is not a JSON object; write the file again")
    return block


def parquet_shape(path: Path) -> tuple[int, int, dict[str, str]]:
    """Return rows, row groups, and the type of each column of a Parquet file. Raises InputError when it is not one."""
    file = _open(path)
    return file.metadata.num_rows, file.num_row_groups, {f.name: str(f.type) for f in pq.read_schema(path)}


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise InputError(f"{path} is not a readable Parquet file: {lines[0]}") from None


def read_table(path: Path, kinds: Sequence[str], columns: Sequence[str] | None = None) -> pa.Table:
    """Return a small artifact whole, after its footer was checked.

    Raises:
        InputError: not Parquet or corrupt; SchemaError: another kind or version; ColumnError: a column is not there.
    """
    check_footer(read_footer(path), kinds, str(path))
    return read_parquet(path, columns)


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return columns of any Parquet file, None for all.

    Raises:
        InputError: not Parquet or corrupt; ColumnError: a column is not there.
    """
    file = _open(path)
    missing = [c for c in columns or () if c not in file.schema_arrow.names]
    if missing:
        raise missing_column(str(path), missing[0], file.schema_arrow.names)
    try:
        groups = [file.read_row_group(i, columns=columns) for i in range(file.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is a corrupt Parquet file: {first_line(error)}") from None
    table = pa.concat_tables(groups or [file.schema_arrow.empty_table().select(columns or file.schema_arrow.names)])
    check_values(table, str(path))
    return table


@dataclass(frozen=True, slots=True)
class BatchedTable:
    """A table that is made batch by batch whenever it is written, so that it is never there as a whole.

    plain: columns whose values rarely repeat: a dictionary would take time and room.
    """

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    plain: Collection[str] = ()


def write_table(path: Path, table: pa.Table | BatchedTable, block: dict[str, Any]) -> None:
    """Write an artifact. The caller makes it appear atomically (`atomic_directory`, `atomic_file`)."""
    schema = with_footer(stored_schema(table.schema), block)
    plain = table.plain if isinstance(table, BatchedTable) else ()
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        dictionary_pagesize_limit=DICTIONARY_BYTES,
        use_dictionary=[leaf for leaf in repeating(leaves(schema)) if leaf not in plain],
    ) as writer:
        if isinstance(table, BatchedTable):
            for batch in table.batches():
                writer.write_table(stored(pa.Table.from_batches([batch]), schema))
        elif table.num_rows:
            writer.write_table(stored(table, schema))


def leaves(schema: pa.Schema) -> dict[str, str]:
    """Return the columns of a Parquet file by their paths, such as tokens.list.element, with their physical types."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    columns = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return {columns.column(i).path: columns.column(i).physical_type for i in range(len(columns))}


def repeating(leaves: dict[str, str]) -> list[str]:
    """Return the columns whose values repeat: all but the numbers of vectors, whose dictionary would take thirty times their memory."""
    return [leaf for leaf, kind in leaves.items() if not ("." in leaf and kind in ("FLOAT", "DOUBLE"))]


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with tokens as Parquet files have them."""
    fields = [f.with_type(TOKENS_TYPE) if f.name == "tokens" else f for f in schema]
    return pa.schema(fields)


def stored(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table in this schema, which has its columns."""
    return table.cast(pa.schema(list(schema))).replace_schema_metadata(schema.metadata)


DROPPED = TableSpec(
    "dropped", "A document that could not be used; the table is there only if there are any.",
    Column("id", pa.string(), "Id of the document, where it has one."),
    Column("stage", pa.string(), "What it was dropped at, such as reading."),
    Column("reason", pa.string(), "Why it could not be used."),
)  # fmt: skip


def dropped_table(dropped: Sequence[DroppedRow]) -> pa.Table:
    """Return dropped rows as a table (id, stage, reason); options in a reason stand there as in Python."""
    return DROPPED.rows([{**asdict(d), "reason": d.reason.replace("`", "")} for d in dropped])


def file_size(path: Path) -> int:
    """Return the bytes of a file, or of all files below a directory."""
    if path.is_dir():
        return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    return path.stat().st_size
