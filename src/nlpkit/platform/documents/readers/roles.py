"""Roles of the columns of an input (text, id, label, date), and the final names of its other columns."""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from nlpkit.errors import missing_column

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
