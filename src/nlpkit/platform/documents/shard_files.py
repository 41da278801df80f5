"""Files of the parts of a document table: they are checked one by one and against each other, and read in their order."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nlpkit.errors import InputError, SchemaError, first_line
from nlpkit.platform.documents.arrays import DICTIONARY_TOKENS
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.documents.parts import Share
from nlpkit.platform.documents.selection import KEEP_IF, WHERE
from nlpkit.platform.runs.artifacts import read_footer, read_table
from nlpkit.platform.runs.footers import FOOTER_KEY, SHARD, check_footer
from nlpkit.platform.runs.tables import dropped_path
from nlpkit.platform.wording import counted, listed

DROPPED = "dropped"
MEASURED = {"cosine_to_fp32"}  # parameters that each machine measures for itself
READING = ("read", WHERE, KEEP_IF)  # stages at which rows are dropped while they are read
_TOKENS = "tokens.list.element"  # the column of tokens, as Parquet names it
_UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, slots=True)
class ShardFile:
    """One part: its file, its footer block without what says which part it is, and the schema as it was written."""

    path: Path
    share: Share
    counts: tuple[str, ...]
    n_dropped: int
    details: Mapping[str, Any]  # all that the footer says of it as a part
    block: dict[str, Any]
    schema: pa.Schema

    def batches(self, *, encoded: bool = False) -> Iterator[pa.RecordBatch]:
        """Yield its batches as they were written, one for each row group, without the footer; encoded: tokens as dictionary codes.

        Raises:
            InputError: it is corrupt.
        """
        fields = [f.with_type(DICTIONARY_TOKENS) if encoded and f.name == "tokens" else f for f in self.schema]
        codes, schema = [_TOKENS] if encoded else [], pa.schema(fields)
        names = [field.name for field in fields]
        try:
            file = pq.ParquetFile(self.path, page_checksum_verification=True, read_dictionary=codes)
        except _UNREADABLE as error:
            raise _corrupt(self.path, error) from None
        with file:
            for number in range(file.num_row_groups):
                try:
                    table = file.read_row_group(number).combine_chunks()
                    columns = [
                        _one(column) if encoded and field.name == "tokens" else _one(column.cast(field.type))
                        for field, column in zip(fields, table.columns, strict=True)
                    ]
                    yield pa.RecordBatch.from_arrays(columns, **({"names": names} if encoded else {"schema": schema}))
                except _UNREADABLE as error:
                    raise _corrupt(self.path, error) from None

    def verify(self) -> int:
        """Read it to its end and return its number of rows. Raises what `batches` and `dropped` do."""
        self.dropped()
        return sum(batch.num_rows for batch in self.batches())

    def dropped(self) -> list[DroppedRow]:
        """Return the rows that could not be used.

        Raises:
            InputError: the list beside the part is not there, or has another number of rows.
        """
        if not self.n_dropped:
            return []
        path = dropped_path(str(self.path))
        assert path is not None
        rows = read_table(path, [DROPPED]).to_pylist() if path.is_file() else []
        if len(rows) != self.n_dropped:
            state = f"has {len(rows):,} of them" if path.is_file() else "is not there"
            raise InputError(
                f"{self.path} lists {counted(self.n_dropped, 'row')} that could not be used in {path}, which {state}; make the part again"
            )
        return [DroppedRow(**row) for row in rows]


def read_shard(path: Path) -> ShardFile | None:
    """Return the part that a file is, None for a list of rows that were dropped, which belongs to another file.

    Raises:
        InputError: it is not there, unreadable, or no part; SchemaError: it is of a newer nlpkit.
    """
    try:
        block = read_footer(path)
    except InputError as error:
        raise type(error)(f"{str(error).rstrip('.')}; make the part again") from None
    if block is not None and block.get("kind") == DROPPED:
        return None
    check_footer(block, [str(block.get("kind"))] if block is not None else (), str(path))
    details = None if block is None else block.get(SHARD)
    if block is None or details is None:
        raise InputError(
            f"{path} is not a part of a table: it was not written with `shard`; leave it out, or make it with "
            "`shard=1/2`"
        )
    try:
        share = Share(int(details["index"]), int(details["of"]))
        counts, n_dropped = tuple(map(str, details["counts"])), int(details["dropped"])
        plain = {name: value for name, value in block.items() if name != SHARD}
        plain["inputs"] = [_whole_input(entry) for entry in block["inputs"]]
        if not {"command", "nlpkit_version", "parameters"} <= block.keys():
            raise KeyError
    except (KeyError, TypeError, ValueError):
        raise SchemaError(
            f"{path}: the footer block 'nlpkit' does not record which part it is; make the part again"
        ) from None
    return ShardFile(path, share, counts, n_dropped, details, plain, _written_schema(path))


def read_shards(paths: Sequence[str | Path]) -> list[ShardFile]:
    """Return the parts of one table in their order; a folder stands for the Parquet files in it.

    Raises:
        InputError: a part is missing, there twice, unreadable or of another table, command, version or setting than the first;
        SchemaError: see `read_shard`.
    """
    shards = [shard for path in _files(paths) if (shard := read_shard(path)) is not None]
    if not shards:
        raise InputError("found no parts to merge; name the files written with `shard`")
    first = shards[0]
    for shard in shards[1:]:
        _check_alike(first, shard)
    by_index: dict[int, ShardFile] = {}
    for shard in shards:
        other = by_index.setdefault(shard.share.index, shard)
        if other is not shard:
            raise InputError(f"part {shard.share} occurs twice: {other.path} and {shard.path}; leave one out")
    missing = [str(Share(i, first.share.total)) for i in range(1, first.share.total + 1) if i not in by_index]
    if missing:
        raise InputError(
            f"{counted(len(missing), 'part')} of {first.share.total} missing: {listed(missing, 10)}; make them with `shard={missing[0]}`"
        )
    return [by_index[index] for index in sorted(by_index)]


def merged_parameters(shards: Sequence[ShardFile]) -> dict[str, Any]:
    """Return the parameters of the whole: those that all parts have, and the sums of those that are counts."""
    parameters: dict[str, Any] = json.loads(json.dumps(shards[0].block["parameters"]))
    for name in shards[0].counts:
        *outer, last = name.split(".")
        values: list[Any] = [shard.block["parameters"] for shard in shards]
        place = parameters
        for part in outer:
            place, values = place[part], [value[part] for value in values]
        values = [value[last] for value in values]
        if isinstance(values[0], dict):
            place[last] = {key: sum(value[key] for value in values) for key in values[0]}
        else:
            place[last] = sum(values)
    return parameters


def merged_dropped(parts: Sequence[ShardFile]) -> list[DroppedRow]:
    """Return the rows that were dropped in the order of one process: while all were read, then at the steps after it."""
    dropped = [row for part in parts for row in part.dropped()]
    return sorted(dropped, key=lambda row: row.stage not in READING)


def _files(paths: Sequence[str | Path]) -> list[Path]:
    files: list[Path] = []
    for path in map(Path, paths):
        files += sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    return files


def _whole_input(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input as the footer of the whole lists it."""
    reading = {name: value for name, value in entry.get("reading", {}).items() if name != SHARD}
    rest = {name: value for name, value in entry.items() if name != "reading"}
    return {**rest, "reading": reading} if reading else rest


def _without_counts(shard: ShardFile) -> dict[str, Any]:
    parameters = json.loads(json.dumps(shard.block["parameters"]))
    for name in shard.counts:
        *outer, last = name.split(".")
        place = parameters
        for part in outer:
            place = place[part]
        place[last] = sorted(place[last]) if isinstance(place[last], dict) else None
    return dict(parameters)


def _check_alike(first: ShardFile, other: ShardFile) -> None:
    """Raise InputError where two parts are not of one table."""
    parameters, others = _without_counts(first), _without_counts(other)
    names_there = {*parameters, *others} - MEASURED
    differing = sorted(name for name in names_there if parameters.get(name) != others.get(name))
    a, b = ({name: shard.block.get(name) for name in ("kind", "seed", "steps")} for shard in (first, other))
    differences = [
        (first.block["nlpkit_version"], other.block["nlpkit_version"], "nlpkit"),
        (first.block["command"], other.block["command"], "command"),
        (_inputs(first), _inputs(other), "input"),
        (f"of {first.share.total}", f"of {other.share.total}", "parts"),
    ]
    for one, two, what in differences:
        if one != two:
            raise InputError(
                f"the parts belong to different tables: {what} {one} in {first.path}, {two} in {other.path}; merge "
                "parts of the same table"
            )
    if differing or a != b or not first.schema.equals(other.schema):
        names = listed([f"`{name}`" for name in differing], 5) or ("seed or steps" if a != b else "columns")
        raise InputError(
            f"the parts belong to different tables: {first.path} and {other.path} differ in {names}; make one of "
            "them again with the other's options"
        )


def _inputs(shard: ShardFile) -> str:
    return ", ".join(
        f"{entry['path']} ({entry['sha256'][:12]}, {entry.get('reading', {})})" for entry in shard.block["inputs"]
    )


def _written_schema(path: Path) -> pa.Schema:
    """Return the schema of a Parquet file with the names of the items of lists, which Parquet changes, without the footer."""
    with pq.ParquetFile(path) as file:
        packed = (file.metadata.metadata or {}).get(b"ARROW:schema")
        if packed is None:
            raise InputError(f"{path} was not written by nlpkit: it has no Arrow schema; make the part again")
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(packed)))
    return schema.with_metadata({k: v for k, v in (schema.metadata or {}).items() if k != FOOTER_KEY} or None)


def _one(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of one row group as one array."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _corrupt(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path} is corrupt ({first_line(error)}); make the part again")
