"""How much of a corpus topics are: their shares of the documents of a period, a group, or both, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.metrics.proportion import wilson_bounds
from nlpkit.types import BoolArray, CsrMatrix, FloatArray, IntArray, LongArray


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


def share_bounds(cells: CellSums, *, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the lower and upper ends of the intervals of the shares (C, K+1), NaN in a cell without documents.

    Of documents with one topic each: the Wilson interval. Of mixtures: the Wilson interval of the number of documents with one
    topic each whose share would vary as much, never fewer than there are (as surveys use it, Korn & Graubard 1998):

        n* = p (1 - p) / (s² / n) · (z / t)²,   s² the variance of θ_dk in the cell, t the quantile with n - 1 degrees of freedom
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
    return wilson_bounds(shares, effective, level=level)
