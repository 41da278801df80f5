"""Topic coherence by windows of a reference corpus, as in Röder, Both & Hinneburg (2015).

m = measure("npmi", window=10)
plan = plan_pairs(topics, all_pairs=m.all_pairs)
counter = WindowCounter(plan, m.windows)  # fed with the reference corpus
scores = coherence(counter.result(), m, top_n=10)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics import confirmation as of
from nlpkit.metrics.coherence import npmi
from nlpkit.metrics.coherence_definitions import Absent, CoherenceMeasure, measure
from nlpkit.metrics.windows import CountArray, WindowCounts
from nlpkit.types import BoolArray, FloatArray, IntArray

__all__ = ["CoherenceMeasure", "absent_words", "coherence", "measure"]

_BLOCK = 64  # topics whose context vectors are in memory at a time


def absent_words(counts: WindowCounts) -> list[str]:
    """Return the words of the topics that the reference corpus does not hold."""
    seen = counts.single.sum(axis=0) > 0
    return [word for word, there in zip(counts.plan.words, seen, strict=True) if not there]


def coherence(
    counts: WindowCounts, measure: CoherenceMeasure, *, top_n: int, absent: Literal["worst", "skip"] = "worst"
) -> FloatArray:
    """Return the coherence of each topic (K,); NaN for a topic of under two words, or under two usable ones.

    Of a resample that drew no document, all are NaN.

    Args:
        counts: those of `measure.windows`, of one group or of several together.
        top_n: how many words of each topic count.
        absent: what becomes of words that the reference does not hold, unless the measure says it itself. worst: they lower
            the score to the floor of the measure: -1 for npmi and c_p, ln ε for pmi, -ln(all windows) for umass; for c_v they
            add nothing to any vector and confirm with 0. skip: they are left out.

    Raises:
        InputError: the reference has no documents.
        UsageError: top_n is under two.
        ValueError: the counts are of other windows than those of the measure, or of too few pairs.
    """
    if top_n < 2:
        raise UsageError(f"coherence needs the top 2 words of a topic or more, got {top_n}", parameter="top_n")
    if counts.windows != measure.windows:
        raise ValueError(f"{measure.name} needs counts of {measure.windows}, got {counts.windows}")
    if measure.all_pairs and not counts.plan.all_pairs:
        raise ValueError(f"{measure.name} of {measure.compat} needs plan_pairs(topics, all_pairs=True)")
    counts = counts.total()
    n = float((counts.n_windows_relevant if measure.relevant_only else counts.n_windows)[0])
    if counts.n_docs == 0:
        raise InputError("the reference corpus has no documents to count words in; give one with text")
    K, width = counts.plan.topics.shape
    if counts.n_windows[0] == 0:
        return np.full(K, np.nan)
    single, joint = (np.where(a[0] >= measure.min_count, a[0], 0) for a in (counts.single, counts.joint))
    chosen = _chosen(counts.plan.topics, single > 0, measure.absent, top_n, absent)
    used = int(np.flatnonzero(chosen.any(axis=0)).max(initial=-1)) + 1
    pairs = counts.plan.topic_pairs[:, np.triu_indices(width, 1)[1] < used]
    topics, chosen = counts.plan.topics[:, :used], chosen[:, :used]
    reference = _Reference(measure, single, joint, n)
    score = _by_vectors if measure.context_vectors else _by_pairs
    scores = np.full(K, np.nan)
    for k in range(0, K, _BLOCK):
        block = slice(k, k + _BLOCK)
        values, confirmed = score(reference, topics[block], pairs[block], chosen[block])
        scores[block] = _aggregate(values, confirmed & (chosen[block].sum(axis=1) > 1)[:, None], measure.aggregation)
    return scores


def _chosen(topics: IntArray, seen: BoolArray, rule: Absent, top_n: int, absent: Literal["worst", "skip"]) -> BoolArray:
    """Return which places of the topics (K, n) count."""
    present = topics >= 0
    known: BoolArray = present & np.append(seen, False)[topics]
    if rule == "dropped_first":
        # gensim looks at the length of the first list only
        cut = len(known) > 0 and known[0].sum() > top_n
        return np.logical_and(known, known.cumsum(axis=1) <= top_n) if cut else known
    skip = rule == "dropped" or (rule == "as_asked" and absent == "skip")
    return np.logical_and(known if skip else present, np.arange(topics.shape[1]) < top_n)


@dataclass(frozen=True, slots=True)
class _Reference:
    """A measure and the counts it is applied to: single (W,), joint (P,), n windows."""

    measure: CoherenceMeasure
    single: CountArray
    joint: CountArray
    n: float

    def confirm(self, joint: CountArray, u: CountArray, v: CountArray) -> FloatArray:
        """Return how much W*, in v windows, supports W', in u windows."""
        m, n = self.measure, self.n
        below = m.epsilon if m.unseen == "epsilon_both" else 0.0
        if m.confirmation == "fitelson":
            return of.fitelson(joint, u, v, n, undefined=0.0 if m.absent == "zero" else -1.0)
        if m.confirmation == "log_conditional":
            if m.unseen == "plus_one":
                floor = -np.log(n)
                return np.where(u > 0, of.smoothed_log_conditional(joint, v, undefined=floor), floor)
            if m.unseen == "epsilon_both":
                return of.log_conditional_after(joint, v, n, epsilon=m.epsilon)
            return of.log_conditional(joint, u, v, n, epsilon=m.epsilon)
        if m.confirmation == "pmi":
            floor = np.log(m.epsilon) if m.absent == "as_asked" else 0.0
            return of.log_ratio(joint, u, v, n, epsilon=m.epsilon, below=below, undefined=floor)
        if m.unseen == "floor":
            return np.clip(npmi(joint, u, v, n), -1.0, 1.0)  # type: ignore[arg-type]
        values = of.normalized_log_ratio(joint, u, v, n, epsilon=m.epsilon, below=below)
        return np.where(joint >= n, 1.0, values) if m.compat is None else values

    def of_pair(self, pairs: IntArray, u: IntArray, v: IntArray) -> FloatArray:
        """Return the confirmations of words u by words v, given their pairs."""
        return self.confirm(self.joint[pairs], self.single[u], self.single[v])


def _by_pairs(
    reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Return confirmations (K, S) of the pairs of words of topics (K, n), and which of them count."""
    left, right = np.triu_indices(topics.shape[1], 1)
    first, second, both_chosen = topics[:, left], topics[:, right], chosen[:, left] & chosen[:, right]
    both_ways = {"one_preceding": [(second, first)], "one_succeeding": [(first, second)]}
    ways = both_ways.get(reference.measure.segmentation, [(first, second), (second, first)])
    if reference.measure.confirmation in ("npmi", "pmi"):
        ways = ways[:1]  # the other way round is worth the same
    values = np.zeros((len(ways), *both_chosen.shape))
    for way, (u, v) in zip(values, ways, strict=True):
        way[both_chosen] = reference.of_pair(pairs[both_chosen], u[both_chosen], v[both_chosen])
    return np.concatenate(list(values), axis=1), np.tile(both_chosen, len(ways))


def _by_vectors(
    reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """Return cosines (K, S) of context vectors of the segments of topics (K, n), and which of them count."""
    m = reference.measure
    make = _vectors_over_all if m.all_pairs else _vectors
    vectors = make(reference, topics, pairs, chosen) ** m.gamma
    if m.segmentation in ("one_set", "one_all"):
        total = vectors.sum(axis=1, keepdims=True)
        return of.cosine(vectors, total if m.segmentation == "one_set" else total - vectors), chosen
    left, right = np.triu_indices(topics.shape[1], 1)
    return of.cosine(vectors[:, left], vectors[:, right]), chosen[:, left] & chosen[:, right]


def _vectors(reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray) -> FloatArray:
    """Return vectors (K, n, n): the confirmation of each word of a topic by each; zeros for words that do not count."""
    K, n = topics.shape
    left, right = np.triu_indices(n, 1)
    k, s = np.nonzero(chosen[:, left] & chosen[:, right])
    i, j = left[s], right[s]
    vectors = np.zeros((K, n, n))
    vectors[k, i, j] = reference.of_pair(pairs[k, s], topics[k, i], topics[k, j])
    vectors[k, j, i] = reference.of_pair(pairs[k, s], topics[k, j], topics[k, i])
    k, i = np.nonzero(chosen)
    single = reference.single[topics[k, i]]
    vectors[k, i, i] = reference.confirm(single, single, single)
    return vectors


def _vectors_over_all(reference: _Reference, topics: IntArray, pairs: IntArray, chosen: BoolArray) -> FloatArray:
    """Return vectors (K, n, W): the confirmation of each word of a topic by the words of all topics, by itself with 1."""
    W = len(reference.single)
    vectors = np.zeros((*topics.shape, W))
    seen = np.flatnonzero(reference.single > 0)
    for k, i in np.argwhere(chosen):
        word = topics[k, i]
        low, high = np.minimum(seen, word), np.maximum(seen, word)
        others = seen != word
        pair_ids = (low * W - low * (low + 1) // 2 + high - low - 1)[others]
        vectors[k, i, seen[others]] = reference.of_pair(pair_ids, np.full(len(pair_ids), word), seen[others])
        vectors[k, i, word] = 1.0
    return vectors


def _aggregate(values: FloatArray, counted: BoolArray, average: Literal["mean", "median"]) -> FloatArray:
    """Return the mean or median of the values (K, S) of each topic that are given; NaN where none is."""
    n = counted.sum(axis=1)
    result = np.full(len(values), np.nan)
    if average == "mean":
        np.divide(np.where(counted, values, 0.0).sum(axis=1), n, out=result, where=n > 0)
    else:
        result[n > 0] = [np.median(row[there]) for row, there in zip(values[n > 0], counted[n > 0], strict=True)]
    return result
