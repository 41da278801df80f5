"""Scores of a classifier on documents it has not seen: with intervals, beside the majority class, and without near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.classify.classifier import Predicted
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.labels import Labels
from nlpkit.cli.classify_multilabel import multilabel_result
from nlpkit.errors import InputError
from nlpkit.evaluation.labels import LabelledPredictions
from nlpkit.evaluation.predictions import CALIBRATION, DEFAULT_CLASSIFICATION, add_calibration, add_classification
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics.calibration import brier_errors
from nlpkit.metrics.classification import encode_labels
from nlpkit.metrics.score import Uncertainty
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray

MODEL, MAJORITY, NO_TWINS = "predictions", "majority baseline", "without near-duplicates"
FEW = ("accuracy", "macro_f1")


@dataclass(frozen=True, slots=True)
class Scores:
    """Results of the model, of the majority class, and of the model on documents without a twin in training (None: all are)."""

    model: TargetResult
    majority: TargetResult
    apart: TargetResult | None


def score_predictions(
    documents: LabelledDataset, predicted: Predicted, has_twin: BoolArray | None, how: Uncertainty
) -> Scores:
    """Return the scores of all test documents that have a label.

    Args:
        has_twin: (D,) documents with a near-duplicate among those their classifier was trained on; None: not looked for.
    """
    tested = np.concatenate([test for _, test in documents.rounds])
    rows = np.sort(tested[[documents.raw_labels[d] is not None for d in tested]])
    if not len(rows):
        raise InputError("no test document has a label, so nothing can be scored; name the column with --label-col")
    unlabelled = len(tested) - len(rows)
    most = majority_of(documents)
    apart = None
    few = Uncertainty(None, how.seed)
    if has_twin is not None and has_twin[rows].any() and not has_twin[rows].all():
        apart = _result(NO_TWINS, documents, predicted, rows[~has_twin[rows]], how, FEW)
    return Scores(
        _result(MODEL, documents, predicted, rows, how, DEFAULT_CLASSIFICATION, unlabelled=unlabelled),
        _result(MAJORITY, documents, most, rows, few, DEFAULT_CLASSIFICATION),
        apart,
    )


def majority_of(documents: LabelledDataset) -> Predicted:
    """Return the predictions of a classifier that knows no text: the largest class of the training documents, for all.

    Of several labels: those that more than half of the training documents have, or else the most frequent one.
    """
    labels, D = documents.labels, len(documents.raw_labels)
    J = len(labels.names)
    codes, sets = np.full(D, -1, np.int32), np.zeros((D, J), bool)
    share = np.zeros((D, J))
    for train, test in documents.rounds:
        sizes = labels.sizes(train)
        codes[test] = int(sizes.argmax())
        often = 2 * sizes > len(train)
        often[sizes.argmax()] = True
        sets[test] = often
        share[test] = sizes / max(len(train), 1)
    if labels.multiple:
        return Predicted(share, share, None, sets)
    return Predicted(share, share, codes)


def _result(
    name: str,
    documents: LabelledDataset,
    predicted: Predicted,
    rows: LongArray,
    how: Uncertainty,
    metrics: Sequence[str],
    *,
    unlabelled: int = 0,
) -> TargetResult:
    if documents.labels.multiple:
        return multilabel_result(name, documents, predicted, rows, how, few=metrics is FEW)
    result = TargetResult(name, "predictions against 'label'")
    data = labelled(documents.raw_labels, predicted, documents.labels, rows, unlabelled)
    names = metrics if name != MAJORITY else [*metrics]
    add_classification(result, data, names, how, beta=1.0)
    if data.prob is not None and name == MODEL:
        add_calibration(result, data, CALIBRATION, how)
    return result


def labelled(
    own: Sequence[Any], predicted: Predicted, labels: Labels, rows: LongArray, unlabelled: int = 0
) -> LabelledPredictions:
    """Return documents with label and prediction; labels that training does not have are classes, too: always wrong."""
    assert predicted.codes is not None
    true = [own[d] for d in rows]
    codes: IntArray = predicted.codes[rows]
    found = [labels.names[c] if c >= 0 else None for c in codes]
    classes, true_codes, found_codes = encode_labels(true, found)
    confidence = predicted.confidence
    prob: FloatArray | None = None
    brier: FloatArray | None = None
    if confidence is not None and np.isfinite(confidence[rows]).all():
        assert predicted.probabilities is not None
        prob = np.clip(confidence[rows], 0.0, 1.0)
        place = {label: j for j, label in enumerate(labels.names)}
        of_model = np.array([place.get(label, -1) for label in true], np.int32)
        brier = brier_errors(np.clip(predicted.probabilities[rows], 0.0, 1.0), of_model)
    return LabelledPredictions(None, true_codes, found_codes, classes, classes, prob, unlabelled, brier)
