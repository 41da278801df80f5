"""Documents to units: paragraphs, sentences, chunks of N words, each a slice of its document and a separate row."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from nlpkit.errors import UsageError
from nlpkit.text.sentences import BREAK_REST, BREAK_STARTS, sentence_spans
from nlpkit.types import IntArray, LongArray

Span = tuple[int, int]

KINDS = ("document", "paragraph", "sentence", "chunk")
ID, TEXT, PARENT, NUMBER = "id", "text", "parent_id", "unit_number"
OF_THE_WHOLE = ("tokens", "embedding")  # columns that say something of the document and nothing of a part of it

_BREAK = re.compile(rf"[{BREAK_STARTS}](?:{BREAK_REST})")
_INDENTS = ("  ", "\t", "\u3000")
_UNWRAPPED = re.compile(r"[^\n]{121}")  # longer than any line broken by hand or by a mail program
# Scripts written without spaces: a character is a word (Han, Hiragana, Katakana, Thai, Lao, Burmese, Khmer).
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_OPENING = re.escape("「『（【《〈“‘([")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a row: kind is document, paragraph, sentence or chunk; size is the words of a chunk, else 0."""

    kind: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}" if self.size else self.kind


@dataclass(frozen=True, slots=True)
class UnitSplit:
    """The units of a batch, in order.

    parents (U,) int64: row of the document; numbers (U,) int32: place in its document, from 0; starts, ends (U,) int64:
    characters of the document's text; texts (U,) large_string.
    """

    parents: LongArray
    numbers: IntArray
    starts: LongArray
    ends: LongArray
    texts: pa.Array


def parse_unit(text: str) -> Unit:
    """Read document, paragraph, sentence or chunk:N.

    Raises:
        UsageError: it is none of them, or N is not a number of words above 0.
    """
    kind, colon, size = text.strip().lower().partition(":")
    if kind == "chunk":
        if not (size.isascii() and size.isdecimal() and len(size) < 7 and int(size) > 0):
            raise UsageError(f"`unit={text}`: a chunk needs its number of words, 1 to 999999, such as chunk:200")
        return Unit(kind, int(size))
    if kind not in KINDS or colon:
        raise UsageError(f"`unit={text}`: give document, paragraph, sentence or chunk:N (N words, such as chunk:200)")
    return Unit(kind)


def split_texts(texts: pa.Array, unit: Unit, language: str | None = None) -> UnitSplit:
    """Cut texts (D,) into units, slices of them without white space around; a text without any keeps one empty unit.

    - paragraph: what blank lines part. Without one, every line is a paragraph if a line has more than 120 characters (such
      lines are not broken to fit a page); else an indented line after one that is not starts a paragraph.
    - sentence: `sentence_spans`, with the language (ISO 639-1) if it is known.
    - chunk: N words from the start on; a rest of less than N/2 words joins the chunk before it, so that the last chunk has
      N/2 to 3N/2 words. A character of a script without spaces is a word, its punctuation included.
    - document: the whole text, white space and all.

    Args:
        texts: (D,) Arrow string or large_string; null counts as empty.
    """
    spans_of = _cutter(unit, language)
    parents: list[int] = []
    numbers: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    slices: list[str] = []
    for row, value in enumerate(texts):
        text = value.as_py() or ""
        for number, (start, end) in enumerate(spans_of(text) or [(0, 0)]):
            parents.append(row)
            numbers.append(number)
            starts.append(start)
            ends.append(end)
            slices.append(text[start:end])
    return UnitSplit(
        np.array(parents, np.int64),
        np.array(numbers, np.int32),
        np.array(starts, np.int64),
        np.array(ends, np.int64),
        pa.array(slices, pa.large_string()),
    )


def unit_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of units: id, parent_id, unit_number, text, then the others but those of the whole document.

    A parent_id or unit_number that is there already (units of units) is replaced.
    """
    ours = [pa.field(ID, pa.string()), pa.field(PARENT, pa.string()), pa.field(NUMBER, pa.int32())]
    known = (ID, PARENT, NUMBER, TEXT, *OF_THE_WHOLE)
    others = [field for field in schema if field.name not in known]
    return pa.schema([*ours, pa.field(TEXT, pa.large_string()), *others], metadata=schema.metadata)


def unit_batch(batch: pa.RecordBatch, unit: Unit, language: str | None = None) -> pa.RecordBatch:
    """Return a row per unit of a batch with id and text: id <parent>#<number from 0>, every other column repeated.

    Ids stay unique where those of the batch were. See `unit_schema` for the columns, `split_texts` for the units.
    """
    split = split_texts(batch.column(TEXT), unit, language)
    rows = pa.array(split.parents)
    parents = batch.column(ID).take(rows).cast(pa.string())
    ids = [f"{parent}#{number}" for parent, number in zip(parents.to_pylist(), split.numbers.tolist(), strict=True)]
    schema = unit_schema(batch.schema)
    ours = {ID: pa.array(ids, pa.string()), PARENT: parents, NUMBER: pa.array(split.numbers), TEXT: split.texts}
    columns = [ours[name] if name in ours else batch.column(name).take(rows) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cutter(unit: Unit, language: str | None) -> Callable[[str], list[Span]]:
    if unit.kind == "paragraph":
        return paragraph_spans
    if unit.kind == "sentence":
        return lambda text: sentence_spans(text, language)
    if unit.kind == "chunk":
        return lambda text: chunk_spans(text, unit.size)
    return lambda text: [(0, len(text))]


def paragraph_spans(text: str) -> list[Span]:
    """Return the paragraphs of a text as spans [start, end) without white space around; see `split_texts`."""
    breaks = [match.start() if match["paragraph"] else match.end() for match in _BREAK.finditer(text)]
    spans = _between(text, breaks)
    if len(spans) != 1 or "\n" not in text[slice(*spans[0])]:
        return spans
    lines = [0, *(at + 1 for at, c in enumerate(text) if c == "\n")]
    if _UNWRAPPED.search(text):
        return _between(text, lines)
    indented = [text.startswith(_INDENTS, at) for at in lines]
    return _between(
        text, [at for at, now, before in zip(lines[1:], indented[1:], indented, strict=False) if now > before]
    )


def _between(text: str, breaks: list[int]) -> list[Span]:
    """Return what lies between the places, without white space around."""
    spans, start = [], 0
    for end in [*breaks, len(text)]:
        piece = text[start:end]
        left = len(piece.lstrip())
        if left:
            spans.append((end - left, start + len(piece.rstrip())))
        start = end
    return spans


def chunk_spans(text: str, size: int) -> list[Span]:
    """Return chunks of `size` words as spans [start, end) without white space around; see `split_texts`."""
    chunk, word = _patterns(size)
    spans = [(match.start(), match.start() + len(match[0].rstrip())) for match in chunk.finditer(text)]
    if len(spans) > 1 and 2 * sum(1 for _ in word.finditer(text, spans[-1][0])) < size:
        spans[-2:] = [(spans[-2][0], spans[-1][1])]
    return spans


@lru_cache(maxsize=8)
def _patterns(size: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    word = rf"(?:[{_OPENING}]*+[{_UNSPACED}][^\w\s{_OPENING}]*+|[^\s{_UNSPACED}]++)"
    return re.compile(rf"(?:{word}\s*+){{1,{size}}}+"), re.compile(word)
