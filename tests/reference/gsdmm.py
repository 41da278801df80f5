"""The conditional of GSDMM with gamma functions (Yin & Wang 2014, equation 3), and a sweep by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln


def conditional(counts: Any, topics: Any, d: int, K: int, alpha: float, beta: float) -> Any:
    """p(z_d = k | all others) (K,) of counts n_dv (D, V) and topics (D,), by the marginal likelihood with d in each topic."""
    joint = np.empty(K)
    for k in range(K):
        z = topics.copy()
        z[d] = k
        n_kv = np.array([counts[z == j].sum(axis=0) for j in range(K)])
        m_k, V = np.bincount(z, minlength=K), counts.shape[1]
        joint[k] = gammaln(m_k + alpha).sum() + (
            gammaln(n_kv + beta).sum(axis=1) - gammaln(n_kv.sum(axis=1) + V * beta)
        ).sum()  # fmt: skip
    p = np.exp(joint - joint.max())
    return p / p.sum()


def sweep(counts: Any, topics: Any, K: int, alpha: float, beta: float, uniforms: Any) -> Any:
    """The topics (D,) after a sweep."""
    z = topics.copy()
    for d in range(len(z)):
        cumulative = np.cumsum(conditional(counts, z, d, K, alpha, beta))
        z[d] = min(int(np.searchsorted(cumulative, uniforms[d], side="right")), K - 1)
    return z
