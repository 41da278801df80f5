"""Scores of predicted sets of labels as a result that is shown, written and held against gates like that of single labels."""

from __future__ import annotations

import numpy as np

from nlpkit.classify.classifier import Predicted
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.evaluation.multilabel import SCORES, add_multilabel
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.types import BoolArray, LongArray

FEW = ("subset_accuracy", "macro_f1")


def multilabel_result(
    name: str, documents: LabelledDataset, predicted: Predicted, rows: LongArray, how: Uncertainty, *, few: bool
) -> TargetResult:
    """Return the scores of some documents; labels that no training document has are counted, and never predicted."""
    assert predicted.sets is not None
    names, true = all_labels(documents, rows)
    found = np.zeros(true.shape, bool)
    found[:, : len(documents.labels.names)] = predicted.sets[rows]
    result = TargetResult(name, "sets of predictions against 'label'")
    add_multilabel(result, names, true, found, FEW if few else SCORES, how)
    return result


def all_labels(documents: LabelledDataset, rows: LongArray) -> tuple[tuple[str, ...], BoolArray]:
    """Return the labels of training and test documents, and which each of some rows has (n, J')."""
    known = documents.labels.names
    more = sorted({v for d in rows for v in documents.raw_labels[d] or ()} - set(known))
    names = (*known, *more)
    code = {name: j for j, name in enumerate(names)}
    true = np.zeros((len(rows), len(names)), bool)
    for i, d in enumerate(rows):
        for v in documents.raw_labels[d] or ():
            true[i, code[v]] = True
    return names, true
