"""The scores of topics or clusters against true classes, and their best matching.

A table (..., R, C) counts documents: rows are the clusters found, columns the true classes, n_rc the documents of cluster r
in class c, n_r and n_c its margins, N all of them. Leading axes hold several tables, such as the draws of a bootstrap over
documents (a multinomial draw of the cells); each score has one value per table. Rows and columns of zeros change no score,
and no table with documents gives NaN. A table without documents raises InputError.

Parts, in this order:
- Scores of a clustering against true classes, each a function of their contingency table.
- These scores, added to a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import Statistic
from nlpkit.metrics.kernels import expected_information
from nlpkit.metrics.labels.labels import (
    NO_TOPIC,
    ContingencyCells,
    LabelledPredictions,
    contingency_cells,
    note_unlabelled,
)
from nlpkit.metrics.results import TargetResult, detail_table
from nlpkit.metrics.score import Uncertainty, statistic_score
from nlpkit.platform import wording
from nlpkit.platform.types import FloatArray, IntArray, LongArray

Average: TypeAlias = Literal["arithmetic", "geometric", "min", "max"]
TableScore: TypeAlias = Callable[[FloatArray], FloatArray]

_EPS = float(np.finfo(np.float64).eps)
_NOISE = 1e-12  # informations this close differ by rounding
_FLOOR = 1e-20  # probabilities below this share of the largest are left out of the expected information


def contingency(clusters: IntArray, classes: IntArray, *, shape: tuple[int, int] | None = None) -> LongArray:
    """Return how many documents of each cluster are in each class, (R, C) int64.

    A document with a code below 0 in either is left out: to count "no topic" as a cluster, give it a code of its own.

    Args:
        clusters: (D,) codes 0 … R-1, -1 for none. classes: (D,) codes 0 … C-1, -1 for none.
        shape: (R, C), None = as many as the largest codes ask for.
    """
    both_known = (clusters >= 0) & (classes >= 0)
    R, C = shape or (int(clusters.max(initial=-1)) + 1, int(classes.max(initial=-1)) + 1)
    cells = clusters[both_known].astype(np.int64) * C + classes[both_known]
    return np.bincount(cells, minlength=R * C).reshape(R, C).astype(np.int64)


def weighted_contingency(
    weights: FloatArray, clusters: IntArray, classes: IntArray, *, shape: tuple[int, int]
) -> FloatArray:
    """Return the tables (B, R, C) of documents that count weights (B, U) times: draws of a bootstrap over documents.

    Args:
        weights: (B, U) how often each unit (a document, or documents alike in all that is scored) was drawn.
        clusters, classes: (U,) codes, -1 for none: such units are left out.
        shape: (R, C).
    """
    R, C = shape
    both_known = np.flatnonzero((clusters >= 0) & (classes >= 0))
    cells = clusters[both_known].astype(np.int64) * C + classes[both_known]
    ones = sparse.csr_array((np.ones(len(both_known)), (both_known, cells)), shape=(weights.shape[1], R * C))
    return np.asarray(weights @ ones, np.float64).reshape(len(weights), R, C)


def normalized_mutual_information(table: ArrayLike, *, average: Average = "arithmetic") -> FloatArray:
    """Return NMI = I(R, C) / avg(H(R), H(C)), in [0, 1] (Strehl & Ghosh 2002; Vinh et al. 2010, JMLR 11).

    scikit-learn's normalized_mutual_info_score: 1 when both have one group, 0 when only one of them has.

    Args:
        table: (..., R, C) counts.
        average: mean of the two entropies; the arithmetic one makes NMI the V-measure.
    """
    h_rows, h_columns, h_both = _entropies(_counts(table))
    information = _information(h_rows, h_columns, h_both)
    scale = _average(h_rows, h_columns, average)
    return np.minimum(_ratio(information, scale, np.where(np.maximum(h_rows, h_columns) > 0, 0.0, 1.0)), 1.0)


def adjusted_mutual_information(table: ArrayLike, *, average: Average = "arithmetic") -> FloatArray:
    """Return AMI = (I - E[I]) / (avg(H(R), H(C)) - E[I]): NMI corrected for chance (Vinh et al. 2010, JMLR 11, §3.3).

    E[I] is the mean over all partitions of the same sizes (permutation model), so that unrelated partitions score about 0;
    it may be negative. scikit-learn's adjusted_mutual_info_score: 1 when both have one group, 0 when only one of them has, and 1
    when neither information can differ from its expectation (every document its own group in both).

    Args:
        table: (..., R, C) counts; fractions are rounded to whole documents.
        average: mean of the two entropies.
    """
    counts = np.rint(_counts(table))
    h_rows, h_columns, h_both = _entropies(counts)
    information = _information(h_rows, h_columns, h_both)
    expected = _expected(counts)
    above, room = information - expected, _average(h_rows, h_columns, average) - expected
    score = _ratio(np.where(np.abs(above) < _EPS, 0.0, above), np.where(room > _NOISE, room, 0.0), 1.0)
    constant = (h_rows == 0) | (h_columns == 0)
    return np.where(constant, np.where(np.maximum(h_rows, h_columns) > 0, 0.0, 1.0), score)


def homogeneity_completeness_v(table: ArrayLike, *, beta: float = 1.0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return homogeneity, completeness and V-measure, each in [0, 1] (Rosenberg & Hirschberg 2007, EMNLP).

        h = 1 - H(C|R) / H(C),   c = 1 - H(R|C) / H(R),   V = (1 + β) h c / (β h + c);   1 where an entropy is 0

    Args:
        table: (..., R, C) counts.
        beta: above 1 completeness weighs more. As in the paper and in scikit-learn it is not squared.

    Raises:
        UsageError: beta is negative.
    """
    if beta < 0:
        raise UsageError(f"beta of the V-measure must be 0 or more, got {beta:g}", parameter="beta")
    h_rows, h_columns, h_both = _entropies(_counts(table))
    information = _information(h_rows, h_columns, h_both)
    homogeneity = np.minimum(_ratio(information, h_columns, 1.0), 1.0)
    completeness = np.minimum(_ratio(information, h_rows, 1.0), 1.0)
    v = _ratio((1 + beta) * homogeneity * completeness, beta * homogeneity + completeness, 0.0)
    return homogeneity, completeness, v


def adjusted_rand(table: ArrayLike) -> FloatArray:
    """Return ARI = (RI - E[RI]) / (1 - E[RI]) over pairs of documents, in [-1/2, 1] (Hubert & Arabie 1985).

    scikit-learn's adjusted_rand_score: 1 when no pair is treated differently.
    """
    tp, fp, fn, tn = _pairs(_counts(table))
    return _ratio(2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn), 1.0)


def pair_scores(table: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return precision, recall, F1 and Rand index over all pairs of documents, each in [0, 1] (lecture).

    A pair in one cluster is a true positive if it is in one class too. Precision is 1 where no two documents share a cluster,
    recall where none share a class: nothing was joined, or missed, in error. Rand index: scikit-learn's rand_score.
    """
    tp, fp, fn, tn = _pairs(_counts(table))
    f1 = _ratio(2 * tp, 2 * tp + fp + fn, 1.0)
    return _ratio(tp, tp + fp, 1.0), _ratio(tp, tp + fn, 1.0), f1, _ratio(tp + tn, tp + fp + fn + tn, 1.0)


def fowlkes_mallows(table: ArrayLike) -> FloatArray:
    """Return FMI = sqrt(P R) of precision P and recall R of pairs, in [0, 1] (Fowlkes & Mallows 1983, JASA 78).

    scikit-learn's fowlkes_mallows_score: 0 when no pair is together in both, also where none is together in either.
    """
    tp, fp, fn, _ = _pairs(_counts(table))
    return np.asarray(np.sqrt(_ratio(tp, tp + fp, 0.0) * _ratio(tp, tp + fn, 0.0)))


def purity(table: ArrayLike) -> FloatArray:
    """Return purity, the lecture's precision of a clustering: Σ_r max_c n_rc / N, in (0, 1]. Many small clusters raise it."""
    counts = _counts(table)
    return _ratio(counts.max(axis=-1).sum(axis=-1), counts.sum(axis=(-2, -1)), 0.0)


def inverse_purity(table: ArrayLike) -> FloatArray:
    """Return inverse purity, the lecture's recall of a clustering: Σ_c max_r n_rc / N, in (0, 1]. One cluster reaches 1."""
    return purity(np.swapaxes(np.asarray(table), -1, -2))


def purity_f1(table: ArrayLike) -> FloatArray:
    """Return F1 = 2 P R / (P + R) of purity P and inverse purity R (lecture)."""
    P, R = purity(table), inverse_purity(table)
    return _ratio(2 * P * R, P + R, 0.0)


def bcubed(table: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return BCubed precision, recall and F1, each in (0, 1] (Bagga & Baldwin 1998; Amigó et al. 2009, Inf. Retr. 12).

    P = 1/N Σ_rc n_rc² / n_r,   R = 1/N Σ_rc n_rc² / n_c:   a document's share of its cluster in its class, the mean
    """
    counts = _counts(table)
    N = counts.sum(axis=(-2, -1))
    squares = counts**2
    of_rows, of_columns = counts.sum(axis=-1), counts.sum(axis=-2)
    P = _ratio(squares.sum(axis=-1), of_rows, 0.0).sum(axis=-1) / N
    R = _ratio(squares.sum(axis=-2), of_columns, 0.0).sum(axis=-1) / N
    return P, R, _ratio(2 * P * R, P + R, 0.0)


def best_matching(table: ArrayLike) -> tuple[LongArray, FloatArray]:
    """Return the class matched to each cluster (..., R) int64, -1 for none, and the share of documents in matched cells (...).

    Each cluster has at most one class and each class at most one cluster, so that the share is as large as can be (Hungarian
    method, Kuhn 1955; lecture). Matches without a document in common count as none. R and C may differ.
    """
    counts = _counts(table)
    *leading, R, C = counts.shape
    flat = counts.reshape(-1, R, C)
    matches = np.full((len(flat), R), -1, np.int64)
    for one, cells in zip(matches, flat, strict=True):
        rows, columns = _assign(cells)
        one[rows] = np.where(cells[rows, columns] > 0, columns, -1)
    hit = np.take_along_axis(flat, np.maximum(matches, 0)[..., None], axis=-1)[..., 0]
    share = np.where(matches >= 0, hit, 0.0).sum(axis=-1) / flat.sum(axis=(-2, -1))
    return matches.reshape(*leading, R), share.reshape(leading)


SCORES: dict[str, TableScore] = {
    "nmi": normalized_mutual_information,
    "ami": adjusted_mutual_information,
    "ari": adjusted_rand,
    "homogeneity": lambda table: homogeneity_completeness_v(table)[0],
    "completeness": lambda table: homogeneity_completeness_v(table)[1],
    "v": lambda table: homogeneity_completeness_v(table)[2],
    "purity": purity,
    "inverse_purity": inverse_purity,
    "purity_f1": purity_f1,
    "matching_accuracy": lambda table: best_matching(table)[1],
    "pair_precision": lambda table: pair_scores(table)[0],
    "pair_recall": lambda table: pair_scores(table)[1],
    "pair_f1": lambda table: pair_scores(table)[2],
    "fmi": fowlkes_mallows,
    "rand": lambda table: pair_scores(table)[3],
    "bcubed_precision": lambda table: bcubed(table)[0],
    "bcubed_recall": lambda table: bcubed(table)[1],
    "bcubed_f1": lambda table: bcubed(table)[2],
}
"""Each score of a table by its name: (..., R, C) → (...)."""


def _counts(table: ArrayLike) -> FloatArray:
    counts = np.asarray(table, np.float64)
    if counts.ndim < 2:
        raise UsageError(f"a contingency table has clusters and classes as its last two axes, got shape {counts.shape}")
    if not counts.size or not (counts.sum(axis=(-2, -1)) > 0).all():
        raise InputError("no document has both a cluster and a class; labels and topics must share documents")
    return counts


def _entropies(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return H(R), H(C) and H(R, C) in nats."""
    N = counts.sum(axis=(-2, -1))
    return tuple(  # type: ignore[return-value]
        _entropy(sizes, N)
        for sizes in (counts.sum(axis=-1), counts.sum(axis=-2), counts.reshape(*counts.shape[:-2], -1))
    )


def _entropy(sizes: FloatArray, N: FloatArray) -> FloatArray:
    """Return ln N - Σ n ln n / N over the last axis, exactly 0 for a single group."""
    logs = np.log(sizes, out=np.zeros_like(sizes), where=sizes > 0)
    entropy = np.log(N) - (sizes * logs).sum(axis=-1) / N
    return np.where((sizes > 0).sum(axis=-1) > 1, np.maximum(entropy, 0.0), 0.0)


def _information(h_rows: FloatArray, h_columns: FloatArray, h_both: FloatArray) -> FloatArray:
    information = h_rows + h_columns - h_both
    return np.where((information < _NOISE) | (h_rows == 0) | (h_columns == 0), 0.0, information)


def _average(a: FloatArray, b: FloatArray, average: Average) -> FloatArray:
    if average == "arithmetic":
        return (a + b) / 2
    if average == "geometric":
        return np.asarray(np.sqrt(a * b))
    if average == "min":
        return np.minimum(a, b)
    if average == "max":
        return np.maximum(a, b)
    raise unknown_value("average", average, ("arithmetic", "geometric", "min", "max"))


def _expected(counts: FloatArray) -> FloatArray:
    *leading, R, C = counts.shape
    # in the order of C, whatever that of the counts
    rows = np.ascontiguousarray(counts.sum(axis=-1).reshape(-1, R))
    columns = np.ascontiguousarray(counts.sum(axis=-2).reshape(-1, C))
    # looked up by the size of a row or a column, and by cells, which are no larger than either
    logs = np.log(np.maximum(np.arange(max(rows.max(), columns.max()) + 1), 1.0))
    log_totals = np.log(np.maximum(rows.sum(axis=-1), 1.0))
    return np.asarray(expected_information(rows, columns, logs, log_totals, _FLOOR), np.float64).reshape(leading)


def _pairs(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the pairs of documents in one cluster and class, in one cluster only, in one class only, in neither."""
    tp = _choose_two(counts).sum(axis=(-2, -1))
    joined = _choose_two(counts.sum(axis=-1)).sum(axis=-1)
    alike = _choose_two(counts.sum(axis=-2)).sum(axis=-1)
    return tp, joined - tp, alike - tp, _choose_two(counts.sum(axis=(-2, -1))) - joined - alike + tp


def _choose_two(n: FloatArray) -> FloatArray:
    return n * (n - 1) / 2


def _assign(cells: FloatArray) -> tuple[LongArray, LongArray]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(cells, maximize=True)
    return rows, columns


def _ratio(numerator: FloatArray, denominator: FloatArray, otherwise: FloatArray | float) -> FloatArray:
    """Return numerator / denominator, and `otherwise` where the denominator is 0."""
    fallback = np.array(np.broadcast_to(otherwise, np.shape(denominator)), np.float64)
    return np.divide(numerator, denominator, out=fallback, where=np.asarray(denominator) != 0)


# ------------------------------------------------------------------------------------------------------------------------
# Topics against labels: clustering scores, and the best matching of topics and labels.

SHOWN_TOPICS = 30

CLUSTERING = {{"v": "v_measure"}.get(name, name): score for name, score in SCORES.items()}
CLUSTERING = {name: score for name, score in CLUSTERING.items() if name in METRICS}


def clustering_statistic(data: LabelledPredictions, cells: ContingencyCells, name: str) -> Statistic:
    """Return a clustering score of weighted documents."""
    shape = (len(data.assigned_names), len(data.class_names))
    score = CLUSTERING[name]
    return lambda w: score(weighted_contingency(w, cells.assigned, cells.true, shape=shape))


def add_clustering(
    result: TargetResult, data: LabelledPredictions, names: Sequence[str], uncertainty: Uncertainty
) -> None:
    """Add scores of topics against labels, and the best matching."""
    cells = contingency_cells(data)
    parameters: dict[str, Any] = {"documents": int(cells.counts.sum()), "labels": len(data.class_names)}
    without = [i for i, n in enumerate(data.assigned_names) if n in NO_TOPIC]
    n_without = int(cells.counts[np.isin(cells.assigned, without)].sum())
    parameters["without_topic"] = n_without
    for name in names:
        result.add(
            statistic_score(
                METRICS[name],
                clustering_statistic(data, cells, name),
                cells.counts,
                uncertainty,
                over="documents",
                parameters=parameters,
                jackknife=True,
            )
        )
    table = contingency(data.assigned[data.true >= 0], data.true[data.true >= 0])
    matches, _ = best_matching(table)
    rows = []
    for k in np.argsort(-table.sum(axis=1), kind="stable")[:SHOWN_TOPICS]:
        size, best = int(table[k].sum()), int(table[k].argmax())
        matched = data.class_names[matches[k]] if matches[k] >= 0 else ""
        share = float(table[k, best] / max(size, 1))
        rows.append((data.assigned_names[k], size, data.class_names[best], share, matched))
    names = ("topic", "documents", "most of them", "share", "matched")
    result.tables["Topics and labels"] = detail_table(names, rows, {"share": ".0%"})
    result.facts["matched_labels"] = {
        data.assigned_names[k]: data.class_names[m] for k, m in enumerate(matches) if m >= 0
    }
    if n_without:
        result.notes.append(f"{wording.counted(n_without, 'document')} without a topic, together one more cluster")
    note_unlabelled(result, data)
