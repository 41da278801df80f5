"""Sweeps of supervised LDA, the author-topic model and labelled LDA by their formulas, every count made anew for each token."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax


def draw(weights: Any, uniform: float) -> int:
    """Which weight a uniform number falls on."""
    return min(int(np.searchsorted(np.cumsum(weights), uniform * np.sum(weights), side="right")), len(weights) - 1)


def words(v: int, here: Any, z: Any, term_ids: Any, K: int, V: int, eta: float) -> Any:
    """(n_kw + η) / (n_k + Vη) (K,) of the tokens marked in `here`."""
    n_kw = np.array([np.sum(here & (z == k) & (term_ids == v)) for k in range(K)])
    n_k = np.array([np.sum(here & (z == k)) for k in range(K)])
    return (n_kw + eta) / (n_k + V * eta)


def slda_sweep(
    offsets: Any, term_ids: Any, z: Any, K: int, V: int, alpha: float, eta: float, coef: Any, intercept: Any, y: Any, variance: float,
    uniforms: Any,
) -> Any:  # fmt: skip
    """The topics (N,) after a sweep of supervised LDA; -1: no topic yet."""
    z = z.copy()
    for d in range(len(offsets) - 1):
        document = slice(offsets[d], offsets[d + 1])
        N = offsets[d + 1] - offsets[d]
        for i in range(offsets[d], offsets[d + 1]):
            z[i] = -1
            here = z >= 0
            n_dk = np.array([np.sum(z[document] == k) for k in range(K)])
            weights = (n_dk + alpha) * words(term_ids[i], here, z, term_ids, K, V, eta)
            if not np.isnan(y[d]):
                log_p = np.empty(K)
                for k in range(K):
                    scores = intercept + (n_dk + np.eye(K)[k]) @ coef / N
                    log_p[k] = (
                        -0.5 * (y[d] - scores[0]) ** 2 / variance if len(scores) == 1 else log_softmax(scores)[int(y[d])]
                    )  # fmt: skip
                weights = weights * np.exp(log_p - log_p.max())
            z[i] = draw(weights, uniforms[i])
    return z


def restricted_sweep(
    offsets: Any, term_ids: Any, pairs: Any, places: Any, K: int, V: int, alpha: float, eta: float, uniforms: Any
) -> Any:
    """The pair (row, topic) of each token after a sweep. pairs: those that each document may use; places: pairs now, None for none."""
    places = list(places)
    every = {pair for several in pairs for pair in several}
    in_row = {row: sum(r == row for r, _ in every) for row, _ in every}
    for d in range(len(offsets) - 1):
        for i in range(offsets[d], offsets[d + 1]):
            places[i] = None
            here = np.array([p is not None for p in places])
            z = np.array([-1 if p is None else p[1] for p in places])
            phi = words(term_ids[i], here, z, term_ids, K, V, eta)
            weights = [
                (places.count((r, k)) + alpha)
                / (sum(p is not None and p[0] == r for p in places) + alpha * in_row[r]) * phi[k]
                for r, k in pairs[d]
            ]  # fmt: skip
            places[i] = pairs[d][draw(weights, uniforms[i])]
    return places
