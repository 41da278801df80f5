"""Raw corpora and document tables → one stream of Arrow batches: jsonl, json, csv, tsv, parquet, txt, xml, sgml;
web pages, PDFs, Word files, mails and workbooks.

    inputs ─[resolve]─▶ files ─[first rows]─▶ one schema ─[read]─▶ batches + what was read + what was dropped

The schema is known before the first batch: `id` and `text` first, then the columns of all inputs in the order found.
Order is kept, and a row that cannot be used is listed in `dropped`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError, SchemaError
from nlpkit.io.footers import DOCUMENTS, check_footer, steps_of
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers.assemble import Assembler, Batches, Taken
from nlpkit.io.readers.blocks import RowBlock
from nlpkit.io.readers.checks import check_options
from nlpkit.io.readers.files import FORMATS as FILE_FORMATS
from nlpkit.io.readers.files import FileInput
from nlpkit.io.readers.ids import UniqueIds
from nlpkit.io.readers.markup import NoRecordsError
from nlpkit.io.readers.notes import ReadingNotes
from nlpkit.io.readers.parquet import ArrowInput, BatchesInput, ParquetInput, TableInput
from nlpkit.io.readers.places import DerivedColumn, derived_columns
from nlpkit.io.readers.roles import COPY_KEY, rename
from nlpkit.io.readers.rows import RowInput
from nlpkit.io.readers.schema import InputHeader, TableLayout, check_vocabularies, unify, with_date_format
from nlpkit.io.sources import STDIN, Source, StoredBytes, is_markdown, resolve, sniff

log = logging.getLogger("nlpkit.io")


_DEFAULTS = ReadOptions()


@dataclass(frozen=True, slots=True)
class InputInfo:
    """One input as the manifest lists it: `rows` read (those dropped too), `sha256` of the bytes as stored."""

    path: str
    rows: int
    sha256: str
    encoding: str | None


@dataclass(frozen=True, slots=True)
class DroppedRow:
    """A row that is not yielded, and why."""

    id: str
    stage: str
    reason: str


class DocumentStream:
    """The documents of all inputs, read once from the first to the last; `open_documents` makes it.

    `where` names the inputs in messages. `spool_directory`: where work that needs a second pass may put its copy, None for the
    temporary directory.
    `blocks` holds the footer block of each input, None when nlpkit did not write it; `kept`, once an input is read, how many
    documents it had.
    Iterating raises InputError with path and line for a row that cannot be read, a value that does not fit its
    column and an id that is there twice; EncodingError for bytes that are not text.
    """

    def __init__(
        self, inputs: Sequence[_Input], layout: TableLayout, options: ReadOptions, notes: ReadingNotes, where: str
    ) -> None:
        self.where = where
        self.spool_directory: Path | None = None
        self.schema: pa.Schema = layout.schema
        self.inputs: list[InputInfo] = []
        self.origin: Sequence[InputInfo] | None = None  # what the documents were made from, where a step made them
        self.kept: list[int] = []
        self.dropped: list[DroppedRow] = []
        readers = [one.reader for one in inputs]
        self.blocks = [r.metadata if isinstance(r, ArrowInput) else None for r in readers]  # the footer of each input
        self.metadata: dict[str, Any] | None = self.blocks[0] if len(inputs) == 1 else None
        self._readers = readers
        self._batches: Iterator[pa.RecordBatch] = self._read(inputs, layout, options, notes)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most `batch_rows` rows, fewer when documents are long."""
        return self._batches

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files; a stream read to its end has closed them."""
        for reader in self._readers:
            reader.close()

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What earlier commands did to the documents."""
        return steps_of(self.blocks)

    def has_documents(self) -> bool:
        """Return whether there is a document still to come; reads one batch ahead."""
        return self._ahead() is not None

    def has_texts(self) -> bool:
        """Return whether a text of the next documents is more than white space; reads one batch ahead."""
        first = self._ahead()
        return first is not None and bool(
            pc.any(pc.not_equal(pc.utf8_trim_whitespace(first.column("text")), "")).as_py()
        )

    def _ahead(self) -> pa.RecordBatch | None:
        first = next(self._batches, None)
        if first is not None:
            self._batches = chain([first], self._batches)
        return first

    def join(self, table: pa.Table, where: str) -> None:
        """Yield from now on only the documents that a table has, by id, with its columns, which replace those of their names.

        Iterating then raises InputError when no document is in the table, which `where` names.
        """
        columns = [name for name in table.column_names if name != "id"]
        kept_names = [name for name in self.schema.names if name not in columns]
        self.schema = pa.schema(
            [self.schema.field(name) for name in kept_names] + [table.schema.field(name) for name in columns]
        )
        table, batches = table.combine_chunks(), self._batches

        def joined() -> Iterator[pa.RecordBatch]:
            n_joined = 0
            for batch in batches:
                places = pc.index_in(batch.column("id"), value_set=table.column("id"))
                there = places.is_valid()
                kept, rows = batch.filter(there), table.take(places.filter(there)).combine_chunks()
                n_joined += kept.num_rows
                arrays = [kept.column(name) for name in kept_names]
                arrays += [rows.column(name).combine_chunks() for name in columns]
                yield pa.RecordBatch.from_arrays([_one(array) for array in arrays], schema=self.schema)
            if not n_joined:
                raise InputError(
                    f"no document of the corpus has an id that is in {where}; read it as then, with the same `id_col` and `text_col`"
                )

        self._batches = joined()

    def read_all(self) -> pa.Table:
        """Return the documents as one table."""
        return pa.Table.from_batches(self, self.schema)

    def _read(
        self, inputs: Sequence[_Input], layout: TableLayout, options: ReadOptions, notes: ReadingNotes
    ) -> Iterator[pa.RecordBatch]:
        batches = Batches(layout, options.batch_rows)
        unique = UniqueIds() if any("id" in one.header.renamed for one in inputs) else None
        late: set[str] = set()  # columns that came too late for the schema
        left = options.limit
        try:
            for one in inputs:
                if left == 0:
                    break
                rows = kept = 0
                assembler = one.assembler(layout, options, unique, late)
                for taken, size in one.taken(assembler, options.batch_rows, left):
                    rows += taken.rows
                    kept += taken.batch.num_rows
                    self.dropped += (DroppedRow(id_, "read", reason) for id_, reason in taken.dropped)
                    left = None if left is None else left - taken.batch.num_rows
                    if size is not None:
                        yield from batches.add(taken.batch, size)
                    elif taken.batch.num_rows:
                        yield from batches.flush()
                        yield taken.batch
                self.inputs.append(InputInfo(one.source.path, rows, one.reader.sha256(), one.reader.encoding))
                self.kept.append(kept)
                one.reader.close()
            yield from batches.flush()
            self.inputs = self.inputs if self.origin is None else list(self.origin)
        finally:
            for one in inputs:
                one.reader.close()
        notes.summarize()


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return an array that may have come in chunks as one; none of no rows."""
    if isinstance(array, pa.ChunkedArray):
        return array.chunk(0) if array.num_chunks else pa.array([], array.type)
    return array


def open_documents(
    inputs: Sequence[str], options: ReadOptions = _DEFAULTS, *, stdin: BinaryIO | None = None
) -> DocumentStream:
    """Open files, directories, globs or '-' as one stream of documents and look at the first rows of each.

    Raises UsageError for invalid options, InputError for inputs that cannot be found or read,
    ColumnError for a column that was named but is not there, SchemaError for a Parquet file of another kind.
    """
    check_options(options)
    sources = resolve(inputs, options.format)
    alone = len(sources) == 1
    several_texts = sum(source.format == "txt" for source in sources) > 1
    notes = ReadingNotes()
    opened: list[_Input] = []
    try:
        for source in sources:
            per_file = several_texts or source.listed
            reader = _reader(source, options, alone=alone, per_file=per_file, stdin=stdin, notes=notes)
            opened.append(_Input(source, reader))
            opened[-1].look(options)
        where = ", ".join("stdin" if name == STDIN else name for name in inputs)
        return _stream(opened, options, notes, where)
    except BaseException:
        for one in opened:
            one.reader.close()
        raise


def open_table(table: pa.Table, options: ReadOptions = _DEFAULTS, *, name: str = "the table") -> DocumentStream:
    """Open a table in memory as a stream of documents, as `open_documents` does a file. `name`: what messages call it."""
    check_options(options)
    one = _Input(Source(name, "row", None), TableInput(Source(name, "row", None), table))
    one.look(options)
    return _stream([one], options, ReadingNotes(), name)


def open_batches(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    options: ReadOptions,
    block: dict[str, Any],
    earlier: DocumentStream,
) -> DocumentStream:
    """Open what a step made of a stream that has been read, with the footer block that a file of it would have."""
    source = Source(earlier.where, "row", None)
    one = _Input(source, BatchesInput(source, schema, batches, block))
    one.look(options)
    stream = _stream([one], options, ReadingNotes(), earlier.where)
    stream.origin = earlier.inputs
    return stream


def _stream(opened: Sequence[_Input], options: ReadOptions, notes: ReadingNotes, where: str) -> DocumentStream:
    _check_records(opened)
    layout = unify([one.header for one in opened if not one.empty], dict(options.types))
    check_vocabularies([one.header for one in opened])
    if options.date_format is not None and layout.columns:
        layout = with_date_format(layout, options.date_format, opened[0].source.shown)
    return DocumentStream(opened, layout, options, notes, where)


@dataclass(slots=True)
class _Input:
    """One opened input with the columns found in it."""

    source: Source
    reader: RowInput | FileInput | ArrowInput
    header: InputHeader = field(default_factory=lambda: InputHeader("", {}, {}))
    no_records: NoRecordsError | None = None
    derived: dict[str, DerivedColumn] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether the input has no columns, so that it does not influence the schema."""
        return not self.header.columns

    def look(self, options: ReadOptions) -> None:
        """Determine the columns."""
        roles = options.roles()
        metadata = self.reader.field_metadata if isinstance(self.reader, ArrowInput) else {}
        copy_of = {name: carried[COPY_KEY].decode() for name, carried in metadata.items() if COPY_KEY in carried}
        try:
            columns = self.reader.columns()
        except NoRecordsError as error:
            self.no_records = error
            columns = {}
        renamed = {"text": roles.text}
        if columns:
            named = self.reader.roles(roles)
            self.derived = derived_columns(named, columns, self.source.shown)
            columns = {**columns, **{name: column.kind for name, column in self.derived.items()}}
            copies = self.source.format not in ("xml", "sgml")  # there the options hold paths, no names of columns
            renamed = rename(
                named,
                list(columns),
                self.source.shown,
                keep=options.columns,
                copies=copies,
                copy_of=copy_of,
                derived=self.derived,
            )
        self.header = InputHeader(self.source.shown, renamed, columns, self.reader.open_ended, metadata)

    def assembler(
        self, layout: TableLayout, options: ReadOptions, unique: UniqueIds | None, late: set[str]
    ) -> Assembler:
        """Return the assembler that turns the rows of this input into batches of the layout."""
        return Assembler(
            path=self.source.shown,
            stem=self.source.stem,
            renamed=self.header.renamed,
            layout=layout,
            unique=unique,
            replace_broken=options.encoding_errors == "replace",
            known=frozenset(self.header.columns),
            wanted=None if options.columns is None else frozenset(options.columns),
            worded="text" in self.header.renamed and self.header.renamed["text"] == options.words_col,
            late=late,
            derived=self.derived,
        )

    def taken(self, assembler: Assembler, batch_rows: int, limit: int | None) -> Iterator[tuple[Taken, int | None]]:
        """Yield the rows, at most `limit` documents, with the characters they take; None for whole batches."""
        for part, size in self._parts(batch_rows):
            taken = assembler.take(part, limit) if isinstance(part, RowBlock) else assembler.take_arrow(part, limit)
            yield taken, size
            limit = None if limit is None else limit - taken.batch.num_rows
            if limit == 0:
                return

    def _parts(self, batch_rows: int) -> Iterator[tuple[RowBlock | pa.RecordBatch, int | None]]:
        if isinstance(self.reader, ArrowInput):
            derived = [name for column in self.derived.values() for name in column.columns]
            names = [
                name for name in dict.fromkeys([*self.header.renamed.values(), *derived]) if name not in self.derived
            ]
            yield from ((batch, None) for batch in self.reader.batches(names, batch_rows))
        elif self.no_records is None:
            yield from ((block, block.size) for block in self.reader.blocks() if len(block.numbers))


def _reader(
    source: Source, options: ReadOptions, *, alone: bool, per_file: bool, stdin: BinaryIO | None, notes: ReadingNotes
) -> RowInput | FileInput | ArrowInput:
    format = source.format
    stored: StoredBytes | None = None
    if format in (None, "parquet"):
        stored = StoredBytes(source, stdin)
        format = format or sniff(stored.head(), source.shown)
        if format == "parquet":
            table = ParquetInput(source, stored)
            try:
                check_footer(table.metadata, [DOCUMENTS], source.shown)
            except SchemaError:
                table.close()
                raise
            return table
    assert format is not None
    if format in FILE_FORMATS:
        return FileInput(source, format, options, alone=alone, notes=notes, stdin=stdin, stored=stored)
    per_file = per_file or is_markdown(source.path)
    if options.txt_docs != "auto":
        per_file = options.txt_docs == "file"
    return RowInput(
        source,
        format,
        options,
        alone=alone,
        per_file=per_file,
        stdin=stdin,
        stored=stored,
        on_detect=notes.encoding,
    )


def _check_records(opened: Sequence[_Input]) -> None:
    """Raise when no input has the XML element that is to be a document; name the inputs without it otherwise."""
    without = [one.no_records for one in opened if one.no_records is not None]
    if without and len(without) == len(opened):
        raise without[0]
    for error in without:
        log.warning("%s", error)
