"""Messages read as documents: mails and mailboxes, and chats exported from WhatsApp and Signal.

Parts, in this order:
- Mails: one in a .eml file, many in a .mbox.
- Text exports of WhatsApp and Signal → blocks of rows: a message each, with its sender and its date.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from nlpkit.errors import InputError, NlpkitError, first_line
from nlpkit.platform.documents.encoding import decode
from nlpkit.platform.documents.readers.blocks import RowBlock, from_rows
from nlpkit.platform.documents.readers.guess import UnreadableFileError, refuse_other

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

    from nlpkit.platform.documents.tags import strip_markup

    lines = (" ".join(line.split()) for line in str(strip_markup(pl.Series([page]))[0]).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _header(mail: EmailMessage, name: str) -> str | None:
    value = mail.get(name)
    return None if value is None else " ".join(str(value).translate(_WINDOWS).split()) or None


def _date(mail: EmailMessage) -> str | None:
    moment = getattr(mail.get("date"), "datetime", None)
    return None if moment is None else str(moment.isoformat())


# ------------------------------------------------------------------------------------------------------------------------
# Text exports of WhatsApp and Signal → blocks of rows: a message each, with its sender and its date.

CHATS_COLUMNS = ("text", "sender", "date")
_BIDI = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")
_DATE = r"(\d{1,4})([-/.])(\d{1,2})\2(\d{2,4})"
_CLOCK = r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:[\s\u202f\u00a0]?([AaPp])\.?[\s\u202f\u00a0]?[Mm]\.?)?"
_BEGIN = re.compile(rf"\[?{_DATE},?[\s\u202f\u00a0]+(?:at |um |à )?{_CLOCK}\]?(?: -)?[:\s]+(.*)", re.DOTALL)
_CHATS_SENDER = re.compile(r"([^:\n]{1,60}): ?(.*)", re.DOTALL)
_LOOKED_AT = 40  # lines
OF_PROGRAM = "a message of the program, not of a person"


class _Message(NamedTuple):
    """The numbers of a date as they stand, the clock, and the lines behind them."""

    date: tuple[int, int, int]
    mark: str
    clock: tuple[int, int, int, str]
    lines: list[str]


def is_chat(lines: Iterable[str]) -> bool:
    """Return whether a text begins with a message, and has another one further on."""
    filled = [line for line in islice(lines, _LOOKED_AT) if line.strip()]
    begun = [_message(line) is not None for line in filled]
    return bool(begun) and begun[0] and sum(begun) > 1


def read_chat(text: Iterable[str], path: str) -> Iterator[RowBlock]:
    """Yield messages of one line or several; those without a sender are of the program, and no documents.

    Raises:
        InputError: a line stands above the first message, or a date cannot be.
    """
    messages: list[_Message] = []
    for number, line in enumerate(re.split(r"\r\n|\n|\r", "".join(text).rstrip("\r\n")), start=1):
        message = _message(line)
        if message is not None:
            messages.append(message)
        elif messages:
            messages[-1].lines.append(_BIDI.sub("", line))
        elif line.strip():
            raise InputError(
                f"{path}:{number}: a message begins with its date and time, such as [31.12.23, 18:05:12] Anna: Hello"
            )
    day_first = _day_first(messages)
    rows: list[dict[str, Any]] = []
    reasons: dict[int, str] = {}
    for message in messages:
        sender = _CHATS_SENDER.fullmatch("\n".join(message.lines))
        if sender is None:
            reasons[len(rows)] = OF_PROGRAM
        rows.append(_row(message, sender, day_first, path))
    if rows:
        size = sum(len(row["text"] or "") for row in rows)
        yield from_rows(rows, range(1, len(rows) + 1), size, unit="message", reasons=reasons)


def _message(line: str) -> _Message | None:
    match = _BEGIN.fullmatch(_BIDI.sub("", line))
    if match is None:
        return None
    first, mark, second, third, hour, minute, second_, half, rest = match.groups()
    clock = int(hour), int(minute), int(second_ or 0), (half or "").lower()
    return _Message((int(first), int(second), int(third)), mark, clock, [rest])


def _day_first(messages: list[_Message]) -> bool:
    """Return whether dates begin with the day: as one of them shows, else as they are written (18:05) or not (6:05 PM)."""
    if any(message.date[0] > 12 for message in messages):
        return True
    if any(message.date[1] > 12 for message in messages):
        return False
    return not any(message.clock[3] for message in messages) or any(message.mark == "." for message in messages)


def _row(message: _Message, sender: re.Match[str] | None, day_first: bool, path: str) -> dict[str, Any]:
    first, second, third = message.date
    year, month, day = (third, second, first) if day_first else (third, first, second)
    if first > 31:
        year, month, day = first, second, third
    hour, minute, second, half = message.clock
    if half:
        hour = hour % 12 + 12 * (half == "p")
    try:
        moment = datetime(year + 2000 * (year < 100), month, day, hour, minute, second)
    except ValueError:
        raise InputError(f"{path}: {first}{message.mark}{message.date[1]}{message.mark}{third} is not a date") from None
    if sender is None:
        return {"text": None, "sender": None, "date": moment.isoformat(sep=" ")}
    return {"text": sender[2], "sender": sender[1].strip(), "date": moment.isoformat(sep=" ")}
