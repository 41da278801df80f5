"""Blocks on a terminal: numbers and head words are never cut, texts are wrapped at blanks or kept on one line; bars and colours.

No other module knows rich.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size

from nlpkit.platform import reporting, wording
from nlpkit.platform.views.blocks import Block, Note, Table

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST_WORD = 40  # a longer one, such as an address, may be cut
NARROWEST, NARROWEST_FIRST = 18, 30  # texts that are kept on one line; the first of them is the name


def write(block: Block, most: int | None = None) -> None:
    """Print a block on stdout, a note on stderr. At most so many rows of a table that may be long, no table for 0.

    What comes from a corpus steers no terminal (see `wording.visible`).
    """
    if isinstance(block, Note):
        reporting.note(block.text)
    elif not isinstance(block, Table):
        sys.stdout.write(wording.visible(block.text) + "\n")
    elif most != 0:
        sys.stdout.write("\n".join(_table(block, most)) + "\n\n")


def _table(block: Table, most: int | None) -> list[str]:
    """Return the lines of a table; the columns of `texts` are cut or left out, other texts are wrapped."""
    kept, omitted = block.shown(most)
    names, *cells = [[wording.visible(cell) for cell in row] for row in (block.columns, *kept)]
    right = [wording.visible(name) for name in block.right]
    if block.texts:
        head, lines = one_line_rows(names, cells, texts=block.texts, right=right, width=width())
    else:
        head, lines = table_lines(names, cells, right=right, width=width())
    if sys.stdout.isatty():
        head = [f"\x1b[1m{line}\x1b[0m" for line in head[:-1]] + head[-1:]
    before, after = ([wording.visible(text)] if text else [] for text in (block.title, omitted))
    return [*before, *head, *lines, *after]


def width() -> int:
    """Return how many cells a line of stdout has: COLUMNS, the width of the terminal, or 120 where stdout is not one."""
    fixed = os.environ.get("COLUMNS") or ("" if sys.stdout.isatty() else "120")
    return int(fixed) if fixed.isdecimal() and int(fixed) else shutil.get_terminal_size().columns


def one_line_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: Sequence[str],
    right: Sequence[str] = (),
    width: int,
) -> tuple[list[str], list[str]]:
    """Return the lines of the head with its rule, and one line for each row, for which the columns of `texts` are cut at a blank.

    The first of the texts keeps 30 cells as long as there is room, the others 18: else the heads of the other columns are wrapped,
    then the last text is left out. The other columns are never cut, so that lines are longer where nothing else helps.
    """
    short = [i for i, name in enumerate(columns) if name in texts]
    rows = [[" ".join(cell.splitlines()) if i in short else cell for i, cell in enumerate(row)] for row in rows]
    held = [max((cell_len(row[i]) for row in rows), default=0) for i in range(len(columns))]
    full = [max(cell_len(name), cells) for name, cells in zip(columns, held, strict=True)]
    tight = [max(cells, *map(cell_len, name.split()), 0) for name, cells in zip(columns, held, strict=True)]
    kept, gap = list(range(len(columns))), 2
    while True:
        least = {i: min(full[i], NARROWEST if i != short[0] or len(short) == 1 else NARROWEST_FIRST) for i in short}
        layouts = [(full, 2), (tight, 2), *([(tight, 1)] if len(short) == 1 else [])]
        sizes = [
            (others, g, width - g * (len(kept) - 1) - sum(others[i] for i in kept if i not in short))
            for others, g in layouts
        ]
        fitting = next((size for size in sizes if size[2] >= sum(least.values())), None)
        if fitting is not None or len(short) == 1:
            break
        kept.remove(short.pop())
    others, gap, room = fitting or sizes[-1]
    of_texts = _shared([full[i] for i in short], list(least.values()), [False] * len(short), room)
    widths = {**dict(enumerate(others)), **dict(zip(short, of_texts, strict=True))}
    cut = [[_cut(row[i], widths[i]) if i in short else row[i] for i in kept] for row in rows]
    return _lines([columns[i] for i in kept], cut, [widths[i] for i in kept], [columns[i] in right for i in kept], gap)


def _cut(text: str, width: int) -> str:
    """Return a text of at most `width` cells; one that is longer ends at a blank, if it has one, and in dots."""
    if cell_len(text) <= width:
        return text
    start = chop_cells(text, max(width - 1, 1))[0]
    if not text[len(start) :].startswith(" ") and " " in start:
        start = start.rsplit(" ", 1)[0]
    return start.rstrip(" ,") + "…"


def table_lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), width: int
) -> tuple[list[str], list[str]]:
    """Return the lines of the head (none without column names) with its rule, and those of the rows.

    The lines fit into `width` as long as that needs no cut in a number, a word of the head or a word of a text; else they are
    longer. `right` names the columns of numbers, which are set to the right and never wrapped.
    """

    def longest(words: Sequence[str]) -> int:
        return max(map(cell_len, words), default=0)

    numbers = [name in right for name in columns]
    cells = [[row[i] for row in rows] for i in range(len(columns))]
    full = [
        longest([name, *(line for cell in column for line in cell.split("\n"))])
        for name, column in zip(columns, cells, strict=True)
    ]
    least = []
    for name, column, number in zip(columns, cells, numbers, strict=True):
        words = column if number else [word for cell in column for word in cell.split()]
        held = longest(words)
        least.append(max(longest(name.split()), held if number else min(held, LONGEST_WORD)))
    room = width - 2 * (len(columns) - 1)
    widths, gap = _shared(full, least, numbers, room), 2
    if sum(widths) > room:  # as narrow as can be: the space between the columns goes too
        gap = 1
        widths = _shared(full, least, numbers, width - (len(columns) - 1))
    return _lines(columns, rows, widths, numbers, gap)


def _lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], numbers: Sequence[bool], gap: int
) -> tuple[list[str], list[str]]:
    """Return the lines of the head with its rule and those of the rows, with columns of these widths; numbers stand to the right."""
    between = " " * gap

    def lines(row: Sequence[str]) -> list[str]:
        wrapped = [_wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        out = []
        for i in range(max(map(len, wrapped), default=0)):
            parts = [cell[i] if i < len(cell) else "" for cell in wrapped]
            spaces = [" " * (size - cell_len(part)) for part, size in zip(parts, widths, strict=True)]
            set_ = [s + p if number else p + s for p, s, number in zip(parts, spaces, numbers, strict=True)]
            out.append(between.join(set_).rstrip())
        return out

    head = [*lines(columns), "─" * (sum(widths) + gap * (len(columns) - 1))] if any(columns) else []
    return head, [line for row in rows for line in lines(row)]


def _shared(full: Sequence[int], least: Sequence[int], numbers: Sequence[bool], room: int) -> list[int]:
    """Return widths between `least` and `full` that fill the room: texts give way first, the widest of them most."""
    widths = list(full)
    for group in (False, True):  # texts, then the heads of numbers
        of_group = [i for i, number in enumerate(numbers) if number == group]
        while sum(widths) > room:
            wide = [i for i in of_group if widths[i] > least[i]]
            if not wide:
                break
            widest = max(widths[i] for i in wide)
            top = [i for i in wide if widths[i] == widest]
            below = max([widths[i] for i in wide if widths[i] < widest] + [least[i] for i in top])
            step = max(1, min(widest - below, (sum(widths) - room) // len(top)))
            for i in top:
                widths[i] -= min(step, max(sum(widths) - room, 0), widths[i] - least[i])
    return widths


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a cell, cut at blanks; a word that is longer than the cell is cut where it must be."""
    out = []
    for paragraph in text.split("\n"):
        if cell_len(paragraph) <= width:
            out.append(paragraph)
            continue
        line = ""
        for word in paragraph.split():
            joined = f"{line} {word}" if line else word
            if cell_len(joined) <= width:
                line = joined
                continue
            if line:
                out.append(line)
            *cut, line = chop_cells(word, max(width, 2)) if cell_len(word) > width else [word]
            out += cut
        out.append(line)
    return out


_ID_CELLS = 24


class Lines:
    """Prints keywords in context, batch by batch: matches below each other, in colour, with the id and some columns in front."""

    def __init__(self, columns: Sequence[str] = ()) -> None:
        from rich.console import Console

        class Output(Console):
            def on_broken_pipe(self) -> None:  # left to the caller, where rich would exit with 1
                raise BrokenPipeError

        self._columns = columns
        self._most_id_cells = _ID_CELLS if not columns else 2 * _ID_CELLS
        wide = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 120)
        self._console = Output(file=sys.stdout, width=wide, highlight=False)
        self._id_cells = self._left_cells = 0

    def show(self, batch: pa.RecordBatch) -> None:
        """Print the hits of a batch (id, start, end, left, match, right, …)."""
        from rich.text import Text

        from nlpkit.platform.values import python_values

        parts = (batch.column(name).to_pylist() for name in ("id", "left", "match", "right"))
        rows = [[plain(cell) for cell in row] for row in zip(*parts, strict=True)]
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


@contextmanager
def bar(label: str, total: int | None, percent: bool) -> Iterator[reporting.Update]:
    """Yield a function that takes the amount done and draws a bar with rate and ETA on stderr."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    amount = (TaskProgressColumn(),) if percent else (MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(wording.visible(label), total=total, rate="")

        def update(done: int, label: str | None = None, /) -> None:
            speed = shown.tasks[task].speed
            named = None if label is None else wording.visible(label)
            shown.update(task, completed=done, description=named, rate=f"{speed:,.0f}/s" if speed else "")

        yield update


def fitted(name: str, cells: int) -> str:
    """Return a name as wide as a number of cells, cut or filled up."""
    return set_cell_size(name, cells - 1).rstrip() + "…" if cell_len(name) > cells else set_cell_size(name, cells)
