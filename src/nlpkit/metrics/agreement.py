"""The agreement of people who coded the same units, and the labels that follow from their judgements.

Parts, in this order:
- The labels of units from the judgements of coders who err, each in ways of their own.
- Agreement of people who coded the same units, and the label that most of them gave.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from nlpkit.errors import InputError, UsageError, unknown_value
from nlpkit.metrics.intervals import Statistic
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray

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


# ------------------------------------------------------------------------------------------------------------------------
# Agreement of people who coded the same units, and the label that most of them gave.
#
# Ratings are a matrix (U, C) of U units by C coders, float64, NaN where a coder said nothing. Nominal values are any codes;
# ordinal ones count by their order, interval and ratio ones as numbers.

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")
NO_LABEL = -1

_COLUMNS = 512  # values whose distances are held at once


# ---------------------------------------------------------------- Krippendorff's alpha


def krippendorff_alpha(ratings: npt.ArrayLike, *, level: Level) -> float:
    """Return Krippendorff's alpha, 1 for agreement, 0 for what chance would bring, below 0 for less than that.

        alpha = 1 - D_o / D_e = 1 - (n - 1) Σ_ck o_ck δ²_ck / Σ_ck n_c n_k δ²_ck
        o_ck = Σ_u (ordered pairs of values c, k in unit u) / (m_u - 1),   n_c = Σ_k o_ck,   n = Σ_c n_c

    m_u is the number of values of unit u; units with fewer than two have no say. δ² by level: nominal 1 for c ≠ k;
    ordinal (Σ_{g=c}^k n_g - (n_c + n_k) / 2)², the squared distance of the mid-ranks; interval (c - k)²; ratio
    ((c - k) / (c + k))². The sums are made without the matrix o, from the moments of each unit.

    Args:
        ratings: (U, C) float64, NaN for missing.
        level: the level of measurement.

    Returns:
        alpha; NaN where it is not defined: no unit has two values, or all values are the same (`why_undefined` tells).

    Raises:
        InputError: not a matrix, an infinite value, or a value below 0 at level ratio.
        UsageError: no such level.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; agrees with the package `krippendorff`, which
    raises or warns where alpha is not defined.
    """
    statistic, times = alpha_statistic(ratings, level=level)
    return float(statistic(times[None].astype(np.float64))[0])


def why_undefined(ratings: npt.ArrayLike) -> str:
    """Return why alpha of these ratings (U, C) is not defined, in words for people; empty when it is."""
    _, values, times = _pairable(ratings)
    if not len(times):
        return "no unit was rated by two coders"
    return "all ratings are the same: without variation agreement cannot be told from chance" if len(values) < 2 else ""


def alpha_statistic(ratings: npt.ArrayLike, *, level: Level) -> tuple[Statistic, LongArray]:
    """Return alpha as a function of how often each unit is drawn, for `nlpkit.metrics.intervals`, and how often each came.

    Units with the same values are one, so that thousands of them are a handful; those with fewer than two have no say.

    Args:
        ratings: (U, C) float64, NaN for missing.
        level: the level of measurement.

    Raises:
        InputError, UsageError: see `krippendorff_alpha`.
    """
    if level not in LEVELS:
        raise unknown_value("level", level, LEVELS)
    counts, values, times = _pairable(ratings)
    if level == "ratio" and len(values) and values[0] < 0:
        raise InputError(f"a ratio scale has values of 0 or more, found {values[0]:g}; for such numbers use interval")
    return partial(_alphas, counts, values, level), times


def _pairable(ratings: npt.ArrayLike) -> tuple[CsrMatrix, FloatArray, LongArray]:
    """Return the different units of two values or more: how often each value (V,) is in them, (U, V) CSR; how many of each."""
    matrix = _ratings(ratings)
    rated = ~np.isnan(matrix)
    chosen = rated.sum(axis=1) >= 2
    rows, columns = np.nonzero(rated[chosen])
    values, codes = np.unique(matrix[chosen][rows, columns], return_inverse=True)
    coded = np.full((int(chosen.sum()), matrix.shape[1]), -1, np.int64)
    coded[rows, columns] = codes
    coded, times = np.unique(np.sort(coded, axis=1), axis=0, return_counts=True)
    units, places = np.nonzero(coded >= 0)
    shape = len(coded), len(values)
    counts = sparse.csr_array((np.ones(len(units)), (units, coded[units, places])), shape=shape)
    return counts, values, times.astype(np.int64)


def _ratings(ratings: npt.ArrayLike) -> FloatArray:
    matrix = np.asarray(ratings, np.float64)
    if matrix.ndim != 2:
        raise InputError(f"ratings are a matrix of units by coders, found {matrix.ndim} dimensions")
    if np.isinf(matrix).any():
        raise InputError("ratings hold an infinite value; leave it out as missing, or correct it")
    return matrix


def _alphas(counts: CsrMatrix, values: FloatArray, level: Level, times: FloatArray) -> FloatArray:
    """Return alpha (B,) of samples in which unit u comes times[b, u] times; NaN where a sample has only one value."""
    if len(values) < 2:
        return np.full(len(times), np.nan)
    m = np.asarray(counts.sum(axis=1), np.float64)
    n_c = np.asarray(counts.T @ times.T).T  # (B, V)
    n = n_c.sum(axis=1)
    # products of dense matrices are left to sums: BLAS adds up in an order that depends on its threads
    if level == "nominal":
        within = (m**2 - np.asarray(counts.power(2).sum(axis=1))) / (m - 1)
        observed = (times * within).sum(axis=1)
        expected = n**2 - (n_c**2).sum(axis=1)
    elif level == "ratio":
        within, expected = np.zeros(len(m)), np.zeros(len(n))
        for start in range(0, len(values), _COLUMNS):
            columns = slice(start, start + _COLUMNS)
            distance = _ratio_distance(values, values[columns])
            within += counts[:, columns].multiply(counts @ distance).sum(axis=1) / (m - 1)
            expected += (np.einsum("bv,vw->bw", n_c, distance) * n_c[:, columns]).sum(axis=1)
        observed = (times * within).sum(axis=1)
    else:
        # Σ_ij (x_i - x_j)² = 2 (m Σ x² - (Σ x)²), exact enough because x is centred
        x = n_c.cumsum(axis=1) - n_c / 2 - n[:, None] / 2 if level == "ordinal" else (values - values.mean())[None, :]
        spread = m[:, None] * (counts @ (x**2).T) - (counts @ x.T) ** 2  # (U, B), or (U, 1) if all samples share x
        observed = (times.T * (2 * spread / (m[:, None] - 1))).sum(axis=0)
        expected = 2 * (n * (n_c * x**2).sum(axis=1) - (n_c * x).sum(axis=1) ** 2)
    varied = (n_c > 0).sum(axis=1) >= 2
    ratio = np.divide((n - 1) * observed, expected, out=np.full(len(n), np.nan), where=varied)
    return np.asarray(1 - ratio)


def _ratio_distance(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return ((a - b) / (a + b))² (A, B), 0 for two zeros."""
    total = a[:, None] + b
    share = np.divide(a[:, None] - b, total, out=np.zeros(total.shape), where=total != 0)
    return np.asarray(share**2)


# ---------------------------------------------------------------- kappa


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Return the kappa of Fleiss (1971, Psychological Bulletin 76), for units rated by n different people each.

        kappa = (P - P_e) / (1 - P_e),  P = mean over u of (Σ_c n_uc² - n) / (n (n - 1)),  P_e = Σ_c (Σ_u n_uc / U n)²

    Args:
        counts: (U, V) how many people put unit u into category c.

    Returns:
        kappa; NaN without units or when all ratings are the same, where it is 0 / 0.

    Raises:
        InputError: units with different numbers of ratings, or with fewer than two.
    """
    n_uc = np.asarray(counts, np.float64)
    if n_uc.ndim != 2 or not n_uc.size:
        return float("nan")
    ratings = n_uc.sum(axis=1)
    n = ratings[0]
    if (ratings != n).any():
        raise InputError(
            f"Fleiss' kappa needs as many ratings for every unit, found from {ratings.min():g} to {ratings.max():g}; "
            "Krippendorff's alpha allows for missing ratings"
        )
    if n < 2:
        raise InputError(f"Fleiss' kappa needs two ratings of a unit or more, found {n:g}")
    by_chance = float(((n_uc.sum(axis=0) / ratings.sum()) ** 2).sum())
    observed = float((((n_uc**2).sum(axis=1) - n) / (n * (n - 1))).mean())
    only_one = (n_uc.sum(axis=0) > 0).sum() < 2
    return float("nan") if only_one else (observed - by_chance) / (1 - by_chance)


def rating_counts(ratings: npt.ArrayLike) -> FloatArray:
    """Return how often each value was given to each unit (U, V), values ascending, units without ratings included."""
    matrix = _ratings(ratings)
    units, coders = np.nonzero(~np.isnan(matrix))
    values, codes = np.unique(matrix[units, coders], return_inverse=True)
    counts = np.zeros((len(matrix), len(values)))
    np.add.at(counts, (units, codes), 1.0)
    return counts


def cohen_kappa(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    categories: npt.ArrayLike | None = None,
) -> float:
    """Return the kappa of two coders (Cohen 1960), weighted by the distance of the categories if asked (Cohen 1968).

        kappa = 1 - Σ_ij w_ij o_ij / Σ_ij w_ij e_ij,   w: i ≠ j; |i - j| linear; (i - j)² quadratic

    Args:
        a: (U,) values of one coder, NaN for missing; b: (U,) of the other. Units that one of them left out do not count.
        weights: none, linear or quadratic in the places i, j of the categories.
        categories: (V,) all values that could be given, in order. By default those given, as in scikit-learn: of a scale
            from 1 to 5 on which nobody said 3, 2 and 4 are then neighbours.

    Returns:
        kappa; NaN without a common unit and when both gave only one and the same value, where it is 0 / 0.

    Raises:
        InputError: coders of different lengths, a value that is not in `categories`.
        UsageError: unknown weights.

    Agrees with `sklearn.metrics.cohen_kappa_score`.
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise InputError(f"Cohen's kappa needs two coders of the same units, found {len(x)} and {len(y)}")
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    used = np.unique(np.concatenate([x, y]))
    known = used if categories is None else np.asarray(categories, np.float64)
    strangers = used[~np.isin(used, known)]
    if len(strangers):
        raise InputError(f"the value {strangers[0]:g} is not among the categories {', '.join(f'{c:g}' for c in known)}")
    order = np.argsort(known)
    rows, columns = (order[np.searchsorted(known, v, sorter=order)] for v in (x, y))
    V = len(known)
    joint = np.bincount(rows * V + columns, minlength=V * V).reshape(V, V).astype(np.float64)
    apart = np.abs(np.subtract.outer(np.arange(V), np.arange(V))).astype(np.float64)
    if weights not in (None, "linear", "quadratic"):
        raise UsageError(f"the weights of Cohen's kappa are linear or quadratic, not '{weights}'", parameter="weights")
    w = (apart > 0).astype(np.float64) if weights is None else apart if weights == "linear" else apart**2
    by_chance = float((w * np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum())
    return 1 - float((w * joint).sum()) * len(x) / by_chance if by_chance else float("nan")


def pairwise_cohen(
    ratings: npt.ArrayLike,
    *,
    weights: Literal["linear", "quadratic"] | None = None,
    categories: npt.ArrayLike | None = None,
) -> FloatArray:
    """Return Cohen's kappa of every pair of coders (C, C), 1 on the diagonal, NaN where it is not defined."""
    matrix = _ratings(ratings)
    C = matrix.shape[1]
    kappas = np.eye(C)
    for i in range(C):
        for j in range(i):
            kappas[i, j] = kappas[j, i] = cohen_kappa(
                matrix[:, i], matrix[:, j], weights=weights, categories=categories
            )
    return kappas


def mean_cohen(kappas: FloatArray) -> float:
    """Return the mean of the kappas (C, C) over the pairs where it is defined (Light 1971); NaN without such a pair."""
    pairs = kappas[np.triu_indices(len(kappas), 1)]
    known = pairs[~np.isnan(pairs)]
    return float(known.mean()) if len(known) else float("nan")


def percent_agreement(ratings: npt.ArrayLike) -> float:
    """Return the share of the pairs of ratings of the same unit (U, C) that are equal, in [0, 1]; NaN without a pair.

    It is not corrected for chance: two coders who say yes to nine of ten units at random agree on 82 % of them.
    """
    counts, _, times = _pairable(ratings)
    m = np.asarray(counts.sum(axis=1), np.float64)
    pairs = float((times * m * (m - 1)).sum())
    same = float((times * (np.asarray(counts.power(2).sum(axis=1)) - m)).sum())
    return same / pairs if pairs else float("nan")


# ---------------------------------------------------------------- majority vote


def majority_vote(
    codes: npt.ArrayLike, *, ties: Literal["none", "first"] = "none"
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return the code that most coders gave to each unit, its share, and whether another code was given as often.

    Args:
        codes: (U, C) category numbers from 0, -1 for missing.
        ties: "none": no label; "first": the lowest of the tied codes, which is the first in the order of the categories.

    Returns:
        winner (U,) int32, -1 for a unit without ratings and for a tie that is not resolved; share (U,) of the ratings
        that the most frequent code has, NaN without ratings; tie (U,) bool.

    Raises:
        UsageError: another rule for ties.
    """
    if ties not in ("none", "first"):
        raise UsageError(f"ties are resolved by 'none' (no label) or 'first', not '{ties}'", parameter="ties")
    votes_cast = np.asarray(codes, np.int64)
    U = len(votes_cast)
    V = int(votes_cast.max(initial=0)) + 1
    units, coders = np.nonzero(votes_cast >= 0)
    votes = np.bincount(units * V + votes_cast[units, coders], minlength=U * V).reshape(U, V)
    most, total = votes.max(axis=1, initial=0), votes.sum(axis=1)
    tie = ((votes == most[:, None]).sum(axis=1) > 1) & (total > 0)
    winner = votes.argmax(axis=1).astype(np.int32) if U else np.zeros(0, np.int32)
    winner[(total == 0) | (tie if ties == "none" else False)] = NO_LABEL
    share = np.divide(most, total, out=np.full(U, np.nan), where=total > 0)
    return winner, share, tie
