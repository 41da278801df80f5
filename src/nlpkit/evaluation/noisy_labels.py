"""Predictions against labels that may be wrong: scores corrected for a known rate of errors, or over several annotators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit import wording
from nlpkit.cells import as_label
from nlpkit.errors import InputError, UsageError
from nlpkit.evaluation.labels import LabelledPredictions, PredictionTable, contingency_cells, note_unlabelled
from nlpkit.evaluation.predictions import beta_name
from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics import label_noise
from nlpkit.metrics.bootstrap import Interval, interval
from nlpkit.metrics.catalogue import metric_of
from nlpkit.metrics.classification import averages
from nlpkit.metrics.score import Score, Uncertainty, statistic_score
from nlpkit.types import FloatArray

MOST_CLASSES = 100
Confusion = Mapping[str, Mapping[str, float]]  # right label → label in the table → share, or number of texts


def add_corrected(
    result: TargetResult,
    data: LabelledPredictions,
    names: Sequence[str],
    noise: float | Confusion,
    uncertainty: Uncertainty,
    *,
    beta: float,
) -> None:
    """Add scores of predictions against the right labels behind noisy ones; see `nlpkit.metrics.label_noise.corrected_score`.

    Errors of labels are taken to be independent of the predictions. Intervals are over documents, the noise is taken as known; that of
    accuracy at a rate is of Wilson, those of other scores are of a bootstrap.

    Args:
        noise: the rate at which labels are wrong, or the confusion of right labels with those in the table.

    Raises:
        UsageError: a rate that cannot be, or too many classes; InputError: noise that says nothing of a class, or leaves nothing to say.
    """
    classes = data.class_names
    J = len(classes)
    if J > MOST_CLASSES:
        raise UsageError(f"`label_noise` is for up to {MOST_CLASSES} classes, here are {J:,}", parameter="label_noise")
    rate = noise if isinstance(noise, int | float) else None
    if rate is not None:
        if not 0 <= rate < (J - 1) / J:
            raise UsageError(
                f"`label_noise={rate:g}`: a rate from 0 to less than {(J - 1) / J:.3g} is needed, which labels of {J} classes at random "
                "would have",
                parameter="label_noise",
            )
        matrix = label_noise.symmetric_noise(float(rate), J)
    else:
        assert not isinstance(noise, int | float)
        matrix = _matrix(noise, classes)
    inverse = label_noise.check_noise(matrix)
    cells = contingency_cells(data)
    places = cells.true * (J + 1) + np.where(cells.assigned < 0, J, cells.assigned)
    U = len(places)
    at = sparse.csr_array((np.ones(U), (np.arange(U), places)), shape=(U, J * (J + 1)))
    n = int(cells.counts.sum())
    observed = np.asarray(cells.counts @ at, np.float64).reshape(J, J + 1)
    plain = averages(observed, beta=beta)
    parameters: dict[str, Any] = {
        "documents": n,
        "classes": J,
        "beta": beta,
        "label_noise": "confusion" if rate is None else rate,
    }
    for name in (beta_name(one, beta) for one in names):
        metric = metric_of(name)
        assert metric is not None

        def statistic(weights: FloatArray, name: str = name) -> FloatArray:
            counts = np.asarray(weights @ at, np.float64).reshape(len(weights), J, J + 1)
            return label_noise.corrected_score(counts, inverse, name, beta=beta)

        score = statistic_score(
            metric,
            statistic,
            cells.counts,
            Uncertainty(None, uncertainty.seed),
            over="documents",
            parameters={**parameters, "uncorrected": float(plain[name])},
        )
        bounds: Interval | None = None
        if uncertainty.level is not None and score.value is not None:
            if name == "accuracy" and rate is not None:
                agreed = int(np.trace(observed[:, :J]))
                predicted = int(observed[:, :J].sum())
                bounds = label_noise.corrected_accuracy_interval(
                    agreed, n, float(rate), J, predicted=predicted, level=uncertainty.level
                )
            else:
                bounds = interval(
                    statistic, cells.counts, level=uncertainty.level, seed=uncertainty.seed, over="documents"
                )
        result.add(replace(score, interval=bounds))
    shown = f"{rate:.1%} of the labels wrong" if rate is not None else "the given confusion of labels"
    result.notes.append(f"scores are corrected for {shown}; the errors are taken to be independent of the predictions")
    note_unlabelled(result, data)


def add_annotated(
    result: TargetResult, table: PredictionTable, names: Sequence[str], uncertainty: Uncertainty, *, beta: float
) -> None:
    """Add scores of predictions against the labels of several annotators: each document has the mean of its annotators' labels.

    Intervals are percentiles of a bootstrap over documents and annotators (`nlpkit.metrics.label_noise.annotator_draws`).

    Raises:
        InputError: no document has a label; UsageError: too many classes.
    """
    assert table.annotators is not None
    columns = [[as_label(value) for value in column] for column in table.annotators]
    assigned = [as_label(value) for value in table.assigned]
    C, D = len(columns), len(assigned)
    flat = [value for column in columns for value in column]
    if all(value is None for value in flat):
        raise InputError(f"{table.name}: none of the annotators gave a label", parameter="annotators")
    classes = sorted({value for value in (*flat, *assigned) if value is not None})
    place_of = {name: j for j, name in enumerate(classes)}
    codes = np.array([-1 if value is None else place_of[value] for value in flat], np.int32).reshape(C, D).T
    predicted = np.array([-1 if value is None else place_of[value] for value in assigned], np.int32)
    J = len(classes)
    if J > MOST_CLASSES:
        raise UsageError(f"`annotators` is for up to {MOST_CLASSES} classes, here are {J:,}", parameter="annotators")
    rated = (codes >= 0).any(axis=1)
    codes, predicted = codes[rated], predicted[rated]
    n = len(codes)
    keys = [beta_name(one, beta) for one in names]

    def scores(counts: FloatArray) -> FloatArray:
        every = averages(counts, beta=beta)
        return np.array([every[key] for key in keys], np.float64)

    values = scores(label_noise.annotator_counts(codes, predicted, J, np.ones(C)))
    draws = None
    if uncertainty.level is not None and n > 2:
        draws = label_noise.annotator_draws(codes, predicted, J, scores, seed=uncertainty.seed)
    for place, key in enumerate(keys):
        metric = metric_of(key)
        assert metric is not None
        bounds: Interval | None = None
        if draws is not None and uncertainty.level is not None:
            tail = 100 * (1 - uncertainty.level) / 2
            low, high = np.percentile(draws[:, place], [tail, 100 - tail])
            method = "bootstrap over documents and annotators"
            bounds = Interval(float(low), float(high), uncertainty.level, method)
        result.add(
            Score(
                metric,
                float(values[place]),
                "documents",
                n,
                {"documents": n, "classes": J, "beta": beta, "annotators": C},
                interval=bounds,
            )
        )
    alone = {}
    for c in range(C):
        of_one = codes[:, c] >= 0
        if of_one.any():
            counts = label_noise.annotator_counts(codes[of_one, c : c + 1], predicted[of_one], J, np.ones(1))
            alone[table.annotator_cols[c]] = dict(zip(keys, scores(counts).tolist(), strict=True))
    result.facts["by_annotator"] = alone
    if (predicted < 0).any():
        without = wording.counted(int((predicted < 0).sum()), "row")
        result.notes.append(f"{without} without a prediction, which counts as wrong")
    if not rated.all():
        result.notes.append(f"{wording.counted(int((~rated).sum()), 'row')} without a label, left out")


def _matrix(confusion: Confusion, classes: Sequence[str]) -> FloatArray:
    """Return M (J, J) of the classes in their order, rows summing to 1. Raises InputError where one has no row."""
    matrix = np.zeros((len(classes), len(classes)))
    place = {name: j for j, name in enumerate(classes)}
    for name, i in place.items():
        row = confusion.get(name, {})
        for label, share in row.items():
            if label not in place:
                raise InputError(
                    f"the confusion has a label '{label}' that no document has (labels: {', '.join(classes)})",
                    parameter="label_noise",
                )
            matrix[i, place[label]] = share
        if not matrix[i].sum() > 0 or matrix[i].min() < 0:
            raise InputError(
                f"the confusion table has no row for the true label '{name}'; add one with label, given and share",
                parameter="label_noise",
            )
    shares: FloatArray = matrix / matrix.sum(axis=1, keepdims=True)
    return shares
