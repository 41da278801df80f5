"""The scores of predictions against labels that may be wrong.

Parts, in this order:
- Scores of predictions against labels that are wrong now and then: what they would be against the right ones, and how
  sure that is.
- Predictions against labels that may be wrong: scores corrected for a known rate of errors, or over several annotators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.catalogue import metric_of
from nlpkit.metrics.intervals import Interval, interval, wilson
from nlpkit.metrics.labels.classification import averages, averages_of_sums
from nlpkit.metrics.labels.labels import LabelledPredictions, PredictionTable, contingency_cells, note_unlabelled
from nlpkit.metrics.labels.predictions import beta_name
from nlpkit.metrics.results import TargetResult
from nlpkit.metrics.score import Score, Uncertainty, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, IntArray
from nlpkit.platform.values import as_label

ANNOTATOR_DRAWS = 1000


def symmetric_noise(rate: float, n_labels: int) -> FloatArray:
    """Return the confusion (J, J) of labels that are wrong at a rate e, any other as often: 1 - e at the diagonal, else e / (J - 1)."""
    others = rate / max(n_labels - 1, 1)
    noise: FloatArray = np.full((n_labels, n_labels), others)
    np.fill_diagonal(noise, 1.0 - rate)
    return noise


def check_noise(noise: FloatArray) -> FloatArray:
    """Return the inverse of Mᵀ, by which counts of labels are corrected.

    Args:
        noise: M (J, J), P(label j in the table | right label i), rows sum to 1.

    Raises:
        InputError: labels so noisy that they say nothing about the right ones, or hardly anything: M has no inverse.
    """
    if not len(noise) or np.linalg.cond(noise) > 1e6:
        raise InputError(
            "labels with so many errors carry no information about the true labels; a lower error rate is needed",
            parameter="label_noise",
        )
    return np.asarray(np.linalg.inv(noise.T), np.float64)


def corrected_counts(counts: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the counts of right labels by predictions (..., J, P) that are expected behind counts of noisy ones: T = (Mᵀ)⁻¹ N.

    E N_jp = Σ_i M_ij T_ip where errors of labels do not depend on the prediction. Cells of T can be a little negative.

    Args:
        counts: N (..., J, P) label in rows, prediction in columns. inverse: see `check_noise`.
    """
    corrected: FloatArray = inverse @ counts
    return corrected


def corrected_score(counts: FloatArray, inverse: FloatArray, name: str, *, beta: float) -> FloatArray:
    """Return a score (...) of classification of the counts of right labels behind noisy ones.

    Of accuracy, and M of `symmetric_noise`, it is the estimator of Rogan & Gladen (1978) with sensitivity 1 - e and specificity
    1 - e / (J - 1): (A - e/(J - 1)) / (1 - e J/(J - 1)), A the share of predictions that agree with the noisy labels. Hits below 0, and
    above the sums of their row and column, are cut for all other scores; a score itself at 0 and 1, of mcc and kappa at -1 and 1.

    Args:
        counts: (..., J, P), see `corrected_counts`.
    """
    T = corrected_counts(counts, inverse)
    J = T.shape[-2]
    if name == "accuracy":
        hits = np.trace(T[..., :, :J], axis1=-2, axis2=-1)
        return np.asarray(np.clip(hits / T.sum(axis=(-2, -1)), 0.0, 1.0), np.float64)
    rows, columns = np.maximum(T.sum(axis=-1), 0.0), np.maximum(T.sum(axis=-2), 0.0)
    hits = np.clip(np.diagonal(T, axis1=-2, axis2=-1), 0.0, np.minimum(rows, columns[..., :J]))
    score = averages_of_sums(hits, rows, columns, beta=beta)[name]
    return np.asarray(np.clip(score, -1.0 if name in ("mcc", "kappa") else 0.0, 1.0), np.float64)


def corrected_accuracy_interval(
    agreed: int, n: int, rate: float, n_labels: int, *, predicted: int | None = None, level: float
) -> Interval | None:
    """Return the interval of accuracy against right labels, of the share that agrees with noisy ones: the ends of the Wilson interval,
    corrected like the share (Rogan & Gladen 1978), so longer by 1 / (1 - e J/(J - 1)); cut at 0 and 1.

    Args:
        predicted: documents that have a prediction, None for all n; others never agree by chance.
    """
    seen = wilson(agreed, n, level=level)
    if seen is None:
        return None
    others = rate / max(n_labels - 1, 1)
    chance = others * (n if predicted is None else predicted) / n
    low, high = ((end - chance) / (1 - rate - others) for end in (seen.low, seen.high))
    return Interval(
        float(min(max(low, 0.0), 1.0)), float(min(max(high, 0.0), 1.0)), level, f"{seen.method}, corrected for noise"
    )


def annotator_counts(codes: IntArray, assigned: IntArray, n_labels: int, weights: FloatArray) -> FloatArray:
    """Return counts of labels by predictions (J, J + 1) where each document has the mean of its annotators' labels.

    A document counts once, shared among the annotators that labelled it by their weights; one that none of them labelled does not.

    Args:
        codes: (D, C) labels, -1 for none. assigned: (D,) predictions, -1 for none, which are in the last column.
        weights: (C,) of the annotators, or (D, C).
    """
    votes = np.where(codes >= 0, weights, 0.0)
    total = votes.sum(axis=1, keepdims=True)
    shares = np.divide(votes, total, out=np.zeros_like(votes), where=total > 0)
    predicted = np.where(assigned < 0, n_labels, assigned)
    cells = np.where(codes >= 0, codes, 0) * (n_labels + 1) + predicted[:, None]
    flat = np.bincount(cells.ravel(), weights=shares.ravel(), minlength=n_labels * (n_labels + 1))
    return flat.reshape(n_labels, n_labels + 1).astype(np.float64)


def annotator_draws(
    codes: IntArray, assigned: IntArray, n_labels: int, score: Callable[[FloatArray], FloatArray], *, seed: int
) -> FloatArray:
    """Return scores (1000, …) of documents and annotators that are both drawn with replacement (Owen 2007, the pigeonhole bootstrap).

    Its spread has both reasons for which another test would give another score: other texts, and other annotators. A draw in which no
    document has a label of a drawn annotator is left out.

    Args:
        codes, assigned: see `annotator_counts`. score: of counts (J, J + 1).
    """
    D, C = codes.shape
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(ANNOTATOR_DRAWS):
        rows = rng.integers(D, size=D)
        weights = np.bincount(rng.integers(C, size=C), minlength=C).astype(np.float64)
        counts = annotator_counts(codes[rows], assigned[rows], n_labels, weights)
        if counts.sum() > 0:
            drawn.append(score(counts))
    return np.array(drawn)


# ------------------------------------------------------------------------------------------------------------------------
# Predictions against labels that may be wrong: scores corrected for a known rate of errors, or over several annotators.

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
    """Add scores of predictions against the right labels behind noisy ones; see `nlpkit.metrics.labels.noise.corrected_score`.

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
        matrix = symmetric_noise(float(rate), J)
    else:
        assert not isinstance(noise, int | float)
        matrix = _matrix(noise, classes)
    inverse = check_noise(matrix)
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
            return corrected_score(counts, inverse, name, beta=beta)

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
                bounds = corrected_accuracy_interval(
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

    Intervals are percentiles of a bootstrap over documents and annotators (`nlpkit.metrics.labels.noise.annotator_draws`).

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

    values = scores(annotator_counts(codes, predicted, J, np.ones(C)))
    draws = None
    if uncertainty.level is not None and n > 2:
        draws = annotator_draws(codes, predicted, J, scores, seed=uncertainty.seed)
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
            counts = annotator_counts(codes[of_one, c : c + 1], predicted[of_one], J, np.ones(1))
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
