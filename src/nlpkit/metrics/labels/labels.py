"""Documents with labels, and the predictions or topics that were assigned to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.labels.classification import encode_labels
from nlpkit.metrics.results import TargetResult
from nlpkit.platform import reporting, wording
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.platform.values import as_label

NO_TOPIC = ("-1", "-1.0")
PROBABILITIES = "probabilities"  # the column of classifiers with the probability of every class by its name


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """Probabilities of all classes of a model (D, J), rows of NaN where missing; true (D,): the class of the label, -1 for none of them."""

    values: FloatArray
    true: IntArray


@dataclass(frozen=True, slots=True)
class LabelledPredictions:
    """Documents with a true label and the prediction or topic assigned to them, both as codes, -1 for none.

    ids: to pair the documents of two targets; assigned_names, class_names: of the codes; prob: of the prediction, NaN where missing;
    class_prob: of all classes, None where only that of the prediction is known.
    """

    ids: Sequence[str] | None
    true: IntArray
    assigned: IntArray
    class_names: tuple[str, ...]
    assigned_names: tuple[str, ...]
    prob: FloatArray | None
    n_unlabelled: int
    class_prob: ClassProbabilities | None = None


@dataclass(frozen=True, slots=True)
class LabelSets:
    """Documents that have a set of true labels, and the set predicted for them.

    ids: to pair the documents of two targets; names (J,) of all labels of either; true, predicted: sparse (D, J) boolean.
    """

    ids: Sequence[str] | None
    names: tuple[str, ...]
    true: CsrMatrix
    predicted: CsrMatrix
    n_unlabelled: int
    n_unpredicted: int


@dataclass(frozen=True, slots=True)
class PredictionTable:
    """The columns of a table that are scored, as they stand there, None for empty cells: label, prediction or topic, probability, id.

    annotators: the labels of each annotator, where several are named, annotator_cols: their columns.
    prob, ids: None where there is no such column; label_col, assigned_col: their names, for messages; probabilities: of all classes, by
    name.
    """

    name: str
    predictions: bool  # predictions were assigned, else topics
    labels: Sequence[Any]
    assigned: Sequence[Any]
    prob: Sequence[Any] | None
    ids: Sequence[str] | None
    label_col: str
    assigned_col: str
    probabilities: Sequence[Any] | None = None
    annotators: Sequence[Sequence[Any]] | None = None
    annotator_cols: Sequence[str] = ()


def labelled_predictions(columns: PredictionTable, scale: Sequence[str] = ()) -> LabelledPredictions:
    """Return the documents of a table with a label each; scale: of ordered classes, all of them.

    Raises:
        InputError: there are no labels, or no predictions.
    """
    true, assigned = [as_label(v) for v in columns.labels], [as_label(v) for v in columns.assigned]
    n_unlabelled = count_unlabelled(columns, true, assigned)
    if columns.predictions:
        classes, true_codes, assigned_codes = encode_labels(true, assigned, scale)
        assigned_names = classes
    else:
        classes, true_codes = _codes(true)
        # a document without a topic is in the cluster of those without one: leaving it out would reward a model that gives up
        assigned_names, assigned_codes = _codes(["-1" if v is None or v in NO_TOPIC else v for v in assigned])
    prob = _numbers(columns.name, columns.prob)
    class_prob = _class_prob(columns.name, columns.probabilities, true) if columns.predictions else None
    return LabelledPredictions(
        columns.ids, true_codes, assigned_codes, classes, assigned_names, prob, n_unlabelled, class_prob
    )


def _class_prob(
    name: str, probabilities: Sequence[Any] | None, true: Sequence[str | None]
) -> ClassProbabilities | None:
    """Return the probabilities of all classes of the documents that have a label; None without any."""
    rows = [d for d, cell in enumerate(probabilities or ()) if cell is not None and true[d] is not None]
    if probabilities is None or not rows or not isinstance(probabilities[rows[0]], dict):
        return None
    names = list(probabilities[rows[0]])
    code = {as_label(label): j for j, label in enumerate(names)}
    try:
        p = np.array([[float(probabilities[d][label]) for label in names] for d in rows], np.float64)
    except (TypeError, ValueError, KeyError):
        p = np.full((1, 1), np.nan)
    if not (np.abs(p.sum(axis=1) - 1) < 1e-3).all() or p.min() < 0:
        reporting.warn(
            f"{name}: the column '{PROBABILITIES}' is ignored, because its values are not one probability per "
            "class with sum 1"
        )
        return None
    values, codes = np.full((len(true), len(names)), np.nan), np.full(len(true), -1, np.int32)
    values[rows], codes[rows] = p, [code.get(true[d], -1) for d in rows]
    return ClassProbabilities(values, codes)


def count_unlabelled(columns: PredictionTable, true: Sequence[Any], assigned: Sequence[Any]) -> int:
    """Return how many rows have no label. Raises InputError when none has one, or no row has a prediction."""
    rows, n_unlabelled = wording.counted(len(true), "row"), sum(v is None for v in true)
    if n_unlabelled == len(true):
        raise InputError(f"{columns.name}: no row has a label ({rows}); name the column with `label_col`")
    if columns.predictions and all(v is None for v in assigned):
        raise InputError(f"{columns.name}: no row has a prediction ({rows}); name the column with `prediction_col`")
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
            f"{name}: the probabilities of predictions are not numbers; name the right column with `prob_col`"
        ) from None
    finite = numbers[np.isfinite(numbers)]
    if len(finite) and not 0 <= finite.min() <= finite.max() <= 1:
        raise InputError(
            f"{name}: probabilities of predictions from {finite.min():g} to {finite.max():g}, but 0 to 1 is needed; "
            "name the right column with `prob_col`"
        )
    return numbers


@dataclass(frozen=True, slots=True)
class ContingencyCells:
    """The different (true, assigned) pairs of documents: the units of the bootstrap. counts (U,) documents of each."""

    true: IntArray
    assigned: IntArray
    counts: LongArray


def contingency_cells(data: LabelledPredictions) -> ContingencyCells:
    """Return the documents that have a label, as counts of equal ones."""
    kept = data.true >= 0
    pairs, counts = np.unique(np.stack([data.true[kept], data.assigned[kept]]), axis=1, return_counts=True)
    return ContingencyCells(pairs[0].astype(np.int32), pairs[1].astype(np.int32), counts.astype(np.int64))


def note_unlabelled(result: TargetResult, data: LabelledPredictions | LabelSets) -> None:
    """Say how many rows have no label."""
    if data.n_unlabelled:
        result.notes.append(f"{wording.counted(data.n_unlabelled, 'row')} without a label, left out")


def paired_rows(first: Sequence[str] | None, second: Sequence[str] | None) -> LongArray | None:
    """Return the place in second of each id of first (D,), None where the ids differ, or one of them is of two rows."""
    if first is None or second is None or sorted(first) != sorted(second) or len(set(second)) < len(second):
        return None
    row = {name: i for i, name in enumerate(second)}
    return np.array([row[name] for name in first], np.int64)


def paired(
    first: LabelledPredictions, second: LabelledPredictions
) -> tuple[ContingencyCells, ContingencyCells, LongArray] | None:
    """Return the (true, assigned) of both targets for each different (label, assigned, assigned), None when documents differ."""
    order, labels, other = paired_rows(first.ids, second.ids), _true_names(first), _true_names(second)
    if order is None or labels != [other[i] for i in order]:
        return None
    kept = first.true >= 0
    stacked = np.stack([first.true[kept], first.assigned[kept], second.true[order][kept], second.assigned[order][kept]])
    cells, counts = np.unique(stacked, axis=1, return_counts=True)
    cells, counts = cells.astype(np.int32), counts.astype(np.int64)
    return ContingencyCells(cells[0], cells[1], counts), ContingencyCells(cells[2], cells[3], counts), counts


def _true_names(data: LabelledPredictions) -> list[str | None]:
    return [None if code < 0 else data.class_names[code] for code in data.true]
