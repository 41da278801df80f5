"""Documents with labels, of tables and runs, and what was found for them: predictions or topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit import reporting, wording
from nlpkit.cli.evaluate_flags import TargetFlags
from nlpkit.cli.evaluate_result import TargetResult
from nlpkit.cli.evaluate_targets import TableTarget, TopicTarget
from nlpkit.errors import InputError, missing_column
from nlpkit.io.plain_tables import as_label, read_columns
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.run_reading import numbers, strings
from nlpkit.metrics.calibration import brier_errors
from nlpkit.metrics.classification import encode_labels
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray

NO_TOPIC = ("-1", "-1.0")
PROBABILITIES = "probabilities"  # column of classify and finetune --probabilities: of every class by its name


@dataclass(frozen=True, slots=True)
class Labelled:
    """Documents with a true label and what was found for them, both as codes, -1 for none.

    ids: to pair the documents of two targets; found_names, class_names: of the codes; prob: of the prediction, NaN where missing;
    brier: squared errors of the probabilities of all classes (D,), NaN where missing, None where only that of the prediction is known.
    """

    ids: Sequence[str] | None
    true: IntArray
    found: IntArray
    class_names: tuple[str, ...]
    found_names: tuple[str, ...]
    prob: FloatArray | None
    n_unlabelled: int
    brier: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class LabelSets:
    """Documents that have a set of true labels, and the set that was found for them.

    ids: to pair the documents of two targets; names (J,) of all labels of either; true, found: sparse (D, J) boolean.
    """

    ids: Sequence[str] | None
    names: tuple[str, ...]
    true: CsrMatrix
    found: CsrMatrix
    n_unlabelled: int
    n_unpredicted: int


@dataclass(frozen=True, slots=True)
class Columns:
    """What a table says of each document, as it stands there, None for nothing: label, what was found, its probability, id.

    prob, ids: None where there is no such column; label_col, found_col: their names, for messages; probabilities: of all classes, by
    name.
    """

    name: str
    predictions: bool  # found are predictions, or else topics
    labels: Sequence[Any]
    found: Sequence[Any]
    prob: Sequence[Any] | None
    ids: Sequence[str] | None
    label_col: str
    found_col: str
    probabilities: Sequence[Any] | None = None


def read_table(target: TableTarget, flags: TargetFlags, read: ReadOptions) -> Columns:
    """Return the columns of a table that are scored. Raises ColumnError when it has no labels, InputError when it cannot be read."""
    found_col = flags.prediction_col if target.kind == "predictions" else flags.topic_col
    wanted = [read.label_col, found_col]
    more = (flags.prob_col, read.id_col, *([PROBABILITIES] if target.kind == "predictions" else []))
    wanted += [name for name in more if name in target.columns and name not in wanted]
    if read.label_col not in target.columns:
        raise missing_column(str(target.path), read.label_col, target.columns, "label_col")
    columns = read_columns(target.path, wanted, encoding=read.encoding)
    columns = {name: values[: read.limit] for name, values in columns.items()}
    prob = columns.get(flags.prob_col) if target.kind == "predictions" else None
    ids = columns.get(read.id_col)
    return Columns(
        target.name, target.kind == "predictions", columns[read.label_col], columns[found_col], prob,
        None if ids is None else [str(i) for i in ids], read.label_col, found_col,
        columns.get(PROBABILITIES) if target.kind == "predictions" else None,
    )  # fmt: skip


def run_labelled(target: TopicTarget, label_col: str) -> Labelled | None:
    """Return the documents of a run with topics and labels, None when they have no such column, or lists in it."""
    if target.run is None:
        return None
    table = target.run.table("documents")
    if label_col not in table.column_names:
        return None
    labels = table.column(label_col).to_pylist()
    if all(value is None for value in labels):
        return None
    if any(isinstance(value, list) for value in labels):
        reporting.warn(
            f"{target.name}: '{label_col}' holds lists; topics are held against one label of each document, so not against these"
        )
        return None
    with target.run.intact():
        ids, topics = strings(table, "id"), numbers(table, "topic", least=-1).tolist()
    return labelled_of(Columns(target.name, False, labels, topics, None, ids, label_col, "topic"))


def run_columns(target: TopicTarget) -> list[str]:
    """Return the columns of the documents of a run."""
    return [] if target.run is None else list(target.run.table("documents").column_names)


def labelled_of(columns: Columns) -> Labelled:
    """Return the documents of a table with a label each. Raises InputError when there are no labels, or no predictions."""
    true, other = [as_label(v) for v in columns.labels], [as_label(v) for v in columns.found]
    n_unlabelled = check_given(columns, true, other)
    if columns.predictions:
        classes, true_codes, found_codes = encode_labels(true, other)
        found_names = classes
    else:
        classes, true_codes = _codes(true)
        # a document without a topic is in the cluster of those without one: leaving it out would reward a model that gives up
        found_names, found_codes = _codes(["-1" if v is None or v in NO_TOPIC else v for v in other])
    prob = _numbers(columns.name, columns.prob)
    brier = _brier(columns.name, columns.probabilities, true) if columns.predictions else None
    return Labelled(columns.ids, true_codes, found_codes, classes, found_names, prob, n_unlabelled, brier)


def _brier(name: str, given: Sequence[Any] | None, true: Sequence[str | None]) -> FloatArray | None:
    """Return the squared errors of the probabilities of all classes (D,), NaN where a document has none; None without any."""
    rows = [d for d, own in enumerate(given or ()) if own is not None and true[d] is not None]
    if given is None or not rows or not isinstance(given[rows[0]], dict):
        return None
    names = list(given[rows[0]])
    code = {as_label(label): j for j, label in enumerate(names)}
    try:
        p = np.array([[float(given[d][label]) for label in names] for d in rows], np.float64)
    except (TypeError, ValueError, KeyError):
        p = np.full((1, 1), np.nan)
    if not (np.abs(p.sum(axis=1) - 1) < 1e-3).all() or p.min() < 0:
        reporting.warn(
            f"{name}: the column '{PROBABILITIES}' is left out: it does not hold a probability of every class, 1 in sum"
        )
        return None
    found = np.full(len(true), np.nan)
    found[rows] = brier_errors(p, np.array([code.get(true[d], -1) for d in rows], np.int32))
    return found


def check_given(columns: Columns, true: Sequence[Any], found: Sequence[Any]) -> int:
    """Return how many rows have no label. Raises InputError when none has one, or no row has a prediction."""
    rows, n_unlabelled = wording.counted(len(true), "row"), sum(v is None for v in true)
    if n_unlabelled == len(true):
        raise InputError(f"{columns.name}: no row has a label ({rows}); name the column with --label-col")
    if columns.predictions and all(v is None for v in found):
        raise InputError(f"{columns.name}: no row has a prediction ({rows}); name the column with --prediction-col")
    return n_unlabelled


def _codes(values: Sequence[str | None]) -> tuple[tuple[str, ...], IntArray]:
    def order(value: str) -> tuple[int, str]:
        return (int(value), "") if value.lstrip("-").isdecimal() else (1 << 62, value)

    names = tuple(sorted({v for v in values if v is not None}, key=order))
    number = {v: i for i, v in enumerate(names)}
    return names, np.array([-1 if v is None else number[v] for v in values], np.int32)


def _numbers(name: str, values: Sequence[Any] | None) -> FloatArray | None:
    if values is None or all(v is None for v in values):
        return None
    try:
        numbers = np.array([np.nan if v is None else float(v) for v in values])
    except (TypeError, ValueError):
        raise InputError(
            f"{name}: the probabilities of predictions are not numbers; name their column with --prob-col"
        ) from None
    given = numbers[np.isfinite(numbers)]
    if len(given) and not 0 <= given.min() <= given.max() <= 1:
        raise InputError(
            f"{name}: probabilities of predictions from {given.min():g} to {given.max():g}, 0 to 1 was needed; name their column "
            "with --prob-col"
        )
    return numbers


@dataclass(frozen=True, slots=True)
class Cells:
    """The different (true, found) pairs of documents: the units of the bootstrap. counts (U,) documents of each."""

    true: IntArray
    found: IntArray
    counts: LongArray


def cells_of(data: Labelled) -> Cells:
    """Return the documents that have a label, as counts of equal ones."""
    kept = data.true >= 0
    pairs, counts = np.unique(np.stack([data.true[kept], data.found[kept]]), axis=1, return_counts=True)
    return Cells(pairs[0].astype(np.int32), pairs[1].astype(np.int32), counts.astype(np.int64))


def note_unlabelled(result: TargetResult, data: Labelled | LabelSets) -> None:
    """Say how many rows have no label."""
    if data.n_unlabelled:
        result.notes.append(f"{wording.counted(data.n_unlabelled, 'row')} without a label, left out")


def paired(first: Labelled, second: Labelled) -> tuple[Cells, Cells, LongArray] | None:
    """Return the (true, found) of both targets for each different (label, found, found), None when documents differ."""
    if first.ids is None or second.ids is None or sorted(first.ids) != sorted(second.ids):
        return None
    row = {name: i for i, name in enumerate(second.ids)}
    if len(row) < len(second.ids):
        return None  # an id of two rows does not say which belongs to which
    order = np.array([row[name] for name in first.ids])
    own, other = _true_names(first), _true_names(second)
    if own != [other[i] for i in order]:
        return None
    kept = first.true >= 0
    stacked = np.stack([first.true[kept], first.found[kept], second.true[order][kept], second.found[order][kept]])
    cells, counts = np.unique(stacked, axis=1, return_counts=True)
    cells, counts = cells.astype(np.int32), counts.astype(np.int64)
    return Cells(cells[0], cells[1], counts), Cells(cells[2], cells[3], counts), counts


def _true_names(data: Labelled) -> list[str | None]:
    return [None if code < 0 else data.class_names[code] for code in data.true]
