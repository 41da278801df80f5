"""How much of a corpus topics are: their shares of the documents of a period, a group, or both, with intervals.

Further parts, in this order:
- How topics relate: cosines of their words, correlations over documents.
- Do topics rise or fall, do groups differ: a test of each topic, and what the false discovery rate over all of them is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.metrics.intervals import benjamini_hochberg, wilson_bounds
from nlpkit.platform.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Membership:
    """Which topics documents have: one each, or a mixture.

    weights: (D, K) CSR, in a row either one 1 or the probabilities θ_dk that are known. prior: (K,) or None: what θ_d lacks to 1 belongs
    to the topics that row d does not list, in proportion to this. none: (D,) documents without any topic, whose rows are empty.
    """

    weights: CsrMatrix
    none: BoolArray
    prior: FloatArray | None = None

    @property
    def is_mixed(self) -> bool:
        """Whether a document may have several topics."""
        return self.prior is not None

    def parts(self) -> tuple[CsrMatrix, FloatArray]:
        """Return U (D, K) CSR and s (D,) of θ_dk = U_dk + s_d α_k, α the prior; s is 0 where a row lists all that a document has."""
        weights = sparse.csr_array(self.weights, dtype=np.float64)
        if self.prior is None:
            return weights, np.zeros(weights.shape[0])
        scale = _spread(weights, self.none, self.prior)
        data = weights.data - np.repeat(scale, np.diff(weights.indptr)) * self.prior[weights.indices]
        return sparse.csr_array((data, weights.indices, weights.indptr), shape=weights.shape), scale


@dataclass(frozen=True, slots=True)
class CellSums:
    """Documents of C cells and their topics, column K for documents without one.

    n: (C,) documents; sums: (C, K+1) Σ_d θ_dk; squares: (C, K+1) Σ_d θ_dk²; is_mixed: θ may be other than 0 and 1.
    """

    n: LongArray
    sums: FloatArray
    squares: FloatArray
    is_mixed: bool

    @property
    def shares(self) -> FloatArray:
        """Σ_d θ_dk / n (C, K+1), NaN in a cell without documents."""
        n = self.n[:, None].astype(np.float64)
        shares: FloatArray = np.divide(self.sums, n, out=np.full(self.sums.shape, np.nan), where=n > 0)
        return shares

    def merged(self, groups: LongArray, n_groups: int) -> CellSums:
        """Return the sums over the cells of each group; groups: (C,) of each cell, -1 for none."""
        kept = np.flatnonzero(groups >= 0)
        member = sparse.csr_array((np.ones(len(kept)), (groups[kept], kept)), shape=(n_groups, len(groups)))
        n = np.rint(member @ self.n.astype(np.float64)).astype(np.int64)
        return CellSums(n, member @ self.sums, member @ self.squares, self.is_mixed)


def one_topic_each(topics: IntArray, K: int) -> Membership:
    """Return the membership of documents (D,) that have one topic each, -1 for none."""
    has = topics >= 0
    indptr = np.concatenate([[0], np.cumsum(has)])
    weights = sparse.csr_array((np.ones(indptr[-1]), topics[has], indptr), shape=(len(topics), K))
    return Membership(weights, ~has)


def sum_cells(membership: Membership, cells: IntArray, C: int) -> CellSums:
    """Return how many documents each cell has, and how much of each topic.

    Args:
        membership: of D documents in K topics.
        cells: (D,) cell of each document in 0..C-1, -1 for none.
    """
    U, scale = membership.parts()
    rows = np.flatnonzero(cells >= 0)
    member = sparse.csr_array((np.ones(len(rows)), (cells[rows], rows)), shape=(C, len(cells)))
    sums, squares = (member @ U).toarray(), (member @ U.multiply(U)).toarray()
    if membership.prior is not None:
        prior = membership.prior
        squares += 2.0 * (member @ sparse.diags_array(scale) @ U).toarray() * prior
        squares += (member @ scale**2)[:, None] * prior**2
        sums += (member @ scale)[:, None] * prior
    n = np.bincount(cells[rows], minlength=C).astype(np.int64)
    none = np.bincount(cells[rows], weights=membership.none[rows], minlength=C)[:, None]
    return CellSums(n, np.hstack([sums, none]), np.hstack([squares, none]), membership.is_mixed)


def _spread(weights: CsrMatrix, none: BoolArray, prior: FloatArray) -> FloatArray:
    """Return the rest of each document's probability over the prior of the topics that it does not list (D,)."""
    ones = np.ones(weights.shape[1])
    rest = np.where(none, 0.0, np.maximum(1.0 - weights @ ones, 0.0))
    listed = sparse.csr_array((prior[weights.indices], weights.indices, weights.indptr), shape=weights.shape)
    unlisted = np.maximum(prior.sum() - listed @ ones, 0.0)
    spread: FloatArray = np.divide(rest, unlisted, out=np.zeros(len(rest)), where=unlisted > 1e-12 * prior.sum())
    return spread


def share_bounds(cells: CellSums, *, level: float, design: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends of the intervals of the shares (C, K+1), NaN in a cell without documents.

    Of documents with one topic each: the Wilson interval. Of mixtures: the Wilson interval of the number of documents with one
    topic each whose share would vary as much, never fewer than there are (as surveys use it, Korn & Graubard 1998):

        n* = p (1 - p) / (s² / n) · (z / t)²,   s² the variance of θ_dk in the cell, t the quantile with n - 1 degrees of freedom

    Args:
        design: (C,) by how much the variance of a share is larger than that of independent documents (Kish 1965), by which n* is divided.
    """
    from scipy.special import ndtri, stdtrit

    n = np.broadcast_to(cells.n[:, None].astype(np.float64), cells.sums.shape)
    shares = cells.shares
    effective = n
    if cells.is_mixed:
        degrees = np.maximum(n - 1, 1.0)
        variance = np.maximum(cells.squares - n * np.nan_to_num(shares) ** 2, 0.0) / degrees
        quantiles = float(ndtri((1 + level) / 2)) / stdtrit(degrees, (1 + level) / 2)
        binomial = shares * (1 - shares)
        known = (n > 1) & (variance > 1e-15)
        likely = np.divide(n * binomial * quantiles**2, variance, out=n.copy(), where=known)
        effective = np.maximum(likely, n)
    if design is not None:
        effective = effective / design[:, None]
    return wilson_bounds(shares, effective, level=level)


# ------------------------------------------------------------------------------------------------------------------------
# How topics relate: cosines of their words, correlations over documents.


def cosines(rows: CsrMatrix, others: CsrMatrix) -> FloatArray:
    """Return the cosine of each row (K, V) to each other row (L, V), as (K, L); 0 where a row is empty."""
    return np.asarray((_unit(rows) @ _unit(others).T).toarray(), np.float64)


def _unit(matrix: CsrMatrix) -> CsrMatrix:
    rows = sparse.csr_array(matrix, dtype=np.float64)
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
    data = rows.data * np.repeat(scale, np.diff(rows.indptr))
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def correlations(membership: Membership) -> FloatArray:
    """Return Pearson's correlation of the probabilities of each two topics over the documents that have any (K, K).

        r_jk = cov_d(θ_dj, θ_dk) / (s_j s_k)

    stm's topicCorr(method = "simple") before its threshold. Probabilities of a document sum to 1, so that of K topics that have
    nothing to do with each other two have about -1 / (K - 1), not 0. NaN for a topic that is the same everywhere.
    """
    U, scale = membership.parts()
    kept = np.flatnonzero(~membership.none)
    U, scale = U[kept], scale[kept]
    prior = np.zeros(U.shape[1]) if membership.prior is None else membership.prior
    D = max(len(kept), 1)
    mean = np.asarray(U.sum(axis=0)).ravel() / D + prior * (scale.sum() / D)
    crossed = np.outer(prior, U.T @ scale)
    products = (U.T @ U).toarray() + crossed + crossed.T + np.outer(prior, prior) * (scale @ scale)
    covariance = products / D - np.outer(mean, mean)
    deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    scale = np.outer(deviation, deviation)
    r = np.divide(covariance, scale, out=np.full(covariance.shape, np.nan), where=scale > 1e-15)
    return np.asarray(np.clip(r, -1, 1), np.float64)


# ------------------------------------------------------------------------------------------------------------------------
# Do topics rise or fall, do groups differ: a test of each topic, and what the false discovery rate over all of them is.

LEAST_PERIODS = 3  # with documents: a line through two points leaves nothing to measure the noise by
LEAST_GROUP = 5  # documents of a group that is shown as the one with the largest or the smallest share
_STEPS = 100
_LARGEST = 30.0  # a logit beyond which a share is 0 or 1


@dataclass(frozen=True, slots=True)
class Trends:
    """The trend of each topic, arrays (K+1,), NaN where there is none to test.

    odds_ratio: by which the odds of the topic grow from one period to the next, between low and high; first, last: the
    fitted share in the first and the last period; dispersion: how much more the periods scatter than documents drawn
    independently would; p, q: of the F test, and its false discovery rate.
    """

    odds_ratio: FloatArray
    low: FloatArray
    high: FloatArray
    first: FloatArray
    last: FloatArray
    dispersion: FloatArray
    p: FloatArray
    q: FloatArray


@dataclass(frozen=True, slots=True)
class Differences:
    """Whether groups differ in each topic, arrays (K+1,), NaN where there is nothing to test.

    statistic: χ² of documents with one topic each, F of mixtures; effect: Cramér's V, or η, both the root of the share of the
    variance that lies between groups; least_expected: documents of the topic (or without it) expected in the smallest group: below 5,
    p is rough; NaN for mixtures. lowest, highest: the groups with the smallest and the largest share, of those with LEAST_GROUP documents
    where there are two.
    """

    statistic: FloatArray
    p: FloatArray
    q: FloatArray
    effect: FloatArray
    least_expected: FloatArray
    lowest: np.ndarray
    highest: np.ndarray


def trends(cells: CellSums, *, level: float) -> Trends:
    """Return how the share of each topic changes over periods that follow each other at equal distances.

    A logistic regression of the share on the number of the period, with periods as the units: their scatter, not the number of
    documents, is what a trend is held against, because documents of one month tell of the same events.

        logit μ_t = a + b t,   φ = 1/(T - 2) Σ_t n_t (p_t - μ_t)² / (μ_t (1 - μ_t)),   F = (D_0 - D_1) / φ with 1 and T - 2 degrees

    φ is at least 1 where documents have one topic each. McCullagh & Nelder (1989), §4.5 and §9; for mixtures the fractional
    logit of Papke & Wooldridge (1996). Coefficients, φ and F are those of R's glm(family = quasibinomial) and
    anova(test = "F"), but for the floor. That a period resembles the one before is not modelled: a slow wave that the
    periods cover once looks like a trend.

    Args:
        cells: periods (T,) in order; those without documents keep their place in time.
        level: of the interval.
    """
    from scipy.special import expit, fdtrc, stdtrit

    used = np.flatnonzero(cells.n > 0)
    T, width = len(used), cells.sums.shape[1]
    empty = np.full(width, np.nan)
    if T < LEAST_PERIODS:
        return Trends(*(empty.copy() for _ in range(8)))
    n = cells.n[used].astype(np.float64)[:, None]
    y = cells.sums[used]
    time = used.astype(np.float64)[:, None]
    middle = float((n * time).sum() / n.sum())
    total = y.sum(axis=0) / n.sum()
    varies = (total > 0) & (total < 1) & (np.ptp(y / n, axis=0) > 0)
    t = time - middle
    a, b = _logits(np.clip(total, 1e-12, 1 - 1e-12)), np.zeros(width)
    for _ in range(_STEPS):
        mu = expit(np.clip(a + b * t, -_LARGEST, _LARGEST))
        weight = np.maximum(n * mu * (1 - mu), 1e-12)
        score_a, score_b = (y - n * mu).sum(axis=0), ((y - n * mu) * t).sum(axis=0)
        i_aa, i_ab, i_bb = weight.sum(axis=0), (weight * t).sum(axis=0), (weight * t * t).sum(axis=0)
        determinant = np.maximum(i_aa * i_bb - i_ab**2, 1e-300)
        step_a = np.clip((i_bb * score_a - i_ab * score_b) / determinant, -2, 2)
        step_b = (i_aa * score_b - i_ab * score_a) / determinant
        bound = 4 / max(float(np.ptp(time)), 1.0)
        step_b = np.clip(step_b, -bound, bound)
        a, b = a + step_a, b + step_b
        if max(np.abs(step_a[varies]).max(initial=0), np.abs(step_b[varies]).max(initial=0)) < 1e-10:
            break
    mu = expit(np.clip(a + b * t, -_LARGEST, _LARGEST))
    pearson = ((y - n * mu) ** 2 / np.maximum(n * mu * (1 - mu), 1e-12)).sum(axis=0) / (T - 2)
    phi = pearson if cells.is_mixed else np.maximum(pearson, 1.0)
    gain = deviance(y, n, np.broadcast_to(total, mu.shape)) - deviance(y, n, mu)
    F = np.divide(np.maximum(gain, 0.0), phi, out=np.zeros(width), where=phi > 0)
    p = np.where(varies, fdtrc(1, T - 2, F), np.nan)
    error = np.sqrt(phi * i_aa / determinant) * stdtrit(T - 2, (1 + level) / 2)
    ends = expit(a + b * (used[[0, -1]].astype(np.float64)[:, None] - middle))
    with np.errstate(over="ignore"):
        ratio, low, high = (np.where(varies, np.exp(value), np.nan) for value in (b, b - error, b + error))
    first, last, dispersion = (np.where(varies, value, np.nan) for value in (ends[0], ends[1], phi))
    p[-1] = np.nan  # that documents have no topic is no topic
    return Trends(ratio, low, high, first, last, dispersion, p, benjamini_hochberg(p))


def _logits(p: FloatArray) -> FloatArray:
    return np.log(p) - np.log1p(-p)


def deviance(y: FloatArray, n: FloatArray, mu: FloatArray) -> FloatArray:
    """Return -2 Σ_t (y_t log μ_t + (n_t - y_t) log(1 - μ_t)), the deviance but for a constant, (K+1,)."""
    from scipy.special import xlogy

    likelihood = xlogy(y, np.maximum(mu, 1e-300)) + xlogy(np.maximum(n - y, 0.0), np.maximum(1 - mu, 1e-300))
    return np.asarray(-2 * likelihood.sum(axis=0))


def differences(cells: CellSums) -> Differences:
    """Return whether the shares of each topic differ between groups.

        χ² = Σ_g n_g (p_g - p)² / (p (1 - p))                                       one topic each: Pearson's test, G - 1 degrees
        F  = Σ_g n_g (p_g - p)² / (G - 1)  /  (Σ_g Σ_d (θ_dk - p_g)² / (N - G))     mixtures: analysis of variance, G - 1 and N - G

    F is infinite, and p 0, where the documents of each group have the same share and the groups do not.

    Args:
        cells: groups (G,); those without documents do not count.
    """
    from scipy.special import chdtrc, fdtrc

    used = np.flatnonzero(cells.n > 0)
    G, width = len(used), cells.sums.shape[1]
    n = cells.n[used].astype(np.float64)[:, None]
    N, shares = float(n.sum()), cells.sums[used] / n
    p = cells.sums[used].sum(axis=0) / max(N, 1.0)
    between = (n * (shares - p) ** 2).sum(axis=0)
    total = np.maximum(cells.squares[used].sum(axis=0) - N * p**2, 0.0)
    varies = (total > 1e-12) & (G > 1)
    none = np.full(width, np.nan)
    effect = np.sqrt(np.divide(between, total, out=none.copy(), where=varies))
    if cells.is_mixed:
        inner = np.maximum(total - between, 0.0)
        testable = varies & (N > G)
        statistic = np.where(testable, np.inf, np.nan)
        np.divide(between * (N - G), inner * max(G - 1, 1), out=statistic, where=testable & (inner > 1e-12))
        values = fdtrc(max(G - 1, 1), max(N - G, 1), np.nan_to_num(statistic))
        expected = none
    else:
        statistic = np.divide(between, p * (1 - p), out=none.copy(), where=varies)
        values = chdtrc(max(G - 1, 1), np.nan_to_num(statistic))
        expected = np.where(varies, n.min() * np.minimum(p, 1 - p), np.nan)
    values = np.where(np.isnan(statistic), np.nan, values)
    values[-1] = np.nan
    large = used[cells.n[used] >= LEAST_GROUP]
    compared = large if len(large) > 1 else used
    lowest = highest = np.zeros(width, np.int64)
    if len(compared):
        of_groups = cells.shares[compared]
        lowest, highest = compared[of_groups.argmin(axis=0)], compared[of_groups.argmax(axis=0)]
    return Differences(statistic, values, benjamini_hochberg(values), effect, expected, lowest, highest)
