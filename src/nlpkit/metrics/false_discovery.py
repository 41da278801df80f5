"""Many tests at once: the share of false ones among those that are called significant."""

from __future__ import annotations

import numpy as np

from nlpkit.types import FloatArray


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Return the q-values of p-values (n,): the false discovery rate at which each would just be found; NaN stays NaN.

        q_(i) = min over j ≥ i of p_(j) · m / j,   p_(1) ≤ … ≤ p_(m)

    Benjamini & Hochberg (1995), adjusted p-values as in Yekutieli & Benjamini (1999); scipy.stats.false_discovery_control and
    R's p.adjust(method = "BH") give the same.
    """
    q = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    m = len(known)
    order = known[np.argsort(p[known], kind="stable")]
    raw = p[order] * m / np.arange(1, m + 1)
    q[order] = np.minimum(np.minimum.accumulate(raw[::-1])[::-1], 1.0)
    return q
