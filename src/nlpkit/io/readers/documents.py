"""Bytes of a web page, a PDF or a Word file → its text, title, author and date."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from datetime import date
from io import BytesIO
from typing import Any

from nlpkit.errors import NlpkitError, first_line, missing_extra
from nlpkit.io.encoding import decode
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.readers.unreadable import MOST_UNPACKED, UnreadableFileError, opened_zip, refuse_other

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
