"""The scores of predicted classes: from a confusion matrix, from probabilities, and for the search of one class.

A confusion matrix (..., J, J) counts documents: rows are the true classes, columns the predicted ones. A column more,
(..., J, J+1), counts documents without a prediction: wrong for their class, and counted against no other. Leading axes hold several
matrices, such as the draws of a bootstrap over documents (a multinomial draw of the cells).

What is 0/0 counts as 0, as in scikit-learn: the precision of a class that is never predicted, the recall of a class that no
document has. `Report` names these classes. A class that a matrix holds neither as true nor as predicted is not among its classes:
it is left out of that matrix's macro averages, as scikit-learn does with the labels of a resample.

Parts, in this order:
- Scores of predicted classes against true ones, each a function of their confusion matrix.
- Whether the probability that a classifier gives its prediction is how often such predictions are right.
- How well the probabilities of all classes order documents and classes: ROC AUC, average precision, the true class
  among the first.
- Quality of a search for the documents of a class: precision and recall with their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.intervals import Statistic
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray


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


# ------------------------------------------------------------------------------------------------------------------------
# Whether the probability that a classifier gives its prediction is how often such predictions are right.
#
# All scores but `brier_errors` are of the top label: the probability p_d of the predicted class alone, and whether it is right,
# c_d = 0 or 1. A document without a prediction has neither; the caller leaves it out.

BINS = 15  # Guo et al. 2017

By: TypeAlias = Literal["width", "mass"]
Probabilities: TypeAlias = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Documents with low < p ≤ high (the first bin holds its low end): how many, their mean p, and the share that is right."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Scores of the probabilities of D predictions; confidence above accuracy: the classifier is too sure of itself.

    ece, mce: over `bins`, of equal width; ece_mass: over `bins_mass`, of about equal numbers. Both hold the bins with documents.
    """

    n_documents: int
    accuracy: float
    confidence: float
    brier_top: float
    log_loss: float
    ece: float
    mce: float
    ece_mass: float
    bins: tuple[ReliabilityBin, ...]
    bins_mass: tuple[ReliabilityBin, ...]


def calibrate(probability: Probabilities, correct: BoolArray, *, n_bins: int = BINS) -> Calibration:
    """Return all scores of the probabilities of predictions.

    Args:
        probability: (D,) of the predicted class, in [0, 1], float32 or float64. correct: (D,) whether the prediction is right.
        n_bins: M.

    Raises:
        InputError: no documents, a probability that is missing or outside [0, 1].
        UsageError: fewer than one bin, or lengths that differ.
    """
    p = _checked(probability, correct)
    edges, edges_mass = bin_edges(p, n_bins=n_bins, by="width"), bin_edges(p, n_bins=n_bins, by="mass")
    sums, sums_mass = bin_sums(p, correct, edges), bin_sums(p, correct, edges_mass)
    return Calibration(
        n_documents=len(p),
        accuracy=float(correct.mean()),
        confidence=float(p.mean()),
        brier_top=float(squared_errors(p, correct).mean()),
        log_loss=float(log_losses(probability, correct).mean()),
        ece=float(expected_error(sums)),
        mce=float(maximum_error(sums)),
        ece_mass=float(expected_error(sums_mass)),
        bins=_table(edges, sums),
        bins_mass=_table(edges_mass, sums_mass),
    )


def squared_errors(probability: Probabilities, correct: BoolArray) -> FloatArray:
    """Return (p_d - c_d)² of each prediction (D,); their mean is the Brier score of the top label, 0 … 1.

    scikit-learn's brier_score_loss of `correct`: of the two outcomes "the prediction is right" and "it is wrong", one of which is
    scored (Kumar, Liang & Ma 2019, "Verified uncertainty calibration", §2, call that calibration of the top label). Not the sum
    over all classes, `brier_errors`.
    """
    p = _checked(probability, correct)
    return np.asarray((p - correct) ** 2)


def brier_errors(probabilities: Probabilities, true: IntArray) -> FloatArray:
    """Return Σ_j (p_dj - [j = y_d])² of each document (D,); their mean is the Brier score, 0 … 2 (Brier 1950, eq. 2).

    scikit-learn's brier_score_loss(…, scale_by_half=False). A class that is none of the J had the probability 0.

    Args:
        probabilities: (D, J) of all classes. true: (D,) 0 … J-1, or -1 for a class that is none of them.

    Raises:
        InputError: a probability that is missing or outside [0, 1].
        UsageError: lengths that differ.
    """
    p = np.asarray(probabilities, np.float64)
    if len(p) != len(true):
        raise UsageError(f"each document needs probabilities, got {len(true)} and {len(p)}")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError("probabilities of classes must lie in [0, 1], found some that are missing or outside")
    p_true = np.where(true >= 0, p[np.arange(len(p)), np.maximum(true, 0)], 0.0) if p.shape[1] else np.zeros(len(p))
    return np.asarray((p**2).sum(axis=1) - 2 * p_true + 1)


def log_losses(probability: Probabilities, correct: BoolArray) -> FloatArray:
    """Return -ln p_d of right and -ln(1 - p_d) of wrong predictions (D,), in nats; their mean is the log loss of the top label.

    p is kept a machine epsilon of its dtype away from 0 and 1, as in scikit-learn's log_loss of `correct`: else one wrong
    prediction that was rounded to certainty would make the mean infinite.
    """
    p = _checked(probability, correct)
    eps = float(np.finfo(probability.dtype).eps) if probability.dtype.kind == "f" else float(np.finfo(np.float64).eps)
    p = np.clip(p, eps, 1 - eps)
    return np.asarray(-np.log(np.where(correct, p, 1 - p)))


def bin_edges(probability: Probabilities, *, n_bins: int = BINS, by: By = "width") -> FloatArray:
    """Return the edges of bins (M+1,), ascending: M of equal width from 0 to 1, or as many as ties allow of equal mass.

    Equal mass: the edges are the quantiles 1/M, 2/M … of p; equal ones are merged, so that equal p stay together (Nixon et al. 2019,
    §3.2, cut the sorted list and part them). scikit-learn's calibration_curve with "uniform" and "quantile" has the same bins.

    Raises:
        UsageError: fewer than one bin.
    """
    if n_bins < 1:
        raise UsageError(f"calibration needs 1 bin or more, got {n_bins}", parameter="n_bins")
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    if by == "mass" and len(inner):
        inner = np.unique(np.percentile(np.asarray(probability, np.float64), inner * 100))
        inner = inner[inner < 1]
    return np.concatenate([[0.0], inner, [1.0]])


def bin_sums(
    probability: Probabilities, correct: BoolArray, edges: FloatArray, *, weights: FloatArray | None = None
) -> FloatArray:
    """Return of each bin the number of documents, the sum of p and the number that is right: (M, 3), or (B, M, 3).

    Args:
        probability, correct: (D,).
        edges: (M+1,) of `bin_edges`; a p on an edge is in the bin below.
        weights: (B, D) how often each document counts, such as the draws of a bootstrap; the bins stay those of all documents.
    """
    p = _checked(probability, correct)
    M = len(edges) - 1
    bins: IntArray = np.searchsorted(edges[1:-1], p).astype(np.int32)
    if weights is None:
        return np.stack([np.bincount(bins, values, minlength=M) for values in (np.ones_like(p), p, correct)], axis=-1)
    columns = np.concatenate([bins * 3, bins * 3 + 1, bins * 3 + 2])
    values = np.concatenate([np.ones_like(p), p, correct])
    into = sparse.csr_array((values, (np.tile(np.arange(len(p)), 3), columns)), shape=(len(p), 3 * M))
    return np.asarray(weights @ into, np.float64).reshape(len(weights), M, 3)


def expected_error(sums: FloatArray) -> FloatArray:
    """Return ECE = Σ_m n_m/N |accuracy_m - confidence_m| of bins (..., M, 3), (...) in [0, 1] (Guo et al. 2017, eq. 3).

    Chance alone puts it above 0, the more so the fewer documents a bin has: compare only equal numbers of documents and bins.
    """
    N = sums[..., 0].sum(axis=-1)
    return np.asarray(np.abs(sums[..., 2] - sums[..., 1]).sum(axis=-1) / N)


def maximum_error(sums: FloatArray) -> FloatArray:
    """Return MCE = max_m |accuracy_m - confidence_m| over the bins with documents of (..., M, 3) (Guo et al. 2017, eq. 5).

    A bin of one document can decide it: look at the numbers of the reliability table.
    """
    gap, n = np.abs(sums[..., 2] - sums[..., 1]), sums[..., 0]
    return np.asarray(np.divide(gap, n, out=np.zeros_like(gap), where=n > 0).max(axis=-1))


def _table(edges: FloatArray, sums: FloatArray) -> tuple[ReliabilityBin, ...]:
    return tuple(
        ReliabilityBin(float(low), float(high), int(n), float(p / n), float(right / n))
        for low, high, (n, p, right) in zip(edges[:-1], edges[1:], sums, strict=True)
        if n
    )


def _checked(probability: Probabilities, correct: BoolArray) -> FloatArray:
    if len(probability) != len(correct):
        raise UsageError(f"each prediction needs a probability, got {len(correct)} and {len(probability)}")
    if not len(probability):
        raise InputError("calibration needs predictions with probabilities, found none")
    p = np.asarray(probability, np.float64)
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        raise InputError(
            f"probabilities of predictions must lie in [0, 1], found {p[bad][0]:g} for document {int(bad.argmax()) + 1} "
            f"({int(bad.sum())} in all); name another column of probabilities, or leave out documents without one"
        )
    return p


# ------------------------------------------------------------------------------------------------------------------------
# How well the probabilities of all classes order documents and classes: ROC AUC, average precision, the true class among the first.

OfClass = Callable[[BoolArray, IntArray, FloatArray], FloatArray]


def roc_auc(probabilities: FloatArray, true: IntArray) -> Statistic:
    """Return the mean over classes of the area under the ROC curve, each class against all others, of weighted documents.

    It is the probability that a document of the class has a higher probability of it than one of another class, ties counting half
    (Hanley & McNeil 1982; scikit-learn's roc_auc_score, multi_class="ovr", average="macro"). Of two classes both areas are equal.
    Classes that no document has, or all have, are left out; NaN where none is left.

    Args:
        probabilities: (D, J) of all classes. true: (D,) 0 … J-1, or -1 for a class that is none of them.
    """

    def of_class(positive: BoolArray, groups: IntArray, weights: FloatArray) -> FloatArray:
        ups, downs = _grouped(weights * positive, groups), _grouped(weights * ~positive, groups)
        below = np.cumsum(downs, axis=1) - downs
        hits = (ups * (below + downs / 2)).sum(axis=1)
        return _ranking_ratio(hits, ups.sum(axis=1) * downs.sum(axis=1))

    return _mean_over_classes(probabilities, true, of_class)


def average_precision(probabilities: FloatArray, true: IntArray) -> Statistic:
    """Return the mean over classes of average precision Σ_n (R_n - R_{n-1}) P_n, the area under the curve of precision and recall.

    R_n, P_n: recall and precision where all documents with a probability of at least the n-th highest are taken for the class
    (scikit-learn's average_precision_score, average="macro"). Classes as in `roc_auc`.
    """

    def of_class(positive: BoolArray, groups: IntArray, weights: FloatArray) -> FloatArray:
        ups, every = _grouped(weights * positive, groups)[:, ::-1], _grouped(weights, groups)[:, ::-1]
        precision = _ranking_ratio(np.cumsum(ups, axis=1), np.cumsum(every, axis=1))
        return _ranking_ratio((ups * np.nan_to_num(precision)).sum(axis=1), ups.sum(axis=1))

    return _mean_over_classes(probabilities, true, of_class)


def among_first(probabilities: FloatArray, true: IntArray, k: int) -> BoolArray:
    """Return whether the true class of each document is among the k most probable (D,); of equal ones the first classes count.

    Its mean is top-k accuracy (scikit-learn's top_k_accuracy_score, which breaks ties in favour of the last classes).
    """
    first = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    return np.asarray((first == true[:, None]).any(axis=1))


def _mean_over_classes(probabilities: FloatArray, true: IntArray, of_class: OfClass) -> Statistic:
    """Return the mean of a score over classes; documents are sorted by each class once, draws are weights of documents."""
    classes = [j for j in range(probabilities.shape[1]) if 0 < np.count_nonzero(true == j) < len(true)]
    orders = []
    for j in classes:
        order = np.argsort(probabilities[:, j], kind="stable")
        p = probabilities[order, j]
        groups = np.flatnonzero(np.concatenate([[True], p[1:] != p[:-1]])).astype(np.int32)
        orders.append((order, (true[order] == j), groups))

    def statistic(weights: FloatArray) -> FloatArray:
        areas = np.full((len(classes), len(weights)), np.nan)
        for place, (order, positive, groups) in enumerate(orders):
            areas[place] = of_class(positive, groups, weights[:, order])
        there = np.isfinite(areas)
        return _ranking_ratio(np.where(there, areas, 0.0).sum(axis=0), there.sum(axis=0).astype(np.float64))

    return statistic


def _grouped(weights: FloatArray, groups: IntArray) -> FloatArray:
    """Return the weight of documents of equal probability (draws, groups)."""
    return np.asarray(np.add.reduceat(weights, groups, axis=1))


def _ranking_ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    return np.asarray(np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0))


# ------------------------------------------------------------------------------------------------------------------------
# Quality of a search for the documents of a class: precision and recall with their intervals.

Z95 = 1.959963984540054  # the 0.975 quantile of the normal distribution


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Precision, recall and F1 of a search, each nan where it is 0 / 0; low and high ends of the 95 % Wilson intervals."""

    tp: int
    fp: int
    fn: int
    tn: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float


def score_retrieval(*, tp: int, fp: int, fn: int, tn: int) -> Retrieval:
    """Return precision, recall and F1 from counts of documents (lecture).

    precision = tp / (tp + fp), recall = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn)

    Args:
        tp: found and of the class; fp: found but not; fn: of the class but not found; tn: neither.
    """
    f1 = 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else math.nan
    return Retrieval(tp, fp, fn, tn, *wilson_interval(tp, tp + fp), *wilson_interval(tp, tp + fn), f1)


def wilson_interval(successes: int, trials: int, z: float = Z95) -> tuple[float, float, float]:
    """Return a share and the ends of its score interval (Wilson 1927, J. Am. Stat. Assoc. 22); all nan without trials.

    (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n)
    """
    if not trials:
        return math.nan, math.nan, math.nan
    p, n = successes / trials, trials
    middle = p + z**2 / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    # at the ends the formula gives exactly 0 and 1, which rounding misses by a hair
    low = 0.0 if successes == 0 else (middle - half) / scale
    high = 1.0 if successes == trials else (middle + half) / scale
    return p, low, high
