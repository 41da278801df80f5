"""Whether the probability that a classifier gives its prediction is how often such predictions are right.

All scores but `brier_errors` are of the top label: the probability p_d of the predicted class alone, and whether it is right,
c_d = 0 or 1. A document without a prediction has neither; the caller leaves it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.types import BoolArray, FloatArray, IntArray

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
