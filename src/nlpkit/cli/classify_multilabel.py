"""Scores of predicted sets of labels as a result that is shown, written and held against gates like that of single labels."""

from __future__ import annotations

import numpy as np

from nlpkit.classify.classifier import Predicted
from nlpkit.cli.classify_corpus import LabelledDocuments
from nlpkit.cli.evaluate_predictions import SHOWN_CLASSES
from nlpkit.cli.evaluate_result import TargetResult
from nlpkit.metrics import multilabel
from nlpkit.metrics.score import Uncertainty, metric_of, statistic_score
from nlpkit.types import BoolArray, LongArray

SCORES = (
    "subset_accuracy", "hamming_loss", "samples_jaccard", "macro_precision", "macro_recall", "macro_f1", "micro_precision",
    "micro_recall", "micro_f1", "weighted_f1", "samples_f1",
)  # fmt: skip
FEW = ("subset_accuracy", "macro_f1")


def multilabel_result(
    name: str, documents: LabelledDocuments, predicted: Predicted, rows: LongArray, how: Uncertainty, *, few: bool
) -> TargetResult:
    """Return the scores of some documents; labels that no training document has are counted, and never predicted."""
    assert predicted.sets is not None
    names, true = all_labels(documents, rows)
    found = np.zeros(true.shape, bool)
    found[:, : len(documents.labels.names)] = predicted.sets[rows]
    result = TargetResult(name, "sets of predictions against 'label'")
    report = multilabel.report(true, found, names)
    by_label = {"macro_precision": report.precision, "macro_recall": report.recall, "macro_f1": report.f_beta}
    units = np.ones(len(rows), np.int64)
    for score in FEW if few else SCORES:
        metric = metric_of(score)
        assert metric is not None
        result.add(
            statistic_score(
                metric, multilabel.statistic(true, found, score), units, how, over="documents",
                parameters={"documents": len(rows), "classes": len(names)}, values=by_label.get(score),
            )
        )  # fmt: skip
    result.unit, result.units, result.unit_texts = "class", list(names), [""] * len(names)
    result.facts |= {"labels": report.support.tolist(), "predicted": report.predicted.tolist()}
    numbers = zip(names, report.precision, report.recall, report.f_beta, report.support, report.predicted, strict=True)
    lines = [[c, f"{p:.3f}", f"{r:.3f}", f"{f:.3f}", f"{s:,}", f"{q:,}"] for c, p, r, f, s, q in numbers]
    order = np.argsort(-report.support, kind="stable")[:SHOWN_CLASSES]
    title = "Labels" if len(names) <= SHOWN_CLASSES else f"The {SHOWN_CLASSES} largest of {len(names)} labels"
    columns = ("label", "precision", "recall", "F1", "labels", "predictions")
    result.tables[title] = (columns, [lines[i] for i in order])
    return result


def all_labels(documents: LabelledDocuments, rows: LongArray) -> tuple[tuple[str, ...], BoolArray]:
    """Return the labels of training and test documents, and which each of some rows has (n, J')."""
    known = documents.labels.names
    more = sorted({v for d in rows for v in documents.own[d] or () if v not in known})
    names = (*known, *more)
    code = {name: j for j, name in enumerate(names)}
    true = np.zeros((len(rows), len(names)), bool)
    for i, d in enumerate(rows):
        for v in documents.own[d] or ():
            true[i, code[v]] = True
    return names, true
