"""Answers of coders to the questions of a task (see `tasks`): tables as the page saves them, or a spreadsheet.

task,coder,item,answer,choice,label
1f0c99ab,anna,q01,3,river,            the number of an option; the page adds its text as well
1f0c99ab,anna,q02,,,                  not answered
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from nlpkit.cells import text_of
from nlpkit.errors import InputError
from nlpkit.evaluation.tasks import LABEL, Answers, Task, choices
from nlpkit.io.plain_tables import PlainTable, read_rows
from nlpkit.io.sources import split_suffix
from nlpkit.io.tasks import numbered, without_apostrophe

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
