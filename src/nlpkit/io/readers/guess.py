"""What the first rows of a table show: which column is the text, and which rows stand above the header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from nlpkit.errors import ColumnError

SAMPLE_ROWS = 200
_SENTENCE_WORDS = 4.0  # mean of a column of sentences
_FAR_LONGER = 4.0  # times the words of the next column
_MOST_TITLES = 10
# scripts without blanks between words, about two letters a word
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")


class TextColumn(NamedTuple):
    """A column that may be the text, with the mean number of words of its values."""

    name: str
    words: float


def text_column(samples: Mapping[str, Sequence[Any]], path: str, *, roles: Collection[str]) -> TextColumn | None:
    """Return the column that must be the text: the only one with sentences, or far longer than the others; None if there is none.

    A column counts if most of its values differ and hold letters rather than digits. Without one of sentences, the only such column
    is taken.

    Args:
        samples: the first values of each column.
        path: of the file, for messages.
        roles: columns with another use, such as the id.

    Raises:
        ColumnError: several columns have sentences.
    """
    columns = [c for name, values in samples.items() if name not in roles and (c := _described(name, values))]
    long = sorted((c for c in columns if c.words >= _SENTENCE_WORDS), key=lambda c: -c.words)
    if not long:
        return columns[0] if len(columns) == 1 else None
    if len(long) > 1 and long[0].words < _FAR_LONGER * long[1].words:
        shown = ", ".join(f"{c.name} ({c.words:.0f} words)" for c in long)
        both = ",".join(c.name for c in long[:2])
        raise ColumnError(
            f"{path} has no column 'text', and several with sentences: {shown}; name one of them, or several, such as "
            f"`text_col={both}`",
            parameter="text_col",
        )
    return long[0]


def _described(name: str, values: Sequence[Any]) -> TextColumn | None:
    """Return a column of texts with their mean length; None for one of numbers, dates, addresses, classes or lists."""
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    if not texts or len(texts) < sum(value is not None and value != "" for value in values):
        return None
    joined = "".join(texts)
    letters, digits = len(_LETTER.findall(joined)), len(_DIGIT.findall(joined))
    addresses = sum(re.match(r"\w+://\S+$", text) is not None for text in texts)
    if letters < 4 * digits or 2 * addresses > len(texts) or 2 * len(set(texts)) <= len(texts):
        return None
    return TextColumn(name, mean(max(len(text.split()), len(_UNSPACED.findall(text)) / 2) for text in texts))


def is_text(values: Sequence[Any]) -> bool:
    """Return whether values are texts with sentences."""
    column = _described("", values)
    return column is not None and column.words >= _SENTENCE_WORDS


def is_row(names: Sequence[str], samples: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether a header looks like a row: a name is a value of its column too, or has the words of a sentence."""
    return any(name in samples.get(name, ()) or len(name.split()) >= _SENTENCE_WORDS for name in names)


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
