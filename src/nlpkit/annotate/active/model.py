"""Active learning: which documents to label next, by how uncertain a classifier is, by how different they are, or by both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.annotate.active.options import (
    BADGE,
    CORE_SET,
    ENTROPY,
    LEAST_CONFIDENT,
    RANDOM,
    UNCERTAINTIES,
    check_strategy,
)
from nlpkit.classify.models.linear import row_lengths
from nlpkit.errors import InputError
from nlpkit.platform.types import BoolArray, FloatArray, LongArray

BLOCK_ROWS = 4096  # documents whose distances to all labelled ones are in memory at a time


@dataclass(frozen=True, slots=True)
class Selection:
    """Documents in the order in which they are to be labelled.

    rows (n,) int64: their places. scores (n,) float64: how uncertain the classifier is, or the distance to the nearest document that is
    labelled or was chosen before; NaN for random choice, and for the first document where there is none to be distant from.
    """

    rows: LongArray
    scores: FloatArray


def uncertainty(probabilities: FloatArray, by: str) -> FloatArray:
    """Return how uncertain a classifier is about documents (D,), from the probabilities (D, J) of their classes.

    entropy: -Σ_j p_j ln p_j, in nats. margin: 1 - (p_1 - p_2), with the two most probable classes. least-confident: 1 - p_1 (Lewis &
    Gale 1994; Settles 2009, §3.1). For two classes all three give the same order.
    """
    p = np.asarray(probabilities, np.float64)
    if by == ENTROPY:
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1))
    best = np.sort(p, axis=1)[:, ::-1]
    if by == LEAST_CONFIDENT:
        return np.asarray(1.0 - best[:, 0])
    second = best[:, 1] if p.shape[1] > 1 else np.zeros(len(p))
    return np.asarray(1.0 - (best[:, 0] - second))


def unit_rows(points: Any) -> Any:
    """Return points (D, E) at length 1, an array as float32 or CSR as float64; a row of zeros stays."""
    lengths = row_lengths(points)
    if sparse.issparse(points):
        return sparse.csr_array(sparse.diags_array(1 / lengths) @ sparse.csr_array(points, dtype=np.float64))
    return np.asarray(points / lengths[:, None], np.float32)


def select(
    by: str,
    n: int,
    n_docs: int,
    *,
    rng: np.random.Generator,
    probabilities: FloatArray | None = None,
    points: Any = None,
    labelled: Any = None,
) -> Selection:
    """Return n of D documents to be labelled next, the most useful first.

    entropy, margin, least-confident: the largest `uncertainty`; equal ones in an order that is drawn.
    random: drawn without replacement.
    diverse: seeding of k-means++ (Arthur & Vassilvitskii 2007): each document is drawn with a probability in proportion to its squared
    distance from the nearest one that is labelled or was drawn before; the first, where nothing is labelled, from all alike.
    core-set: the document that is farthest from these (greedy k-centre; Sener & Savarese 2018, Algorithm 1); of equally far ones
    one that is drawn.
    badge: seeding of k-means++ on the gradients of the loss by the weights of a linear layer, (p - e_ŷ) ⊗ h with ŷ the most probable
    class and h the point (Ash et al. 2020, Algorithm 1), as in the authors' program begun at the longest one. With a = p - e_ŷ the
    product of two gradients is (a·a')(h·h'), so no outer product is made.

    Args:
        by: a strategy. n: 1 … D. n_docs: D.
        rng: of what is drawn.
        probabilities: (D, J), for the strategies that see the classifier.
        points: (D, E) array or CSR, for diverse, core-set and badge; distances are Euclidean, so rows of length 1 compare directions.
        labelled: (L, E) points that are labelled already, for diverse and core-set; None for none.

    Raises:
        UsageError: an unknown strategy; InputError: n is more than the documents.
    """
    check_strategy(by)
    if not 1 <= n <= n_docs:
        raise InputError(f"cannot choose {n:,} of {n_docs:,} documents")
    if by == RANDOM:
        return Selection(rng.permutation(n_docs)[:n].astype(np.int64), np.full(n, np.nan))
    if by in UNCERTAINTIES:
        assert probabilities is not None
        score = uncertainty(probabilities, by)
        order = rng.permutation(n_docs)
        rows = order[np.argsort(-score[order], kind="stable")][:n].astype(np.int64)
        return Selection(rows, score[rows])
    assert points is not None
    with threadpool_limits(1, user_api="blas"):  # sums in one order, whatever the threads
        squares = _squares(points)
        if by == BADGE:
            assert probabilities is not None
            a = np.array(probabilities, np.float64)
            a[np.arange(n_docs), a.argmax(axis=1)] -= 1.0
            squares = squares * _squares(a)
            return _seeding(squares, lambda i: _dots(a, i) * _dots(points, i), n, rng, first=int(squares.argmax()))
        nearest = None if labelled is None or not labelled.shape[0] else _nearest(points, squares, labelled)
        return _seeding(squares, lambda i: _dots(points, i), n, rng, nearest=nearest, farthest=by == CORE_SET)


def _seeding(
    squares: FloatArray,
    dots: Callable[[int], FloatArray],
    n: int,
    rng: np.random.Generator,
    *,
    nearest: FloatArray | None = None,
    first: int | None = None,
    farthest: bool = False,
) -> Selection:
    """Return n points (D,) of squared lengths `squares` and products `dots` with one of them, each far from those before.

    nearest: squared distances (D,) to what is there already, None for nothing: then the point `first` begins, or one that is drawn.
    """
    free, order = np.ones(len(squares), bool), rng.permutation(len(squares)) if farthest else None
    rows, scores = np.empty(n, np.int64), np.empty(n)
    for k in range(n):
        if nearest is None:
            i = int(rng.integers(len(squares))) if first is None else first
            scores[k] = np.nan if first is None else np.sqrt(squares[i])
        else:
            i = _drawn(nearest, free, rng) if order is None else _farthest(nearest, free, order)
            scores[k] = np.sqrt(nearest[i])
        distance = np.maximum(squares + squares[i] - 2 * dots(i), 0.0)
        nearest = distance if nearest is None else np.minimum(nearest, distance)
        rows[k], free[i], nearest[i] = i, False, 0.0
    return Selection(rows, scores)


def _farthest(distances: FloatArray, free: BoolArray, order: LongArray) -> int:
    """Return the place of the largest distance among those that are free; of equal ones the first in an order."""
    return int(order[np.where(free, distances, -1.0)[order].argmax()])


def _drawn(weights: FloatArray, free: BoolArray, rng: np.random.Generator) -> int:
    """Return a place drawn in proportion to its weight; where all weigh nothing, one that is free."""
    total = np.cumsum(weights)
    u = rng.random()
    if total[-1] <= 0:
        return int(np.flatnonzero(free)[int(u * free.sum())])
    i = int(np.searchsorted(total, u * total[-1], side="right"))
    return min(i, int(np.flatnonzero(weights)[-1]))


def _squares(points: Any) -> FloatArray:
    """Return the squared lengths (D,) of points."""
    if sparse.issparse(points):
        return np.asarray(points.multiply(points).sum(axis=1), np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", points, points, dtype=np.float64))


def _dots(points: Any, i: int) -> FloatArray:
    """Return the products (D,) of points with one of them."""
    one = points[[i]].toarray().ravel() if sparse.issparse(points) else points[i]
    return np.asarray(points @ one, np.float64)


def _nearest(points: Any, squares: FloatArray, others: Any) -> FloatArray:
    """Return the squared distance (D,) of each point to the nearest of others (L, E)."""
    lengths, nearest = _squares(others), np.empty(len(squares))
    for start in range(0, len(squares), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        dots = points[rows] @ others.T
        dots = dots.toarray() if sparse.issparse(dots) else dots
        nearest[rows] = np.maximum(squares[rows] + (lengths - 2 * dots).min(axis=1), 0.0)
    return nearest
