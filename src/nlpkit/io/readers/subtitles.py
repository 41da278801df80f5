"""Subtitles (.srt, .vtt) → blocks of rows: a sentence each, with the seconds at which it begins and ends."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nlpkit.errors import InputError
from nlpkit.io.readers.blocks import RowBlock, from_rows

COLUMNS = ("text", "start", "end")
_TIME = r"(?:(\d+):)?(\d\d):(\d\d)[,.](\d{3})"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}.*", re.ASCII)
_MARKS = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")  # <i>, <00:00:01.000>, {\an8}
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")


class Cue(NamedTuple):
    """The lines of one caption, and when it is shown, in seconds."""

    start: float
    end: float
    lines: list[str]


def read_subtitles(text: Iterable[str], path: str) -> Iterator[RowBlock]:
    """Yield sentences, which run on over captions until one ends with a mark such as a full stop.

    Marks of style and positions are left out. A line that the caption before had too, as in captions that scroll, counts once.

    Raises:
        InputError: there is no caption.
    """
    rows: list[dict[str, Any]] = []
    parts: list[str] = []
    start = end = 0.0
    shown: list[str] = []
    for cue in _cues("".join(text)):
        lines = [line for line in cue.lines if line not in shown]
        shown = cue.lines
        for line in lines:
            start = start if parts else cue.start
            parts.append(line)
            end = cue.end
            if _SENTENCE_END.search(line):
                rows.append({"text": " ".join(parts), "start": start, "end": end})
                parts = []
    if parts:
        rows.append({"text": " ".join(parts), "start": start, "end": end})
    if not rows:
        raise InputError(f"{path}: no caption with its times, such as 00:00:01,000 --> 00:00:04,000")
    yield from_rows(rows, range(1, len(rows) + 1), sum(len(row["text"]) for row in rows), unit="sentence")


def _cues(text: str) -> Iterator[Cue]:
    """Yield the captions in their order; headers, notes, styles and numbers of captions are no lines of theirs."""
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.strip("\n\ufeff").split("\n")
        at = next((i for i, line in enumerate(lines) if _CUE.fullmatch(line)), None)
        if at is None:
            continue
        match = _CUE.fullmatch(lines[at])
        assert match is not None
        spoken = (html.unescape(_MARKS.sub("", line)).strip() for line in lines[at + 1 :])
        yield Cue(_seconds(*match.groups()[:4]), _seconds(*match.groups()[4:]), [line for line in spoken if line])


def _seconds(hours: str | None, minutes: str, seconds: str, thousandths: str) -> float:
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + int(thousandths) / 1000
