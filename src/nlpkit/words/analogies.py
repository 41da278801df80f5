"""Analogies of word vectors: a is to b as c is to which word?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.types import Float32Array, LongArray
from nlpkit.words.vectors import WordVectors

Measure = Literal["3cosadd", "3cosmul"]
MEASURES = ("3cosadd", "3cosmul")
_EPSILON = 0.001
_BLOCK = 256  # questions that are compared with all words at a time


@dataclass(frozen=True, slots=True)
class Question:
    """a is to b as c is to d; section: the heading under which it stands."""

    section: str
    a: str
    b: str
    c: str
    d: str


@dataclass(frozen=True, slots=True)
class SectionScore:
    """How many questions of a section there are, how many have four known words, how many of these are answered rightly."""

    section: str
    questions: int
    answered: int
    right: int

    @property
    def accuracy(self) -> float:
        """Share of the answered questions that are right, NaN for none."""
        return self.right / self.answered if self.answered else float("nan")


def analogy_scores(units: Float32Array, rows: LongArray, *, measure: Measure = "3cosadd") -> Float32Array:
    """Return how well each word d answers each question (Q, V), larger is better; a, b and c themselves get -inf.

        3cosadd  cos(d, b) - cos(d, a) + cos(d, c)
        3cosmul  cos'(d, b) cos'(d, c) / (cos'(d, a) + 0.001),  cos' = (cos + 1) / 2

    Args:
        units: (V, E), vectors of length 1.
        rows: (Q, 3), the rows of a, b and c.

    Source: Mikolov, Yih & Zweig (2013), "Linguistic Regularities in Continuous Space Word Representations", §4 (after Levy and Goldberg's
    form); Levy & Goldberg (2014), "Linguistic Regularities in Sparse and Explicit Word Representations", §3 and §6.
    """
    a, b, c = (units[rows[:, i]] @ units.T for i in range(3))
    scores = b - a + c if measure == "3cosadd" else (b + 1) / 2 * ((c + 1) / 2) / ((a + 1) / 2 + _EPSILON)
    np.put_along_axis(scores, rows, -np.inf, axis=1)
    return np.asarray(scores, np.float32)


def answers(known: WordVectors, rows: LongArray, *, measure: Measure = "3cosadd") -> LongArray:
    """Return the row of the best answer to each question (Q,); rows (Q, 3). Raises what `analogy_scores` raises."""
    best = np.empty(len(rows), np.int64)
    with threadpool_limits(limits=1):
        for begin in range(0, len(rows), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            best[block] = np.argmax(analogy_scores(known.units, rows[block], measure=measure), axis=1)
    return best


def score_analogies(
    known: WordVectors, questions: Sequence[Question], *, measure: Measure = "3cosadd", lower: bool = True
) -> list[SectionScore]:
    """Return the scores of the sections of a list of questions, in their order.

    A question counts as answered when all four words are known; with `lower`, capital and small letters are one. Agrees with
    gensim's `evaluate_word_analogies` for 3cosadd.
    """
    rows = np.array([known.rows((q.a, q.b, q.c, q.d), lower=lower) for q in questions], np.int64).reshape(-1, 4)
    answered = np.asarray((rows >= 0).all(axis=1))
    right = np.zeros(len(rows), bool)
    right[answered] = answers(known, rows[answered, :3], measure=measure) == rows[answered, 3]
    sections = list(dict.fromkeys(q.section for q in questions))
    section_of = np.array([sections.index(q.section) for q in questions], np.int64)
    return [
        SectionScore(
            name, int((section_of == s).sum()), int(answered[section_of == s].sum()), int(right[section_of == s].sum())
        )
        for s, name in enumerate(sections)
    ]


def total(scores: Sequence[SectionScore], name: str) -> SectionScore:
    """Return the score of several sections together."""
    return SectionScore(
        name, sum(s.questions for s in scores), sum(s.answered for s in scores), sum(s.right for s in scores)
    )


def is_syntactic(section: str) -> bool:
    """Whether a section of Google's questions is about grammar: its name begins with gram."""
    return section.startswith("gram")
