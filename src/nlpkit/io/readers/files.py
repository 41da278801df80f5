"""One input of a format that is no text: web page, PDF, Word file, mail, mailbox, workbook → blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, BinaryIO

from nlpkit.errors import InputError
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers import documents, mails
from nlpkit.io.readers.blocks import BLOCK_ROWS, RowBlock, from_rows
from nlpkit.io.readers.columns import NULL, STRING, ValueKind, kind_of, merge
from nlpkit.io.readers.delimited import with_lists
from nlpkit.io.readers.guess import SAMPLE_ROWS
from nlpkit.io.readers.notes import ReadingNotes
from nlpkit.io.readers.roles import Roles, text_columns
from nlpkit.io.readers.rows import FIRST_ROWS
from nlpkit.io.readers.sheets import read_sheet
from nlpkit.io.readers.unreadable import MOST_STORED, UnreadableFileError
from nlpkit.io.sources import Source, StoredBytes

FORMATS = ("html", "pdf", "docx", "eml", "mbox", "xlsx")
_BLOCK_BYTES = 1 << 20


class FileInput:
    """One file whose documents are taken out of its bytes. One that cannot be read is a row without a text, with the reason;
    an error where it is the only input.
    """

    open_ended = False

    def __init__(
        self, source: Source, format: str, options: ReadOptions, *, alone: bool, notes: ReadingNotes,
        stdin: BinaryIO | None = None, stored: StoredBytes | None = None,
    ) -> None:  # fmt: skip
        """Take `stored` over where the bytes are open already, because the format had to be detected from them."""
        self.source = source
        self.encoding: str | None = None
        self._format, self._options, self._alone, self._notes = format, options, alone, notes
        self._stdin, self._stored = stdin, stored
        self._content: bytes | None = None  # of a pipe, which is read once
        self._sha256: str | None = None
        self._n_reads = 0
        self.samples: dict[str, list[Any]] = {}  # the first values of each column of a workbook

    def roles(self, roles: Roles) -> Roles:
        """Return the roles as they apply here."""
        return roles

    def columns(self) -> dict[str, ValueKind]:
        """Return the columns: those of the format; of a workbook those of its header, as its first 1,000 rows fill them."""
        if self._format != "xlsx":
            names = mails.COLUMNS if self._format in ("eml", "mbox") else documents.COLUMNS
            return dict.fromkeys(names, STRING)
        kinds: dict[str, ValueKind] = {}
        room = FIRST_ROWS
        for block in self.blocks():
            if not block.columns:  # it cannot be read
                return {}
            for name, values in block.cut(0, room).columns.items():
                kinds[name] = reduce(merge, (kinds.get(name, NULL), kind_of(values)))
                sample = self.samples.setdefault(name, [])
                sample += values[: SAMPLE_ROWS - len(sample)]
            room -= len(block.numbers)
            if room <= 0:
                break
        return kinds

    def blocks(self) -> Iterator[RowBlock]:
        """Yield all documents; raises InputError for a file that cannot be read if there is no other."""
        try:
            yield from self._blocks()
        except InputError as error:
            if not isinstance(error, UnreadableFileError) and (self._alone or self._format == "xlsx"):
                raise  # it begins with the file, and of a table with the line
            reason = str(error).removeprefix(f"{self.source.shown}: ")
            if self._alone:
                raise InputError(f"{self.source.shown}: {reason}", parameter=error.parameter) from None
            yield RowBlock({}, [1], 0, [1], reasons={0: reason})

    def _blocks(self) -> Iterator[RowBlock]:
        path = self.source.shown
        if self._format == "mbox":
            yield from self._mailbox(self._chunks())
            return
        content = self._read_whole()
        self._n_reads += 1
        if self._format == "xlsx":
            sheet = read_sheet(content, path, self._options, report=self._n_reads == 1)
            yield from with_lists(sheet, text_columns(self._options.text_col))
            return
        if self._format == "eml":
            row = mails.read_mail(content)
        else:
            row = documents.read_document(
                content, path, self._format, self._options, on_pages=self._notes.pages, on_detect=self._notes.encoding
            )
            if unknown := row["text"].count("\0"):
                self._notes.unknown(path, unknown)
        yield from_rows([row], [1], len(row["text"]), lines=[1])

    def _mailbox(self, chunks: Iterable[bytes]) -> Iterator[RowBlock]:
        rows: list[dict[str, Any]] = []
        reasons: dict[int, str] = {}
        done = size = 0
        for content in mails.split_mbox(chunks):
            try:
                rows.append(mails.read_mail(content))
            except UnreadableFileError as error:
                reasons[len(rows)] = str(error)
                rows.append(dict.fromkeys(mails.COLUMNS))
            size += len(content)
            if len(rows) == BLOCK_ROWS or size > _BLOCK_BYTES:
                yield self._mails(rows, done, size, reasons)
                done += len(rows)
                rows, reasons, size = [], {}, 0
        if rows:
            yield self._mails(rows, done, size, reasons)

    @staticmethod
    def _mails(rows: list[dict[str, Any]], done: int, size: int, reasons: dict[int, str]) -> RowBlock:
        return from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="mail", reasons=reasons)

    def sha256(self) -> str:
        """Return the sha256 of the file as stored."""
        if self._sha256 is None:
            if self._stored is None:
                self._stored = StoredBytes(self.source, self._stdin)
            self._sha256 = self._stored.sha256()
        return self._sha256

    def close(self) -> None:
        """Close the file."""
        if self._stored is not None:
            self._stored.close()
            self._stored = None

    def _chunks(self) -> Iterator[bytes]:
        """Yield the unpacked bytes from the first on."""
        stored, self._stored = self._stored, None
        if stored is None:
            stored = StoredBytes(self.source, self._stdin)
        try:
            yield from stored
        finally:
            self._sha256 = stored.sha256()
            stored.close()

    def _read_whole(self) -> bytes:
        if self._content is not None:
            return self._content
        parts: list[bytes] = []
        size = 0
        for chunk in self._chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > MOST_STORED:
                raise UnreadableFileError(
                    f"it has more than {MOST_STORED / 1000000.0:,.0f} MB, which is the largest file that is read"
                )
        content = b"".join(parts)
        if not self.source.rereadable:
            self._content = content
        return content
