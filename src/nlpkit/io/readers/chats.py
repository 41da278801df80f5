"""Text exports of WhatsApp and Signal → blocks of rows: a message each, with its sender and its date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from nlpkit.errors import InputError
from nlpkit.io.readers.blocks import RowBlock, from_rows

COLUMNS = ("text", "sender", "date")
_BIDI = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")
_DATE = r"(\d{1,4})([-/.])(\d{1,2})\2(\d{2,4})"
_CLOCK = r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:[\s\u202f\u00a0]?([AaPp])\.?[\s\u202f\u00a0]?[Mm]\.?)?"
_BEGIN = re.compile(rf"\[?{_DATE},?[\s\u202f\u00a0]+(?:at |um |à )?{_CLOCK}\]?(?: -)?[:\s]+(.*)", re.DOTALL)
_SENDER = re.compile(r"([^:\n]{1,60}): ?(.*)", re.DOTALL)
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
        sender = _SENDER.fullmatch("\n".join(message.lines))
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
