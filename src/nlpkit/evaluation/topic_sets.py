"""Topics as lists of words, which most scores of topics need alone."""

from __future__ import annotations

from dataclasses import dataclass

from nlpkit.metrics.stability import common_term_ids
from nlpkit.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class TopicSet:
    """Topics to score: the words of each, best first.

    names: number or label of each topic; weights: of the words, () when unknown; notes: what is unusual about the topics.
    """

    name: str
    kind: str
    topics: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    weights: tuple[FloatArray, ...] = ()
    notes: tuple[str, ...] = ()

    def ids(self, n: int) -> tuple[IntArray, tuple[str, ...]]:
        """Return the first n words of each topic as (K, n) int32, -1 for none, into the words returned beside them."""
        (ids,), terms = common_term_ids([self.topics], n=n)
        return ids, terms
