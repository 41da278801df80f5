"""The evaluation of predictions against labels, one class or a set for each document.

Parts, in this order:
- Predictions against labels: classification scores, those of each class, and calibration.
- Sets of labels against sets of predictions: their scores, those of each label, and the tables whose cells are lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.catalogue import METRICS, in_group, metric_of
from nlpkit.metrics.intervals import Interval, Statistic, changed_shares, edge_between, edge_sums, wilson
from nlpkit.metrics.labels import classification, multilabel
from nlpkit.metrics.labels import classification as calibration
from nlpkit.metrics.labels.classification import Report, among_first, average_precision, roc_auc
from nlpkit.metrics.labels.labels import (
    ClassProbabilities,
    ContingencyCells,
    LabelledPredictions,
    LabelSets,
    PredictionTable,
    contingency_cells,
    count_unlabelled,
    note_unlabelled,
    paired_rows,
)
from nlpkit.metrics.results import TargetResult, detail_table
from nlpkit.metrics.score import Score, Uncertainty, mean_score, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.platform.values import as_label

if TYPE_CHECKING:
    from nlpkit.metrics.labels.multilabel import MultilabelReport

CLASSIFICATION = (*in_group("classification"), "micro_precision", "micro_recall")
CALIBRATION, RANKING = in_group("calibration"), in_group("ranking")
ALL_CLASSES = "it needs the probability of every class: a column 'probabilities', which classify and predict write with `probabilities`"
SHOWN_MATRIX = 12
SHOWN_CHARS = 40
LARGE_MATRIX = 200  # classes; of more, only the cells of a confusion matrix that are not 0 are listed
DEFAULT_CLASSIFICATION = (
    "accuracy",
    "balanced_accuracy",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "weighted_f1",
    "mcc",
    "kappa",
)


def classification_statistic(data: LabelledPredictions, cells: ContingencyCells, name: str, beta: float) -> Statistic:
    """Return a classification score of weighted documents."""
    J = len(data.class_names)
    assigned = np.where(cells.assigned < 0, np.int32(J), cells.assigned)

    # hits, labels and predictions of each class: a table of J · J cells a draw would not fit for many classes
    U, units = len(assigned), np.arange(len(assigned))
    right = np.flatnonzero(cells.true == assigned)
    places = np.concatenate([cells.true[right], J + cells.true, 2 * J + assigned])
    rows = np.concatenate([right, units, units])
    sums = sparse.csr_array((np.ones(len(rows)), (rows, places)), shape=(U, 3 * J + 1))

    def statistic(weights: FloatArray) -> FloatArray:
        drawn = np.asarray(weights @ sums, np.float64)
        return classification.averages_of_sums(drawn[:, :J], drawn[:, J : 2 * J], drawn[:, 2 * J :], beta=beta)[name]

    return statistic


def beta_name(name: str, beta: float) -> str:
    """Return the name of an F score for a beta: macro_f1 is macro_f2 for 2."""
    of_labels = METRICS[name].group in ("classification", "multilabel")
    return f"{name[:-1]}{beta:g}" if name.endswith("_f1") and of_labels else name


def add_classification(
    result: TargetResult,
    data: LabelledPredictions,
    names: Sequence[str],
    uncertainty: Uncertainty,
    *,
    beta: float,
    noun: str = "document",
) -> None:
    """Add scores of predictions, those of each class and the confusion matrix. noun: what has a prediction."""
    cells = contingency_cells(data)
    J = len(data.class_names)
    n = int(cells.counts.sum())
    parameters: dict[str, Any] = {"documents": n, "classes": J, "beta": beta}
    kept = data.true >= 0
    confusion = classification.confusion_matrix(data.true[kept], data.assigned[kept], J)
    report = classification.report(confusion, data.class_names, beta=beta)
    by_class = class_values(report)
    intervals = {} if uncertainty.level is None else known_intervals(confusion, uncertainty.level, beta)
    for plain in names:
        name = beta_name(plain, beta)
        metric = metric_of(name)
        assert metric is not None
        statistic = classification_statistic(data, cells, name, beta)
        values = by_class.get(name)
        result.add(
            statistic_score(
                metric,
                statistic,
                cells.counts,
                uncertainty,
                over="documents",
                parameters=parameters,
                values=values,
                known=intervals.get(name),
            )
        )
    add_class_table(result, data.class_names, report, "class", "classes")
    heads = (*data.class_names, *(["(none)"] if confusion.shape[1] > J else []))
    result.facts["confusion"] = _confusion_facts(confusion, heads)
    if J <= SHOWN_MATRIX:
        title = "Confusion: label in rows, prediction in columns"
        rows = [(name, *counts) for name, counts in zip(data.class_names, confusion.tolist(), strict=True)]
        result.tables[title] = detail_table(("", *map(short, heads)), rows, {"": "short"})
    note_never(result, report, "classes")
    if report.n_unpredicted:
        without = wording.counted(report.n_unpredicted, noun)
        result.notes.append(f"{without} without a prediction, which counts as wrong")
    note_unlabelled(result, data)


def known_intervals(confusion: LongArray, level: float, beta: float) -> dict[str, Interval]:
    """Return the intervals of scores that need no draws: of shares of documents, and of all where all documents, or none, are right."""
    J = len(confusion)
    right, n, predicted = int(np.trace(confusion[:, :J])), int(confusion.sum()), int(confusion[:, :J].sum())
    shares = {"accuracy": (right, n), "micro_recall": (right, n), "micro_precision": (right, predicted)}
    if predicted == n:
        shares[f"micro_f{beta:g}"] = (right, n)
    of_shares = {name: wilson(*share, level=level) for name, share in shares.items()}
    known = {name: share for name, share in of_shares.items() if share is not None}
    edge = edge_sums(confusion, level=level)
    if edge is not None:
        here = classification.averages(confusion, beta=beta)
        for name, there in classification.averages_of_sums(*edge, beta=beta).items():
            between = edge_between(float(here[name]), there, level=level)
            if name not in known and between is not None:
                known[name] = between
    return known


def _confusion_facts(confusion: LongArray, heads: Sequence[str]) -> dict[str, Any]:
    """Return a confusion matrix as values that go into JSON: row by row, or only the cells that are not 0: row, column, documents."""
    facts: dict[str, Any] = {"rows": "label", "columns": list(heads)}
    if len(confusion) <= LARGE_MATRIX:
        return facts | {"counts": confusion.tolist()}
    rows, columns = np.nonzero(confusion)
    return facts | {"cells": np.stack([rows, columns, confusion[rows, columns]], axis=1).tolist()}


def class_values(report: Report | MultilabelReport) -> dict[str, FloatArray]:
    """Return the scores of each class (J,) that macro scores are means of, by the name of the mean."""
    f_beta = beta_name("macro_f1", report.beta)
    return {"macro_precision": report.precision, "macro_recall": report.recall, f_beta: report.f_beta}


def add_class_table(
    result: TargetResult, names: Sequence[str], report: Report | MultilabelReport, one: str, several: str
) -> None:
    """Make the classes the units of a result, and add a table of them, the largest first; `one` and `several` are what they are called."""
    J = len(names)
    result.unit, result.units, result.unit_texts = "class", list(names), [""] * J
    heads = (one, "precision", "recall", f"F{report.beta:g}", "labels", "predictions")
    rows = zip(names, report.precision, report.recall, report.f_beta, report.support, report.predicted, strict=True)
    order = np.argsort(-report.support, kind="stable")
    result.tables[several.capitalize()] = detail_table(heads, rows, {one: "short"}).take(order)


def short(label: str) -> str:
    """Return a label on one line of a table: 40 characters at most."""
    return wording.truncated(" ".join(label.split()), SHOWN_CHARS)


def note_never(result: TargetResult, report: Report | MultilabelReport, several: str) -> None:
    """Say which classes are never predicted or never a label, and when there are predictions but no class is both."""
    for title, never, undefined in (
        ("never predicted", report.never_predicted, "precision, which has nothing to divide by,"),
        ("never a label", report.never_true, "recall, which has nothing to divide by,"),
    ):
        if never:
            shown = wording.listed([short(name) for name in never], 10)
            result.notes.append(f"{several} that are {title}: {shown}; {undefined} is 0 there")
    if report.predicted.any() and not ((report.support > 0) & (report.predicted > 0)).any():
        result.notes.append("no prediction is one of the labels: are they spelt the same (1 and 1.0 are two classes)?")


def known_probabilities(class_prob: ClassProbabilities) -> tuple[FloatArray, IntArray]:
    """Return the probabilities (D', J) of documents that have some, and the class of their label (D',)."""
    known = np.isfinite(class_prob.values).all(axis=1)
    return class_prob.values[known], class_prob.true[known]


def add_ranking(
    result: TargetResult, data: LabelledPredictions, names: Sequence[str], uncertainty: Uncertainty
) -> None:
    """Add how well the probabilities of all classes order documents and classes."""
    if data.class_prob is None:
        for name in names:
            result.add(Score(METRICS[name], None, "documents", 0, why=ALL_CLASSES))
        return
    prob, true = known_probabilities(data.class_prob)
    about = {"documents": len(true), "classes": prob.shape[1]}
    for name in names:
        if name == "top3_accuracy":
            hits = among_first(prob, true, 3).astype(np.float64)
            score = mean_score(METRICS[name], hits, uncertainty, over="documents", parameters=about)
            result.add(replace(score, median=None))
            continue
        statistic = (roc_auc if name == "roc_auc" else average_precision)(prob, true)
        units, why = np.ones(len(true), np.int64), "it needs documents of two classes or more"
        result.add(
            statistic_score(METRICS[name], statistic, units, uncertainty, over="documents", parameters=about, why=why)
        )


def add_calibration(
    result: TargetResult,
    data: LabelledPredictions,
    names: Sequence[str],
    uncertainty: Uncertainty,
    *,
    asked: bool = True,
) -> None:
    """Add how far the probabilities of predictions are those of being right. asked: brier was named, so it says why it cannot be made."""
    if data.prob is None:
        for name in names:
            why = "there is no column of probabilities; name it with `prob_col`"
            result.add(Score(METRICS[name], None, "documents", 0, why=why))
        return
    kept = (data.true >= 0) & (data.assigned >= 0) & np.isfinite(data.prob)
    prob, right = data.prob[kept], (data.true == data.assigned)[kept]
    if not len(prob):
        return
    calibrated = calibration.calibrate(prob, right)
    rows = [(f"{b.low:.2f} … {b.high:.2f}", b.n, b.confidence, b.accuracy) for b in calibrated.bins]
    result.tables["Calibration"] = detail_table(("probability", "predictions", "mean probability", "right"), rows)
    result.facts["calibration"] = {
        "mce": calibrated.mce,
        "ece_equal_mass": calibrated.ece_mass,
        "log_loss_top": calibrated.log_loss,
        "bins": [asdict(b) for b in calibrated.bins],
    }
    for name in names:
        if name == "ece":
            edges = calibration.bin_edges(prob)

            def ece(w: FloatArray, edges: FloatArray = edges) -> FloatArray:
                return calibration.expected_error(calibration.bin_sums(prob, right, edges, weights=w))

            # draws of documents lie above the ECE of the documents: the chance that is in it counts twice
            units, parameters = np.ones(len(prob), np.int64), {"bins": calibration.BINS}
            result.add(
                statistic_score(
                    METRICS[name], ece, units, uncertainty, over="documents", parameters=parameters, jackknife=True
                )
            )
        elif name == "brier_top" or data.class_prob is not None:
            errors = calibration.squared_errors(prob, right)
            if name == "brier":
                assert data.class_prob is not None
                errors = calibration.brier_errors(*known_probabilities(data.class_prob))
            about = {"of": "the predicted class" if name == "brier_top" else "all classes"}
            score = mean_score(METRICS[name], errors, uncertainty, over="documents", parameters=about)
            result.add(replace(score, median=None))
        else:
            why = f"{ALL_CLASSES}; brier_top is of the prediction alone"
            result.unmade[name] = why
            if asked:
                result.add(Score(METRICS[name], None, "documents", 0, why=why))


# ------------------------------------------------------------------------------------------------------------------------
# Sets of labels against sets of predictions: their scores, those of each label, and the tables whose cells are lists.

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
