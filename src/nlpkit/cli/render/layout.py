"""Tables as lines of text: numbers and head words are never cut, texts are wrapped at blanks or kept on one line."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_WORD = 40  # a longer one, such as an address, may be cut
NARROWEST, NARROWEST_FIRST = 18, 30  # texts that are kept on one line; the first of them is the name


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
    from rich.cells import cell_len

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
    from rich.cells import cell_len, chop_cells

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
    from rich.cells import cell_len

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
    from rich.cells import cell_len

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
    from rich.cells import cell_len, chop_cells

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
