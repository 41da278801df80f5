"""Scores of predictions against labels that are wrong now and then: what they would be against the right ones, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nlpkit.errors import InputError
from nlpkit.metrics.bootstrap import Interval
from nlpkit.metrics.classification import averages_of_sums
from nlpkit.metrics.proportion import wilson
from nlpkit.types import FloatArray, IntArray

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
