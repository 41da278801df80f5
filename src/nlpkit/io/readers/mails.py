"""Mails: one in a .eml file, many in a .mbox."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from nlpkit.errors import NlpkitError, first_line
from nlpkit.io.encoding import decode
from nlpkit.io.readers.unreadable import UnreadableFileError, refuse_other

if TYPE_CHECKING:
    from email.message import EmailMessage

COLUMNS = ("text", "subject", "from", "date")
_HEADERS = ("from", "date", "subject", "message-id", "received", "to")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)


def read_mail(content: bytes) -> dict[str, Any]:
    """Return text, subject, sender and date (ISO 8601) of a mail: its plain text, else the text of its HTML; no attachments.

    Raises:
        UnreadableFileError: it is no mail, or has no text.
    """
    from email import message_from_bytes, policy

    try:
        mail = message_from_bytes(content, policy=policy.default)
        if not any(name in mail for name in _HEADERS):
            refuse_other(content, "eml")
            raise UnreadableFileError("it is no mail: it has neither sender nor subject nor date")
        return {
            "text": _body(mail),
            "subject": _header(mail, "subject"),
            "from": _header(mail, "from"),
            "date": _date(mail),
        }
    except (NlpkitError, MemoryError):
        raise
    except Exception as error:  # headers of all kinds of programs
        raise UnreadableFileError(
            f"it is no mail that can be read ({type(error).__name__}: {first_line(error)})"
        ) from None


def split_mbox(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the mails of a mailbox: each begins after a line 'From …' at its start or after a blank line; '>From' is unquoted.

    Raises:
        UnreadableFileError: it does not begin with such a line.
    """
    lines: list[bytes] = []
    begun, blank = False, True
    for line in _lines(chunks):
        if blank and line.startswith(b"From "):
            if begun:
                yield _unquoted(lines)
            begun, lines = True, []
        elif begun:
            lines.append(line)
        elif line.strip():
            refuse_other(line, "mbox")
            raise UnreadableFileError("it does not begin with a line 'From …', as a mailbox does")
        blank = not line.strip()
    if begun:
        yield _unquoted(lines)


def _unquoted(lines: list[bytes]) -> bytes:
    return _QUOTED.sub(rb"\1", b"".join(lines))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of bytes with their ends; a long line is put together once."""
    begun: list[bytes] = []
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        begun.append(first)
        for part in rest:
            yield b"".join(begun) + b"\n"
            begun = [part]
    if last := b"".join(begun):
        yield last


def _body(mail: EmailMessage) -> str:
    part = cast("EmailMessage | None", mail.get_body(("plain", "html")))
    if part is None:
        raise UnreadableFileError("it has no text, only attachments")
    raw = part.get_payload(decode=True)
    content = raw if isinstance(raw, bytes) else b""
    charset = part.get_content_charset()
    try:
        text = content.decode(charset or "utf-8")
    except (LookupError, UnicodeDecodeError):  # another one than it says
        text = "".join(decode([content], "the mail", errors="replace").text)
    text = text.replace("\r\n", "\n")
    return text.rstrip("\n") if part.get_content_type() == "text/plain" else _text_of(text)


def _text_of(page: str) -> str:
    """Return the text of HTML: paragraphs between blank lines, without what is tags, scripts and styles."""
    import polars as pl

    from nlpkit.text.clean import strip_markup

    lines = (" ".join(line.split()) for line in str(strip_markup(pl.Series([page]))[0]).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _header(mail: EmailMessage, name: str) -> str | None:
    value = mail.get(name)
    return None if value is None else " ".join(str(value).split()) or None


def _date(mail: EmailMessage) -> str | None:
    moment = getattr(mail.get("date"), "datetime", None)
    return None if moment is None else str(moment.isoformat())
