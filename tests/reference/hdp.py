"""The hierarchical Dirichlet process in plain Python: a sweep by gamma functions, and the exact posterior of tiny corpora."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from scipy.special import gammaln

from nlpkit.topics.base.kernels import uniform


def log_joint(docs: Any, words: Any, z: Any, beta: Any, alpha: float, eta: float, V: int) -> float:
    """log p(w, z | β) of tokens in documents `docs`, all (N,); topics -1 are left out; beta (K + 1,), its last the unused share."""
    there = z >= 0
    out = log_words(words[there], z[there], eta, V)
    for d in set(docs.tolist()):
        n_dk = np.bincount(z[there & (docs == d)], minlength=len(beta))
        used = n_dk > 0
        out += float((gammaln(n_dk[used] + alpha * beta[used]) - gammaln(alpha * beta[used])).sum())
    return out


def log_words(words: Any, z: Any, eta: float, V: int) -> float:
    """log p(w | z)."""
    out = 0.0
    for k in set(z.tolist()):
        n_v = np.bincount(words[z == k], minlength=V)
        out += float((gammaln(n_v + eta) - gammaln(eta)).sum() + gammaln(V * eta) - gammaln(n_v.sum() + V * eta))
    return out


def sweep(docs: Any, words: Any, z: Any, beta: Any, alpha: float, gamma: float, eta: float, V: int, key: int) -> Any:
    """Topics (N,) and shares (C + 1,) after a sweep of p(z_i | others) ∝ p(w, z | β); free slots have beta 0."""
    z, beta = z.copy(), beta.copy()
    C = len(beta) - 1
    with np.errstate(over="ignore"):
        for i in range(len(z)):
            before, z[i] = z[i], -1
            if before >= 0 and not (z == before).any():
                beta[C] += beta[before]
                beta[before] = 0.0
            logs = np.full(C + 1, -np.inf)
            for k in [*(np.flatnonzero(beta[:C] > 0)), C]:
                z[i] = k
                logs[k] = log_joint(docs, words, z, beta, alpha, eta, V)
            p = np.exp(logs - logs.max())
            z[i] = np.searchsorted(np.cumsum(p / p.sum()), uniform(np.uint64(key), np.uint64(2 * i)), side="right")
            if z[i] == C:
                z[i] = next(k for k in range(C) if not (z == k).any())
                share = 1 - (1 - uniform(np.uint64(key), np.uint64(2 * i + 1))) ** (1 / gamma)
                beta[z[i]], beta[C] = beta[C] * share, beta[C] * (1 - share)
    return z, beta


def posterior(documents: Any, alpha: float, gamma: float, eta: float, V: int) -> dict[tuple[int, ...], float]:
    """p(z | w) of every division of the tokens into topics, by all seatings of the Chinese restaurant franchise."""
    tokens = [(d, v) for d, words in enumerate(documents) for v in words]
    words = np.array([v for _, v in tokens])
    weights: dict[tuple[int, ...], float] = defaultdict(float)

    def seat(i: int, p: float, z: tuple[int, ...], tables: tuple[tuple[int, int, int], ...]) -> None:
        if i == len(tokens):
            weights[z] += p * np.exp(log_words(words, np.array(z), eta, V))
            return
        d = tokens[i][0]
        mine = sum(n for of, _, n in tables if of == d)
        for t, (of, k, n) in enumerate(tables):
            if of == d:
                more = (*tables[:t], (of, k, n + 1), *tables[t + 1 :])
                seat(i + 1, p * n / (mine + alpha), (*z, k), more)
        K = max((k for _, k, _ in tables), default=-1) + 1
        for k in range(K + 1):
            dishes = sum(dish == k for _, dish, _ in tables) if k < K else gamma
            chance = alpha / (mine + alpha) * dishes / (len(tables) + gamma)
            seat(i + 1, p * chance, (*z, k), (*tables, (d, k, 1)))

    seat(0, 1.0, (), ())
    total = sum(weights.values())
    return {z: p / total for z, p in weights.items()}
