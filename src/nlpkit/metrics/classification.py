"""Scores of predicted classes against true ones, each a function of their confusion matrix.

A confusion matrix (..., J, J) counts documents: rows are the true classes, columns the predicted ones. A column more,
(..., J, J+1), counts documents without a prediction: wrong for their class, and counted against no other. Leading axes hold several
matrices, such as the draws of a bootstrap over documents (a multinomial draw of the cells).

What is 0/0 counts as 0, as in scikit-learn: the precision of a class that is never predicted, the recall of a class that no
document has. `Report` names these classes. A class that a matrix holds neither as true nor as predicted is not among its classes:
it is left out of that matrix's macro averages, as scikit-learn does with the labels of a resample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nlpkit.errors import InputError, UsageError
from nlpkit.types import FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Report:
    """Scores of a classifier by class, in the order of `classes` (J,), and over all.

    precision, recall, f_beta (J,) in [0, 1]; support, predicted (J,) int64 documents of and put into each class; averages:
    see `averages`; never_predicted, never_true: classes whose precision, or recall, is 0/0 and counts as 0.
    """

    classes: tuple[str, ...]
    beta: float
    precision: FloatArray
    recall: FloatArray
    f_beta: FloatArray
    support: LongArray
    predicted: LongArray
    averages: dict[str, float]
    n_documents: int
    n_unpredicted: int
    never_predicted: tuple[str, ...]
    never_true: tuple[str, ...]


def encode_labels(
    true: Sequence[str | None], predicted: Sequence[str | None], order: Sequence[str] = ()
) -> tuple[tuple[str, ...], IntArray, IntArray]:
    """Return the classes (J,) in sorted order, and the codes of true and predicted labels (D,) int32, -1 for missing ones.

    Documents without a true label cannot be scored: they stay in place with both codes -1, and give no class. The classes are
    those that some other document has or is put into.

    Args:
        true, predicted: (D,) labels, None where missing. order: of ordered classes, all of them, in the place of sorting.

    Raises:
        UsageError: the lengths differ.
    """
    if len(true) != len(predicted):
        raise UsageError(f"each document needs a label and a prediction, got {len(true)} and {len(predicted)}")
    pairs = [(t, p) for t, p in zip(true, predicted, strict=True) if t is not None]
    names = {t for t, _ in pairs} | {p for _, p in pairs if p is not None}
    classes = tuple(name for name in order if name in names) if order else tuple(sorted(names))
    code: dict[str | None, int] = {name: j for j, name in enumerate(classes)}
    true_codes = np.array([code.get(t, -1) for t in true], np.int32)
    predicted_codes = np.array([code.get(p, -1) for p in predicted], np.int32)
    return classes, true_codes, np.where(true_codes < 0, np.int32(-1), predicted_codes)


def confusion_matrix(true_codes: IntArray, predicted_codes: IntArray, n_classes: int) -> LongArray:
    """Return how many documents of each true class are put into each class, (J, J) int64 (scikit-learn: confusion_matrix).

    Documents without a true class (-1) are left out; where one has no prediction (-1), there is a last column for such: (J, J+1).

    Args:
        true_codes, predicted_codes: (D,) 0 … J-1, -1 for missing.
        n_classes: J.
    """
    labelled = true_codes >= 0
    rows, columns = true_codes[labelled].astype(np.int64), predicted_codes[labelled].astype(np.int64)
    width = n_classes + int((columns < 0).any())
    cells = rows * width + np.where(columns < 0, n_classes, columns)
    return np.bincount(cells, minlength=n_classes * width).reshape(n_classes, width).astype(np.int64)


def class_scores(confusion: ArrayLike, *, beta: float = 1.0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precision, recall and F_β of each class, (..., J) each, in [0, 1]; 0/0 is 0 (lecture).

        P_j = TP_j / (TP_j + FP_j),   R_j = TP_j / (TP_j + FN_j),   F_j = (1 + β²) P_j R_j / (β² P_j + R_j)

    scikit-learn's precision_recall_fscore_support with zero_division=0.

    Args:
        confusion: (..., J, J) or (..., J, J+1) counts.
        beta: above 1 recall weighs more.

    Raises:
        UsageError: beta is not above 0, or the shape is another.
    """
    counts = _counts(confusion)
    return _scores(_hits(counts), _support(counts), _predicted(counts), check_beta(beta))


def averages(confusion: ArrayLike, *, beta: float = 1.0) -> dict[str, FloatArray]:
    """Return the scores over all classes of each matrix by name, (...) each (lecture).

        accuracy            Σ_j TP_j / N
        balanced_accuracy   mean recall of the classes that documents have
        macro_*             mean of P_j, R_j, F_j over the classes; macro_f1 is the mean of the F_j, not F of the means
        weighted_*          the same, weighted by support
        micro_*             P, R, F of Σ TP_j, Σ FP_j, Σ FN_j; all three are the accuracy where each document has a prediction
        mcc                 Matthews' correlation of true and predicted classes (Gorodkin 2004), in [-1, 1]; 0 if one is constant
        kappa               (p_o - p_e) / (1 - p_e) (Cohen 1960), in [-1, 1]; 0 where p_e is 1, which scikit-learn calls NaN

    Names end in precision, recall and f1, or f2, f0.5 … for another beta.

    Args:
        confusion: (..., J, J) or (..., J, J+1) counts.
        beta: above 1 recall weighs more.

    Raises:
        UsageError: beta is not above 0, or the shape is another.
        InputError: a matrix without documents.
    """
    counts = _counts(confusion)
    return averages_of_sums(_hits(counts), _support(counts), np.asarray(counts.sum(axis=-2)), beta=beta)


def averages_of_sums(
    hits: FloatArray, support: FloatArray, columns: FloatArray, *, beta: float = 1.0
) -> dict[str, FloatArray]:
    """Return the scores of `averages` from what they need of a confusion matrix: of many classes its cells are too many.

    Args:
        hits: (..., J) its diagonal. support: (..., J) its row sums. columns: (..., J) or (..., J+1) its column sums.
        beta: above 1 recall weighs more.

    Raises:
        UsageError: beta is not above 0; InputError: no documents.
    """
    beta = check_beta(beta)
    predicted = columns[..., : support.shape[-1]]
    N, hit = support.sum(axis=-1), hits.sum(axis=-1)
    if not (N > 0).all():
        raise InputError("no document has a true class; name the column of labels")
    by_class = _scores(hits, support, predicted, beta)
    occurs = ((support > 0) | (predicted > 0)).astype(np.float64)
    names = ("precision", "recall", f"f{beta:g}")
    by_chance = (support * predicted).sum(axis=-1)
    apart = _ratio(
        hit * N - by_chance, np.sqrt((N**2 - (support**2).sum(axis=-1)) * (N**2 - (columns**2).sum(axis=-1)))
    )
    result = {"accuracy": hit / N, "balanced_accuracy": _mean(by_class[1], (support > 0).astype(np.float64))}
    result |= {f"macro_{name}": _mean(score, occurs) for name, score in zip(names, by_class, strict=True)}
    result |= {f"weighted_{name}": _mean(score, support) for name, score in zip(names, by_class, strict=True)}
    micro = _scores(hit, N, predicted.sum(axis=-1), beta)
    result |= {f"micro_{name}": score for name, score in zip(names, micro, strict=True)}
    return result | {"mcc": apart, "kappa": _ratio(hit * N - by_chance, N**2 - by_chance)}


def report(confusion: ArrayLike, classes: Sequence[str], *, beta: float = 1.0) -> Report:
    """Return the scores of one confusion matrix by class and over all.

    Args:
        confusion: (J, J) or (J, J+1) counts.
        classes: (J,) names.
        beta: of F_β.

    Raises:
        UsageError: beta is not above 0, or the shape does not fit the classes.
        InputError: a matrix without documents.
    """
    counts = _counts(confusion)
    J = len(classes)
    if counts.ndim != 2 or len(counts) != J:
        raise UsageError(f"a report on {J} classes needs a confusion matrix of as many rows, got shape {counts.shape}")
    precision, recall, f_beta = class_scores(counts, beta=beta)
    support, predicted = _support(counts).astype(np.int64), _predicted(counts).astype(np.int64)
    return Report(
        classes=tuple(classes),
        beta=beta,
        precision=precision,
        recall=recall,
        f_beta=f_beta,
        support=support,
        predicted=predicted,
        averages={name: float(score) for name, score in averages(counts, beta=beta).items()},
        n_documents=int(counts.sum()),
        n_unpredicted=int(counts[:, J:].sum()),
        never_predicted=tuple(name for name, n in zip(classes, predicted, strict=True) if not n),
        never_true=tuple(name for name, n in zip(classes, support, strict=True) if not n),
    )


def discordant(true_codes: IntArray, first: IntArray, second: IntArray) -> tuple[int, int]:
    """Return on how many documents only the second prediction is right, and on how many only the first is.

    Args:
        true_codes: (D,), documents of -1 are left out. first, second: (D,) predicted codes; -1 is wrong.
    """
    labelled = true_codes >= 0
    a, b = (first == true_codes)[labelled], (second == true_codes)[labelled]
    return int((~a & b).sum()), int((a & ~b).sum())


def mcnemar(n01: int, n10: int, *, mid: bool = False) -> float:
    """Return the two-sided p-value of McNemar's exact test that two classifiers are right equally often (Dietterich 1998, §3.1).

        2 · Σ_{i ≤ min(n01, n10)} C(n, i) / 2^n,  at most 1,   n = n01 + n10

    The exact test rejects less often than its level says; the mid-p-value, with half of what is as probable as
    the outcome, hardly ever more often (Fagerland, Lydersen & Laake 2013).

    Args:
        n01, n10: documents that only the one, or only the other, gets right; where there are none, p is 1.
        mid: whether it is the mid-p-value.

    Raises:
        UsageError: a number is negative.
    """
    if n01 < 0 or n10 < 0:
        raise UsageError(f"numbers of documents cannot be negative, got {n01} and {n10}")
    if n01 + n10 == 0:
        return 1.0
    from scipy.stats import binom

    least, n = min(n01, n10), n01 + n10
    last = float(binom.pmf(least, n, 0.5))
    exact = min(2 * float(binom.cdf(least, n, 0.5)), 1.0)
    return exact - (last / 2 if n01 == n10 else last) if mid else exact


def _counts(confusion: ArrayLike) -> FloatArray:
    counts = np.asarray(confusion, np.float64)
    if counts.ndim < 2 or counts.shape[-1] - counts.shape[-2] not in (0, 1):
        raise UsageError(
            f"a confusion matrix has a row and a column per class, and maybe one column more, got shape {counts.shape}"
        )
    return counts


def check_beta(beta: float) -> float:
    """Return β of the F score. Raises UsageError when it is not above 0."""
    if not 0 < beta < float("inf"):
        raise UsageError(f"beta of the F score must be above 0, got {beta:g}", parameter="beta")
    return beta


def _hits(counts: FloatArray) -> FloatArray:
    return np.diagonal(counts, axis1=-2, axis2=-1)


def _support(counts: FloatArray) -> FloatArray:
    return np.asarray(counts.sum(axis=-1))


def _predicted(counts: FloatArray) -> FloatArray:
    return np.asarray(counts.sum(axis=-2)[..., : counts.shape[-2]])


def _scores(
    hits: FloatArray, support: FloatArray, predicted: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    f_beta = _ratio((1 + beta**2) * hits, beta**2 * support + predicted)
    return _ratio(hits, predicted), _ratio(hits, support), f_beta


def _mean(scores: FloatArray, weights: FloatArray) -> FloatArray:
    return _ratio((scores * weights).sum(axis=-1), weights.sum(axis=-1))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return numerator / denominator, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(np.shape(denominator)), where=np.asarray(denominator) != 0)
