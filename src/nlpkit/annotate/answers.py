"""The answers of coders, read from tables: to the questions of a task, or labels of the same units.

task,coder,item,answer,choice,label
1f0c99ab,anna,q01,3,river,            the number of an option; the page adds its text as well
1f0c99ab,anna,q02,,,                  not answered

Parts, in this order:
- Answers of coders to the questions of a task (see `tasks`): tables as the page saves them, or a spreadsheet.
- Annotations of the same units by several coders: tables with one column per coder, or one row per judgement.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from nlpkit.annotate.task_files import numbered, without_apostrophe
from nlpkit.annotate.tasks import LABEL, Answers, Task, choices
from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.agreement import Level
from nlpkit.metrics.labels.coders import Annotations
from nlpkit.platform.documents.sources import split_suffix
from nlpkit.platform.runs.plain_tables import PlainTable, read_rows
from nlpkit.platform.values import text_of
from nlpkit.platform.wording import listed

_NUMBER = re.compile(r"(\d{1,4})(?:[.,]0+)?")

log = logging.getLogger("nlpkit.io")


def read_answers(paths: Sequence[Path], task: Task, *, encoding: str | None = None) -> Answers:
    """Return the answers of all coders; a question that one did not answer is -1, a coder without any answer is left out.

    A table of answers has the columns item and answer, and as a rule task and coder; a file without a coder's name is that
    of the coder it is named after. An answer is the number of an option from 1, or its text. A directory stands for the
    tables in it.

    Raises:
        InputError: a table cannot be read, is of another task, names an item or an option that is not there, or holds two
            answers of a coder to one question; the message names file and line. Also when there is no answer at all.
        ColumnError: a table has no column item or answer.
    """
    coders: dict[str, int] = {}
    answered: dict[tuple[int, int], tuple[int, str]] = {}  # (item, coder) → choice, place in the file
    labels: dict[tuple[int, int], str] = {}
    for path in _files(paths):
        before = len(answered)
        rows = _lower(read_rows(path, encoding=encoding, hint="answer"))
        names = _coders(rows, path)
        items, answers = rows.column("item"), rows.column("answer")
        marks = rows.columns.get("task", [None] * len(items))
        chosen = rows.columns.get("choice", [None] * len(items))
        for i, place in enumerate(rows.places):
            if text_of(marks[i]) not in ("", task.mark):
                raise InputError(
                    f"{place}: an answer to task {text_of(marks[i])}, but the key belongs to task {task.mark}; name the "
                    "matching key"
                )
            if not text_of(answers[i]) and not text_of(chosen[i]):
                continue
            item = _item_number(text_of(items[i]), task, place)
            choice = _choice(text_of(answers[i]), text_of(chosen[i]), task, item, place)
            key = item, coders.setdefault(names[i], len(coders))
            if key in answered:
                raise InputError(
                    f"{place}: '{names[i]}' answered item {task.ids[item]} before, at {answered[key][1]}; remove "
                    "one of the two, or give each person a different name"
                )
            answered[key] = choice, place
            if label := text_of(rows.columns.get("label", [None] * len(items))[i]):
                labels[key] = without_apostrophe(label)
        if len(answered) == before:
            log.warning("%s: no answers in it", path)
    if not answered:
        raise InputError("no answers found; coders fill in the column answer, or save their answers on the page")
    matrix = np.full((len(task.ids), len(coders)), -1, np.int32)
    for (item, coder), (choice, _) in answered.items():
        matrix[item, coder] = choice
    return Answers(tuple(coders), matrix, tuple((i, c, text) for (i, c), text in sorted(labels.items())))


def _files(paths: Sequence[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        inside = [f for f in sorted(path.iterdir()) if f.suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet")]
        if not inside:
            raise InputError(f"{path}: no table of answers in this directory (looked for .csv .tsv .jsonl .parquet)")
        files += inside
    return files


def _lower(rows: PlainTable) -> PlainTable:
    """Return the table with its column names in lower case, as a spreadsheet may have changed them."""
    return replace(rows, columns={name.strip().lower(): values for name, values in rows.columns.items()})


def _coders(rows: PlainTable, path: Path) -> list[str]:
    """Return the coder of each row: what its cell says, else the only name in the file, else the file's."""
    names = [without_apostrophe(text_of(v)) for v in rows.columns.get("coder", [None] * len(rows.places))]
    known = list(dict.fromkeys(name for name in names if name))
    if not known:
        return [split_suffix(path.name)[0]] * len(names)
    if len(known) > 1 and "" in names:
        raise InputError(
            f"{rows.places[names.index('')]}: column 'coder' is empty, and the file has {len(known)} coders"
        )
    return [name or known[0] for name in names]


def _item_number(text: str, task: Task, place: str) -> int:
    if text not in task.ids:
        raise InputError(f"{place}: the task has no item '{text}' (it has {task.ids[0]} to {task.ids[-1]})")
    return task.ids.index(text)


def _choice(answer: str, option_text: str, task: Task, item: int, place: str) -> int:
    """Return the option that an answer names by its number or its text; `option_text` is its text as the page saves it."""
    shown = choices(task.kind, task.design.items[item])
    number = _NUMBER.fullmatch(answer)
    by_number = int(number[1]) - 1 if number and 1 <= int(number[1]) <= len(shown) else None
    by_text = _place_of(answer, shown)
    if option_text:
        option = _place_of(option_text, shown)
        if option is None or (answer and option not in (by_number, by_text)):
            raise InputError(
                f"{place}: item {task.ids[item]} has the answer '{answer}' and the choice '{option_text}', which do not fit the "
                f"options of this task ({numbered(shown)})"
            )
        return option
    if task.kind == LABEL and by_text is not None:
        by_number = by_text  # labels may be numbers: 1, 2 … are then what they say
    if by_number is not None and by_text is not None and by_number != by_text:
        raise InputError(
            f"{place}: item {task.ids[item]} has the answer '{answer}', which is the number of '{shown[by_number]}' and the "
            "text of another option; write its text into a column named choice as well"
        )
    option = by_text if by_number is None else by_number
    if option is None:
        near = get_close_matches(answer, shown, n=1, cutoff=0.6)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError(
            f"{place}: item {task.ids[item]} has the answer '{answer}', which is not one of its options "
            f"({numbered(shown)}){hint}"
        )
    return option


def _place_of(text: str, shown: Sequence[str]) -> int | None:
    """Return the option of this text, the first that has it exactly, else the first that has it in other case or spacing."""
    if text in shown:
        return shown.index(text)
    wanted = _folded(text)
    return next((i for i, option in enumerate(shown) if wanted and _folded(option) == wanted), None)


def _folded(text: str) -> str:
    return " ".join(without_apostrophe(text).split()).casefold()


# ------------------------------------------------------------------------------------------------------------------------
# Annotations of the same units by several coders: tables with one column per coder, or one row per judgement.
#
# wide   id,text,anna,ben,carla      one row a unit
# long   unit,coder,value            one row a judgement
#
# Cells that are empty, NaN or say NA are missing. Any table format is read, in any encoding and with any delimiter.

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
