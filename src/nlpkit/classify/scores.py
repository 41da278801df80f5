"""Scores of a classifier on documents it has not seen: with intervals, beside a guess without text, and without near-duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.classify.dataset import LabelledDataset, Labels
from nlpkit.classify.prediction_values import Predicted
from nlpkit.errors import InputError
from nlpkit.metrics.labels.classification import encode_labels
from nlpkit.metrics.labels.labels import ClassProbabilities, LabelledPredictions
from nlpkit.metrics.labels.numbers import REGRESSION, add_numbers
from nlpkit.metrics.labels.ordinal import ORDINAL, add_ordinal
from nlpkit.metrics.labels.predictions import (
    CALIBRATION,
    DEFAULT_CLASSIFICATION,
    add_calibration,
    add_classification,
    add_multilabel,
)
from nlpkit.metrics.labels.predictions import SCORES as MULTILABEL
from nlpkit.metrics.results import MODEL, TargetResult
from nlpkit.metrics.score import Uncertainty
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray

MAJORITY, NO_DUPLICATES = "majority baseline", "without near-duplicates"
MEAN, MEDIAN = "mean of training", "median of training"
FEW, FEW_MULTILABEL, FEW_NUMBERS = ("accuracy", "macro_f1"), ("subset_accuracy", "macro_f1"), ("rmse", "mae", "r2")
OF_ORDERED = ("accuracy", "macro_precision", "macro_recall", "macro_f1")  # beside those of ranks


@dataclass(frozen=True, slots=True)
class ClassifierScores:
    """Results of the model, of a guess without text (the majority class; of numbers the mean and of ordered classes the median of
    the training documents), and of the model on test documents without a near-duplicate in training (None where there are none).
    """

    model: TargetResult
    majority: TargetResult
    without_duplicates: TargetResult | None

    @property
    def results(self) -> list[TargetResult]:
        """All of them."""
        last = [] if self.without_duplicates is None else [self.without_duplicates]
        return [self.model, self.majority, *last]


def score_predictions(
    dataset: LabelledDataset, predicted: Predicted, duplicated: BoolArray | None, uncertainty: Uncertainty
) -> ClassifierScores:
    """Return the scores of all test documents that have a label.

    Args:
        duplicated: (D,) documents with a near-duplicate among those their classifier was trained on; None: not searched for.

    Raises:
        InputError: no test document has a label.
    """
    tested = dataset.tested()
    rows = dataset.labelled(tested)
    if not len(rows):
        raise InputError("no test document has a label, so nothing can be scored; name the column with `label_col`")
    without = None
    if duplicated is not None and duplicated[rows].any() and not duplicated[rows].all():
        without = _result(NO_DUPLICATES, dataset, predicted, rows[~duplicated[rows]], uncertainty)
    name = MEAN if dataset.labels.numbers is not None else MEDIAN if dataset.labels.scale else MAJORITY
    majority = _result(name, dataset, majority_of(dataset), rows, Uncertainty(None, uncertainty.seed))
    model = _result(MODEL, dataset, predicted, rows, uncertainty, n_unlabelled=len(tested) - len(rows))
    return ClassifierScores(model, majority, without)


def majority_of(dataset: LabelledDataset) -> Predicted:
    """Return the predictions of a classifier that knows no text: the largest class of the training documents, for all.

    Of several labels: those that more than half of the training documents have, or else the most frequent one. Of numbers their
    mean, of ordered classes the median.
    """
    labels, D = dataset.labels, len(dataset.raw_labels)
    if labels.numbers is not None:
        mean = np.full((D, 1), np.nan)
        for train, test in dataset.rounds:
            mean[test] = labels.numbers[train].mean()
        return Predicted(mean, None, None)
    J = len(labels.names)
    codes, sets = np.full(D, -1, np.int32), np.zeros((D, J), bool)
    share = np.zeros((D, J))
    for train, test in dataset.rounds:
        sizes = labels.sizes(train)
        codes[test] = int(np.searchsorted(2 * sizes.cumsum(), len(train)) if labels.scale else sizes.argmax())
        often = 2 * sizes > len(train)
        often[sizes.argmax()] = True
        sets[test] = often
        share[test] = sizes / max(len(train), 1)
    if labels.multiple:
        return Predicted(share, share, None, sets)
    return Predicted(share, share, codes)


def _result(
    name: str,
    dataset: LabelledDataset,
    predicted: Predicted,
    rows: LongArray,
    uncertainty: Uncertainty,
    *,
    n_unlabelled: int = 0,
) -> TargetResult:
    few, labels = name == NO_DUPLICATES, dataset.labels
    if labels.numbers is not None:
        assert predicted.values is not None
        result = TargetResult(name, "numbers against 'label'")
        add_numbers(
            result, labels.numbers[rows], predicted.values[rows], uncertainty, FEW_NUMBERS if few else REGRESSION
        )
        return result
    if predicted.sets is not None:
        result = TargetResult(name, "sets of predictions against 'label'")
        names, true = label_sets(dataset.raw_labels, dataset.labels.names, rows)
        assigned = np.zeros(true.shape, bool)
        assigned[:, : len(dataset.labels.names)] = predicted.sets[rows]
        add_multilabel(result, names, true, assigned, FEW_MULTILABEL if few else MULTILABEL, uncertainty)
        return result
    result = TargetResult(name, "predictions against 'label'")
    data = labelled_predictions(dataset.raw_labels, predicted, dataset.labels, rows, n_unlabelled)
    if labels.scale:
        add_ordinal(result, data, labels.scale, ORDINAL, uncertainty)
        add_classification(result, data, FEW if few else OF_ORDERED, uncertainty, beta=1.0)
    else:
        add_classification(result, data, FEW if few else DEFAULT_CLASSIFICATION, uncertainty, beta=1.0)
    if data.prob is not None and name == MODEL:
        add_calibration(result, data, CALIBRATION, uncertainty)
    return result


def label_sets(
    raw_labels: Sequence[Sequence[str] | None], known: Sequence[str], rows: LongArray
) -> tuple[tuple[str, ...], BoolArray]:
    """Return the labels of some documents beside those known, and which of them each has (n, J').

    Labels that are not known, as those that no training document has, are counted, and never predicted.
    """
    unseen = sorted({label for d in rows for label in raw_labels[d] or ()} - set(known))
    names = (*known, *unseen)
    code = {name: j for j, name in enumerate(names)}
    true = np.zeros((len(rows), len(names)), bool)
    for i, d in enumerate(rows):
        for label in raw_labels[d] or ():
            true[i, code[label]] = True
    return names, true


def labelled_predictions(
    raw_labels: Sequence[Any], predicted: Predicted, labels: Labels, rows: LongArray, n_unlabelled: int = 0
) -> LabelledPredictions:
    """Return documents with label and prediction; labels that training does not have are classes, too: always wrong."""
    assert predicted.codes is not None
    true = [raw_labels[d] for d in rows]
    codes: IntArray = predicted.codes[rows]
    assigned = [labels.names[c] if c >= 0 else None for c in codes]
    classes, true_codes, assigned_codes = encode_labels(true, assigned, labels.scale)
    confidence = predicted.confidence
    prob: FloatArray | None = None
    class_prob: ClassProbabilities | None = None
    if confidence is not None and np.isfinite(confidence[rows]).all():
        assert predicted.probabilities is not None
        prob = np.clip(confidence[rows], 0.0, 1.0)
        place = {label: j for j, label in enumerate(labels.names)}
        of_model = np.array([place.get(label, -1) for label in true], np.int32)
        class_prob = ClassProbabilities(np.clip(predicted.probabilities[rows], 0.0, 1.0), of_model)
    return LabelledPredictions(None, true_codes, assigned_codes, classes, classes, prob, n_unlabelled, class_prob)
