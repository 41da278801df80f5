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
    cue: Cue | None = None
    for line in re.split(r"\r\n|\n|\r", text):
        match = _CUE.fullmatch(line)
        if match is not None:
            if cue is not None:
                if cue.lines and cue.lines[-1].isdecimal():
                    cue.lines.pop()  # the number of this caption, without a blank line before
                yield cue
            cue = Cue(_seconds(*match.groups()[:4]), _seconds(*match.groups()[4:]), [])
        elif cue is not None and line.strip():
            if spoken := html.unescape(_MARKS.sub("", line)).strip():
                cue.lines.append(spoken)
        elif cue is not None:
            yield cue
            cue = None
    if cue is not None:
        yield cue


def _seconds(hours: str | None, minutes: str, seconds: str, thousandths: str) -> float:
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + int(thousandths) / 1000
