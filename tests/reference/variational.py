"""Variational Bayes of LDA for one document, written down with scipy's functions (Hoffman, Blei & Bach 2010, section 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, psi


def expectations(lam: Any) -> Any:
    """E[log β_kv] (K, V) under Dir(λ_k)."""
    return psi(lam) - psi(lam.sum(axis=1))[:, None]


def infer(counts: Any, log_beta: Any, alpha: Any, steps: int, tolerance: float) -> tuple[Any, Any, float]:
    """γ (K,), Σ_v n_v φ_vk as (K, V), and the bound of a document of counts (V,), from γ = 1."""
    gamma = np.ones(len(alpha))

    def responsibilities() -> tuple[Any, Any]:
        logits = (psi(gamma) - psi(gamma.sum()))[:, None] + log_beta
        most = logits.max(axis=0)
        whole = most + np.log(np.exp(logits - most).sum(axis=0))
        return counts * np.exp(logits - whole), counts @ whole

    for _ in range(steps):
        before = gamma
        gamma = alpha + responsibilities()[0].sum(axis=1)
        if np.abs(gamma - before).mean() < tolerance:
            break
    expected, bound = responsibilities()
    log_theta = psi(gamma) - psi(gamma.sum())
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * log_theta).sum()
    entropy = gammaln(gamma).sum() - gammaln(gamma.sum()) - ((gamma - 1) * log_theta).sum()
    return gamma, expected, float(bound + prior + entropy)


def topic_bound(lam: Any, eta: float) -> float:
    """E[log p(β | η)] - E[log q(β | λ)] of λ (K, V)."""
    log_beta, V = expectations(lam), lam.shape[1]
    return float(
        ((eta - lam) * log_beta + gammaln(lam) - gammaln(eta)).sum()
        + (gammaln(V * eta) - gammaln(lam.sum(axis=1))).sum()
    )
