"""Lines of keywords in context on a terminal: matches below each other, in colour, wide characters counted as two."""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from typing import Any

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_ID_CELLS = 24
_CELLS_PER_WORD = 7


class Lines:
    """Prints hits; `words` or `characters` of context say how much room the left side gets."""

    def __init__(self, words: int | None, characters: int | None) -> None:
        width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 120)
        self._console = Console(file=sys.stdout, width=width, highlight=False)
        self._context = _CELLS_PER_WORD * words if words is not None else characters or 0
        self._id_cells = 0

    def show(self, batch: pa.RecordBatch) -> None:
        """Print the hits of a batch (id, start, end, left, match, right, …)."""
        rows: list[dict[str, Any]] = batch.select(["id", "left", "match", "right"]).to_pylist()
        # as wide as the ids of the first hits need: those of later ones are not known yet
        self._id_cells = self._id_cells or min(max(cell_len(plain(r["id"])) for r in rows), _ID_CELLS)
        total = self._console.width
        room = max(total - self._id_cells - 2, 20)
        left_cells = min(self._context, room * 2 // 5)
        for row in rows:
            name = crop(plain(row["id"]), self._id_cells)
            left = crop(plain(row["left"]), left_cells, keep_end=True)
            match = crop(plain(row["match"]), room - left_cells)
            right = crop(plain(row["right"]), max(room - left_cells - cell_len(match), 0))
            line = Text(name + " " * (self._id_cells - cell_len(name) + 2), style="dim")
            line = Text.assemble(line, " " * (left_cells - cell_len(left)), left, (match, "bold red"), right.rstrip())
            self._console.print(line, soft_wrap=True)


def plain(text: str) -> str:
    """Return text on one line, without the characters that steer a terminal or turn the direction of a line."""
    text = re.sub(r"\s+", " ", text)
    return "".join("\ufffd" if unicodedata.category(c) == "Cc" or c in _TURNING else c for c in text)


_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def crop(text: str, cells: int, *, keep_end: bool = False) -> str:
    """Return as much of a text as fits into a number of cells, with … where it was cut."""
    if cell_len(text) <= cells:
        return text
    if cells < 1:
        return ""
    used, kept = 1, []
    for c in reversed(text) if keep_end else text:
        used += cell_len(c)
        if used > cells:
            break
        kept.append(c)
    return "…" + "".join(reversed(kept)) if keep_end else "".join(kept) + "…"
