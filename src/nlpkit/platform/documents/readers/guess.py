"""What is guessed about input files, the notes on it, and the errors for files that cannot be read.

Parts, in this order:
- What is said of files that are read otherwise than one might think: the first by name, the others together.
- Files that cannot be read, and the check of what their bytes are.
- What the first rows of a table show: decimal commas, a header that is a row, and the rows above the header.
"""

from __future__ import annotations

import logging
import re
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from nlpkit.errors import ColumnError, InputError
from nlpkit.platform.documents.readers.roles import SENTENCE_WORDS

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE = 1 << 20  # bytes of texts that are looked through at a time
_REPORTED = 5  # files of a kind that are named one by one

log = logging.getLogger("nlpkit.io")


class ReadingNotes:
    """Reports the files whose encoding is a guess, and the PDFs that have pages without text or letters that are not known."""

    def __init__(self) -> None:
        self._encodings: Counter[str] = Counter()
        self._files = self._pages = 0
        self._with_unknown = self._unknown = 0
        self._lost: Counter[str] = Counter()  # U+0000 and U+FFFD in texts

    def encoding(self, path: str, encoding: str) -> None:
        """Report how one file is read."""
        self._encodings[encoding] += 1
        if self._encodings.total() <= _REPORTED:
            log.warning("%s: read as %s (detected); force with `encoding`", path, encoding)

    def pages(self, path: str, empty: int, total: int) -> None:
        """Report pages of a PDF without text."""
        self._files += 1
        self._pages += empty
        if self._files <= _REPORTED:
            log.warning("%s: %d of %d pages hold no text (pictures, or scanned)", path, empty, total)

    def unknown(self, path: str, n: int) -> None:
        """Report letters of a PDF of which its fonts do not say what they are: U+0000 in the text, which ends a word."""
        self._with_unknown += 1
        self._unknown += n
        if self._with_unknown <= _REPORTED:
            log.warning("%s: %d letters are not known (U+0000 in the text): its fonts do not name them", path, n)

    def texts(self, texts: pa.LargeStringArray) -> None:
        """Count the characters of texts (D,) that stand for letters which were lost: U+FFFD, and U+0000."""
        data = texts.buffers()[2]
        if data is None:
            return
        ends = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        for start in range(int(ends[0]), int(ends[-1]), _PIECE):
            # the last bytes may be two thirds of a character
            piece = data.slice(start, min(_PIECE + 2, int(ends[-1]) - start)).to_pybytes()
            if piece.find(b"\0", 0, _PIECE) >= 0:
                self._lost["U+0000"] += piece[:_PIECE].count(b"\0")
            if piece.find(b"\xef", 0, _PIECE) >= 0:  # one byte is found in a tenth of the time
                self._lost["U+FFFD"] += piece.count(b"\xef\xbf\xbd")

    def summarize(self) -> None:
        """Report the files that were not named, and letters that were lost."""
        lost = [f"{count:,} {sign}" for sign, count in self._lost.items() if count]
        if lost:
            log.warning(
                "%s in the texts, each for a letter that was lost before: is the encoding right? (`encoding`)",
                " and ".join(lost),
            )
        if self._encodings.total() > _REPORTED:
            counts = ", ".join(f"{count} as {encoding}" for encoding, count in self._encodings.most_common())
            log.warning(
                "%d files read in a detected encoding: %s; force with `encoding`", self._encodings.total(), counts
            )
        if self._files > _REPORTED:
            log.warning("%d files have %d pages without text (pictures, or scanned)", self._files, self._pages)
        if self._with_unknown > _REPORTED:
            log.warning("%d files have %d letters that are not known (U+0000)", self._with_unknown, self._unknown)


# ------------------------------------------------------------------------------------------------------------------------
# Files that cannot be read, and the check of what their bytes are.

MOST_STORED = 1 << 30  # bytes of a file that is read whole
MOST_UNPACKED = 1 << 28  # bytes of all that lies in a .docx
MOST_UNPACKED_SHEETS = 1 << 30  # of a .xlsx, which is read row by row
_KINDS = (
    (b"%PDF", "a PDF", "pdf"),
    (b"PK\x03\x04", "a zip archive, such as .docx or .xlsx", ""),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, such as .doc or .xls", ""),
    (b"{\\rtf", "Rich Text", ""),
    (b"\x89PNG", "a picture", ""),
    (b"\xff\xd8\xff", "a picture", ""),
    (b"GIF8", "a picture", ""),
    (b"PAR1", "a Parquet table", "parquet"),
    (b"<!doctype html", "a web page", "html"),
    (b"<html", "a web page", "html"),
)


class UnreadableFileError(InputError):
    """A file of one document, or of some, that cannot be read; the message is the reason, without the name of the file."""


class NoRecordsError(InputError):
    """A whole file without a single element of the name that is to be a document."""


class NoTextsError(NoRecordsError, ColumnError):
    """A whole file of documents without the element of the text."""


def refuse_other(content: bytes, format: str) -> None:
    """Raise UnreadableFileError where the first bytes are those of another kind of file."""
    if not content.strip():
        raise UnreadableFileError("the file is empty")
    start = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for mark, kind, readable in _KINDS:
        if start.startswith(mark.lower()) and readable != format:
            hint = f"; read it with `format={readable}`" if readable else ""
            raise UnreadableFileError(f"it is {kind}, not .{format}{hint}")


def opened_zip(content: bytes, format: str, most: int) -> zipfile.ZipFile:
    """Return the archive that an Office file is. No member of it can give more bytes than its entry says.

    Raises:
        UnreadableFileError: it is protected by a password, none, broken, or would unpack to more than `most` bytes.
    """
    if content.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise UnreadableFileError("it is protected by a password")
        raise UnreadableFileError(f"it is an old Office file under the name .{format}; save it as .{format}")
    if not content.startswith(b"PK"):
        refuse_other(content, format)
        raise UnreadableFileError(f"it does not begin like a .{format} file")
    try:
        archive = zipfile.ZipFile(BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise UnreadableFileError(f"it is cut off or broken ({error})") from None
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > most:
        raise UnreadableFileError(
            f"it would unpack to {unpacked / 1e6:,.0f} MB; at most {most / 1e6:,.0f} MB are unpacked"
        )
    return archive


# ------------------------------------------------------------------------------------------------------------------------
# What the first rows of a table show: decimal commas, a header that is a row, and the rows above the header.

SAMPLE_ROWS = 200
_MOST_TITLES = 10
_NOTHING = re.compile("n/?a|nan|null|none|missing|unknown", re.IGNORECASE)
_ADDRESS = re.compile(r"\w+://\S+$|[^\s@]+@[^\s@]+$")
_NUMBER = re.compile(r"\s*[+-]?(?:\d+|\d{1,3}(?:[. ]\d{3})+)(?:,\d+)?\s*")


def decimal_comma(samples: Mapping[str, Sequence[Any]]) -> str:
    """Return a number with a decimal comma out of a column that holds nothing but numbers; "" where there is none."""
    for values in samples.values():
        texts = [value for value in values if value]
        if texts and all(isinstance(text, str) and _NUMBER.fullmatch(text) for text in texts):
            with_comma = next((text for text in texts if "," in text), "")
            if with_comma:
                return with_comma.strip()
    return ""


def is_row(names: Sequence[str], samples: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether a header looks like a row: a name is a value of its column too, or has the words of a sentence.

    Three kinds of names make a header. Names of letters stand over numbers, dates or addresses. Numbers count the columns (0, 1, 2 …),
    as pandas writes them where it knows no names. Questions stand over answers, as in surveys.
    """
    filled = [name for name in names if name and not re.fullmatch(r"column_\d+", name)]
    if len(filled) > 1 and filled in ([str(i + start) for i in range(len(filled))] for start in (0, 1)):
        return False
    values = {name: [str(value) for value in samples.get(name, ()) if value] for name in names}
    meant = [name for name in filled if not _NOTHING.fullmatch(name)]
    if any(_kind(name) == "words" and _kind(*values[name]) in ("number", "address") for name in meant):
        return False
    return any(
        name in values[name] or (len(name.split()) >= SENTENCE_WORDS and not _asks(name, values[name]))
        for name in names
    )


def _kind(*values: str) -> str:
    """Return what all of some values are: number (or date), address, words; "" where they are of several kinds, or there are none."""
    kinds = {
        "address" if _ADDRESS.match(value)
        else "number" if sum(map(str.isdecimal, value)) >= sum(map(str.isalpha, value))
        else "words"
        for value in values
    }  # fmt: skip
    return kinds.pop() if len(kinds) == 1 else ""


def _asks(name: str, values: Sequence[str]) -> bool:
    """Return whether a name is a question, over values that are none."""
    return name.rstrip().endswith("?") and not any(value.rstrip().endswith("?") for value in values)


def titles_above(rows: Sequence[Sequence[Any]]) -> int:
    """Return how many of the first rows of a table are titles: at most one cell is filled, where most rows fill several."""
    filled = [sum(cell not in ("", None) for cell in row) for row in rows]
    usual = Counter(n for n in filled if n).most_common(1)
    if not usual or usual[0][0] < 2:
        return 0
    width = usual[0][0]
    # one filled cell of two may be a header whose first name is missing, as R writes it
    above = (
        i for i, (row, n) in enumerate(zip(rows, filled, strict=True)) if n > 1 or (n == 1 < len(row) and width < 3)
    )
    first = next(above, 0)
    return first if first <= _MOST_TITLES else 0
