"""The writing of tables in every format: the suffix of the output selects it.

Parts, in this order:
- Document tables to Parquet, batch by batch.
- A place for work that needs two passes over a stream: memory, then a temporary file beside the output, gone
  afterwards.
- Writing tables: the suffix of the output selects the format, and every command writes through this sink.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from nlpkit.errors import UsageError
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.runs.artifacts import (
    DICTIONARY_BYTES,
    dropped_table,
    leaves,
    repeating,
    stored,
    stored_schema,
    with_footer,
    write_table,
)
from nlpkit.platform.runs.atomic import atomic_file, check_target, naming, scratch_beside
from nlpkit.platform.runs.footers import SHARD
from nlpkit.platform.values import python_values
from nlpkit.platform.wording import counted


class ParquetSink:
    """Parquet files, written in a thread while the next batch is made. Tokens are written as the codes they are, half the time of
    strings, and every reader sees strings.

    Each text and each id is another: a dictionary of them would cost as long as all the rest, and be as large.
    """

    def __init__(self, path: Path, schema: pa.Schema, block: dict[str, Any]) -> None:
        self._stored = with_footer(stored_schema(schema), block)
        self._coded = self._stored
        if "tokens" in schema.names:
            self._coded = self._stored.set(schema.get_field_index("tokens"), schema.field("tokens"))
        columns = leaves(self._stored)
        self._writer = pq.ParquetWriter(
            path,
            self._coded,
            store_schema=False,  # this one has codes; that of the reader's columns is added below
            compression="zstd",
            dictionary_pagesize_limit=DICTIONARY_BYTES,
            write_page_checksum=SHARD in block,  # a part is checked when it is put together with the others
            use_dictionary=[leaf for leaf in repeating(columns) if leaf not in ("id", "text")],
            write_statistics=[leaf for leaf in columns if leaf.partition(".")[0] not in ("text", "tokens")],
        )
        self._writer.add_key_value_metadata(
            {**self._stored.metadata, b"ARROW:schema": base64.b64encode(self._stored.serialize().to_pybytes())}
        )

        self._pool = ThreadPoolExecutor(1, thread_name_prefix="nlpkit-write")
        self._written: Future[None] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch as a row group, once the one before is written. Raises OSError where that failed."""
        table = pa.Table.from_batches([batch])
        if _has_spare_terms(batch):
            table = stored(table, self._stored)
        table = stored(table, self._coded)
        self._wait()
        self._written = self._pool.submit(self._writer.write_table, table)

    def _wait(self) -> None:
        written, self._written = self._written, None
        if written is not None:
            written.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._wait()
        finally:
            self._pool.shutdown()
            self._writer.close()


def _has_spare_terms(batch: pa.RecordBatch) -> bool:
    """Return whether the dictionary of the tokens has terms that do not occur in them, as where rows were left out."""
    at = batch.schema.get_field_index("tokens")
    if at < 0 or not pa.types.is_list(batch.schema.field(at).type):
        return False
    flat = batch.column(at).flatten()
    return pa.types.is_dictionary(flat.type) and len(pc.unique(flat.indices)) < len(flat.dictionary)


# ------------------------------------------------------------------------------------------------------------------------
# A place for work that needs two passes over a stream: memory, then a temporary file beside the output, gone afterwards.

MEMORY = 256 << 20  # bytes of batches that are held before the file is begun


class Spool:
    """Batches written once and read back once or more, in order. memory: bytes that are held, MEMORY by default; one batch comes on top."""

    def __init__(self, directory: Path | None, memory: int | None = None) -> None:
        self._directory, self._memory = directory, MEMORY if memory is None else memory
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; all must have one schema."""
        if self._size < self._memory:
            self._held.append(batch)
            self._size += batch.nbytes
            return
        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix=".nlpkit-spool-", dir=self._directory)  # noqa: SIM115
            # a stream, not a file: the dictionary of a categorical column may differ from batch to batch
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_stream(self._file, batch.schema, options=options)
        with naming(self._directory or Path(tempfile.gettempdir())):
            self._writer.write_batch(batch)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._held
        if self._writer is None or self._file is None:
            return
        self._writer.close()
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: all batches, in memory."""
        return {**self.__dict__, "_held": list(self), "_file": None, "_writer": None}

    def close(self) -> None:
        """Remove the file."""
        self._held.clear()
        if self._file is not None:
            self._file.close()


@contextmanager
def spool_in(directory: Path | None) -> Iterator[Spool]:
    """Yield a spool in a directory, None for the temporary one."""
    spool = Spool(directory)
    try:
        yield spool
    finally:
        spool.close()


# ------------------------------------------------------------------------------------------------------------------------
# Writing tables: the suffix of the output selects the format, and every command writes through this sink.
#
# .parquet        as it is, with the footer block (see `footers`)
# .arrow .feather as it is, with the same block in the metadata of the schema
# .jsonl          one object a line
# .csv .tsv       UTF-8 without a mark at its beginning, a head, lines that end in \n; text in quotes, null is nothing at all
# .xlsx           one sheet; text that begins with = stays text; dates and whole numbers over 15 digits are text;
# a column of texts that are all numbers is one of numbers (see `NumberTexts`), but for ids
# .dta .sav       files of Stata and SPSS (see `statistics_tables`)
#
# Cells of CSV, TSV and XLSX hold no lists: lists and structs are written there as JSON, which nlpkit reads back from CSV and
# TSV: lists of strings in every column, others in `tokens`, `embedding`, `prediction_prob` and
# `probabilities`. NaN and infinity are null in JSON lines and empty cells in XLSX, which says how many
# are infinite.

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".xlsx": "xlsx",
    ".dta": "dta",
    ".sav": "sav",
    ".arrow": "arrow",
    ".feather": "arrow",
}
MATRICES = {".npz": "npz", ".mtx": "mtx", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"}
_STATISTICS = ("dta", "sav")
XLSX_ROWS = 1 << 20
XLSX_CHARACTERS = 32_767
_WIDTH_ROWS = 100  # that say how wide a column is
_NARROWEST, _WIDEST, _MARGIN = 6, 60, 2  # characters
_XLSX_PLACES = 15  # digits of a number that Excel keeps
_NUMBER = re.compile(r"(?!-0(?:\.0+)?$)-?(?:0|[1-9][0-9]*)(?:\.([0-9]+))?")
_ID = re.compile("(^|_)id$")  # names of documents, which stay texts however they look
_FORMULAS = r"^[=+\-@]"

log = logging.getLogger("nlpkit.io")


def table_format(target: str | Path) -> str:
    """Return the format that the name of a table indicates.

    Raises:
        UsageError: its suffix is that of no table.
    """
    path = Path(target)
    suffix = path.suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    *most, last = FORMATS
    known = f"a table is written as {' '.join(most)} or {last}"
    if suffix in MATRICES:
        raise UsageError(f"output {target}: {suffix} holds a matrix of weights, which `tfidf()` writes; {known}")
    if str(target) == "-":
        raise UsageError(f"this table cannot go to stdout; name a file: {known}")
    if not suffix:
        raise UsageError(f"output {target}: the file name must end in the format; {known}, such as {path.name}.parquet")
    raise UsageError(f"output {target}: '{suffix}' is not a format of nlpkit; {known}")


def check_table(target: str | Path, *, force: bool) -> None:
    """Refuse a table, and the list of dropped rows beside it, that cannot or must not be written, before any work is done.

    Raises:
        UsageError: see `table_format`; OutputExistsError, UsageError, InputError: see `check_target`.
    """
    table_format(target)
    for file in (Path(target), dropped_path(str(target))):
        if file is not None:
            check_target(file, force=force)


def is_readable(target: str | Path) -> bool:
    """Return whether nlpkit can read the file it writes to `target`; it only writes Arrow files."""
    return table_format(target) != "arrow"


class TableSink(Protocol):
    """Takes the batches of a table in order."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""


@contextmanager
def table_sink(target: str | Path, schema: pa.Schema, block: dict[str, Any], *, force: bool) -> Iterator[TableSink]:
    """Open a target for a table: a file of the format that its suffix selects (atomic), or `-` for JSON lines on stdout.

    Raises:
        UsageError: see `table_format`, or the format has no room for the table;
        OutputExistsError, UsageError, InputError: see `check_target`.
    """
    if str(target) == "-":
        yield _JsonLines(sys.stdout)
        return
    format = table_format(target)
    with atomic_file(Path(target), force=force) as part, _opened(format, Path(target), part, schema, block) as sink:
        yield sink


def save_table(target: str | Path, table: pa.Table, block: dict[str, Any], *, force: bool) -> None:
    """Write a small table whole. Raises what `table_sink` does."""
    with table_sink(target, table.schema, block, force=force) as sink:
        for batch in table.to_batches():
            sink.write(batch)


@contextmanager
def _opened(format: str, name: Path, path: Path, schema: pa.Schema, block: dict[str, Any]) -> Iterator[TableSink]:
    if format in ("csv", "tsv", "xlsx", *_STATISTICS):
        _note_lists(name, schema)
    if format == "parquet":
        with ParquetSink(path, schema, block) as table:
            yield table
    elif format == "arrow":
        full = with_footer(_plain_schema(schema), block)
        with pa.ipc.new_file(path, full, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            yield _Arrow(full, lambda table: writer.write_table(table))
    elif format == "jsonl":
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield _JsonLines(file)
    elif format == "xlsx":
        with _xlsx(name, path, schema) as sink:
            yield sink
    elif format in _STATISTICS:
        with _statistics(format, name, path, schema) as sink:
            yield sink
    else:
        flat = pa.schema([(f.name, _flat_type(f.type)) for f in schema])
        options = pa_csv.WriteOptions(delimiter="\t" if format == "tsv" else ",", quoting_style="needed")
        with pa_csv.CSVWriter(path, flat, write_options=options) as writer:
            lines = _Delimited(flat, writer)
            yield lines
        if lines.formulas:
            log.warning(
                "%s: a spreadsheet may take cells that begin with = + - or @ for formulas (here: %s); in .xlsx they are text",
                name,
                f"{lines.formulas:,}",
            )


def _note_lists(name: Path, schema: pa.Schema) -> None:
    nested = [f"'{field.name}'" for field in schema if pa.types.is_nested(field.type)]
    if nested:
        log.info("%s: lists are written as JSON in the cells of %s", name, ", ".join(nested))


class _Arrow:
    """Arrow files: tables of one schema, dictionary codes as the schema wants them."""

    def __init__(self, schema: pa.Schema, write: Callable[[pa.Table], None]) -> None:
        self._schema, self._write = schema, write

    def write(self, batch: pa.RecordBatch) -> None:
        self._write(stored(pa.Table.from_batches([batch]), self._schema))


class _JsonLines:
    """One JSON object a line: what pipes carry. float32 values are printed so that they read back exactly."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, batch: pa.RecordBatch) -> None:
        columns = {name: _json_values(batch.column(i)) for i, name in enumerate(batch.schema.names)}
        for row in zip(*columns.values(), strict=True):
            line = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=_as_text)
            self._out.write(line + "\n")
        self._out.flush()


class _Delimited:
    """CSV and TSV."""

    def __init__(self, schema: pa.Schema, writer: pa_csv.CSVWriter) -> None:
        self._schema, self._writer = schema, writer
        self.formulas = 0

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [_flat(column) for column in batch.columns]
        for column in columns:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                self.formulas += pc.sum(pc.match_substring_regex(column, _FORMULAS)).as_py() or 0
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))


@contextmanager
def _xlsx(name: Path, path: Path, schema: pa.Schema) -> Iterator[TableSink]:
    """Open a workbook of one sheet, which is written when all rows are known."""
    with spool_in(path.parent) as spool:
        yield _Rows(name, spool)
        with workbook(path) as book:
            write_sheet(name, book, schema.names, spool)


@contextmanager
def _statistics(format: str, name: Path, path: Path, schema: pa.Schema) -> Iterator[TableSink]:
    """Open a file of Stata or SPSS, which is written when all rows are known."""
    from nlpkit.platform.runs.statistics_tables import check_statistics, write_statistics

    check_statistics(format)
    with spool_in(path.parent) as spool:
        yield spool
        plain = _plain_schema(schema)  # batches may have codes, each batch others
        tables = [stored(pa.Table.from_batches([batch]), plain) for batch in spool]
        write_statistics(format, name, path, pa.concat_tables(tables) if tables else plain.empty_table(), _flat)


class _Rows:
    """The rows of a sheet, up to as many as it has room for."""

    def __init__(self, name: Path, spool: Spool) -> None:
        self._name, self._spool, self._n = name, spool, 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._n += batch.num_rows
        if self._n >= XLSX_ROWS:
            raise _too_many_rows(self._name)
        self._spool.write(batch)


def _too_many_rows(name: Path) -> UsageError:
    return UsageError(
        f"output {name}: a sheet of Excel has {XLSX_ROWS:,} rows, and there are more; write .csv or .parquet"
    )


@contextmanager
def workbook(path: Path) -> Iterator[Any]:
    """Open a workbook whose sheets are written row by row, one after the other; its temporary files lie beside it."""
    import xlsxwriter.exceptions

    with scratch_beside(path) as scratch:
        options = {
            "constant_memory": True,
            "tmpdir": str(scratch),
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        }
        book = xlsxwriter.Workbook(str(path), options)
        book.set_properties({"created": datetime(1980, 1, 1)})  # the same bytes whenever it is written
        try:
            yield book
            book.use_zip64()
            book.close()
        except xlsxwriter.exceptions.FileCreateError as error:  # an OSError, such as that of a full disk
            raise error.args[0] from None
        finally:
            book.fileclosed = True  # nothing is made of half a book
            for sheet in book.worksheets():
                sheet.row_data_fh.close()


def write_sheet(
    name: Path, book: Any, columns: Sequence[str], batches: Iterable[pa.RecordBatch], title: str | None = None
) -> None:
    """Add a sheet to a workbook: a row a row of the table, below the names of the columns.

    Args:
        name: of the file, for messages; batches: gone through twice; title: of the sheet.

    Raises:
        UsageError: a sheet has no room for the rows, or a cell for a text.
    """
    texts = [NumberTexts() for _ in columns]
    for batch in batches:
        for column, seen in zip(batch.columns, texts, strict=True):
            seen.add(column)
    as_numbers = [seen.are_numbers and not _ID.search(column) for column, seen in zip(columns, texts, strict=True)]
    sheet = _Sheet(name, book, columns, title)
    for batch in batches:
        sheet.write(batch, as_numbers)
    sheet.finish()
    if sheet.infinite:
        log.warning(
            "%s: cells of Excel hold no infinite numbers; left empty: %s", name, counted(sheet.infinite, "cell")
        )


class NumberTexts:
    """Whether the texts of a column are numbers that Excel may have in their place, each text another number.

    None has a zero in front (007), an exponent (5.7E+17, which may have been an id) or over 15 digits. Zeros at the end go where all
    have as many decimal places (1.50, 2.00), or the .0 of whole numbers beside others with a point (0.0, 12.25); 1.10 beside 1.9 stays.
    """

    def __init__(self) -> None:
        self._fractions: set[tuple[int, bool]] = set()  # decimal places; whether the last is 0
        self._others = False

    def add(self, column: pa.Array) -> None:
        """Take further values of the column."""
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        self._others = self._others or not (pa.types.is_string(kind) or pa.types.is_large_string(kind))
        if self._others:
            return
        for text in pc.unique(column).to_pylist():
            if not text:
                continue
            number = _NUMBER.fullmatch(text)
            if number is None or len(text) - text.count("-") - text.count(".") > _XLSX_PLACES:
                self._others = True
                return
            fraction = number[1] or ""
            self._fractions.add((len(fraction), fraction.endswith("0")))

    @property
    def are_numbers(self) -> bool:
        """Whether they are."""
        if self._others:
            return False
        places = {n for n, _ in self._fractions}
        padded = {n for n, ends_in_zero in self._fractions if ends_in_zero}
        return not padded or len(places) == 1 or (padded == {1} and 0 not in places)


class _Sheet:
    """One sheet of a workbook, row by row. infinite: numbers that were left out."""

    def __init__(self, name: Path, book: Any, columns: Sequence[str], title: str | None) -> None:
        self._name, self._columns = name, columns
        self._sheet = book.add_worksheet(title)
        self._sheet.freeze_panes(1, 0)
        self._row = 0
        self.infinite = 0
        self._widths = [0] * len(columns)
        for i, column in enumerate(columns):
            self._cell(i, column)

    def write(self, batch: pa.RecordBatch, as_numbers: Sequence[bool]) -> None:
        """Append rows; as_numbers: which columns of texts are written as numbers."""
        if self._row + batch.num_rows >= XLSX_ROWS:
            raise _too_many_rows(self._name)
        columns = [self._cells(column, number) for column, number in zip(batch.columns, as_numbers, strict=True)]
        for row in zip(*columns, strict=True):
            self._row += 1
            for i, value in enumerate(row):
                self._cell(i, value)

    def finish(self) -> None:
        """Give the columns the widths of their first rows, and the header its filters."""
        for i, width in enumerate(self._widths):
            self._sheet.set_column(i, i, min(max(width, _NARROWEST), _WIDEST) + _MARGIN)
        if self._columns:
            self._sheet.autofilter(0, 0, self._row, len(self._columns) - 1)

    def _cells(self, column: pa.Array, number: bool) -> list[Any]:
        """Return values as cells: None, bool, int, finite float, or what is text."""
        flat = column if _is_day(column.type) else _flat(column)
        if pa.types.is_floating(flat.type):
            self.infinite += pc.sum(pc.is_inf(flat)).as_py() or 0
            return [_json_number(x, flat.type) for x in python_values(flat)]
        values = python_values(flat)
        return [(float(x) if "." in x else int(x)) if x else None for x in values] if number else values

    def _cell(self, column: int, value: Any) -> None:
        if value is None or value == "":
            return
        if self._row < _WIDTH_ROWS:
            self._widths[column] = max(self._widths[column], len(str(value)))
        write = self._sheet.write_string
        if isinstance(value, bool):
            write = self._sheet.write_boolean
        elif isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**_XLSX_PLACES):
            write = self._sheet.write_number
        else:
            value = str(value)
            if len(value.encode("utf-16-le")) > 2 * XLSX_CHARACTERS:
                raise UsageError(
                    f"output {self._name}: a cell of Excel holds {XLSX_CHARACTERS:,} characters, and row {self._row:,} has "
                    f"{len(value):,} in column '{self._columns[column]}'; write .csv or .parquet"
                )
        write(self._row, column, value)


# ---------------------------------------------------------------- values


def _json_values(column: pa.Array) -> list[Any]:
    """Return values as JSON has them: float32 with its own digits, null for what is not finite."""
    kind = column.type
    if pa.types.is_floating(kind):
        return [_json_number(x, kind) for x in column.to_pylist()]
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if lists and pa.types.is_floating(kind.value_type):
        return [None if row is None else [_json_number(x, kind.value_type) for x in row] for row in column.to_pylist()]
    return python_values(column)


def _json_number(x: float | None, kind: pa.DataType) -> float | None:
    if x is None or not math.isfinite(x):
        return None
    return float(str(np.float32(x))) if kind == pa.float32() else x


def _flat_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column in which lists and structs are JSON, bytes hexadecimal, and codes are what they stand for."""
    if pa.types.is_dictionary(kind):
        return _flat_type(kind.value_type)
    return pa.large_string() if pa.types.is_nested(kind) or _is_binary(kind) or _is_day(kind) else kind


def _is_day(kind: pa.DataType) -> bool:
    """Return whether values may be in years that Arrow does not write, such as 33658."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _as_text(value: Any) -> str:
    """Return a value that JSON has no form for, such as a date, as text; bytes in hexadecimal."""
    return value.hex() if isinstance(value, bytes) else str(value)


def _flat(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        return _flat(column.cast(column.type.value_type))
    if _is_binary(column.type):
        return pa.array([None if value is None else value.hex() for value in column.to_pylist()], pa.large_string())
    if _is_day(column.type):
        return _days(column)
    if not pa.types.is_nested(column.type):
        return column
    values = [
        None if value is None else json.dumps(value, ensure_ascii=False, default=_as_text)
        for value in _json_values(column)
    ]
    return pa.array(values, pa.large_string())


def _days(column: pa.Array) -> pa.Array:
    """Return days and times as Arrow writes them, those of years that it does not write as `python_values` does."""
    texts = column.cast(pa.large_string())
    beyond = pc.starts_with(texts, "<value out of range")
    if not pc.any(beyond).as_py():
        return texts
    return pc.if_else(beyond, pa.array(map(str, python_values(column)), pa.large_string()), texts)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema without codes, whose dictionary may not change from batch to batch in an Arrow file."""
    return pa.schema([f.with_type(_plain_type(f.type)) for f in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return kind


# ---------------------------------------------------------------- dropped rows


def dropped_path(target: str) -> Path | None:
    """Return where the dropped rows of an output are listed: `<output stem>.dropped.parquet` beside it, None for stdout."""
    if target == "-":
        return None
    path = Path(target)
    return path.with_name(f"{path.stem}.dropped.parquet")


def write_dropped(target: str, dropped: Sequence[DroppedRow], block: dict[str, Any]) -> Path | None:
    """List the dropped rows of an output beside it; with none, an older list at that place is removed.

    Raises:
        UsageError, InputError: see `check_target`.
    """
    path = dropped_path(target)
    if path is None:
        return None
    check_target(path, force=True)  # an input is not removed either
    if not dropped:
        path.unlink(missing_ok=True)
        return None
    with atomic_file(path, force=True) as part:
        write_table(part, dropped_table(dropped), {**block, "kind": "dropped"})
    return path
