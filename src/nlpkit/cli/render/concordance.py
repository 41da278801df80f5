"""Lines of keywords in context on a terminal: matches below each other, in colour, wide characters counted as two."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from nlpkit import wording
from nlpkit.values import python_values

_ID_CELLS = 24
_SHOWN = ("id", "left", "match", "right")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a closed pipe to the caller, where rich would exit with 1."""
        raise BrokenPipeError


class Lines:
    """Prints hits, batch by batch, with the id and the values of some columns in front."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        self._columns = columns
        self._most_id_cells = _ID_CELLS if not columns else 2 * _ID_CELLS
        width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 120)
        self._console = _Console(file=sys.stdout, width=width, highlight=False)
        self._id_cells = self._left_cells = 0

    def show(self, batch: pa.RecordBatch) -> None:
        """Print the hits of a batch (id, start, end, left, match, right, …)."""
        rows = [
            [plain(cell) for cell in row] for row in zip(*(batch.column(c).to_pylist() for c in _SHOWN), strict=True)
        ]
        if self._columns:
            values = zip(*(python_values(batch.column(c)) for c in self._columns), strict=True)
            for row, cells in zip(rows, values, strict=True):
                row[0] = " · ".join([row[0], *(plain("" if cell is None else str(cell)) for cell in cells)])
        # as wide as the hits so far need: those of later batches are not known yet
        self._id_cells = max(self._id_cells, min(max(cell_len(row[0]) for row in rows), self._most_id_cells))
        room = max(self._console.width - self._id_cells - 2, 20)
        self._left_cells = max(self._left_cells, min(max(cell_len(row[1]) for row in rows), room * 2 // 5))
        for row in rows:
            name, left = crop(row[0], self._id_cells), crop(row[1], self._left_cells, keep_end=True)
            match = crop(row[2], room - self._left_cells)
            right = crop(row[3], max(room - self._left_cells - cell_len(match), 0))
            before = " " * (self._id_cells - cell_len(name) + 2), " " * (self._left_cells - cell_len(left))
            line = Text.assemble((name, "dim"), *before, left, (match, "bold red"), right.rstrip())
            self._console.print(line, soft_wrap=True)


def plain(text: str) -> str:
    """Return text on one line, which steers no terminal."""
    return wording.visible(re.sub(r"\s+", " ", text))


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
