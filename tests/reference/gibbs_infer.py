"""Gibbs sampling of new documents under a fixed phi, with lists of Python and a dense phi."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

MASK = 2**64 - 1


def random_bits(key: int, counter: int) -> int:
    """SplitMix64."""
    x = (key + counter * 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Stream:
    """The uniform numbers of a document."""

    def __init__(self, words: list[int], key: int) -> None:
        for v in sorted(words):
            key = random_bits(key, v)
        self.key, self.counter = key, 0

    def draw(self) -> float:
        self.counter += 1
        return (random_bits(self.key, self.counter - 1) >> 11) / 2**53


class Sampler:
    """Topics of a document: `listed` is the order in which topics are tried, counts (K,)."""

    def __init__(self, base: list[float], parts: list[list[float]], alpha: list[float], stream: Stream) -> None:
        self.base, self.parts, self.alpha, self.stream = base, parts, alpha, stream
        self.listed: list[int] = []
        self.counts = [0] * len(base)

    def phi(self, k: int, v: int) -> float:
        return self.base[k] + self.parts[k][v]

    def draw(self, v: int, old: int | None) -> tuple[int, list[float]]:
        """Draw the topic of a token of word v; also return p(z = k | all others) (K,)."""
        K = len(self.base)
        counts = self.counts.copy()
        if old is not None:
            counts[old] -= 1
        weights = [(counts[k] + self.alpha[k]) * self.phi(k, v) for k in range(K)]
        p = [w / math.fsum(weights) for w in weights]
        # the same weights in the order in which they are drawn
        order = [(old, counts[old] * self.phi(old, v))] if old is not None else []
        order += [(k, counts[k] * self.phi(k, v)) for k in self.listed if k != old]
        order += [(k, self.alpha[k] * self.parts[k][v]) for k in range(K)]
        order += [(k, self.alpha[k] * self.base[k]) for k in range(K)]
        draw = self.stream.draw() * math.fsum(w for _, w in order)
        new = order[-1][0]
        for k, w in order:
            draw -= w
            if draw < 0:
                new = k
                break
        self.counts[new] += 1
        if new not in self.listed:
            self.listed.append(new)
        if old is not None:
            self.counts[old] -= 1
            if not self.counts[old]:  # the last one takes its place
                at, last = self.listed.index(old), self.listed.pop()
                if last != old:
                    self.listed[at] = last
        return new, p


def infer(docs: Any, base: Any, parts: Any, alpha: Any, chains: int, sweeps: int, burn_in: int, key: int) -> Any:
    """Return theta (D, K)."""
    theta = []
    for words in docs:
        stream, words = Stream(words, key), sorted(words)
        expected = [0.0] * len(base)
        for _ in range(chains):
            sampler, z = Sampler(base, parts, alpha, stream), [None] * len(words)
            for sweep in range(sweeps):
                for i, v in enumerate(words):
                    z[i], p = sampler.draw(v, z[i])
                    if sweep >= burn_in:
                        expected = [e + x for e, x in zip(expected, p, strict=True)]
        mean = [e / (chains * (sweeps - burn_in)) for e in expected]
        theta.append([(m + a) / (len(words) + sum(alpha)) for m, a in zip(mean, alpha, strict=True)])
    return theta


def left_to_right(docs: Any, base: Any, parts: Any, alpha: Any, particles: int, key: int) -> Any:
    """Return log p (N,) of the tokens."""
    out = []
    for words in docs:
        stream, p = Stream(words, key), [0.0] * len(words)
        for _ in range(particles):
            sampler, z = Sampler(base, parts, alpha, stream), []
            for here, v in enumerate(words):
                for i in range(here):
                    z[i], _ = sampler.draw(words[i], z[i])
                p[here] += sum(
                    (sampler.counts[k] + alpha[k]) * sampler.phi(k, v) / (here + sum(alpha)) for k in range(len(alpha))
                )
                z.append(sampler.draw(v, None)[0])
        out += [math.log(x / particles) for x in p]
    return out


def exactly(words: list[int], phi: Any, alpha: list[float]) -> tuple[float, list[float]]:
    """Return log p(w) and E[theta | w] (K,) by going through all topics of all tokens."""
    K, N = len(alpha), len(words)
    total, theta = 0.0, [0.0] * K
    for z in product(range(K), repeat=N):
        p, counts = 1.0, [0] * K
        for i, (k, v) in enumerate(zip(z, words, strict=True)):
            p *= (counts[k] + alpha[k]) / (i + sum(alpha)) * phi[k][v]
            counts[k] += 1
        total += p
        for k in range(K):
            theta[k] += p * (counts[k] + alpha[k]) / (N + sum(alpha))
    return math.log(total), [t / total for t in theta]


def left_to_right_limit(words: list[int], phi: Any, alpha: list[float]) -> float:
    """Return what `left_to_right` comes to with ever more particles: their states by probability, all of them."""
    K, log_p = len(alpha), 0.0
    states = {(): 1.0}
    for here, v in enumerate(words):
        for i in range(here):
            moved: dict[tuple[int, ...], float] = {}
            for z, p in states.items():
                others = [sum(t == k for j, t in enumerate(z) if j != i) for k in range(K)]
                weights = [(n + a) * row[words[i]] for n, a, row in zip(others, alpha, phi, strict=True)]
                for k, w in enumerate(weights):
                    new = (*z[:i], k, *z[i + 1 :])
                    moved[new] = moved.get(new, 0.0) + p * w / sum(weights)
            states = moved
        mean, longer = 0.0, {}
        for z, p in states.items():
            weights = [(z.count(k) + a) * row[v] for k, (a, row) in enumerate(zip(alpha, phi, strict=True))]
            mean += p * sum(weights) / (here + sum(alpha))
            for k, w in enumerate(weights):
                longer[(*z, k)] = p * w / sum(weights)
        states = longer
        log_p += math.log(mean)
    return log_p


def log_probs(theta: Any, docs: Any, phi: Any) -> list[float]:
    """Return log Σ_k θ_dk phi_kw of each token."""
    return [
        math.log(sum(t * row[v] for t, row in zip(shares, phi, strict=True)))
        for shares, words in zip(theta, docs, strict=True)
        for v in words
    ]


def documents(offsets: Any, term_ids: Any) -> list[list[int]]:
    """The words of each document."""
    return [list(map(int, term_ids[a:b])) for a, b in pairwise(offsets)]
