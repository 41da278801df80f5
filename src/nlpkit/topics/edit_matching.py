"""Topics of one fit found again in another, by their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

LEAST_SHARED = 0.3  # of the words of a topic
SAME_NUMBER, SAME_NAME = 0.02, 0.05  # less than one word of ten: they decide between topics that share as many words


@dataclass(frozen=True, slots=True)
class TopicWords:
    """A topic as people know it: its name and its top words, best first."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """The topic of a fit that another topic is, and how many of so many words they share."""

    topic: int
    shared: int
    words: int


def match_topics(known: Mapping[int, TopicWords], present: Sequence[TopicWords]) -> dict[int, Match]:
    """Return which topic of a fit each known one is, by number; those that share less than three in ten words are none.

    Each topic is one at most: the pairs are those of the greatest sum of shares of common words (Kuhn & Munkres); the number and
    the name decide where words do not.
    """
    numbers = list(known)
    shared = np.array(
        [[len({*known[n].words} & {*topic.words}) for topic in present] for n in numbers], np.float64
    ).reshape(len(numbers), len(present))
    words = np.array([[max(min(len(known[n].words), len(t.words)), 1) for t in present] for n in numbers]).reshape(
        shared.shape
    )
    share = shared / words
    bonus = np.array(
        [
            [SAME_NUMBER * (n == k) + SAME_NAME * (known[n].name == t.name) for k, t in enumerate(present)]
            for n in numbers
        ]
    ).reshape(shared.shape)
    likely = share >= LEAST_SHARED
    rows, columns = scipy.optimize.linear_sum_assignment(np.where(likely, share + bonus, 0.0), maximize=True)
    return {
        numbers[i]: Match(int(k), int(shared[i, k]), int(words[i, k]))
        for i, k in zip(rows, columns, strict=True)
        if likely[i, k]
    }
