"""The labels of units from the judgements of coders who err, each in ways of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nlpkit.errors import InputError
from nlpkit.types import BoolArray, FloatArray, IntArray

ITERATIONS = 1000
TOLERANCE = 1e-9  # largest change of a probability at which EM ends
EQUAL = 1e-6  # probabilities that differ by less are equal


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """What the judgements say of U units, J labels and C coders.

    probabilities: (U, J) of the true label, NaN for a unit without judgements. shares: (J,) of the labels. confusion: (C, J, J), the
    probability that a coder gives label l (column) to a unit of label j (row); NaN in a row where the coder judged no such unit.
    log_likelihood: of the judgements. iterations: of EM; converged: whether they were enough.
    """

    probabilities: FloatArray
    shares: FloatArray
    confusion: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool

    @property
    def accuracy(self) -> FloatArray:
        """Probability (C,) that a coder gives a unit its label: Σ_j p_j π_jj, over the labels of which the coder judged units."""
        diagonal = np.diagonal(self.confusion, axis1=1, axis2=2)
        known = ~np.isnan(diagonal)
        weight = np.where(known, self.shares, 0.0)
        right, total = (weight * np.where(known, diagonal, 0.0)).sum(axis=1), weight.sum(axis=1)
        accuracy: FloatArray = np.divide(right, total, out=np.full(len(total), np.nan), where=total > 0)
        return accuracy

    @property
    def entropy(self) -> FloatArray:
        """Entropy (U,) of the true label in nats, -Σ_j T_j ln T_j: 0 where it is certain, ln J where nothing is known."""
        p = self.probabilities
        logs = np.log(p, out=np.zeros_like(p), where=p > 0)
        entropy: FloatArray = np.abs(-(p * logs).sum(axis=1))
        return entropy

    def labels(self) -> tuple[IntArray, BoolArray]:
        """Return the most probable label (U,) of each unit, the first of equal ones and -1 without judgements; and whether there are
        equal ones.
        """
        p = np.nan_to_num(self.probabilities, nan=-1.0)
        if not p.shape[1]:
            return np.full(len(p), -1, np.int32), np.zeros(len(p), bool)
        near = p >= p.max(axis=1, keepdims=True) - EQUAL
        rated = p.max(axis=1) >= 0
        winner = np.where(rated, near.argmax(axis=1), -1).astype(np.int32)
        tie: BoolArray = rated & (near.sum(axis=1) > 1)
        return winner, tie


def dawid_skene(codes: npt.ArrayLike, n_labels: int) -> DawidSkene:
    """Return the maximum-likelihood estimates of Dawid & Skene (1979) by EM.

        T_ij   probability that unit i has label j; at first the share of its judgements that say so (their eq. 3.1)
        π_jl   of coder k = Σ_i T_ij n_il / Σ_l Σ_i T_ij n_il        (2.3)
        p_j    = Σ_i T_ij / I                                        (2.4)
        T_ij   ∝ p_j Π_k Π_l π_jl^n_il                               (2.5)

    n_il is 1 where coder k gave unit i label l. Units without judgements have no say. EM starts at the votes, so that labels keep
    their meaning, and ends when no T changes by more than 1e-9, or after 1000 rounds. It finds a local maximum.

    Args:
        codes: (U, C) labels from 0, -1 for missing. n_labels: J.

    Raises:
        InputError: no matrix, or a code that is no label.

    Source: Dawid & Skene (1979), Applied Statistics 28(1), 20-28, §2-3.
    """
    votes = np.asarray(codes, np.int64)
    if votes.ndim != 2:
        raise InputError(f"judgements are a matrix of units by coders, not of {votes.ndim} dimensions")
    if votes.size and not (votes.min() >= -1 and votes.max() < n_labels):
        raise InputError(f"judgements are labels from 0 to {n_labels - 1} or -1, found {votes.min()} to {votes.max()}")
    U, C = votes.shape
    rated = (votes >= 0).any(axis=1)
    judged = votes[rated]
    T = np.zeros((len(judged), n_labels))
    by_coder = [(rows := np.flatnonzero(judged[:, k] >= 0), judged[rows, k]) for k in range(C)]
    for rows, given_labels in by_coder:
        np.add.at(T, (rows, given_labels), 1.0)
    T /= T.sum(axis=1, keepdims=True)
    p, pi = _maximise(T, by_coder)
    log_likelihood, converged, n = 0.0, len(T) == 0, 0
    while not converged and n < ITERATIONS:
        n += 1
        before = T
        T, log_likelihood = _expect(p, pi, by_coder, len(T))
        p, pi = _maximise(T, by_coder)
        converged = bool(np.abs(T - before).max(initial=0.0) <= TOLERANCE)
    probabilities = np.full((U, n_labels), np.nan)
    probabilities[rated] = T
    return DawidSkene(probabilities, p, pi, log_likelihood, n, converged)


ByCoder = list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]  # units that a coder judged, and the labels given


def _maximise(T: FloatArray, by_coder: ByCoder) -> tuple[FloatArray, FloatArray]:
    """Return p (J,) and π (C, J, J) of the T (I, J) of units; NaN in rows of labels that no unit of a coder has."""
    n_labels = T.shape[1]
    counts = np.zeros((len(by_coder), n_labels, n_labels))  # coder, given label, true label
    for k, (rows, labels) in enumerate(by_coder):
        np.add.at(counts[k], labels, T[rows])
    totals = counts.sum(axis=1, keepdims=True)
    pi = np.divide(counts, totals, out=np.full_like(counts, np.nan), where=totals > 0).transpose(0, 2, 1)
    return T.sum(axis=0) / max(len(T), 1), pi


def _expect(p: FloatArray, pi: FloatArray, by_coder: ByCoder, n_units: int) -> tuple[FloatArray, float]:
    """Return T (I, J), and the log-likelihood of the judgements."""
    with np.errstate(divide="ignore"):
        log_pi, log_p = np.log(np.nan_to_num(pi)), np.log(p)
    joint = np.tile(log_p, (n_units, 1))
    for k, (rows, labels) in enumerate(by_coder):
        joint[rows] += log_pi[k].T[labels]
    most = joint.max(axis=1, keepdims=True)
    likelihood = np.exp(joint - most)
    total = likelihood.sum(axis=1, keepdims=True)
    return likelihood / total, float((most + np.log(total)).sum())
