"""The roles of an input's columns: text, id, label, date, or another column under its final name.

Parts, in this order:
- Roles that are given, and the final names of the other columns.
- The column of texts, where none is named.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, NamedTuple

from nlpkit.errors import ColumnError, missing_column

NUMBERED = "none"  # `id_col` none: every row gets a made id

log = logging.getLogger("nlpkit.io")


@dataclass(frozen=True, slots=True)
class Roles:
    """The column names that the user gave for the four roles; `words` holds lists of words, the text where there is none.

    text_needed: whether a table without a column `text` is refused; else its texts are empty.
    """

    text: str = "text"
    id: str = "id"
    label: str = "label"
    date: str = "date"
    words: str | None = None
    text_needed: bool = True

    def items(self) -> tuple[tuple[str, str], ...]:
        """Return (role, column given for it)."""
        return ("text", self.text), ("id", self.id), ("label", self.label), ("date", self.date)


def rename(
    roles: Roles,
    columns: Sequence[str],
    path: str,
    *,
    keep: Sequence[str] | None = None,
    copies: bool = True,
    copy_of: Mapping[str, str] | None = None,
    derived: Mapping[str, Container[str]] | None = None,
) -> dict[str, str]:
    """Return final name → name in the input, in the order found; `keep` limits the columns beside id and text.

    A column that is the id, label or date is there under its own name, too (not without `copies`); that of the text is called text. A
    column in the way of a role is kept as `<name>_given`; words that are the text are kept as well. Raises ColumnError for a
    text column that is not there, and for another one that was named but is not there.

    copy_of: columns that are known to be copies, and of which; a copy in the way of the column it was made from falls away.
    derived: columns that were put together for a role, and are there under no other name; those that each was made from.
    """
    column_of = dict(roles.items())
    worded = roles.words in columns and (
        column_of["text"] == roles.words or (column_of["text"] == "text" and "text" not in columns)
    )
    textless = not roles.text_needed and column_of["text"] == "text" and "text" not in columns
    if column_of["text"] not in columns and not worded and not textless:
        raise missing_column(path, column_of["text"], columns, "text_col")
    named = {
        role: name for role, name in column_of.items() if name in columns and not (role == "id" and name == NUMBERED)
    }
    if worded:
        named.pop("text", None)
    for role, name in column_of.items():
        elsewhere = worded if role == "text" else role == "id" and name == NUMBERED
        if role not in named and name != role and not elsewhere:
            raise missing_column(path, name, columns, f"--{role}-col")
    taken = set(columns)
    renamed: dict[str, str] = {}
    for name in columns:
        if name in named and named[name] != name and (copy_of or {}).get(name) == named[name]:
            continue
        finals = [role for role, column in named.items() if column == name]
        if copies and finals and "text" not in finals and name not in column_of and name not in (derived or {}):
            finals.append(name)  # the user's own column; a text is not stored twice
        if not finals:
            finals = [name]
            if name in named or (name == "id" and column_of["id"] == NUMBERED):
                finals = [_free(name, taken)]
            if finals != [name] and name not in (derived or {}).get(column_of[name], ()):
                log.warning(
                    "%s: column '%s' is kept as '%s', the name is taken by --%s-col %s",
                    path,
                    name,
                    finals[0],
                    name,
                    column_of[name],
                )
        for final in finals:
            if keep is None or final in ("id", "text") or final in keep or name in keep:
                renamed[final] = name
    return renamed | ({"text": roles.words} if worded and roles.words else {})


def text_columns(name: str) -> list[str]:
    """Return the columns that are the text: title,text are two."""
    return [part.strip() for part in name.split(",") if part.strip()] or [name]


def _free(name: str, taken: set[str]) -> str:
    final = f"{name}_given"
    while final in taken:
        final += "_given"
    taken.add(final)
    return final


# ------------------------------------------------------------------------------------------------------------------------
# The column of texts, where none is named.

SENTENCE_WORDS = 4.0  # mean of a column of sentences
_FEW_WORDS = 1.5  # below this mean a column beside others holds names, not texts
_FAR_LONGER = 4.0  # times the words of the next column
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
    is taken, unless it holds single words beside other columns.

    Args:
        samples: the first values of each column.
        path: of the file, for messages.
        roles: columns with another use, such as the id.

    Raises:
        ColumnError: several columns have sentences.
    """
    columns = [c for name, values in samples.items() if name not in roles and (c := _described(name, values))]
    long = sorted((c for c in columns if c.words >= SENTENCE_WORDS), key=lambda c: -c.words)
    if not long:
        return columns[0] if len(columns) == 1 and (columns[0].words >= _FEW_WORDS or len(samples) == 1) else None
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
    if not texts or any(value is not None and not isinstance(value, str) for value in values):
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
    return column is not None and column.words >= SENTENCE_WORDS
