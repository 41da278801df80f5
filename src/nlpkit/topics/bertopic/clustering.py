"""The input and result of clustering documents into topics, and the fit to a sample of many.

Parts, in this order:
- Input and result, whatever the engine.
- Fits to a sample of a large corpus: which points are fitted, and how the others get what was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nlpkit.cluster.assign import rule, vote
from nlpkit.cluster.hierarchy import Repeat
from nlpkit.cluster.neighbours import Neighbours, nearest_neighbours, row_digests
from nlpkit.errors import InputError
from nlpkit.metrics.topics.coherence import Postings, postings
from nlpkit.platform.options import Execution
from nlpkit.platform.types import NO_TOPIC, CsrMatrix, Float32Array, IntArray, LongArray
from nlpkit.topics.base.options import FIT_ALL_UP_TO, FIT_SAMPLE, FITTED_PER_TOPIC, BertopicOptions
from nlpkit.topics.bertopic.choose import Candidate
from nlpkit.topics.bertopic.evidence import NumberEvidence


class Clock:
    """Seconds of the stages of a fit."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Add the time since the last call to a stage."""
        now = time.perf_counter()
        self.laps[stage] = round(self.laps.get(stage, 0.0) + now - self._last, 3)
        self._last = now


@dataclass
class Points:
    """The different documents to be clustered: embeddings (U, E), their neighbours, and counts (U, V) of their words.

    counts are summed over documents that share a point; documents (D, V) are those of the corpus. fitted (F,): points that a
    clustering sees and that all neighbours are of, ascending.
    """

    embeddings: Float32Array
    neighbours: Neighbours
    counts: CsrMatrix
    documents: CsrMatrix
    options: BertopicOptions
    execution: Execution
    progress: Callable[[str, float], None]
    clock: Clock
    fitted: LongArray

    @property
    def n(self) -> int:
        """U."""
        return len(self.embeddings)

    @property
    def smallest_topic(self) -> int:
        """Least number of documents of a topic of the density engine; by default 1 in 100, from 3 to 10."""
        return self.options.min_topic_size or usual_topic_size(self.n)

    def of_fitted(self) -> Points:
        """Return the fitted points alone."""
        if len(self.fitted) == self.n:
            return self
        index = np.searchsorted(self.fitted, self.neighbours.index[self.fitted]).astype(np.int32)
        return replace(
            self,
            embeddings=self.embeddings[self.fitted],
            neighbours=Neighbours(index, self.neighbours.similarity[self.fitted]),
            counts=self.counts[self.fitted],
            fitted=np.arange(len(self.fitted)),
        )

    @cached_property
    def reference(self) -> Postings:
        """The documents of each word in the corpus."""
        return postings(self.documents)


@dataclass(frozen=True, slots=True)
class Clustering:
    """Topics of points: labels (U,), -1 for none.

    candidates: the numbers of topics that were compared. merges: pairs of topics merged for an exact number, with their
    similarity. min_topic_size: the least size in force, None where the engine has none. coarser: numbers of topics of coarser
    layers, falling; divisions: labels (U,) of finer ones, rising in number. repeats: second fits with a number of topics.
    names: of the first topics, which were given and keep their numbers, without a document, too. prob (U,): of the topic, where the
    engine gives it.
    """

    labels: IntArray
    candidates: tuple[Candidate | NumberEvidence, ...] = ()
    merges: tuple[tuple[int, int, float], ...] = ()
    min_topic_size: int | None = None
    coarser: tuple[int, ...] = ()
    divisions: tuple[IntArray, ...] = ()
    repeats: Callable[[int], Sequence[Repeat]] = lambda k: ()
    names: tuple[str, ...] = ()
    prob: Float32Array | None = None


def usual_topic_size(n: int) -> int:
    """Return the usual least number of documents of a topic for n different documents: 1 in 100, from 3 to 10."""
    return max(3, min(10, n // 100))


# ------------------------------------------------------------------------------------------------------------------------
# Fits to a sample of a large corpus: which points are fitted, and how the others get what was found.

BLOCK_ROWS = 65_536


def sample_size(options: BertopicOptions, n: int) -> int:
    """Return how many of n points a fit takes: `all`, a number, or `auto`.

    `auto` is all up to FIT_ALL_UP_TO, else FIT_SAMPLE, or FITTED_PER_TOPIC for each topic that is asked for where that is more.

    Raises:
        InputError: more topics are asked for than points are fitted.
    """
    wanted, number = "all" if options.like else options.fit_sample, options.number_of_topics()
    k = number.exactly or number.within.high or 1
    if wanted == "auto":
        return n if n <= FIT_ALL_UP_TO else min(max(FIT_SAMPLE, FITTED_PER_TOPIC * k), n)
    size = n if wanted == "all" else min(int(wanted), n)
    if size < n and (number.exactly or 0) > size:
        raise InputError(
            f"`fit_sample={size}`: {k} topics cannot be made of so many documents; give `fit_sample={FITTED_PER_TOPIC * k}`, auto or "
            f"all, or `k={size}` or less",
            parameter="fit_sample",
        )
    return size


def sampling_order(rows: Float32Array, *, seed: int) -> LongArray:
    """Return the points (U,) in the order in which samples take them: that of a hash of their embeddings and the seed.

    Whether a document is in a sample depends on itself, the seed and how many others come before, not on its place in the corpus.
    """
    digests = row_digests(rows, 8, key=seed.to_bytes(16, "little", signed=True))
    return np.argsort(digests.view("<u8"), kind="stable")


def neighbours_among(rows: Float32Array, fitted: LongArray, *, k: int, threads: int) -> Neighbours:
    """Return the k nearest of the fitted rows for each row (U, k), itself left out.

    Args:
        rows: (U, E) L2-normalised; fitted: (F,) rows, ascending.
    """
    points = rows if len(fitted) == len(rows) else rows[fitted]
    near = nearest_neighbours(points, k=k, threads=threads)
    if len(fitted) == len(rows):
        return near
    index = np.empty((len(rows), near.index.shape[1]), np.int32)
    similarity = np.empty(index.shape, np.float32)
    index[fitted], similarity[fitted] = fitted[near.index], near.similarity
    others = np.setdiff1d(np.arange(len(rows)), fitted, assume_unique=True)
    for start in range(0, len(others), BLOCK_ROWS):
        some = others[start : start + BLOCK_ROWS]
        near = nearest_neighbours(rows[some], points, k=index.shape[1], threads=threads)
        index[some], similarity[some] = fitted[near.index], near.similarity
    return Neighbours(index, similarity)


def by_neighbours(points: Points, labels: IntArray) -> IntArray:
    """Return the labels (U,) of all points: those of the fitted (F,) as they are, of the others by the rule for new text.

    Args:
        labels: (F,), -1 for none.
    """
    if len(points.fitted) == points.n:
        return labels
    every = np.full(points.n, NO_TOPIC, np.int32)
    every[points.fitted] = labels
    labelled, _ = rule(vote(points.neighbours, every))
    labelled[points.fitted] = labels
    return labelled


def for_all(clustering: Clustering, points: Points) -> Clustering:
    """Return a clustering of the fitted points (F,) as one of all points (U,)."""
    return replace(
        clustering,
        labels=by_neighbours(points, clustering.labels),
        divisions=tuple(by_neighbours(points, z) for z in clustering.divisions),
        repeats=lambda k: [replace(r, rows=points.fitted[r.rows]) for r in clustering.repeats(k)],
    )
