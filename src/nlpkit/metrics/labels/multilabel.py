"""Scores of predicted sets of labels against true ones, where a document has any number of labels.

Y (D, J) tells which of J labels each of D documents has: booleans, dense or sparse. What is 0/0 counts as 0, as in scikit-learn
with zero_division=0: the precision of a label that is never predicted. A document that has no label and gets none is right, so its
samples_* scores are 1, as in MULAN (Tsoumakas et al. 2011) and as its part in the subset accuracy is; scikit-learn has 0 there.
Macro averages are over all J columns, also over labels that no document has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.labels.classification import check_beta
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, LongArray

AVERAGES = ("macro", "weighted", "micro", "samples")
_NAME = re.compile(r"(macro|weighted|micro|samples)_(precision|recall|jaccard|f(\d+(?:\.\d+)?))")
_CELLS = 4_000_000  # numbers of draws · labels held at a time


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Documents of each label: true positives, false positives, false negatives, (..., J) each; weighted ones are floats."""

    tp: Any
    fp: Any
    fn: Any

    @property
    def support(self) -> Any:
        """Documents that have each label."""
        return self.tp + self.fn

    @property
    def predicted(self) -> Any:
        """Documents that get each label."""
        return self.tp + self.fp


@dataclass(frozen=True, slots=True)
class MultilabelReport:
    """Scores by label, in the order of `labels` (J,), and over all.

    precision, recall, f_beta (J,) in [0, 1]; support, predicted (J,) int64 documents that have, or get, each label; averages: see
    `averages`; never_predicted, never_true: labels whose precision, or recall, is 0/0 and counts as 0.
    """

    labels: tuple[str, ...]
    beta: float
    precision: FloatArray
    recall: FloatArray
    f_beta: FloatArray
    support: LongArray
    predicted: LongArray
    averages: dict[str, float]
    n_documents: int
    never_predicted: tuple[str, ...]
    never_true: tuple[str, ...]


def indicator(lists: pa.Array | pa.ChunkedArray, labels: Sequence[str]) -> CsrMatrix:
    """Return which of the labels (J,) each list of strings (D,) holds, sparse (D, J) boolean.

    A label that is in a list twice counts once; null labels, and a null list, are none.

    Raises:
        InputError: the lists are no lists, or hold a label that is not among the labels.
    """
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    if pa.types.is_null(lists.type):
        return sparse.csr_array((len(lists), len(labels)), dtype=np.bool_)
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        raise InputError(f"the labels of documents must be lists of strings, got {lists.type}")
    rows = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    values = pc.list_flatten(lists).cast(pa.large_string())
    columns = pc.index_in(values, value_set=pa.array(list(labels), pa.large_string()))
    valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
    codes = columns.fill_null(-1).to_numpy().astype(np.int64)
    if (codes[valid] < 0).any():
        unknown = values[int(np.flatnonzero(valid & (codes < 0))[0])].as_py()
        raise InputError(f"label '{unknown}' is not among the {len(labels)} labels")
    cells = np.unique(rows[valid] * max(len(labels), 1) + codes[valid])
    row, column = np.divmod(cells, max(len(labels), 1))
    return sparse.csr_array((np.ones(len(cells), np.bool_), (row, column)), shape=(len(lists), len(labels)))


def label_counts(Y_true: ArrayLike | CsrMatrix, Y_pred: ArrayLike | CsrMatrix) -> LabelCounts:
    """Return true positives, false positives and false negatives of each label, (J,) int64.

    Raises:
        UsageError: the shapes differ, or are not (D, J).
    """
    true, predicted, both = _checked(Y_true, Y_pred)
    tp, support, predicted_counts = (np.asarray(Y.sum(axis=0), np.int64) for Y in (both, true, predicted))
    return LabelCounts(tp, predicted_counts - tp, support - tp)


def label_scores(counts: LabelCounts, *, beta: float = 1.0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return precision, recall and F_β of each label, (..., J) each, in [0, 1]; 0/0 is 0 (lecture).

        P = TP / (TP + FP),   R = TP / (TP + FN),   F_β = (1 + β²) TP / ((1 + β²) TP + β² FN + FP)

    Raises:
        UsageError: beta is not above 0.
    """
    check_beta(beta)
    return (
        _ratio(counts.tp, counts.predicted),
        _ratio(counts.tp, counts.support),
        _ratio((1 + beta**2) * counts.tp, counts.predicted + beta**2 * counts.support),
    )


def names(beta: float = 1.0) -> tuple[str, ...]:
    """Return the names of the scores over all labels: those of `averages`."""
    measures = ("precision", "recall", f"f{beta:g}")
    several = tuple(f"{average}_{measure}" for average in AVERAGES for measure in measures)
    return ("subset_accuracy", "hamming_loss", "samples_jaccard", *several)


def right_sets(Y_true: ArrayLike | CsrMatrix, Y_pred: ArrayLike | CsrMatrix) -> tuple[BoolArray, BoolArray]:
    """Return which documents (D,) have exactly the right labels, and which of these have none and get none.

    Raises:
        UsageError: the shapes differ, or are not (D, J).
    """
    true, predicted, both = _checked(Y_true, Y_pred)
    tp, support, predicted_counts = (np.asarray(Y.sum(axis=1)) for Y in (both, true, predicted))
    return (tp == support) & (tp == predicted_counts), (support == 0) & (predicted_counts == 0)


def statistic(Y_true: ArrayLike | CsrMatrix, Y_pred: ArrayLike | CsrMatrix, name: str) -> Statistic:
    """Return a score as a function of how often each document is drawn: weights (B, D) to values (B,), NaN where all are 0.

        subset_accuracy     share of documents with exactly the right labels
        hamming_loss        share of the D · J cells that are wrong; low is good
        macro_*             mean of P, R, F or the Jaccard index TP / (TP + FP + FN) of the labels, of each alike
        weighted_*          the same, weighted by how many documents have a label
        micro_*             of the sums of TP, FP and FN over the labels
        samples_*           mean over documents of P, R, F or the Jaccard index of true and predicted labels; 1 of two empty sets

    * is precision, recall, jaccard, f1 or another f such as f0.5. Equal to scikit-learn's accuracy_score, hamming_loss,
    precision_score … with sample_weight and zero_division=0, but for samples_* of two empty sets. Only macro and weighted scores
    need counts of draws by label (B, J), which are made a part of the draws at a time.

    Args:
        Y_true, Y_pred: (D, J) which labels documents have and get; numbers other than 0 are true.
        name: of the score.

    Raises:
        UsageError: the name is another, or the shapes differ.
    """
    true, predicted, both = _checked(Y_true, Y_pred)
    J = true.shape[1]
    tp, support, predicted_counts = (np.asarray(Y.sum(axis=1), np.float64) for Y in (both, true, predicted))
    of_documents = LabelCounts(tp, predicted_counts - tp, support - tp)
    if name == "subset_accuracy":
        return _mean_of((of_documents.fp + of_documents.fn == 0).astype(np.float64))
    if name == "hamming_loss":
        return _mean_of((of_documents.fp + of_documents.fn) / max(J, 1))
    match = _NAME.fullmatch(name)
    if match is None:
        raise UsageError(
            f"'{name}' is not a score of sets of labels; there are {', '.join(names())}", parameter="metrics"
        )
    average, measure, beta = match[1], match[2], check_beta(float(match[3] or 1))
    if average == "samples":
        return _mean_of(np.where(support + predicted_counts == 0, 1.0, _measure(of_documents, measure, beta)))
    if average == "micro":
        return _micro(of_documents, measure, beta)
    return _over_labels(true, predicted, both, average, measure, beta)


def averages(Y_true: ArrayLike | CsrMatrix, Y_pred: ArrayLike | CsrMatrix, *, beta: float = 1.0) -> dict[str, float]:
    """Return the scores over all labels by name, see `statistic`; names end in f2, f0.5 … for another beta than 1.

    Raises:
        UsageError: the shapes differ, or beta is not above 0.
        InputError: there are no documents.
    """
    true, predicted, _ = _checked(Y_true, Y_pred)
    if not true.shape[0]:
        raise InputError("no document has labels to hold predictions against; name their column")
    check_beta(beta)
    once = np.ones((1, true.shape[0]))
    return {name: float(statistic(true, predicted, name)(once)[0]) for name in names(beta)}


def report(
    Y_true: ArrayLike | CsrMatrix, Y_pred: ArrayLike | CsrMatrix, labels: Sequence[str], *, beta: float = 1.0
) -> MultilabelReport:
    """Return the scores by label and over all.

    Args:
        Y_true, Y_pred: (D, J) which labels documents have and get.
        labels: (J,) names.
        beta: of F_β.

    Raises:
        UsageError: beta is not above 0, or the shapes do not fit.
        InputError: there are no documents.
    """
    true, predicted, _ = _checked(Y_true, Y_pred)
    if true.shape[1] != len(labels):
        raise UsageError(f"a report on {len(labels)} labels needs as many columns, got shape {true.shape}")
    counts = label_counts(true, predicted)
    precision, recall, f_beta = label_scores(counts, beta=beta)
    return MultilabelReport(
        labels=tuple(labels),
        beta=beta,
        precision=precision,
        recall=recall,
        f_beta=f_beta,
        support=counts.support,
        predicted=counts.predicted,
        averages=averages(true, predicted, beta=beta),
        n_documents=int(true.shape[0]),
        never_predicted=tuple(name for name, n in zip(labels, counts.predicted, strict=True) if not n),
        never_true=tuple(name for name, n in zip(labels, counts.support, strict=True) if not n),
    )


def _checked(Y_true: ArrayLike | CsrMatrix, Y_pred: ArrayLike | CsrMatrix) -> tuple[CsrMatrix, CsrMatrix, CsrMatrix]:
    """Return both as sparse matrices of 0 and 1 (D, J) float64, and which labels they share."""
    true, predicted = _zeros_and_ones(Y_true), _zeros_and_ones(Y_pred)
    if true.shape != predicted.shape:
        raise UsageError(f"labels and predictions need the same shape, got {true.shape} and {predicted.shape}")
    return true, predicted, true.multiply(predicted).tocsr()


def _zeros_and_ones(Y: ArrayLike | CsrMatrix) -> CsrMatrix:
    if not sparse.issparse(Y):
        Y = np.asarray(Y)
        if Y.ndim != 2:
            raise UsageError(f"labels need a row for each document and a column for each label, got shape {Y.shape}")
    out = sparse.csr_array(Y != 0)
    return sparse.csr_array((np.ones(out.nnz), out.indices, out.indptr), shape=out.shape)


def _measure(counts: LabelCounts, measure: str, beta: float) -> FloatArray:
    if measure == "jaccard":
        return _ratio(counts.tp, counts.tp + counts.fp + counts.fn)
    precision, recall, f_beta = label_scores(counts, beta=beta)
    return {"precision": precision, "recall": recall}.get(measure, f_beta)


def _mean_of(values: FloatArray) -> Statistic:
    def statistic(weights: FloatArray) -> FloatArray:
        return _ratio((weights * values).sum(axis=1), weights.sum(axis=1), empty=np.nan)

    return statistic


def _micro(counts: LabelCounts, measure: str, beta: float) -> Statistic:
    def statistic(weights: FloatArray) -> FloatArray:
        summed = LabelCounts(*((weights * n).sum(axis=1) for n in (counts.tp, counts.fp, counts.fn)))
        return np.where(weights.any(axis=1), _measure(summed, measure, beta), np.nan)

    return statistic


def _over_labels(
    true: CsrMatrix, predicted: CsrMatrix, both: CsrMatrix, average: str, measure: str, beta: float
) -> Statistic:
    J = true.shape[1]
    step = max(1, _CELLS // max(J, 1))
    turned = [Y.T.tocsr() for Y in (true, predicted, both)]

    def part(weights: FloatArray) -> FloatArray:
        support, predicted_weight, tp = ((Y @ weights.T).T for Y in turned)
        scores = _measure(LabelCounts(tp, predicted_weight - tp, support - tp), measure, beta)
        share = support if average == "weighted" else np.ones_like(support)
        return np.where(weights.any(axis=1), _ratio((scores * share).sum(axis=1), share.sum(axis=1)), np.nan)

    def statistic(weights: FloatArray) -> FloatArray:
        parts = [part(weights[first : first + step]) for first in range(0, len(weights), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    return statistic


def _ratio(numerator: FloatArray, denominator: FloatArray, *, empty: float = 0.0) -> FloatArray:
    """Return numerator / denominator, `empty` where the denominator is 0."""
    out = np.full(np.shape(denominator), empty)
    np.divide(numerator, denominator, out=out, where=np.asarray(denominator) != 0)
    return out
