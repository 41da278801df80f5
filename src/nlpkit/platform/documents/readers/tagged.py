"""Annotated text files read as blocks of rows: corpora with a word a line, and subtitles.

Parts, in this order:
- Corpora with a word a line → blocks of rows: sentences of CoNLL-U, documents of vertical files (Sketch Engine, CWB).
- Subtitles (.srt, .vtt) → blocks of rows: a sentence each, with the seconds at which it begins and ends.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from nlpkit.errors import InputError
from nlpkit.platform.documents.readers.blocks import BLOCK_ROWS, RowBlock, from_rows, lines_with_ends

_ELEMENT = re.compile(r"<(/?)(\w+)([^<>]*)>\s*")
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*("[^"]*"|'[^']*')""")
_DOCUMENTS = ("doc", "text", "document", "file")
_FIRST_LINES, _FEWEST_COLUMNS = (
    200,
    3,
)  # by which the mark between columns is told; an expression such as "New York" has two
_N_FIELDS = 10
_WORD_ID = re.compile(r"\d+(?:[-.]\d+)?", re.ASCII)


def read_conllu(text: Iterable[str], path: str) -> Iterator[RowBlock]:
    """Yield sentences: text as `# text` has it, tokens (forms), lemma and pos (UPOS) as lists, and other comments `# name = value`.

    Ranges (1-2) give the form of the text, and the words 1 and 2 the tokens; empty nodes (1.1) are left out.

    Raises:
        InputError: a line does not have ten fields, or no number of a word.
    """
    rows: list[dict[str, Any]] = []
    done = size = 0
    for row in _sentences(text, path):
        rows.append(row)
        size += len(row["text"])
        if len(rows) == BLOCK_ROWS:
            yield from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="sentence")
            done, rows, size = done + len(rows), [], 0
    if rows:
        yield from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="sentence")


def _sentences(text: Iterable[str], path: str) -> Iterator[dict[str, Any]]:
    comments: dict[str, str] = {}
    document: str | None = None
    words: list[list[str]] = []
    for number, line in enumerate(lines_with_ends(text), start=1):
        line = line.rstrip("\r\n").removeprefix("\ufeff")
        if line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            if name.strip() == "newdoc" or name.strip() == "newdoc id":
                document = value.strip() or None
            elif equals:
                comments[name.strip()] = value.strip()
        elif line.strip():
            fields = line.split("\t")
            if len(fields) != _N_FIELDS:
                raise InputError(
                    f"{path}:{number}: {len(fields)} fields, a word of CoNLL-U has {_N_FIELDS}, with tabs between"
                )
            if not _WORD_ID.fullmatch(fields[0]):
                raise InputError(f"{path}:{number}: '{fields[0]}' is not the number of a word, such as 1, 1-2 or 1.1")
            words.append(fields)
        elif words:
            yield _sentence(words, comments, document)
            comments, words = {}, []
    if words:
        yield _sentence(words, comments, document)


def _sentence(words: list[list[str]], comments: dict[str, str], document: str | None) -> dict[str, Any]:
    plain = [word for word in words if word[0].isdecimal()]
    row: dict[str, Any] = {
        "id": comments.get("sent_id"),
        "text": comments.get("text") or _surface(words),
        "tokens": [word[1] for word in plain],
        "lemma": [word[2] for word in plain],
        "pos": [word[3] for word in plain],
        "document": document,
    }
    if row["id"] is None:
        del row["id"]
    return row | {
        name: value for name, value in comments.items() if name not in ("sent_id", "text") and name not in row
    }


def _surface(words: list[list[str]]) -> str:
    """Return the text of a sentence: ranges in place of their words, no blank behind SpaceAfter=No."""
    text, covered = "", 0
    for word in words:
        first, dash, last = word[0].partition("-")
        if "." in word[0] or (not dash and int(first) <= covered):
            continue
        covered = int(last) if dash else covered
        text += word[1] + ("" if "SpaceAfter=No" in word[9].split("|") else " ")
    return text.rstrip(" ")


def read_vertical(text: Iterable[str], path: str) -> Iterator[RowBlock]:
    """Yield documents: the words of an element doc or text in its first column, its attributes as columns; sentences are lines.

    Columns are parted by tabs; by blanks where the first lines have no tab and all as many columns, as in Wikicorpus.

    Raises:
        InputError: no such element is there, or one is not closed.
    """
    rows: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    sentences: list[list[str]] = [[]]
    opened = ""  # the element of the document; one inside it, such as a text in a doc, is part of it
    glued = False
    begun = done = 0
    lines = lines_with_ends(text)
    head = list(islice(lines, _FIRST_LINES))
    mark = _mark_of_columns(head)
    for number, line in enumerate(chain(head, lines), start=1):
        element = _ELEMENT.fullmatch(line)
        if element is None:
            word = html.unescape(line.rstrip("\r\n").partition(mark)[0])
            if current is not None and word:
                if glued and sentences[-1]:
                    sentences[-1][-1] += word
                else:
                    sentences[-1].append(word)
            glued = False
            continue
        closing, name, attributes = element.groups()
        if name == "g":
            glued = True
        elif name in ("s", "p") and sentences[-1]:
            sentences.append([])
        elif name in _DOCUMENTS and not closing and current is None:
            opened, begun = name, number
            current = {key: html.unescape(value[1:-1]) for key, value in _ATTRIBUTE.findall(attributes)}
            sentences = [[]]
        elif name == opened and closing and current is not None:
            texts = [" ".join(words) for words in sentences if words]
            rows.append({**current, "text": "\n".join(texts)})
            current = None
            if len(rows) == BLOCK_ROWS:
                yield _block(rows, done)
                done, rows = done + len(rows), []
    if current is not None:
        raise InputError(f"{path}:{begun}: the element <{opened}> is not closed by the end of the file")
    if not rows and not done:
        raise InputError(f"{path}: no element {', '.join(f'<{name}>' for name in _DOCUMENTS)} that is closed")
    if rows:
        yield _block(rows, done)


def _mark_of_columns(lines: Sequence[str]) -> str:
    """Return what parts the columns of a word: a tab, or a blank."""
    words = [line.rstrip() for line in lines if line.strip() and _ELEMENT.fullmatch(line) is None]
    counts = {len(word.split(" ")) for word in words}
    by_blanks = len(counts) == 1 and counts.pop() >= _FEWEST_COLUMNS and not any("\t" in word for word in words)
    return " " if by_blanks else "\t"


def _block(rows: list[dict[str, Any]], done: int) -> RowBlock:
    size = sum(len(row["text"]) for row in rows)
    return from_rows(rows, range(done + 1, done + len(rows) + 1), size, unit="document")


# ------------------------------------------------------------------------------------------------------------------------
# Subtitles (.srt, .vtt) → blocks of rows: a sentence each, with the seconds at which it begins and ends.

COLUMNS = ("text", "start", "end")
_TIME = r"(?:(\d+):)?(\d\d):(\d\d)[,.](\d{3})"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}.*", re.ASCII)
_STYLES = re.compile(r"</?(?:[biu]|font|c)\b[^<>]*>")  # which some captions have as &lt;i&gt;
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
            if spoken := _STYLES.sub("", html.unescape(_MARKS.sub("", line))).strip():
                cue.lines.append(spoken)
        elif cue is not None:
            yield cue
            cue = None
    if cue is not None:
        yield cue


def _seconds(hours: str | None, minutes: str, seconds: str, thousandths: str) -> float:
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + int(thousandths) / 1000
