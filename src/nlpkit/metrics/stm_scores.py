"""Semantic coherence and exclusivity of topics as R's stm has them: the two axes of its plots of models."""

from __future__ import annotations

import numpy as np
from scipy import sparse, stats

from nlpkit.types import CsrMatrix, FloatArray

TOP = 10  # M of both functions
FREX_WEIGHT = 0.7  # of exclusivity against frequency, frexw


def semantic_coherence(phi: FloatArray, counts: CsrMatrix, *, top: int = TOP) -> FloatArray:
    """Return the coherence of the most probable words of each topic (K,), at most 0 but for its constant.

        Σ over pairs (m, l) of log (D(m, l) + .01) - log (D(l, l) + .01),   D: documents with both words

    As semanticCoherence of R's stm 1.3.7, after Mimno et al. (2011), with its order of the two words of a pair: l is the one that
    appears first among the words of all topics, topic by topic, and not the more probable one of the topic.

    Args:
        phi: (K, V); counts: (D, V) of the documents of the fit.
    """
    words = np.argsort(-phi, axis=1, kind="stable")[:, :top]
    different, first = np.unique(words, return_index=True)
    order = different[np.argsort(first)]
    holds = sparse.csr_array(counts)[:, order].sign()
    together = (holds.T @ holds).toarray()
    place = np.empty(phi.shape[1], np.int64)
    place[order] = np.arange(len(order))
    values = np.log(together + 0.01) - np.log(np.diag(together) + 0.01)  # row m, column l
    return np.array([np.tril(values[np.ix_(row, row)], -1).sum() for row in np.sort(place[words], axis=1)])


def frex_exclusivity(phi: FloatArray, *, top: int = TOP, weight: float = FREX_WEIGHT) -> FloatArray:
    """Return the sum of FREX over the most probable words of each topic (K,), from 0 to `top`.

        FREX_kv = 1 / (w / F_k(φ_kv / Σ_l φ_lv) + (1 - w) / F_k(φ_kv)),   F_k: rank among the V terms / V, ties at their mean rank

    As exclusivity of R's stm 1.3.7 (Airoldi and Bischof 2016).

    Args:
        phi: (K, V).
    """
    words = np.argsort(-phi, axis=1, kind="stable")[:, :top]
    exclusive = stats.rankdata(phi / np.maximum(phi.sum(axis=0), 1e-300), axis=1) / phi.shape[1]
    frequent = stats.rankdata(phi, axis=1) / phi.shape[1]
    frex = 1 / (weight / exclusive + (1 - weight) / frequent)
    return np.asarray(np.take_along_axis(frex, words, axis=1).sum(axis=1))
