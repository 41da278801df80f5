"""The biterm topic model by the joint probability (Yan et al. 2013, section 3), biterms as a list of pairs, and a sweep by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln


def biterms(docs: Any, window: int) -> list[list[tuple[int, int]]]:
    """The pairs of different words less than `window` places apart of each document."""
    return [
        [(v, w) for i, v in enumerate(doc) for w in doc[i + 1 : i + window] if v != w] for doc in docs
    ]  # fmt: skip


def joint(pairs: Any, topics: Any, K: int, V: int, alpha: float, beta: float) -> float:
    """ln p(pairs, topics), θ and φ integrated out (Dirichlet-multinomials), by counts made anew."""
    n_z, n_kv = np.zeros(K), np.zeros((K, V))
    for (v, w), z in zip(pairs, topics, strict=True):
        n_z[z] += 1
        n_kv[z, v] += 1
        n_kv[z, w] += 1
    of_topics = gammaln(K * alpha) - K * gammaln(alpha) + gammaln(n_z + alpha).sum() - gammaln(len(pairs) + K * alpha)
    of_words = sum(
        gammaln(V * beta) - V * gammaln(beta) + gammaln(n_kv[k] + beta).sum() - gammaln(n_kv[k].sum() + V * beta)
        for k in range(K)
    )
    return float(of_topics + of_words)


def conditional(pairs: Any, topics: Any, b: int, K: int, V: int, alpha: float, beta: float) -> Any:
    """p(z_b = k | all others) (K,), by the joint probability with biterm b in each topic."""
    joints = np.empty(K)
    for k in range(K):
        z = list(topics)
        z[b] = k
        joints[k] = joint(pairs, z, K, V, alpha, beta)
    p = np.exp(joints - joints.max())
    return p / p.sum()


def sweep(pairs: Any, topics: Any, K: int, V: int, alpha: float, beta: float, uniforms: Any) -> list[int]:
    """The topics (B,) after a sweep."""
    z = list(topics)
    for b in range(len(z)):
        cumulative = np.cumsum(conditional(pairs, z, b, K, V, alpha, beta))
        z[b] = min(int(np.searchsorted(cumulative, uniforms[b], side="right")), K - 1)
    return z


def document(doc: Any, window: int, shares: Any, phi: Any) -> Any:
    """p(k | d) (K,) of one document: equation 5 to 7, with words for biterms where there are none."""
    pairs = biterms([doc], window)[0]
    parts = [shares * phi[:, v] * phi[:, w] for v, w in pairs] or [shares * phi[:, v] for v in doc]
    return np.mean([part / part.sum() for part in parts], axis=0) if parts else shares
