"""Raw corpora and document tables → one stream of Arrow batches: jsonl, json, csv, tsv, parquet, txt, xml, sgml;
web pages, PDFs, Word files, mails and workbooks.

    inputs ─[resolve]─▶ files ─[first rows]─▶ one schema ─[read]─▶ batches + what was read + what was dropped

The schema is known before the first batch: `id` and `text` first, then the columns of all inputs in the order found.
Order is kept, and a row that cannot be used is listed in `dropped`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import IN_MEMORY, InputError, UsageError, missing_column
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo, Origin, Scan
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.parts import Share, parse_share
from nlpkit.platform.documents.readers.assemble import Batches, UniqueIds
from nlpkit.platform.documents.readers.files import FileInput
from nlpkit.platform.documents.readers.guess import ReadingNotes
from nlpkit.platform.documents.readers.opened import Metadata, OpenedInput, check_options, reader_of, warn_of_unused
from nlpkit.platform.documents.readers.parquet import ArrowInput, BatchesInput, TableInput
from nlpkit.platform.documents.readers.places import PathColumns
from nlpkit.platform.documents.readers.rows import RowInput
from nlpkit.platform.documents.readers.value_types import TableLayout, check_vocabularies, unify, with_date_format
from nlpkit.platform.documents.selection import Sample, Selection, check_selection
from nlpkit.platform.documents.sources import STDIN, Source, resolve
from nlpkit.platform.runs.footers import steps_of
from nlpkit.platform.wording import counted

log = logging.getLogger("nlpkit.io")


_DEFAULTS = ReadOptions()
_MOST_DIALECTS = 5  # that are told


class DocumentStream:
    """The documents of all inputs, read once from the first to the last; `open_documents` makes it.

    `where` names the inputs in messages. `spool_directory`: where work that needs a second pass may put its copy, None for the
    temporary directory.
    `blocks` holds the footer block of each input, None when nlpkit did not write it; `kept`, once an input is read, how many
    documents it had. `share`: which share of the documents it gives, None for all; `inputs` are whole all the same. `opening`: of
    a share, the first batches of the whole input, which have the texts by which languages are detected.
    Iterating raises InputError with path and line for a row that cannot be read, a value that does not fit its
    column and an id that is there twice; EncodingError for bytes that are not text.
    """

    def __init__(
        self, inputs: Sequence[OpenedInput], layout: TableLayout, options: ReadOptions, notes: ReadingNotes, where: str
    ) -> None:
        self.where = where
        self.spool_directory: Path | None = None
        self.schema: pa.Schema = layout.schema
        self.inputs: list[InputInfo] = []
        self.origin: Sequence[InputInfo] | None = None  # what the documents were made from, where a step made them
        self.kept: list[int] = []
        self.dropped: list[DroppedRow] = []
        self.share: Share | None = None
        self.opening: Sequence[pa.RecordBatch] = ()
        self.metadata_table: Metadata | None = None
        counted = options.sample is not None or options.limit is not None
        # input and row of it at which each batch begins
        self.starts: list[tuple[int, int]] | None = None if counted else []
        readers = [one.reader for one in inputs]
        self.blocks = [r.metadata if isinstance(r, ArrowInput) else None for r in readers]  # the footer of each input
        self.metadata: dict[str, Any] | None = self.blocks[0] if len(inputs) == 1 else None
        self._readers = readers
        selection = Selection(options, layout.schema)

        def read_from(start: tuple[int, int]) -> Iterator[pa.RecordBatch]:
            return self._read(inputs, layout, options, notes, selection, start)

        self._read_from = read_from
        self._batches: Iterator[pa.RecordBatch] = self._read_from((0, 0))
        if options.sample is not None:
            self._batches = self._sampled(self._batches, Sample(options.sample), options.limit)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield batches of at most `batch_rows` rows, fewer when documents are long."""
        return self._batches

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds, such as that of a fitted model: not the documents, which have been read."""
        return self.__dict__ | {"_readers": [], "_read_from": None, "_batches": map(_not_copied, [self.where])}

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
                    f"no document of the corpus has an id that is in {where}; read it as for the fit, with the same "
                    "`id_col` and `text_col`"
                )

        self._batches = joined()

    def read_all(self) -> pa.Table:
        """Return the documents as one table."""
        return pa.Table.from_batches(self, self.schema)

    def _read(
        self,
        inputs: Sequence[OpenedInput],
        layout: TableLayout,
        options: ReadOptions,
        notes: ReadingNotes,
        selection: Selection,
        start: tuple[int, int],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the documents from an input on, and a row of it, which are 0 but for Parquet and tables."""
        batches = Batches(layout, options.batch_rows)
        unique = UniqueIds() if any("id" in one.header.renamed for one in inputs) else None
        late: set[str] = set()  # columns that came too late for the schema
        left = options.limit if options.sample is None else None
        reading = options.recorded()
        try:
            for number, one in enumerate(inputs[start[0] :], start[0]):
                if left == 0:
                    break
                rows = kept = 0
                assembler = one.assembler(layout, options, unique, late)
                skip = start[1] if number == start[0] else 0
                if not isinstance(one.reader, ArrowInput):
                    self.starts = None  # of packed text nothing can be skipped
                for taken, size in one.taken(assembler, options.batch_rows, None if selection else left, skip):
                    batch = taken.batch
                    if not isinstance(one.reader, ArrowInput | FileInput):  # made before, or told of a PDF
                        notes.texts(batch.column("text"))
                    left_out: list[tuple[str, str, str]] = []
                    if selection:
                        batch, left_out, n_seen = selection.select(batch, left)
                        taken = taken if n_seen is None else taken.first(n_seen)
                    first_row, rows = rows, rows + taken.rows
                    self.dropped += (DroppedRow(id_, "read", reason) for _, id_, reason in taken.dropped)
                    self.dropped += (DroppedRow(*row) for row in left_out)
                    kept += batch.num_rows
                    left = None if left is None else left - batch.num_rows
                    if size is not None:
                        yield from batches.add(batch, size)
                    elif batch.num_rows:
                        yield from batches.flush()
                        if self.starts is not None:
                            self.starts.append((number, first_row))
                        yield batch
                    if left == 0:
                        break
                self.inputs.append(
                    InputInfo(one.source.path, rows, one.reader.sha256(), one.reader.encoding, reading, one.dialect)
                )
                self.kept.append(kept)
                one.reader.close()
            yield from batches.flush()
            if left != 0:
                _warn_of_types(layout, inputs, late)
            self.inputs = self.inputs if self.origin is None else list(self.origin)
        finally:
            for one in inputs:
                one.reader.close()
        notes.summarize()
        if left != 0 and self.metadata_table is not None:
            self.metadata_table.report()

    def _sampled(
        self, batches: Iterator[pa.RecordBatch], sample: Sample, limit: int | None
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sample.add(batch)
        left = sample.n_seen if limit is None else limit
        parts = list(sample.batches())
        ends = np.minimum(sample.before(np.cumsum(np.array(self.kept, np.int64))), left)
        self.kept = np.diff(ends, prepend=0).tolist()
        for part in parts:
            if left:
                yield part.slice(0, left)
            left -= min(left, part.num_rows)

    def keep_share(self, share: Share, scan: Scan) -> None:
        """Yield from now on only a share of the documents; the scan is that of the whole input.

        Rows that are dropped belong to the share whose batch comes next, those at the end to the last.

        Raises:
            UsageError: there are more shares than batches.
        """
        n_batches = len(scan.dropped_before)
        places = share.places(n_batches) if n_batches else range(0)
        first = scan.dropped_before[places.start - 1] if places.start else 0
        last = scan.dropped_before[places.stop - 1] if places.stop < n_batches else len(scan.dropped)
        self.share, self.opening = share, scan.opening
        skipped, batches = places.start, self._batches
        if scan.starts is not None and skipped:
            skipped, batches = 0, self._read_from(scan.starts[skipped])

        def shared() -> Iterator[pa.RecordBatch]:
            for _, batch in zip(range(skipped), batches, strict=False):
                del batch  # of another share
            for _, batch in zip(places, batches, strict=False):
                yield batch
            self.close()
            self.inputs, self.kept, self.dropped = list(scan.inputs), list(scan.kept), list(scan.dropped[first:last])

        self._batches = shared()


def _warn_of_types(layout: TableLayout, inputs: Sequence[OpenedInput], late: Collection[str]) -> None:
    """Warn of a column of `types` that no row has: it is in no header, and JSON may have it in any row."""
    for name, column in layout.columns.items():
        if column.forced and name not in late and not any(name in one.header.renamed for one in inputs):
            log.warning("no row has the column '%s' of `types=%s=%s`", name, name, column.forced)


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return an array that may have come in chunks as one; none of no rows."""
    if isinstance(array, pa.ChunkedArray):
        return array.chunk(0) if array.num_chunks else pa.array([], array.type)
    return array


def open_documents(
    inputs: Sequence[str],
    options: ReadOptions = _DEFAULTS,
    *,
    stdin: BinaryIO | None = None,
    scan: Scan | None = None,
) -> DocumentStream:
    """Open files, directories, globs or '-' as one stream of documents and look at the first rows of each.

    scan: of all documents, for a share of them; where there is none, all are read for it first.

    Raises UsageError for invalid options, InputError for inputs that cannot be found or read,
    ColumnError for a column that was named but is not there, SchemaError for a Parquet file of another kind.
    """
    if options.shard is not None:
        if STDIN in inputs:
            raise UsageError(
                "`shard`: stdin can only be read once, and a part needs the length of the input; give a file",
                parameter="shard",
            )
        scan = scan or scan_documents(inputs, options)
        return _shared(lambda: _open_whole(inputs, options, stdin), options.shard, scan)
    return _open_whole(inputs, options, stdin)


def scan_documents(inputs: Sequence[str], options: ReadOptions) -> Scan:
    """Return what shares of the documents of files need to know of all of them, which are read: ids, texts, and the columns by which
    they are chosen.

    Raises what `open_documents` does.
    """
    typed = bool(options.types) or options.date_format is not None  # of columns that must be there
    with _open_whole(inputs, options if typed else replace(options, columns=()), None) as whole:
        return Scan.of_stream(whole)


def _shared(open_whole: Callable[[], DocumentStream], shard: str, scan: Scan | None) -> DocumentStream:
    """Return the stream of a share."""
    share = parse_share(shard)
    if scan is None:
        with open_whole() as whole:
            scan = Scan.of_stream(whole)
    stream = open_whole()
    try:
        stream.keep_share(share, scan)
    except BaseException:
        stream.close()
        raise
    return stream


def _open_whole(inputs: Sequence[str], options: ReadOptions, stdin: BinaryIO | None) -> DocumentStream:
    check_options(options)
    check_selection(options)
    sources = resolve(inputs, options.format)
    if options.path_cols is not None:
        PathColumns(options.path_cols).check(sources)
    metadata = None if options.meta is None else _metadata(options.meta, options)
    warn_of_unused(options, [source.format for source in sources])
    alone = len(sources) == 1
    several_texts = sum(source.format == "txt" for source in sources) > 1
    notes = ReadingNotes()
    opened: list[OpenedInput] = []
    try:
        for source in sources:
            per_file = several_texts or source.listed
            reader = reader_of(source, options, alone=alone, per_file=per_file, stdin=stdin, notes=notes)
            opened.append(OpenedInput(source, reader, metadata=metadata))
            opened[-1].look(options)
        _note_dialects(opened)
        where = ", ".join("stdin" if name == STDIN else name for name in inputs)
        return _stream(opened, options, notes, where, metadata)
    except BaseException:
        for one in opened:
            one.reader.close()
        raise


def open_table(
    table: pa.Table, options: ReadOptions = _DEFAULTS, *, name: str = IN_MEMORY, scan: Scan | None = None
) -> DocumentStream:
    """Open a table in memory as a stream of documents, as `open_documents` does a file. `name`: what messages call it."""
    check_options(options)
    check_selection(options)

    def open_whole() -> DocumentStream:
        one = OpenedInput(Source(name, "row", None), TableInput(Source(name, "row", None), table))
        one.look(options)
        return _stream([one], options, ReadingNotes(), name)

    return open_whole() if options.shard is None else _shared(open_whole, options.shard, scan)


def _not_copied(where: str) -> pa.RecordBatch:
    raise InputError(f"this copy of a stream has no documents; open {where} again")


def open_batches(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    options: ReadOptions,
    block: dict[str, Any],
    earlier: Origin,
) -> DocumentStream:
    """Open what a step made of a stream that has been read, with the footer block that a file of it would have."""
    source = Source(earlier.where, "row", None)
    one = OpenedInput(source, BatchesInput(source, schema, batches, block))
    one.look(options)
    stream = _stream([one], options, ReadingNotes(), earlier.where)
    stream.origin = earlier.inputs
    return stream


def _metadata(path: str, options: ReadOptions) -> Metadata:
    """Read a table of metadata; its ids are the keys, which are all different."""
    reading = ReadOptions(
        id_col=options.meta_on, text_needed=False, encoding=options.encoding, na_values=options.na_values
    )
    with _open_whole([path], reading, None) as stream:
        table = stream.read_all()
    if options.meta_on not in ("id", *table.column_names):
        raise missing_column(path, options.meta_on, table.column_names, "meta_on")
    others = [name for name in table.column_names if name not in ("id", "text", options.meta_on)]
    return Metadata(
        path, options.meta_on, table.column("id").to_pylist(), {name: table.column(name).to_pylist() for name in others}
    )


def _stream(
    opened: Sequence[OpenedInput],
    options: ReadOptions,
    notes: ReadingNotes,
    where: str,
    metadata: Metadata | None = None,
) -> DocumentStream:
    _check_records(opened)
    layout = unify([one.header for one in opened if not one.empty], dict(options.types))
    check_vocabularies([one.header for one in opened])
    if options.date_format is not None and layout.columns:
        layout = with_date_format(layout, options.date_format, opened[0].source.shown)
    stream = DocumentStream(opened, layout, options, notes, where)
    stream.metadata_table = metadata
    return stream


def _note_dialects(opened: Sequence[OpenedInput]) -> None:
    """Say how delimited files are read that are unlike UTF-8 with commas and a header: one line for all that are alike."""
    alike: dict[str, list[str]] = {}
    for one in opened:
        if isinstance(one.reader, RowInput) and one.reader.remarks:
            alike.setdefault(one.reader.remarks, []).append(one.source.shown)
    for remarks, paths in list(alike.items())[:_MOST_DIALECTS]:
        files = paths[0] if len(paths) == 1 else f"{paths[0]} and {counted(len(paths) - 1, 'file')} like it"
        log.info("%s: %s", files, remarks)


def _check_records(opened: Sequence[OpenedInput]) -> None:
    """Raise when no input has the XML element that is to be a document; name the inputs without it otherwise."""
    without = [one.no_records for one in opened if one.no_records is not None]
    if without and len(without) == len(opened):
        raise without[0]
    for error in without:
        log.warning("%s", error)
