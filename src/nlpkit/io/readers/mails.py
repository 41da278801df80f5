"""Mails: one in a .eml file, many in a .mbox."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, cast

from nlpkit.errors import NlpkitError, first_line
from nlpkit.io.encoding import decode
from nlpkit.io.readers.unreadable import UnreadableFileError, refuse_other

if TYPE_CHECKING:
    from email.message import EmailMessage

COLUMNS = ("text", "subject", "from", "date")
_HEADERS = ("from", "date", "subject", "message-id", "received", "to")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)

# A line that begins a mail in a mailbox: From, a sender, a date as of asctime, which may have a zone before or behind its year.
# The rule of mutt (`is_from` in from.c), which takes a line for a border only where it can read the date.
_ZONE = rb"(?:[A-Za-z]{1,5}|[+-]\d{4})"
_POSTMARK = re.compile(
    rb"From (?:.*\s)?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}"
    rb"\s+\d{1,2}:\d\d(?::\d\d)?(?:\s+" + _ZONE + rb")*\s+\d{4}(?:\s+" + _ZONE + rb")*(?:\s+remote from \S+)?\s*$"
)
# The same with a date of another kind or without one, as Thunderbird and others write it.
_SENDER = re.compile(rb"From (?:\S*@\S*|-|MAILER[-_]DAEMON)?(?:\s.*)?$")
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>From ")
_OF_A_MAIL = re.compile(
    rb"(?:from|to|cc|bcc|subject|date|sender|reply-to|return-path|received|message-id|in-reply-to|references|delivered-to"
    rb"|envelope-to|mime-version|content-[a-z-]+|status|dkim-signature|authentication-results|arc-[a-z-]+|list-[a-z-]+"
    rb"|x-[!-9;-~]+)[ \t]*:",
    re.IGNORECASE,
)

# Character sets that hold those that mails name by mistake: first tried where the bytes do not fit, as in WHATWG's Encoding Standard.
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "cp950", "shift_jis": "cp932"}
# What bytes 80–9F are in Windows-1252, which calls itself ISO 8859-1 in many mails; the control characters that they
# would be are in no text.
_WINDOWS = {
    code: character for code in range(0x80, 0xA0) if (character := bytes([code]).decode("cp1252", "ignore"))
}  # fmt: skip


def read_mail(content: bytes) -> dict[str, Any]:
    """Return text, subject, sender and date (ISO 8601) of a mail: all texts in its body, see `_texts`; no attachments.

    Raises:
        UnreadableFileError: it is no mail, or has no text.
    """
    from email import message_from_bytes, policy

    try:
        mail = message_from_bytes(content, policy=policy.default)
        if not any(name in mail for name in _HEADERS):
            refuse_other(content, "eml")
            raise UnreadableFileError("it is not an email: it has neither sender nor subject nor date")
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
            f"it is not an email that can be read ({type(error).__name__}: {first_line(error)})"
        ) from None


def split_mbox(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the mails of a mailbox: each begins after a line 'From …' that `_begins_mail`; '>From' is unquoted.

    Raises:
        UnreadableFileError: it does not begin with a line 'From …'.
    """
    lines: list[bytes] = []
    begun, blank = False, True
    for line, following in pairwise(chain(_lines(chunks), (b"",))):
        if not begun and line.startswith(b"From "):
            begun = True
        elif begun and line.startswith(b"From ") and _begins_mail(line, following, blank):
            yield _unquoted(lines)
            lines = []
        elif begun:
            lines.append(line)
        elif line.strip():
            refuse_other(line, "mbox")
            raise UnreadableFileError("it does not begin with a line 'From …', as a mailbox does")
        blank = not line.strip()
    if begun:
        yield _unquoted(lines)


def _begins_mail(line: bytes, following: bytes, blank: bool) -> bool:
    """Say whether a line 'From …' is a border, not a sentence of the mail before.

    It needs a date and a header on the next line, or an address and a header that mails have. blank: the line before is
    empty, as in most mailboxes; without, there must be a date.
    """
    if _POSTMARK.match(line):
        return bool(_HEADER.match(following)) or (blank and not following.strip())
    return blank and bool(_SENDER.match(line) and _OF_A_MAIL.match(following))


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
    parts = list(_texts(mail))
    if not parts:
        raise UnreadableFileError("it has no text, only attachments")
    shown = [part for part in parts if part.get_filename() is None] or parts[
        :1
    ]  # a file that is shown, where it is all there is
    return "\n\n".join(text for text in map(_text, shown) if text.strip())


def _texts(part: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the texts of a mail in their order, as mail programs show them (RFC 2046).

    Of alternatives, that is the first plain text, else the first HTML, that is not empty; of related parts, the one that
    the others belong to. Attachments, other kinds of text such as calendars, and mails that are attached are none.
    """
    if part.is_attachment():
        return
    if part.get_content_type() in ("text/plain", "text/html"):
        yield part
    elif part.get_content_maintype() == "multipart":
        parts = [cast("EmailMessage", one) for one in part.iter_parts()]
        match part.get_content_subtype():
            case "alternative":
                choices = [texts for one in parts if (texts := list(_texts(one)))]
                yield from min(choices, key=_rank, default=[])
            case "related":
                start = part.get_param("start")
                root = [one for one in parts if start is not None and one.get("content-id", "").strip() == start]
                for one in root[:1] or parts[:1]:
                    yield from _texts(one)
            case _:
                for one in parts:
                    yield from _texts(one)


def _rank(texts: list[EmailMessage]) -> tuple[bool, bool]:
    """Return what makes one alternative come before another: it is not empty, and all of it is plain."""
    empty = not any(str(one.get_payload()).strip() for one in texts)
    return empty, any(one.get_content_type() != "text/plain" for one in texts)


def _text(part: EmailMessage) -> str:
    raw = part.get_payload(decode=True)
    text = _decoded(raw if isinstance(raw, bytes) else b"", part.get_content_charset()).replace("\r\n", "\n")
    if part.get_content_type() == "text/html":
        return _text_of(text)
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _unflowed(text, delete_space=str(part.get_param("delsp", "")).lower() == "yes")
    return text.rstrip("\n")


def _decoded(content: bytes, charset: str | None) -> str:
    """Return the text of bytes in the character set that the mail names, in a wider one, or in what they look like."""
    try:
        name = codecs.lookup(charset or "utf-8").name
        try:
            text = content.decode(name)
        except UnicodeDecodeError:
            text = content.decode(_WIDER.get(name, name))
    except (LookupError, UnicodeDecodeError):  # another one than it says
        return "".join(decode([content], "the mail", errors="replace").text)
    return text.translate(_WINDOWS) if name == "iso8859-1" else text


def _unflowed(text: str, *, delete_space: bool) -> str:
    """Return a text of format=flowed with its paragraphs as lines: a line that ends with a space goes on (RFC 3676, section 4)."""
    lines: list[str] = []
    depth, open_ = 0, False
    for line in text.split("\n"):
        unquoted = line.lstrip(">")
        quotes = len(line) - len(unquoted)
        unquoted = unquoted.removeprefix(" ")
        signature = unquoted == "-- "
        if open_ and quotes == depth and not signature:
            lines[-1] += unquoted
        else:
            lines.append(">" * quotes + " " * (quotes > 0) + unquoted)
        depth, open_ = quotes, unquoted.endswith(" ") and not signature
        if open_ and delete_space:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


def _text_of(page: str) -> str:
    """Return the text of HTML: paragraphs between blank lines, without what is tags, scripts and styles."""
    import polars as pl

    from nlpkit.text.clean import strip_markup

    lines = (" ".join(line.split()) for line in str(strip_markup(pl.Series([page]))[0]).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _header(mail: EmailMessage, name: str) -> str | None:
    value = mail.get(name)
    return None if value is None else " ".join(str(value).translate(_WINDOWS).split()) or None


def _date(mail: EmailMessage) -> str | None:
    moment = getattr(mail.get("date"), "datetime", None)
    return None if moment is None else str(moment.isoformat())
