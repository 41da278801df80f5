"""How well the probabilities of all classes order documents and classes: ROC AUC, average precision, the true class among the first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nlpkit.metrics.bootstrap import Statistic
from nlpkit.types import BoolArray, FloatArray, IntArray

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
        return _ratio(hits, ups.sum(axis=1) * downs.sum(axis=1))

    return _mean_over_classes(probabilities, true, of_class)


def average_precision(probabilities: FloatArray, true: IntArray) -> Statistic:
    """Return the mean over classes of average precision Σ_n (R_n - R_{n-1}) P_n, the area under the curve of precision and recall.

    R_n, P_n: recall and precision where all documents with a probability of at least the n-th highest are taken for the class
    (scikit-learn's average_precision_score, average="macro"). Classes as in `roc_auc`.
    """

    def of_class(positive: BoolArray, groups: IntArray, weights: FloatArray) -> FloatArray:
        ups, every = _grouped(weights * positive, groups)[:, ::-1], _grouped(weights, groups)[:, ::-1]
        precision = _ratio(np.cumsum(ups, axis=1), np.cumsum(every, axis=1))
        return _ratio((ups * np.nan_to_num(precision)).sum(axis=1), ups.sum(axis=1))

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
        return _ratio(np.where(there, areas, 0.0).sum(axis=0), there.sum(axis=0).astype(np.float64))

    return statistic


def _grouped(weights: FloatArray, groups: IntArray) -> FloatArray:
    """Return the weight of documents of equal probability (draws, groups)."""
    return np.asarray(np.add.reduceat(weights, groups, axis=1))


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    return np.asarray(np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0))
