"""Sets of labels against sets of predictions: their scores, those of each label, and the tables whose cells are lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit import wording
from nlpkit.cells import as_label
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.labels import LabelSets, PredictionTable, count_unlabelled, note_unlabelled, paired_rows
from nlpkit.evaluation.predictions import add_class_table, beta_name, class_values, note_never
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics import multilabel
from nlpkit.metrics.bootstrap import Interval
from nlpkit.metrics.catalogue import metric_of
from nlpkit.metrics.proportion import changed_shares, edge_between, wilson
from nlpkit.metrics.score import Uncertainty, statistic_score
from nlpkit.types import CsrMatrix

SCORES = (
    "subset_accuracy", "hamming_loss", "samples_jaccard", "macro_precision", "macro_recall", "macro_f1", "micro_precision",
    "micro_recall", "micro_f1", "weighted_f1", "samples_f1",
)  # fmt: skip
POSSIBLE = (*SCORES, "weighted_precision", "weighted_recall", "samples_precision", "samples_recall")


def add_multilabel(
    result: TargetResult,
    names: Sequence[str],
    Y_true: CsrMatrix,
    Y_pred: CsrMatrix,
    scores: Sequence[str],
    uncertainty: Uncertainty,
    *,
    beta: float = 1.0,
) -> None:
    """Add scores of predicted sets of labels, and those of each label.

    The classes are the labels that some document has or gets, sorted, as of single labels: about others the documents say
    nothing, and they would count as 0 in macro scores.

    Args:
        names: (J,) of the labels.
        Y_true, Y_pred: (D, J) which labels documents have and get, dense or sparse.
        scores: names of METRICS; _f1 stands for F of `beta`.
    """
    true, predicted = sparse.csr_array(Y_true), sparse.csr_array(Y_pred)
    counts = multilabel.label_counts(true, predicted)
    seen = sorted(np.flatnonzero(counts.support + counts.predicted).tolist(), key=lambda j: names[j])
    names, true, predicted = [names[j] for j in seen], true[:, seen], predicted[:, seen]
    report = multilabel.report(true, predicted, names, beta=beta)
    by_label = class_values(report)
    units = np.ones(report.n_documents, np.int64)
    parameters = {"documents": report.n_documents, "classes": len(names), "beta": beta}
    right, empty = multilabel.right_sets(true, predicted)
    known = {} if uncertainty.level is None else _known_intervals(report, int(right.sum()), uncertainty.level)
    for plain in scores:
        name = beta_name(plain, beta)
        metric = metric_of(name)
        assert metric is not None
        statistic = multilabel.statistic(true, predicted, name)
        result.add(
            statistic_score(
                metric,
                statistic,
                units,
                uncertainty,
                over="documents",
                parameters=parameters | ({"empty": "right"} if empty.any() and name.startswith("samples_") else {}),
                values=by_label.get(name),
                known=known.get(name),
            )
        )
    if empty.any():
        result.notes.append(
            f"{wording.counted(int(empty.sum()), 'document')} without a label that {'gets' if empty.sum() == 1 else 'get'} none: right, "
            "and 1 in the samples scores"
        )
    add_class_table(result, names, report, "label", "labels")
    result.facts |= {"labels": report.support.tolist(), "predicted": report.predicted.tolist()}
    note_never(result, report, "labels")


def _known_intervals(report: multilabel.MultilabelReport, n_right: int, level: float) -> dict[str, Interval]:
    """Return the interval of the share of right sets, and of macro scores where all of them, or none, are right."""
    share = wilson(n_right, report.n_documents, level=level)
    known = {} if share is None else {"subset_accuracy": share}
    total = report.support.sum()
    if not total:
        return known
    # a document of several labels is one document: the labels share the documents
    changed = changed_shares(report.support * (report.n_documents / total), level=level).mean(axis=1)
    for name in (f"macro_{score}" for score in ("precision", "recall", f"f{report.beta:g}")):
        value = report.averages[name]
        between = edge_between(value, 1 - changed if value == 1 else changed, level=level) if value in (0, 1) else None
        if between is not None:
            known[name] = between
    return known


def split_cells(columns: PredictionTable, separator: str) -> PredictionTable:
    """Return the labels and predictions of a table as lists, cut at the separator as in classify; empty cells stay None."""

    def split(cell: Any) -> Any:
        if isinstance(cell, list | dict):
            return cell
        text = as_label(cell)
        return None if text is None else list(dict.fromkeys(filter(None, map(as_label, text.split(separator)))))

    return replace(columns, labels=[split(v) for v in columns.labels], assigned=[split(v) for v in columns.assigned])


def are_multilabel(columns: Sequence[PredictionTable]) -> bool:
    """Whether labels and predictions of tables are lists.

    Raises:
        InputError: only one of the two is, or topics stand beside lists of labels.
        UsageError: they are lists in some tables and not in others.
    """
    lists = [_holds_sets(table) for table in columns]
    if any(lists) and not all(lists):
        sets, single = columns[lists.index(True)], columns[lists.index(False)]
        raise UsageError(
            f"{sets.name} holds lists of labels and {single.name} one label per document. They have no score in "
            "common; evaluate them separately"
        )
    return lists[0]


def _holds_sets(columns: PredictionTable) -> bool:
    true, predicted = (any(isinstance(v, list) for v in values) for values in (columns.labels, columns.assigned))
    if not true and not predicted:
        return False
    if not columns.predictions:
        listed = columns.label_col if true else columns.assigned_col
        raise InputError(
            f"{columns.name}: '{listed}' holds lists; topics are compared with one label per document. Name another "
            "column with `label_col` or `topic_col`, or a column of predicted lists with `prediction_col`"
        )
    count_unlabelled(columns, columns.labels, columns.assigned)
    if true and predicted:
        return True
    listed, single = (columns.label_col, columns.assigned_col) if true else (columns.assigned_col, columns.label_col)
    raise InputError(
        f"{columns.name}: '{listed}' holds lists of labels and '{single}' does not; both need lists, or both one "
        "label per row; split them with "
        f"`label_sep='{_likely_separator(columns.assigned if true else columns.labels)}'`, or name the columns with "
        "`label_col` and `prediction_col`"
    )


def _likely_separator(cells: Sequence[Any]) -> str:
    """Return what is likely between several labels of a cell: ';' unless only others are there."""
    text = "".join(cell for cell in cells if isinstance(cell, str))
    return next((mark for mark in ";|," if mark in text), ";")


def label_sets(columns: PredictionTable) -> LabelSets:
    """Return the documents of a table that have a list of labels, also an empty one; no list of predictions is an empty one.

    Raises:
        InputError: a cell is no list, or holds what is no label; all lists are empty.
    """
    true = _lists(columns.name, columns.label_col, columns.labels)
    predicted = _lists(columns.name, columns.assigned_col, columns.assigned)
    rows = [i for i, v in enumerate(columns.labels) if v is not None]
    true, predicted = true.take(pa.array(rows, pa.int64())), predicted.take(pa.array(rows, pa.int64()))
    names = sorted({v for cells in (true, predicted) for v in pc.unique(cells.flatten()).to_pylist() if v is not None})
    if not names:
        raise InputError(
            f"{columns.name}: all lists of '{columns.label_col}' and '{columns.assigned_col}' are empty, so "
            "there is no label to score"
        )
    return LabelSets(
        None if columns.ids is None else [columns.ids[i] for i in rows],
        tuple(names),
        multilabel.indicator(true, names),
        multilabel.indicator(predicted, names),
        len(columns.labels) - len(rows),
        sum(columns.assigned[i] is None for i in rows),
    )


def _lists(name: str, column: str, values: Sequence[Any]) -> pa.LargeListArray:
    """Return cells as lists of text, as labels are read elsewhere: 1 is '1'; an empty string and null are no label."""
    flat: list[str | None] = []
    lengths = np.zeros(len(values) + 1, np.int64)
    for row, cells in enumerate(values, 1):
        if cells is not None and (not isinstance(cells, list) or any(isinstance(v, list | dict) for v in cells)):
            raise InputError(
                f"{name}: '{column}' of row {row:,} is {cells!r:.60}, and others are lists of labels; a list of strings was needed"
            )
        lengths[row] = len(cells or ())
        flat += [as_label(v) for v in cells or ()]
    return pa.LargeListArray.from_arrays(np.cumsum(lengths), pa.array(flat, pa.large_string()))


def note_sets(result: TargetResult, data: LabelSets) -> None:
    """Say how many documents have no list, or no label in it."""
    if data.n_unpredicted:
        without = wording.counted(data.n_unpredicted, "document")
        result.notes.append(f"{without} without a prediction, which counts as a set without labels")
    empty = int((np.diff(data.true.indptr) == 0).sum())
    if empty:
        without = wording.counted(empty, "document")
        result.notes.append(f"{without} with an empty list of labels: right where none is predicted")
    note_unlabelled(result, data)


def paired_sets(first: LabelSets, second: LabelSets) -> tuple[LabelSets, LabelSets] | None:
    """Return both with their documents in the order of the first, None when these differ, or their true labels do."""
    order = paired_rows(first.ids, second.ids)
    if order is None:
        return None
    other = replace(second, ids=first.ids, true=second.true[order], predicted=second.predicted[order])
    names = sorted({*first.names, *other.names})
    if (_under(first.true, first.names, names) != _under(other.true, other.names, names)).nnz:
        return None
    return first, other


def _under(Y: CsrMatrix, labels: Sequence[str], names: Sequence[str]) -> CsrMatrix:
    """Return which labels documents have (D, J) with a column for each of more names (D, J')."""
    place = {name: j for j, name in enumerate(names)}
    cells = Y.tocoo()
    columns = np.array([place[name] for name in labels], np.int64)[cells.col]
    return sparse.csr_array((cells.data, (cells.row, columns)), shape=(Y.shape[0], len(names)))
