"""Collapsed Gibbs sampling by the formula: every draw counts the topics of all tokens anew, nothing is kept but their order.

Also the exact posterior p(z | w) of a tiny corpus, by listing all states.
"""

from __future__ import annotations

from itertools import product
from math import ceil, log2
from typing import Any

import numpy as np
from scipy.special import logsumexp

from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.arguments import stream_key

MASK = 2**64 - 1


def random_bits(key: int, counter: int) -> int:
    """The counter-th number of SplitMix64 (Steele, Lea & Flood 2014, figure 17), in integers without end."""
    x = (key + counter * 0x9E3779B97F4A7C15) & MASK
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def uniform(key: int, counter: int) -> float:
    return (random_bits(key, counter) >> 11) / 2**53


def documents_of(tokens: TokenTable) -> Any:
    """The document of each token (N,)."""
    return np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))


def cut(sizes: Any, parts: int) -> Any:
    """Cut things of some sizes into `parts` runs of like size: the run of each thing."""
    ends = np.cumsum(np.concatenate([[0], sizes]))
    cuts = np.searchsorted(ends, np.linspace(0, ends[-1], parts + 1)[1:-1])
    return (np.arange(len(sizes))[:, None] >= cuts).sum(axis=1)


class PlainSampler:
    """A chain with the arguments of GibbsSampler; z (N,) are the topics of the tokens."""

    def __init__(
        self,
        tokens: TokenTable,
        *,
        n_topics: int,
        alpha: Any,
        eta: float,
        seed: int,
        shards: int = 1,
        assignments: Any = None,
        frozen: Any = None,
        fixed: Any = None,
        weights: Any = None,
    ) -> None:
        N, D, V = len(tokens.term_ids), tokens.n_docs, tokens.n_terms
        unit = 1 if weights is None else 256
        self.K, self.V, self.seed, self.sweep = n_topics, V, seed, 0
        self.P = max(1, min(shards, D))
        self.alpha, self.eta = np.full(n_topics, 1.0) * alpha * unit, eta * unit
        self.fixed = np.zeros(n_topics, bool) if fixed is None else fixed
        self.term, self.doc = tokens.term_ids, documents_of(tokens)
        self.units = np.ones(N, int) if weights is None else np.maximum(np.rint(weights * 256), 1).astype(int)
        rest = np.zeros(D, bool) if frozen is None else frozen
        self.frozen = rest[self.doc]
        longest = np.bincount(self.doc, self.units, D).max(initial=1) + self.alpha.sum() + 1
        self.scale = 2.0 ** min(48, 61 - ceil(log2(longest)))

        # the order of the draws: by word, then documents as they come, the frozen ones last
        self.order = np.lexsort((np.arange(N), self.frozen, self.term))
        self.place = np.argsort(self.order).tolist()
        start = stream_key(seed, "start")
        z = np.full(N, -1) if assignments is None else assignments
        self.z = np.array(
            [k if k >= 0 else int(uniform(start, i) * self.K) for k, i in zip(z, self.place, strict=True)], int
        )

        lengths = np.diff(tokens.offsets)
        self.doc_block = np.full(D, -1)
        self.doc_block[~rest] = cut(lengths[~rest], self.P)
        self.word_block = cut(np.bincount(self.term, minlength=V), self.P)
        # topics of documents in the order in which they came
        self.lists: list[list[int]] = [[] for _ in range(D)]
        for i in self.order[~self.frozen[self.order]]:
            if self.z[i] not in self.lists[self.doc[i]]:
                self.lists[self.doc[i]].append(int(self.z[i]))

    def run(self, sweeps: int) -> None:
        """Draw every token `sweeps` times."""
        for _ in range(sweeps):
            key = stream_key(self.seed, "sweep", self.sweep)
            for turn in range(self.P):
                self.round(key, turn)
            self.sweep += 1

    def round(self, key: int, turn: int) -> None:
        """Draw the tokens of P cells, each of which sees the others as they were before the round."""
        before = self.z.copy()
        for block in range(self.P):
            z = before.copy()
            in_cell = (self.doc_block[self.doc] == block) & (self.word_block[self.term] == (block + turn) % self.P)
            for i in self.order[in_cell[self.order]]:
                z[i] = self.draw(z, i, uniform(key, self.place[i]))
            self.z[in_cell] = z[in_cell]

    def draw(self, z: Any, i: int, u: float) -> int:
        """Draw the topic of token i from p(k) ∝ (n_dk + α_k) (n_kw + η) / (n_k + Vη), counts without token i."""
        old, d = int(z[i]), self.doc[i]
        others = np.arange(len(z)) != i
        in_topics = others & (self.frozen | ~self.fixed[z])  # words of fixed topics are those of frozen documents alone
        n_dk = self.count(z, others & (self.doc == d)).astype(np.int64)
        n_kw, n_k = self.count(z, in_topics & (self.term == self.term[i])), self.count(z, in_topics)
        phi = ((n_kw + self.eta) * (self.scale / (n_k + self.V * self.eta))).astype(np.int64)
        smooth = (self.alpha * phi).astype(np.int64)

        topics = self.lists[d]
        listed = [k for k in topics if k != old]
        unlisted = [k for k in range(self.K) if k != old]
        parts = [n_dk[old] * phi[old] + smooth[old], *(n_dk[listed] * phi[listed]), *smooth[unlisted]]
        at = np.searchsorted(np.cumsum(parts), int(u * float(sum(parts))), side="right")
        new = [old, *listed, *unlisted, self.K - 1][at]  # beyond all parts only where all are 0

        if new != old:
            if new not in topics:
                topics.append(new)
            if n_dk[old] == 0:
                topics[topics.index(old)] = topics[-1]
                topics.pop()
        return new

    def count(self, z: Any, which: Any) -> Any:
        """Count the topics of some tokens (K,)."""
        return np.bincount(z[which], self.units[which], self.K)


class PlainShards(PlainSampler):
    """AD-LDA by the formula: each shard makes its sweep as if the topics of the others stayed as they were at its start.

    The tokens of a shard take their random numbers by word, those of the first shard first; frozen documents are in none.
    """

    def __init__(self, tokens: TokenTable, **chain: Any) -> None:
        super().__init__(tokens, **chain)
        N = len(self.z)
        self.shard = np.where(self.frozen, self.P, self.doc_block[self.doc])
        self.order = np.lexsort((np.arange(N), self.term, self.shard))
        self.place = np.argsort(self.order).tolist()
        start, known = stream_key(self.seed, "start"), chain.get("assignments")
        known = np.full(N, -1) if known is None else known
        self.z = np.array(
            [k if k >= 0 else int(uniform(start, i) * self.K) for k, i in zip(known, self.place, strict=True)], int
        )
        self.lists = [[] for _ in self.lists]
        for i in self.order[~self.frozen[self.order]]:
            if self.z[i] not in self.lists[self.doc[i]]:
                self.lists[self.doc[i]].append(int(self.z[i]))
        in_doc = np.bincount(self.doc, self.units, len(self.lists))
        longest = [in_doc[self.doc_block == p].max(initial=1) for p in range(self.P)]
        self.scales = [2.0 ** min(48, 61 - ceil(log2(n + self.alpha.sum() + 1))) for n in longest]

    def run(self, sweeps: int) -> None:
        """Draw every token `sweeps` times."""
        for _ in range(sweeps):
            key, before = stream_key(self.seed, "sweep", self.sweep), self.z.copy()
            for p in range(self.P):
                z, self.scale = before.copy(), self.scales[p]
                for i in self.order[self.shard[self.order] == p]:
                    z[i] = self.draw(z, i, uniform(key, self.place[i]))
                self.z[self.shard == p] = z[self.shard == p]
            self.sweep += 1


def chain_rule(tokens: TokenTable, z: Any, alpha: Any, eta: float, frozen: Any = None, fixed: Any = None) -> Any:
    """log p(w, z) token by token: (2, N) the log-probability of its topic and of its word, given those before.

    The tokens of frozen documents come first; words of later tokens teach fixed topics nothing.
    """
    K, V, doc, N = len(alpha), tokens.n_terms, documents_of(tokens), len(z)
    frozen = np.zeros(N, bool) if frozen is None else frozen[doc]
    fixed = np.zeros(K, bool) if fixed is None else fixed
    n_dk, n_kv = np.zeros((tokens.n_docs, K)), np.zeros((K, V))
    steps = np.zeros((2, N))
    for i in np.argsort(~frozen, kind="stable"):
        d, k, v = doc[i], z[i], tokens.term_ids[i]
        steps[0, i] = np.log((n_dk[d, k] + alpha[k]) / (n_dk[d].sum() + sum(alpha)))
        steps[1, i] = np.log((n_kv[k, v] + eta) / (n_kv[k].sum() + V * eta))
        n_dk[d, k] += 1
        n_kv[k, v] += frozen[i] or not fixed[k]
    return steps


def posterior(
    tokens: TokenTable, alpha: Any, eta: float, known: Any = None, frozen: Any = None, fixed: Any = None
) -> tuple[Any, Any]:
    """All states z (S, N) of a tiny corpus and p(z | w) (S,); known (N,) topics of tokens that are given, -1 for the others."""
    known = np.full(len(tokens.term_ids), -1) if known is None else known
    states = np.array(list(product(*[range(len(alpha)) if k < 0 else [k] for k in known])))
    log_p = np.array([chain_rule(tokens, z, alpha, eta, frozen, fixed).sum() for z in states])
    return states, np.exp(log_p - logsumexp(log_p))
