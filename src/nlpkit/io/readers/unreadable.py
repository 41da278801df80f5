"""Files that cannot be read, and the check of what their bytes are."""

from __future__ import annotations

import zipfile
from io import BytesIO

from nlpkit.errors import InputError

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
