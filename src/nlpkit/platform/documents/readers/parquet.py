"""Parquet files and tables in memory read as record batches, columns as they are stored.

Parts, in this order:
- Checks that Arrow skips when it reads a file: that text is valid UTF-8, and codes are within their dictionary.
- The inputs: Parquet files by row group, tables, and batches.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from nlpkit.errors import EncodingError, InputError, NlpkitError, SchemaError, first_line
from nlpkit.platform.documents.readers.guess import SAMPLE_ROWS
from nlpkit.platform.documents.readers.roles import Roles
from nlpkit.platform.documents.sources import Source, StoredBytes


def check_values(data: pa.RecordBatch | pa.Table, where: str) -> None:
    """Raise unless each column holds what its type says: the kernels read text byte by byte and trust it to be UTF-8.

    Raises:
        EncodingError: text that is not UTF-8; InputError: anything else that is broken.
    """
    for name, column in zip(data.schema.names, data.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            reason = first_line(error)
            if "UTF8" in reason:
                raise EncodingError(
                    f"{where}: column '{name}' is stored as text, but holds bytes that are not UTF-8; write the file "
                    "again"
                ) from None
            raise InputError(f"{where}: column '{name}' is corrupt ({reason})") from None


# ------------------------------------------------------------------------------------------------------------------------
# Parquet files, row group by row group, and tables in memory → record batches, columns as they are stored.

FOOTER_KEY = b"nlpkit"

_IN_MEMORY = 64 << 20  # a piped or packed file up to this size is not written to a temporary file
_BATCH_BYTES = 64 << 20  # of long documents fewer go into a batch
_UNREADABLE = (ValueError, TypeError, KeyError, NotImplementedError, OSError)  # what Arrow raises on broken files


class ArrowInput(ABC):
    """An input that has typed columns already."""

    encoding = None
    open_ended = False

    def __init__(self, source: Source, schema: pa.Schema) -> None:
        """Raise InputError for a column name that occurs twice."""
        self.source = source
        fields = [field.with_type(_without_views(field.type)) for field in schema]
        self.schema = pa.schema(fields, metadata=schema.metadata)
        names = schema.names
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            self.close()
            raise InputError(f"{source.shown}: has the column '{twice}' twice; rename one of them")

    @abstractmethod
    def batches(self, columns: Sequence[str], batch_rows: int, skip: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most `batch_rows` rows, the same whichever columns; skip: rows before the first, with which one begins."""

    @abstractmethod
    def sha256(self) -> str:
        """Return the sha256 of the input."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources."""

    def _checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return some columns with the types of the schema; raises EncodingError for text that is not UTF-8."""
        check_values(batch, self.source.shown)
        return batch.cast(pa.schema([self.schema.field(name) for name in batch.schema.names]))

    def columns(self) -> dict[str, pa.DataType]:
        """Return the columns with their types, in the order of the file."""
        return dict(zip(self.schema.names, self.schema.types, strict=True))

    @property
    def field_metadata(self) -> dict[str, dict[bytes, bytes]]:
        """Metadata of the columns, such as the vocabulary of tokens, by column."""
        by_column = {
            field.name: {k: v for k, v in (field.metadata or {}).items() if k.startswith(b"nlpkit.")}
            for field in self.schema
        }
        return {name: metadata for name, metadata in by_column.items() if metadata}

    def roles(self, roles: Roles) -> Roles:
        """Return the roles as they apply here."""
        return roles

    @property
    def samples(self) -> dict[str, list[Any]]:
        """The first values of each column of text."""
        names = [field.name for field in self.schema if _is_text(field.type)]
        batch = next(self.batches(names, SAMPLE_ROWS), None) if names else None
        return {} if batch is None else {name: batch.column(name).to_pylist() for name in names}

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The JSON block under the footer key `nlpkit`; raises SchemaError when it is not a JSON object."""
        block = (self.schema.metadata or {}).get(FOOTER_KEY)
        if block is None:
            return None
        try:
            parsed = json.loads(block)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise SchemaError(
                f"{self.source.shown}: the footer block 'nlpkit' is not a JSON object; write the file again"
            )
        return parsed


class ParquetInput(ArrowInput):
    """One Parquet file; a piped or packed one is copied to a temporary file, because Parquet is read from the end."""

    def __init__(self, source: Source, stored: StoredBytes) -> None:
        """Read the schema; raises InputError for a file that is not Parquet."""
        self.source = source
        self._copy: BinaryIO | None = None
        self._sha256: str | None = None
        try:
            stored.head()
            if not source.rereadable or stored.packed:
                self._copy = _copied(stored)
                self._sha256 = stored.sha256()
            with self._opened() as parquet:
                schema: pa.Schema = parquet.schema_arrow
                self.rows: int = parquet.metadata.num_rows
        except NlpkitError:
            self.close()
            raise
        except _UNREADABLE as error:
            self.close()
            raise InputError(f"{source.shown}: not a readable Parquet file ({first_line(error)})") from None
        finally:
            stored.close()
        super().__init__(source, schema)

    def batches(self, columns: Sequence[str], batch_rows: int, skip: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most `batch_rows` rows, fewer of long documents; raises InputError for a corrupt file,
        EncodingError for text that is not UTF-8.

        One row group at a time: Arrow cannot yet join lists of dictionary codes over row groups.
        """
        try:
            with self._opened() as parquet:
                for number in range(parquet.num_row_groups):
                    group = parquet.metadata.row_group(number)
                    if skip >= group.num_rows:
                        skip -= group.num_rows
                        continue
                    fitting = _BATCH_BYTES * max(1, group.num_rows) // max(1, group.total_byte_size)
                    rows = max(1, min(batch_rows, fitting))
                    for batch in parquet.iter_batches(rows, row_groups=[number], columns=list(columns)):
                        if skip:
                            skip -= batch.num_rows
                            continue
                        yield self._checked(batch)
        except NlpkitError:
            raise
        except _UNREADABLE as error:
            raise InputError(f"{self.source.shown}: corrupt Parquet file ({first_line(error)})") from None

    def sha256(self) -> str:
        """Return the sha256 of the file as stored."""
        if self._sha256 is None:
            with StoredBytes(self.source) as stored:
                self._sha256 = stored.sha256()
        return self._sha256

    def close(self) -> None:
        """Forget the copy, if there is one."""
        if self._copy is not None:
            self._copy.close()

    def _opened(self) -> pq.ParquetFile:
        return pq.ParquetFile(self.source.path if self._copy is None else self._copy)


class TableInput(ArrowInput):
    """A table in memory."""

    def __init__(self, source: Source, table: pa.Table) -> None:
        """Raise InputError for a column name that occurs twice."""
        self._table = table
        super().__init__(source, table.schema)

    def batches(self, columns: Sequence[str], batch_rows: int, skip: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most `batch_rows` rows; raises EncodingError for text that is not UTF-8."""
        for batch in self._table.slice(skip).select(list(columns)).to_batches(max_chunksize=batch_rows):
            yield self._checked(batch)

    def sha256(self) -> str:
        """Return the sha256 of the table as an Arrow stream of one batch."""
        digest = _Digest()
        table = self._table.combine_chunks()
        with pa.ipc.new_stream(pa.PythonFile(digest, "w"), table.schema) as writer:
            writer.write_table(table)
        return digest.sha256.hexdigest()

    def close(self) -> None:
        """Do nothing: the table is its owner's."""


class BatchesInput(ArrowInput):
    """Batches that a step gives, with the footer block that a file of them would have."""

    def __init__(
        self, source: Source, schema: pa.Schema, batches: Iterable[pa.RecordBatch], block: dict[str, Any]
    ) -> None:
        """Raise InputError for a column name that occurs twice."""
        self._batches, self._block = batches, block
        super().__init__(source, schema)

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The footer block."""
        return self._block

    @property
    def samples(self) -> dict[str, list[Any]]:
        """Nothing: they can be read once."""
        return {}

    def batches(self, columns: Sequence[str], batch_rows: int, skip: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most `batch_rows` rows."""
        assert not skip  # they can be read once, from the first
        for batch in self._batches:
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.select(list(columns)).slice(start, batch_rows)

    def sha256(self) -> str:
        """Return nothing: the inputs of the step have theirs."""
        return ""

    def close(self) -> None:
        """Do nothing: the batches are their owner's."""


def _is_text(type_: pa.DataType) -> bool:
    held = type_.value_type if pa.types.is_dictionary(type_) else type_
    return bool(pa.types.is_string(held) or pa.types.is_large_string(held))


def _without_views(type_: pa.DataType) -> pa.DataType:
    """Return a type that all of Arrow can work with: no views (Polars' strings), and codes that can be -1 for none."""
    if pa.types.is_string_view(type_):
        return pa.string()
    if pa.types.is_binary_view(type_):
        return pa.binary()
    if pa.types.is_dictionary(type_):
        return pa.dictionary(pa.int32(), _without_views(type_.value_type), type_.ordered)
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_without_views(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_without_views(type_.value_type)))
    if pa.types.is_large_list(type_):
        return pa.large_list(type_.value_field.with_type(_without_views(type_.value_type)))
    return type_


class _Digest(io.RawIOBase):
    """A file of which only the sha256 is kept."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)


def _copied(stored: StoredBytes) -> BinaryIO:
    copy = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    try:
        for chunk in stored:
            copy.write(chunk)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return cast(BinaryIO, copy)
