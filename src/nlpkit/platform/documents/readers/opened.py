"""One opened input: its reader, the columns found in it, its metadata, and the assembler of its rows.

Parts, in this order:
- A table of metadata beside documents: its columns join the rows that have the same key.
- Validation of the options of reading.
- The opened input.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, SchemaError, UsageError
from nlpkit.platform.documents.dates import COPY_KEY
from nlpkit.platform.documents.encoding import check_codec
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers.assemble import Assembler, Taken, UniqueIds
from nlpkit.platform.documents.readers.blocks import ArrowBlock, RowBlock
from nlpkit.platform.documents.readers.files import FORMATS as FILE_FORMATS
from nlpkit.platform.documents.readers.files import FileInput
from nlpkit.platform.documents.readers.guess import NoRecordsError, ReadingNotes, is_row
from nlpkit.platform.documents.readers.parquet import ArrowInput, ParquetInput
from nlpkit.platform.documents.readers.places import DerivedColumn, PathColumns, derived_columns
from nlpkit.platform.documents.readers.roles import Roles, rename, text_column
from nlpkit.platform.documents.readers.rows import RowInput
from nlpkit.platform.documents.readers.value_types import (
    INT,
    NULL,
    STRING,
    TYPES,
    InputHeader,
    TableLayout,
    ValueKind,
    kind_of,
    settle,
)
from nlpkit.platform.documents.selection import selection_columns
from nlpkit.platform.documents.sources import (
    FORMATS,
    OTHER_FORMATS,
    STATISTICS_FORMATS,
    Source,
    StoredBytes,
    is_markdown,
    sniff,
    split_suffix,
)
from nlpkit.platform.runs.footers import DOCUMENTS, check_footer
from nlpkit.platform.wording import counted, listed

_SHOWN = 3

log = logging.getLogger("nlpkit.io")


class Metadata:
    """The columns of a table by key, and which keys documents had.

    Args:
        path: of the table, for messages.
        on: the column with the keys.
        keys: one for each row, all different.
        columns: the values of the others.
    """

    def __init__(self, path: str, on: str, keys: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        self.path, self.on = path, on
        self.columns = dict(columns)
        self._row = {key: row for row, key in enumerate(keys)}
        self._used: set[str] = set()
        self._missing: dict[str, int] = {}

    def kinds(self) -> dict[str, ValueKind]:
        """Return what the columns hold."""
        return {name: kind_of(list(values)) for name, values in self.columns.items()}

    def key_of_file(self, source: Source) -> str:
        """Return the key of a file: its path below the folder or its name, with or without suffix, whichever the table has."""
        name = source.relative.rpartition("/")[2]
        forms = (
            source.relative,
            source.relative.removesuffix(name) + split_suffix(name)[0],
            name,
            split_suffix(name)[0],
        )
        return next((form for form in forms if form in self._row), source.relative)

    def values(self, keys: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the columns for rows with these keys; null where the table does not have one."""
        texts = ["" if key is None else str(key) for key in keys]
        rows = [self._row.get(text) for text in texts]
        for text, row in zip(texts, rows, strict=True):
            if row is None:
                self._missing[text] = self._missing.get(text, 0) + 1
            else:
                self._used.add(text)
        return {name: [None if row is None else values[row] for row in rows] for name, values in self.columns.items()}

    def report(self) -> None:
        """Say which documents have no row in the table, and which rows no document."""
        if self._missing:
            log.warning(
                "%s has no row for %s, such as %s",
                self.path, counted(sum(self._missing.values()), "document"), _examples(list(self._missing)),
            )  # fmt: skip
        unused = [key for key in self._row if key not in self._used]
        if unused:
            log.warning(
                "%s: %s no document, such as %s",
                self.path,
                counted(len(unused), "row has", "rows have"),
                _examples(unused),
            )


def _examples(keys: Sequence[str]) -> str:
    return ", ".join(f"'{key}'" for key in keys[:_SHOWN])


# ------------------------------------------------------------------------------------------------------------------------
# Validation of the options of reading.

_DELIMITED = ("csv", "tsv")
# options that only some formats have a use for
_OF_FORMATS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("delimiter", "header", "quoting", "escape", "decimal", "thousands"), _DELIMITED),
    "skip_rows": (*_DELIMITED, "xlsx"),
    "sheet": ("xlsx", "rds", "rdata"),
    "json_record": ("json",),
}


def warn_of_unused(options: ReadOptions, formats: Collection[str | None]) -> None:
    """Warn of options that no input has a use for; the formats are those of names and options, None where the content tells."""
    if None in formats:
        return
    for name in [name for name in options.recorded() if name in _OF_FORMATS]:
        if not set(formats) & set(_OF_FORMATS[name]):
            log.warning("`%s` changes nothing: it is for %s", name, listed(_OF_FORMATS[name], 5))


def check_options(options: ReadOptions) -> None:
    """Raise UsageError for values of options that are invalid."""
    formats = sorted({*FORMATS.values(), *OTHER_FORMATS})
    allowed: tuple[tuple[str, str, list[str]], ...] = (
        ("format", options.format or formats[0], formats),
        ("encoding_errors", options.encoding_errors, ["strict", "replace"]),
        ("txt_docs", options.txt_docs, ["auto", "line", "file"]),
        *((f"types={name}", type_, list(TYPES)) for name, type_ in options.types),
    )
    for parameter, value, values in allowed:
        if value not in values:
            raise UsageError(f"`{parameter}` takes {', '.join(values)}, not '{value}'")
    for parameter in ("delimiter", "escape", "thousands"):
        character = getattr(options, parameter)
        if character is not None and (len(character) != 1 or character in '"\r\n'):
            raise UsageError(f"`{parameter}` is one character, not {character!r}", parameter=parameter)
    if options.thousands is not None and (options.thousands == options.decimal or options.thousands.isdigit()):
        raise UsageError(
            f"`thousands={options.thousands}` is the decimal mark or a digit; name another", parameter="thousands"
        )
    if options.encoding is not None:
        check_codec(options.encoding)
    if options.batch_rows < 1:
        raise UsageError(f"a batch has at least one row, not {options.batch_rows}")
    if options.limit is not None and options.limit < 0:
        raise UsageError(f"`limit` is a number of documents, not {options.limit}")


# ------------------------------------------------------------------------------------------------------------------------
# One opened input: its reader, the columns found in it, and the assembler of its rows.

_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(slots=True)
class OpenedInput:
    """One opened input with the columns found in it."""

    source: Source
    reader: RowInput | FileInput | ArrowInput
    header: InputHeader = field(default_factory=lambda: InputHeader("", {}, {}))
    no_records: NoRecordsError | None = None
    derived: dict[str, DerivedColumn] = field(default_factory=dict)
    partition: dict[str, str | None] = field(default_factory=dict)  # columns that its folders name
    _types: dict[str, pa.DataType] = field(default_factory=dict)  # of metadata, where the columns have types
    metadata: Metadata | None = None
    key: str | None = None  # the column that metadata go by; None: the file

    @property
    def empty(self) -> bool:
        """Whether the input has no columns, so that it does not influence the schema."""
        return not self.header.columns

    @property
    def dialect(self) -> str:
        """How the rows of a delimited file are told apart, "" for another format."""
        return self.reader.dialect if isinstance(self.reader, RowInput) else ""

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
        if columns:
            self.partition = {name: value for name, value in self.source.partition.items() if name not in columns}
            kind: Any = pa.string() if isinstance(self.reader, ArrowInput) else STRING
            if options.path_cols is not None:
                self.partition |= self._path_columns(PathColumns(options.path_cols), columns)
            columns = {**columns, **dict.fromkeys(self.partition, kind)}
            if self.metadata is not None:
                self.key = next((name for name in (self.metadata.on, roles.id) if name in columns), None)
                columns = {**columns, **self._metadata_kinds(self.metadata, columns)}
        renamed = {"text": roles.text}
        if columns:
            named = self._with_text(self.reader.roles(roles), columns)
            self.derived = derived_columns(named, columns, self.source.shown)
            columns = {**columns, **{name: column.kind for name, column in self.derived.items()}}
            copies = self.source.format not in ("xml", "sgml")  # there the options hold paths, no names of columns
            renamed = rename(
                named,
                list(columns),
                self.source.shown,
                keep=_wanted(options),
                copies=copies,
                copy_of=copy_of,
                derived={name: column.columns for name, column in self.derived.items()},
            )
        self.header = InputHeader(self.source.shown, renamed, columns, self.reader.open_ended, metadata)

    def _with_text(self, roles: Roles, columns: Mapping[str, Any]) -> Roles:
        """Return the roles with the column that must be the text, where it is called otherwise and nobody named it."""
        if roles.text != "text" or "text" in columns or not roles.text_needed or roles.words in columns:
            return roles
        called = [name for name in columns if name.casefold() == "text"]
        if len(called) == 1:
            log.info("%s: the text is column '%s'", self.source.shown, called[0])
            return replace(roles, text=called[0])
        if self.source.format in ("csv", "tsv") and is_row(list(columns), self.reader.samples):
            raise ColumnError(
                f"{self.source.shown} has no column 'text', and its first row looks like a document, not like a header: read it with "
                "`header=False`, or name the column with `text_col`",
                parameter="text_col",
            )
        used = {column for role, column in roles.items() if role != "text"}
        guess = text_column(self.reader.samples, self.source.shown, roles=used)
        if guess is None:
            return roles
        log.warning(
            "%s: the text is column '%s' (on average %s), which outputs call text; `text_col` names another one",
            self.source.shown, guess.name, counted(round(guess.words), "word"),
        )  # fmt: skip
        return replace(roles, text=guess.name)

    def _path_columns(self, columns_of: PathColumns, columns: Mapping[str, Any]) -> dict[str, str | None]:
        values = columns_of.values(self.source.relative) or {}
        there = next((name for name in values if name in columns), None)
        if there is not None:
            raise InputError(
                f"{self.source.shown} has a column '{there}' already; give another name in `path_cols`",
                parameter="path_cols",
            )
        return values

    def _metadata_kinds(self, metadata: Metadata, columns: Mapping[str, Any]) -> dict[str, Any]:
        there = next((name for name in metadata.columns if name in columns), None)
        if there is not None:
            raise InputError(
                f"{self.source.shown} and {metadata.path} have a column '{there}' both; rename or remove one of them",
                parameter="meta",
            )
        kinds = metadata.kinds()
        if not isinstance(self.reader, ArrowInput):
            return dict(kinds)
        self._types = {name: settle(name, kind).type for name, kind in kinds.items()}
        return dict(self._types)

    def _with_metadata(self, part: RowBlock | ArrowBlock) -> RowBlock | ArrowBlock:
        if self.metadata is None:
            return part
        if self.key is None:
            keys: list[Any] = [self.metadata.key_of_file(self.source)] * len(part.numbers)
        elif isinstance(part, RowBlock):
            keys = part.columns.get(self.key, [None] * len(part.numbers))  # JSON may lack it in a block
        else:
            keys = part.batch.column(self.key).to_pylist()
        return part.with_columns(self.metadata.values(keys), self._types)

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
            wanted=None if options.columns is None else frozenset(_wanted(options) or ()),
            worded="text" in self.header.renamed and self.header.renamed["text"] == options.words_col,
            late=late,
            derived=self.derived,
        )

    def taken(
        self, assembler: Assembler, batch_rows: int, limit: int | None, skip: int = 0
    ) -> Iterator[tuple[Taken, int | None]]:
        """Yield the rows, at most `limit` documents, with the characters they take; None for whole batches.

        skip: rows of Parquet and tables before the first.
        """
        for part in self._parts(assembler.layout, batch_rows, skip):
            if self.partition:
                part = part.with_constants(self.partition)
            part = self._with_metadata(part)
            taken = assembler.take(part, limit) if isinstance(part, RowBlock) else assembler.take_arrow(part, limit)
            yield taken, part.size
            limit = None if limit is None else limit - taken.batch.num_rows
            if limit == 0:
                return

    def _parts(self, layout: TableLayout, batch_rows: int, skip: int) -> Iterator[RowBlock | ArrowBlock]:
        if isinstance(self.reader, ArrowInput):
            derived = [name for column in self.derived.values() for name in column.columns]
            names = [
                name
                for name in dict.fromkeys([*self.header.renamed.values(), *derived, *([self.key] if self.key else ())])
                if name not in self.derived and name not in self.partition and name not in self._types
            ]
            for batch in self.reader.batches(names, batch_rows, skip):
                yield ArrowBlock(batch, range(skip + 1, skip + batch.num_rows + 1))
                skip += batch.num_rows
        elif self.no_records is None:
            if isinstance(self.reader, RowInput) and (plain := self._plain_columns(layout)):
                self.reader.expect(plain)
            yield from (block for block in self.reader.blocks() if len(block.numbers))

    def _plain_columns(self, layout: TableLayout) -> dict[str, ValueKind] | None:
        """Return the columns, if all are plain and the layout has them as they are, so that Arrow can read them; else None."""
        kinds = {name: STRING if kind == NULL else kind for name, kind in self.header.columns.items()}
        if (
            self.derived
            or self.partition
            or self.metadata is not None
            or not all(isinstance(kind, ValueKind) and kind.name in TYPES for kind in kinds.values())
        ):
            return None
        for name, source in self.header.renamed.items():
            kind, column = kinds.get(source), layout.columns.get(name)
            if kind is None:
                fits = False
            elif name in ("id", "text"):
                fits = kind == STRING or (kind == INT and name == "id")
            elif column is None or column.forced is not None:
                fits = kind == STRING
            else:
                fits = kind == column.kind and column.type == TYPES[kind.name]
            if not fits:
                return None
        return kinds


def _wanted(options: ReadOptions) -> tuple[str, ...] | None:
    """Return the columns to read beside id and text, None for all."""
    return None if options.columns is None else (*options.columns, *selection_columns(options))


def _note_index(table: ArrowInput) -> None:
    """Say where a column comes from that pandas adds, and that no one named."""
    for name in table.schema.names:
        if _INDEX.fullmatch(name):
            log.warning(
                "%s: the column '%s' is the index of a pandas table; leave it out with `to_parquet(path, index=False)`",
                table.source.shown,
                name,
            )


def _head(stored: StoredBytes) -> bytes:
    """Return the first bytes of a file, which is closed if they cannot be read."""
    try:
        return stored.head()
    except InputError:
        stored.close()
        raise


def reader_of(
    source: Source, options: ReadOptions, *, alone: bool, per_file: bool, stdin: BinaryIO | None, notes: ReadingNotes
) -> RowInput | FileInput | ArrowInput:
    """Return the reader of an input; its format is detected from its first bytes where nothing says it.

    Raises:
        InputError: it cannot be opened, or could be anything; SchemaError: a Parquet file of another kind.
    """
    format = source.format
    stored: StoredBytes | None = None
    if format in (None, "parquet"):
        stored = StoredBytes(source, stdin)
        format = format or sniff(_head(stored), source.shown)
        if format == "parquet":
            table = ParquetInput(source, stored)
            try:
                check_footer(table.metadata, [DOCUMENTS], source.shown)
            except SchemaError:
                table.close()
                raise
            _note_index(table)
            return table
    assert format is not None
    if format in STATISTICS_FORMATS:
        from nlpkit.platform.documents.readers.workbooks import StatisticsInput

        return StatisticsInput(source, format, options.sheet, stdin)
    if format == "txt" and options.format is None:
        from nlpkit.platform.documents.readers.messages import is_chat

        stored = stored or StoredBytes(source, stdin)
        if is_chat(_head(stored).decode("utf-8", "replace").splitlines()):
            log.warning(
                "%s: read as messages of a chat, with sender and date; `format=txt` reads it as text", source.shown
            )
            format = "chat"
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
