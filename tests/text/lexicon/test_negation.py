"""Scopes of negations and reach of intensifiers, beside a plain loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from nlpkit.text.lexicon.model import document_of, negated, negation_languages, negation_words, strengths


def plain_negated(offsets: list[int], negates: list[bool], marks: list[bool], reach: int | None) -> list[bool]:
    out = []
    for start, end in itertools.pairwise(offsets):
        for i in range(start, end):
            n = 0
            for j in range(i - 1, start - 1, -1):
                if marks[j] or (reach is not None and i - j > reach):
                    break
                n += negates[j]
            out.append(n % 2 == 1 and not marks[i])
    return out


def plain_strengths(offsets: list[int], factors: list[float], blocks: list[bool], rated: list[bool]) -> list[float]:
    out = []
    for start, end in itertools.pairwise(offsets):
        for i in range(start, end):
            value = factors[i - 1] if i - 1 >= start else 1.0
            if i - 2 >= start and not blocks[i - 1] and not rated[i - 1]:
                value *= factors[i - 2]
            out.append(value)
    return out


def flags(text: str, words: str) -> np.ndarray:
    return np.array([t in words.split() for t in text.split()])


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("I really don't like this movie", "like this movie"),  # the lecture, L1711
        ("don't dismiss this movie", "dismiss this movie"),
        ("not good . fine film", "good"),
        ("never without joy", "without"),  # the second negation is itself negated, and turns joy back
        ("fine", ""),
    ],
)
def test_by_hand(text: str, turned: str) -> None:
    words = text.split()
    found = negated(np.array([0, len(words)]), flags(text, "don't not never without"), flags(text, ". ,"))
    assert [w for w, n in zip(words, found, strict=True) if n] == turned.split()


def test_a_scope_ends_with_its_document() -> None:
    found = negated(np.array([0, 2, 2, 4]), np.array([False, True, False, False]), np.zeros(4, bool))
    assert not found.any()


@pytest.mark.parametrize("reach", [None, 1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_as_a_plain_loop(seed: int, reach: int | None) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 40))])
    N = int(offsets[-1])
    marks = rng.random(N) < 0.15
    negates = (rng.random(N) < 0.2) & ~marks
    found = negated(offsets, negates, marks, reach=reach)
    assert found[~marks].tolist() == [
        n
        for n, m in zip(plain_negated(offsets.tolist(), negates.tolist(), marks.tolist(), reach), marks, strict=True)
        if not m
    ]
    factors = np.where(rng.random(N) < 0.3, 1.5, 1.0)
    rated = rng.random(N) < 0.3
    expected = plain_strengths(offsets.tolist(), factors.tolist(), marks.tolist(), rated.tolist())
    assert strengths(offsets, factors, marks, rated).tolist() == expected
    assert document_of(offsets).tolist() == [d for d in range(40) for _ in range(offsets[d + 1] - offsets[d])]


def test_nothing() -> None:
    assert negated(np.array([0, 0]), np.zeros(0, bool), np.zeros(0, bool)).shape == (0,)
    assert strengths(np.array([0, 0]), np.zeros(0), np.zeros(0, bool), np.zeros(0, bool)).shape == (0,)


def test_lists() -> None:
    assert {"not", "don't", "dont", "isn't", "never"} <= negation_words(["en"])
    assert {"nicht", "keine", "nie"} <= negation_words(["de", "xx"])
    assert negation_words(["xx"]) == frozenset()
    assert negation_languages() == ("da", "de", "en", "es", "fr", "it", "nl", "no", "pl", "pt", "ru", "sv")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "ce film n'est pas bon"), ("es", "no tiene ninguna gracia"), ("it", "non è mai bello"), ("nl", "het was niet goed"),
        ("pl", "nigdy nie było dobrze"), ("sv", "det var inte bra"), ("pt", "não é bom"), ("ru", "никогда не хорошо"),
    ],
)  # fmt: skip
def test_one_negation_is_one(language: str, text: str) -> None:
    words = negation_words([language])
    tokens = [part for word in text.split() for part in word.split("'")]
    negates = np.array([word in words for word in tokens])
    found = negated(np.array([0, len(tokens)]), negates, np.zeros(len(tokens), bool))
    assert found[-1]
