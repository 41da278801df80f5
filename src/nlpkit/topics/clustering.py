"""Input and result of clustering documents into topics, whatever the engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nlpkit.metrics.coherence import Postings, postings
from nlpkit.parameters import Execution
from nlpkit.topics.choose import Candidate
from nlpkit.topics.evidence import NumberEvidence
from nlpkit.topics.neighbours import Neighbours
from nlpkit.topics.options import BertopicOptions
from nlpkit.topics.stability import Repeat
from nlpkit.types import CsrMatrix, Float32Array, IntArray, LongArray


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
    names: of the first topics, which were given and keep their numbers, without a document, too.
    """

    labels: IntArray
    candidates: tuple[Candidate | NumberEvidence, ...] = ()
    merges: tuple[tuple[int, int, float], ...] = ()
    min_topic_size: int | None = None
    coarser: tuple[int, ...] = ()
    divisions: tuple[IntArray, ...] = ()
    repeats: Callable[[int], Sequence[Repeat]] = lambda k: ()
    names: tuple[str, ...] = ()


def usual_topic_size(n: int) -> int:
    """Return the usual least number of documents of a topic for n different documents: 1 in 100, from 3 to 10."""
    return max(3, min(10, n // 100))
