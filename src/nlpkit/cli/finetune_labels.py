"""What the labels of `nlpkit finetune` are: one class a document, several, a number, or one for each word."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.cli.finetune_flags import TuneDataFlags
from nlpkit.errors import ColumnError, InputError, UsageError
from nlpkit.finetune.tasks import TaskKind
from nlpkit.types import BoolArray, FloatArray
from nlpkit.workflows.labelled import read_labels

_COMMA = re.compile(r"[-+]?\d+,\d+")
KINDS: dict[str, TaskKind] = {"classes": "single", "labels": "multi", "regression": "regression", "words": "tokens"}


def kind_of(table: pa.Table, data: TuneDataFlags) -> str:
    """Return the kind of the task, by the labels of the training documents. Raises UsageError where these say too little."""
    if data.task != "auto":
        return KINDS[data.task]
    column = table.column("label")
    if _are_lists(column):
        words = data.words_col in table.column_names and _are_lists(table.column(data.words_col))
        if words and data.label_sep is None:
            return "tokens"
        if any(own is not None and len(set(own)) < len(own) for own in column.to_pylist()):
            raise UsageError(
                "a list of labels has one of them twice: for labels of words give --task words, and --words-col with the column "
                "of the words; for several labels a document --task labels"
            )
        return "multi"
    if data.label_sep is not None:
        return "multi"
    _refuse_commas(column)
    return "regression" if _have_fractions(column) else "single"


def _refuse_commas(column: pa.ChunkedArray) -> None:
    """Raise UsageError for labels that are all numbers, some with a comma where a point is needed."""
    given = [str(v).strip() for v in column.to_pylist() if v is not None and str(v).strip()]
    odd = next((v for v in given if _COMMA.fullmatch(v)), None)
    if odd is not None and all(_COMMA.fullmatch(v) or v.isdecimal() for v in given):
        raise UsageError(
            f"labels such as '{odd}' look like numbers with a comma; write them with a point ({odd.replace(',', '.')}), or give "
            "--task classes if they are names"
        )


def _have_fractions(column: pa.ChunkedArray) -> bool:
    """Whether labels are numbers and not all of them whole; in CSV they come as text."""
    try:
        given = np.array([float(v) for v in column.to_pylist() if v is not None and v != ""])
    except (TypeError, ValueError):
        return False
    found = given[~np.isnan(given)]
    return bool(np.isfinite(found).all() and (found != np.round(found)).any())


def _are_lists(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_list(column.type) or pa.types.is_large_list(column.type))


def labels_of(table: pa.Table, kind: str, data: TuneDataFlags) -> tuple[list[Any], Any, Any, FloatArray | None]:
    """Return what each document is labelled with, and of words and numbers the encoded form."""
    column = table.column("label")
    if kind == "tokens":
        words, tags = _words(table, data, _are_lists(column))
        return tags, words, tags, None
    if kind == "regression":
        values = _numbers(table)
        return [None if np.isnan(v) else v for v in values], None, None, values
    own = read_labels(column, data.label_sep)
    if kind == "single" and any(isinstance(v, list) for v in own):
        raise UsageError("--task classes needs one label a document, the column has lists; see --task labels")
    if kind == "multi" and not any(isinstance(v, list) for v in own):
        own = [None if v is None else [v] for v in own]
    return own, None, None, None


def _numbers(table: pa.Table) -> FloatArray:
    ids, given = table.column("id").to_pylist(), table.column("label").to_pylist()
    found = np.full(len(given), np.nan)
    for d, value in enumerate(given):
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        try:
            found[d] = float(value)
        except (TypeError, ValueError):
            point = f", such as {value.replace(',', '.')}" if isinstance(value, str) and _COMMA.fullmatch(value) else ""
            raise InputError(
                f"document {ids[d]}: the label '{value}' is no number; --task regression needs numbers{point}"
            ) from None
        if np.isinf(found[d]):
            raise InputError(f"document {ids[d]}: the label is {value}; --task regression needs finite numbers")
    return found


Tags = list[list[str | None] | None]  # of each document those of its words: None for none


def _words(table: pa.Table, data: TuneDataFlags, lists: bool) -> tuple[list[list[str]], Tags]:
    if data.words_col in table.column_names:
        given = table.column(data.words_col).to_pylist()
        if any(v is not None and not isinstance(v, list) for v in given):
            raise ColumnError(
                f"column '{data.words_col}' has to hold lists of words; name another one with --words-col"
            )
        words = [[str(w) for w in own or ()] for own in given]
    else:
        words = [(t or "").split() for t in table.column("text").to_pylist()]
    tags: Tags = []
    for d, own in enumerate(table.column("label").to_pylist()):
        if own is not None and not lists:
            own = str(own).split()
        given = [as_label(v) for v in own or ()]
        tags.append(given if any(t is not None for t in given) else None)
        if own is not None and len(own) != len(words[d]):
            raise InputError(
                f"document {table.column('id')[d].as_py()} has {wording.counted(len(words[d]), 'word')} and "
                f"{wording.counted(len(own), 'label')}; --task words needs one label for each word"
            )
    without = sum(t is None for own in tags if own is not None for t in own)
    if without:
        reporting.note(f"{wording.counted(without, 'word')} without a label: neither learned from nor scored")
    return words, tags


def tag_names_of(tags: Tags | None, learn: BoolArray) -> tuple[str, ...]:
    if tags is None:
        return ()
    return tuple(
        sorted({t for own, yes in zip(tags, learn.tolist(), strict=True) if yes and own for t in own if t is not None})
    )
