"""A table of metadata beside documents: its columns join the rows that have the same key."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from nlpkit.io.readers.columns import ValueKind, kind_of
from nlpkit.io.sources import Source, split_suffix
from nlpkit.wording import counted

_SHOWN = 3

log = logging.getLogger("nlpkit.io")


class Metadata:
    """The columns of a table by key, and which keys documents had.

    Args:
        path: of the table, for messages.
        on: the column with the keys.
        keys: one for each row, all different.
        columns: the values of the others.
    """

    def __init__(self, path: str, on: str, keys: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        self.path, self.on = path, on
        self.columns = dict(columns)
        self._row = {key: row for row, key in enumerate(keys)}
        self._used: set[str] = set()
        self._missing: dict[str, int] = {}

    def kinds(self) -> dict[str, ValueKind]:
        """Return what the columns hold."""
        return {name: kind_of(list(values)) for name, values in self.columns.items()}

    def key_of_file(self, source: Source) -> str:
        """Return the key of a file: its path below the folder or its name, with or without suffix, whichever the table has."""
        name = source.relative.rpartition("/")[2]
        forms = (
            source.relative,
            source.relative.removesuffix(name) + split_suffix(name)[0],
            name,
            split_suffix(name)[0],
        )
        return next((form for form in forms if form in self._row), source.relative)

    def values(self, keys: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the columns for rows with these keys; null where the table does not have one."""
        texts = ["" if key is None else str(key) for key in keys]
        rows = [self._row.get(text) for text in texts]
        for text, row in zip(texts, rows, strict=True):
            if row is None:
                self._missing[text] = self._missing.get(text, 0) + 1
            else:
                self._used.add(text)
        return {name: [None if row is None else values[row] for row in rows] for name, values in self.columns.items()}

    def report(self) -> None:
        """Say which documents have no row in the table, and which rows no document."""
        if self._missing:
            log.warning(
                "%s has no row for %s, such as %s",
                self.path, counted(sum(self._missing.values()), "document"), _examples(list(self._missing)),
            )  # fmt: skip
        unused = [key for key in self._row if key not in self._used]
        if unused:
            log.warning(
                "%s: %s no document, such as %s",
                self.path,
                counted(len(unused), "row has", "rows have"),
                _examples(unused),
            )


def _examples(keys: Sequence[str]) -> str:
    return ", ".join(f"'{key}'" for key in keys[:_SHOWN])
