"""Topics that tell the same in two places: pairs to join, and what joining changes under a Dirichlet prior of the words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from nlpkit.types import IntArray, LongArray


def joined(n_kv: IntArray, eta: float, gain: Callable[[int, int], float]) -> LongArray:
    """Return for each topic (K,) the one that it is joined to, itself for most.

    A topic is joined to the one whose words are most like its own (cosine of counts), the most alike pairs first and a topic once at
    most, where that raises log p(w | z) and all else by more than 0.

    Args:
        n_kv: (K, V) counts. gain: change of all else when two topics become one.
    """
    into = np.arange(len(n_kv))
    if len(n_kv) < 2:
        return into
    counts = sparse.csr_array(n_kv.astype(np.float64))
    cosine = (counts @ counts.T).toarray()
    lengths = np.sqrt(np.maximum(np.diag(cosine), 1e-300))  # of a topic without words: alike to none
    cosine /= lengths * lengths[:, None]
    np.fill_diagonal(cosine, -1.0)
    nearest, taken = cosine.argmax(axis=1), np.zeros(len(n_kv), bool)
    for a in np.argsort(-cosine.max(axis=1), kind="stable"):
        b = nearest[a]
        if not (taken[a] or taken[b]) and gain(a, b) + gain_of_words(n_kv[a], n_kv[b], eta) > 0:
            into[max(a, b)] = min(a, b)
            taken[[a, b]] = True
    return into


def gain_of_words(one: IntArray, other: IntArray, eta: float) -> float:
    """Return the change of log p(w | z) when two topics of counts n_kv (V,) become one."""
    from scipy.special import gammaln

    both = np.flatnonzero((one > 0) & (other > 0))
    words = gammaln(one[both] + other[both] + eta) - gammaln(one[both] + eta) - gammaln(other[both] + eta)
    a, b, V = one.sum(), other.sum(), len(one)
    totals = gammaln(a + b + V * eta) - gammaln(a + V * eta) - gammaln(b + V * eta) + gammaln(V * eta)
    return float(words.sum() + len(both) * gammaln(eta) - totals)
