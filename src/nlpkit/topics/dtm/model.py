"""A fitted dynamic topic model: probabilities of words in topics, period by period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from nlpkit.platform.documents.chunks import Periods
from nlpkit.platform.types import FloatArray, IntArray, LongArray
from nlpkit.topics.base.by_term import strongest

ARRAYS = ("pairs", "paths", "rest", "period_bounds", "period_tokens")


@dataclass(frozen=True, slots=True)
class DynamicTopics:
    """Natural parameters β_tkv of K topics over V words in T periods; φ_tkv = exp β_tkv / Σ_u exp β_tku.

    pairs (P, 2) topic and word, sorted, of the P that have a path of their own, paths (P, T) these; rest (K, T): the path of all other
    words of a topic; tokens (T, K): expected tokens of each topic in each period.
    """

    periods: Periods
    n_terms: int
    pairs: LongArray
    paths: FloatArray
    rest: FloatArray
    tokens: FloatArray

    @property
    def n_topics(self) -> int:
        """K."""
        return len(self.rest)

    def logits(self, t: int) -> FloatArray:
        """Return log φ of a period (K, V)."""
        beta = np.repeat(self.rest[:, t, None], self.n_terms, axis=1)
        beta[self.pairs[:, 0], self.pairs[:, 1]] = self.paths[:, t]
        most = beta.max(axis=1, keepdims=True)
        beta -= most + np.log(np.exp(beta - most).sum(axis=1, keepdims=True))
        return beta

    def mean_counts(self) -> FloatArray:
        """Return Σ_t n_tk φ_tkv (K, V): φ averaged over time, a period by the tokens that a topic has in it."""
        total = np.zeros((self.n_topics, self.n_terms))
        for t in range(self.periods.n):
            total += self.tokens[t][:, None] * np.exp(self.logits(t))
        return total

    def arrays(self) -> dict[str, FloatArray]:
        """Return the parameters by name, for a run directory."""
        return {
            "pairs": self.pairs.astype(np.float64),
            "paths": self.paths,
            "rest": self.rest,
            "period_bounds": self.periods.bounds.astype(np.int64).astype(np.float64),
            "period_tokens": self.tokens,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], n_terms: int) -> Self:
        """Return the model of what `arrays` gave. Raises ValueError, KeyError where they do not fit together."""
        pairs, paths, rest, bounds, tokens = (arrays[name] for name in ARRAYS)
        (K, T), places = rest.shape, pairs.astype(np.int64)
        fits = len(bounds) == T + 1 and tokens.shape == (T, K) and paths.shape == (len(pairs), T)
        if not fits or (len(places) and (places.min() < 0 or (places.max(axis=0) >= (K, n_terms)).any())):
            raise ValueError("parameters of a dynamic topic model")
        return cls(Periods(bounds.astype(np.int64).astype("datetime64[D]")), n_terms, places, paths, rest, tokens)

    def renumbered(self, order: LongArray) -> Self:
        """Return the model with topic order[k] as topic k."""
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        topics = number[self.pairs[:, 0]]
        rows = np.lexsort((self.pairs[:, 1], topics))
        pairs = np.column_stack([topics, self.pairs[:, 1]])[rows]
        return type(self)(
            self.periods, self.n_terms, pairs, self.paths[rows], self.rest[order], np.ascontiguousarray(self.tokens[:, order])
        )  # fmt: skip


def top_terms(logits: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    """Return ids and probabilities (K, n) of the most probable words of topics, ties by id, from log φ (K, V)."""
    every = np.arange(logits.shape[1], dtype=np.int32)
    best = np.array([every[strongest(row, every, min(n, len(row)))] for row in logits])
    return best, np.exp(np.take_along_axis(logits, best, axis=1))


class Shift(NamedTuple):
    """A word whose probability in a topic changed from the first to the last period, and its probabilities there."""

    topic: int
    term_id: int
    first: float
    last: float

    @property
    def rose(self) -> bool:
        """Whether the last probability is larger."""
        return self.last > self.first


def largest_shifts(first: FloatArray, last: FloatArray, n: int) -> list[Shift]:
    """Return of each topic the n words that rose most, then the n that fell most, from log φ (K, V) of two periods.

    By φ' log(φ' / φ), the share of a word in the Kullback-Leibler divergence of the period in which it is more probable from the other.
    """
    shifts = []
    before, after, gain = np.exp(first), np.exp(last), last - first
    every = np.arange(first.shape[1], dtype=np.int32)
    for k in range(len(first)):
        for weight in (after[k] * gain[k], -before[k] * gain[k]):
            for v in every[strongest(weight, every, min(n, len(every)))]:
                if weight[v] > 0:
                    shifts.append(Shift(k, int(v), float(before[k, v]), float(after[k, v])))
    return shifts
