"""Annotations of the same units by several coders: tables with one column per coder, or one row per judgement.

    wide   id,text,anna,ben,carla      one row a unit
    long   unit,coder,value            one row a judgement

Cells that are empty, NaN or say NA are missing. Any table format is read, in any encoding and with any delimiter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.cells import text_of
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.agreement import Annotations
from nlpkit.io.plain_tables import read_rows
from nlpkit.metrics.agreement import Level
from nlpkit.wording import listed

MISSING = frozenset({"", "NA", "NaN", "nan", "null", "NULL"})

_PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
_NAMED = 8  # labels that a message lists


def read_wide(
    path: Path,
    coders: Sequence[str],
    *,
    level: Level,
    order: Sequence[str] = (),
    id_col: str = "id",
    encoding: str | None = None,
) -> Annotations:
    """Return the judgements of a table that has a row a unit and a column a coder.

    Args:
        path: see `read_rows`.
        coders: names of their columns, two or more.
        level: of measurement: interval and ratio need numbers, ordinal numbers or `order`.
        order: the labels from low to high, also those that nobody gave; for nominal the order in which ties are resolved.
        id_col: the ids of units; without such a column they are numbered.
        encoding: see `read_rows`.

    Raises:
        UsageError: fewer than two coders, one twice, or an invalid order.
        ColumnError: a column is not there; InputError: the table cannot be read, or a cell does not fit the level.
    """
    if len(coders) < 2:
        raise UsageError(
            f"agreement needs the columns of two coders or more, found {len(coders)}: name them as a,b",
            parameter="annotators",
        )
    twice = next((c for i, c in enumerate(coders) if c in coders[:i]), None)
    if twice is not None:
        raise UsageError(f"the column '{twice}' is named twice; name each coder once", parameter="annotators")
    rows = read_rows(path, encoding=encoding, hint=coders[0])
    cells = [rows.column(name) for name in coders]
    ids = rows.columns.get(id_col, [])
    units = tuple(text_of(v) for v in ids) if ids else tuple(str(n) for n in range(1, len(rows.places) + 1))
    judgements = [[cells[c][u] for c in range(len(coders))] for u in range(len(units))]

    def place(u: int, c: int) -> str:
        return f"{rows.places[u]}: column '{coders[c]}'"

    return _coded(units, tuple(coders), judgements, tuple(rows.numbers), place, level, order)


def read_long(
    path: Path,
    *,
    unit: str,
    coder: str,
    value: str,
    level: Level,
    order: Sequence[str] = (),
    encoding: str | None = None,
) -> Annotations:
    """Return the judgements of a table that has a row a judgement; units and coders in the order of their first row.

    Args:
        path: see `read_rows`.
        unit, coder, value: the three columns.
        level, order, encoding: see `read_wide`.

    Raises:
        UsageError, ColumnError, InputError: see `read_wide`; InputError also for a coder who judges a unit twice.
    """
    rows = read_rows(path, encoding=encoding, hint=unit)
    columns = [rows.column(name) for name in (unit, coder, value)]
    units: dict[str, int] = {}
    coders: dict[str, int] = {}
    at: dict[tuple[int, int], int] = {}
    for i, (u, c) in enumerate(zip(columns[0], columns[1], strict=True)):
        for name, cell in ((unit, u), (coder, c)):
            if not text_of(cell):
                raise InputError(
                    f"{rows.places[i]}: column '{name}' is empty; every judgement needs a unit and a coder"
                )
        key = units.setdefault(text_of(u), len(units)), coders.setdefault(text_of(c), len(coders))
        if key in at:
            raise InputError(
                f"{rows.places[i]}: '{text_of(c)}' already judged '{text_of(u)}' at {rows.places[at[key]]}; remove "
                "one of the two"
            )
        at[key] = i
    judgements: list[list[Any]] = [[None] * len(coders) for _ in units]
    for (u, c), i in at.items():
        judgements[u][c] = columns[2][i]
    first: dict[int, int] = {}
    for (u, _), i in at.items():
        first.setdefault(u, i)

    def place(u: int, c: int) -> str:
        return f"{rows.places[at[u, c]]}: column '{value}'"

    lines = tuple(rows.numbers[first[u]] for u in range(len(units)))
    return _coded(tuple(units), tuple(coders), judgements, lines, place, level, order)


def _coded(
    units: tuple[str, ...],
    coders: tuple[str, ...],
    cells: Sequence[Sequence[Any]],
    rows: tuple[int, ...],
    place: Callable[[int, int], str],
    level: Level,
    order: Sequence[str],
) -> Annotations:
    texts = [["" if text_of(v) in MISSING else text_of(v) for v in row] for row in cells]
    first_cells: dict[str, tuple[int, int]] = {}
    for u, row in enumerate(texts):
        for c, text in enumerate(row):
            if text:
                first_cells.setdefault(text, (u, c))
    if order:
        known = _check_order(order, level)
        for text, where in first_cells.items():
            if text not in known:
                near = get_close_matches(text, known, n=1, cutoff=0.5)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise InputError(f"{place(*where)} has '{text}', which is not in the order {','.join(known)}{hint}")
        numbers = {text: float(i) for i, text in enumerate(known)}
    elif all(_parse_number(text) is not None for text in first_cells):
        numbers = {text: n for text in first_cells if (n := _parse_number(text)) is not None}
    elif level == "nominal":
        numbers = {text: float(i) for i, text in enumerate(sorted(first_cells))}
    else:
        raise InputError(_not_numbers(first_cells, place, level))
    ratings = np.array([[numbers.get(text, math.nan) for text in row] for row in texts], np.float64)
    names = {number: text for text, number in sorted(numbers.items(), reverse=True)}
    values = sorted(names)
    labels = not order and bool(first_cells) and all(_parse_number(text) is not None for text in first_cells)
    shown = tuple(text_of(v) if labels else names[v] for v in values)
    return Annotations(
        units, coders, ratings.reshape(len(units), len(coders)), np.array(values, np.float64), shown, rows
    )


def _check_order(order: Sequence[str], level: Level) -> list[str]:
    known = [text.strip() for text in order]
    if level not in ("nominal", "ordinal"):
        raise UsageError(f"an order is for ordinal or nominal labels; {level} data are numbers", parameter="order")
    twice = next((text for i, text in enumerate(known) if text in known[:i] or not text), None)
    if twice is not None:
        raise UsageError(
            f"the order {','.join(order)} has '{twice}' twice" if twice else "the order has an empty label",
            parameter="order",
        )
    return known


def _parse_number(text: str) -> float | None:
    """Return the number that a text is, with a decimal point or comma; None for others, 007 and infinity among them."""
    if not _PLAIN_NUMBER.fullmatch(text):
        return None
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def _not_numbers(first_cells: dict[str, tuple[int, int]], place: Callable[[int, int], str], level: Level) -> str:
    text, where = next((text, where) for text, where in first_cells.items() if _parse_number(text) is None)
    message = f"{place(*where)} has '{text}', but {level} data are numbers"
    if level != "ordinal":
        return f"{message}; labels are nominal, or ordinal with their order"
    some = listed(sorted(first_cells), _NAMED, between=",")
    return f"{message}, or labels in an order; give `order` with them from low to high (found: {some})"
