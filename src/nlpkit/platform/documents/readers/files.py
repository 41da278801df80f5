"""Files that are not plain text (web pages, PDF, Word, mail, workbooks) read as blocks of rows.

Parts, in this order:
- Bytes of a web page, a PDF or a Word file → its text, title, author and date.
- One input of such a format.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import reduce
from io import BytesIO
from typing import Any, BinaryIO

from nlpkit.errors import InputError, NlpkitError, first_line, missing_extra
from nlpkit.platform.documents.encoding import decode
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.documents.readers import messages as mails
from nlpkit.platform.documents.readers.blocks import BLOCK_ROWS, RowBlock, from_rows
from nlpkit.platform.documents.readers.delimited import with_lists
from nlpkit.platform.documents.readers.guess import (
    MOST_STORED,
    MOST_UNPACKED,
    SAMPLE_ROWS,
    ReadingNotes,
    UnreadableFileError,
    opened_zip,
    refuse_other,
)
from nlpkit.platform.documents.readers.roles import Roles, text_columns
from nlpkit.platform.documents.readers.rows import FIRST_ROWS
from nlpkit.platform.documents.readers.value_types import NULL, STRING, ValueKind, kind_of, merge
from nlpkit.platform.documents.sources import Source, StoredBytes

COLUMNS = ("text", "title", "author", "date")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OTHER_VERSIONS = ("{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback", f"{_WORD}moveFrom")
_LARGE_PAGE = 10_000_000  # bytes that libxml2 takes of one text
_SETTINGS = (f"{_WORD}pPr", f"{_WORD}rPr")

Record = dict[str, Any]


def read_document(
    content: bytes, path: str, format: str, options: ReadOptions, *, on_pages: Callable[[str, int, int], None],
    on_detect: Callable[[str, str], None],
) -> Record:  # fmt: skip
    """Return text, title, author and date (ISO 8601) of a file; None for what it does not say.

    Args:
        format: html, pdf or docx. on_pages: called with pages without text and all pages of a PDF that has both.
        on_detect: called with an encoding that is a guess.

    Raises:
        UnreadableFileError: it is broken, protected, of another format, or has no text; MissingError: the extra is not installed.
    """
    try:
        match format:
            case "html":
                return _web_page(content, path, options, on_detect)
            case "pdf":
                return _pdf(content, path, on_pages)
            case _:
                return _word(content)
    except (NlpkitError, MemoryError):
        raise
    except Exception as error:  # a broken file may fail anywhere in the libraries
        raise UnreadableFileError(f"it is broken ({type(error).__name__}: {first_line(error)})") from None


def _web_page(content: bytes, path: str, options: ReadOptions, on_detect: Callable[[str, str], None]) -> Record:
    """Return the main text of a web page as Trafilatura takes it out, without menus, footers and comments (Barbaresi 2021)."""
    try:
        from trafilatura import bare_extraction
    except ImportError:
        raise missing_extra("reading web pages", "documents") from None
    refuse_other(content, "html")
    decoded = decode([content], path, encoding=options.encoding, errors=options.encoding_errors, declared=True)
    if decoded.detected:
        on_detect(path, decoded.encoding)
    _quiet("trafilatura", "htmldate", "justext")
    page: Any = bare_extraction(
        "".join(decoded.text),
        with_metadata=True,
        include_comments=False,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    if page is None or not (page.text or "").strip():
        large = len(content) >= _LARGE_PAGE
        problem = "a page of more than 10 MB is too large for Trafilatura" if large else "the page has no main text"
        raise UnreadableFileError(f"{problem}; its whole text: `format=sgml` `xml_record=body` `xml_fields=text=.`")
    return {"text": page.text, "title": page.title or None, "author": page.author or None, "date": page.date or None}


def _pdf(content: bytes, path: str, on_pages: Callable[[str, int, int], None]) -> Record:
    """Return the text of the pages of a PDF, its lines as they stand there."""
    try:
        from pypdf import PdfReader
    except ImportError:
        raise missing_extra("reading PDFs", "documents") from None
    if b"%PDF" not in content[:1024]:
        refuse_other(content, "pdf")
        raise UnreadableFileError("it does not begin like a PDF")
    _quiet("pypdf")
    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableFileError("it is protected by a password")
    pages = [_without_halves(page.extract_text()).strip() for page in reader.pages]
    empty = sum(not page for page in pages)
    if empty == len(pages):
        where = "its only page" if empty == 1 else f"any of its {empty} pages"
        raise UnreadableFileError(
            f"no text on {where}. If they are scanned, a program such as ocrmypdf can recognise the text"
        )
    if empty:
        on_pages(path, empty, len(pages))
    about: Any = reader.metadata
    return {
        "text": "\n".join(page for page in pages if page),
        "title": _stated(lambda: str(about.title or "")),
        "author": _stated(lambda: str(about.author or "")),
        "date": _stated(lambda: _day(about.creation_date_raw)),
    }


def _word(content: bytes) -> Record:
    """Return the text of a Word file: paragraphs are lines, cells of a table are divided by tabs; no headers and footnotes."""
    try:
        from docx import Document
        from docx.opc.exceptions import PackageNotFoundError
    except ImportError:
        raise missing_extra("reading Word files", "documents") from None
    with opened_zip(content, "docx", MOST_UNPACKED) as archive:
        if "[Content_Types].xml" not in archive.namelist():
            raise UnreadableFileError("it is a zip archive, but no Word file")
    try:
        document = Document(BytesIO(content))
    except (PackageNotFoundError, KeyError, ValueError) as error:
        raise UnreadableFileError(f"it is not a Word file, or broken ({first_line(error)})") from None
    about = document.core_properties
    text = "".join(_pieces(document.element.body)).strip("\n")
    if not text.strip():
        raise UnreadableFileError("it has no text")
    return {
        "text": text,
        "title": about.title or None,
        "author": about.author or None,
        "date": _stated(lambda: about.created.isoformat()),
    }


def _pieces(body: Any) -> Iterator[str]:
    """Yield the text of the body of a Word file in its order: with links, insertions, content controls and text boxes.

    What was deleted or moved away under tracked changes is left out. A text box is there twice, for old and new programs.
    """
    from lxml import etree

    walk = etree.iterwalk(body, events=("start", "end"))
    in_cell = 0
    for event, node in walk:
        tag = node.tag
        if event == "start":
            if tag in _SETTINGS or tag in _OTHER_VERSIONS:
                walk.skip_subtree()
            elif tag == f"{_WORD}tc":
                in_cell += 1
            elif tag == f"{_WORD}t":
                yield node.text or ""
            elif tag == f"{_WORD}tab":
                yield "\t"
            elif tag in (f"{_WORD}br", f"{_WORD}cr"):
                yield "\n"
            elif tag == f"{_WORD}noBreakHyphen":
                yield "-"
        elif tag == f"{_WORD}p":
            last = in_cell and node.getnext() is None
            yield "" if last else "\n"
        elif tag == f"{_WORD}tc":
            in_cell -= 1
            yield "\t" if node.getnext() is not None else ""
        elif tag == f"{_WORD}tr":
            yield "\n"


def _stated(value: Callable[[], Any]) -> Any:
    """Return what a file says of itself, None where that cannot be read; its text can be, all the same."""
    try:
        return value() or None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None


def _day(stated: str) -> str | None:
    """Return the day of a date as PDFs write it, such as D:20261123222338Z'."""
    parts = re.match(r"D:(\d{4})(\d\d)(\d\d)", stated, re.ASCII)
    return None if parts is None else date(*map(int, parts.groups())).isoformat()


def _without_halves(text: str) -> str:
    """Return a text without halves of surrogate pairs, which some PDFs have for characters of their own."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _quiet(*libraries: str) -> None:
    """Keep the libraries from writing about each oddity of a file on stderr, unless the program that runs wants to know."""
    for name in libraries:
        if not logging.getLogger(name).handlers:
            logging.getLogger(name).addHandler(logging.NullHandler())


# ------------------------------------------------------------------------------------------------------------------------
# One input of a format that is no text: web page, PDF, Word file, mail, mailbox, workbook → blocks of rows.

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
            names = mails.COLUMNS if self._format in ("eml", "mbox") else COLUMNS
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
            from nlpkit.platform.documents.readers.workbooks import read_sheet

            sheet = read_sheet(content, path, self._options, report=self._n_reads == 1)
            yield from with_lists(sheet, text_columns(self._options.text_col))
            return
        if self._format == "eml":
            row = mails.read_mail(content)
        else:
            row = read_document(
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
