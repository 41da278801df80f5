"""Kernels over packed words against plain strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.words.kernels import count_different_grams, count_shared_grams, levenshtein_nearest
from tests.reference import levenshtein as plain
from tests.strategies import repeatable


def words_of() -> st.SearchStrategy[str]:
    return st.text(alphabet="abä語", max_size=9)


def packed(words: list[str]) -> tuple[Any, Any]:
    codes = np.array([ord(c) for word in words for c in word], np.int32)
    return codes, np.cumsum([0, *map(len, words)]).astype(np.int64)


def distances(words: list[str], word: str, *, top: int = 0, relative: bool = False) -> tuple[Any, Any]:
    out, best = np.empty(len(words), np.int32), np.full(top, np.inf)
    codes, _ = packed([word])
    levenshtein_nearest(*packed(words), codes, np.ones(len(words), bool), relative, best, out)
    return out, best


def test_the_lecture_by_hand() -> None:
    assert distances(["worker", "working", "work", ""], "work")[0].tolist() == [2, 3, 0, 4]
    assert distances(["working", "kork", "owrk"], "worker")[0].tolist() == [3, 3, 4]
    assert distances(["", "a"], "")[0].tolist() == [0, 1]


@repeatable
@given(st.lists(words_of(), max_size=12), words_of())
def test_distances_equal_the_recursion(words: list[str], word: str) -> None:
    assert distances(words, word)[0].tolist() == [plain.levenshtein(w, word) for w in words]


@repeatable
@given(st.lists(words_of(), max_size=15), words_of(), st.integers(1, 5), st.booleans())
def test_the_nearest_words_and_their_ties_are_given(words: list[str], word: str, top: int, relative: bool) -> None:
    out, best = distances(words, word, top=top, relative=relative)
    exact = [plain.levenshtein(w, word) for w in words]
    scores = [d / max(len(w), len(word), 1) if relative else float(d) for d, w in zip(exact, words, strict=True)]
    nearest = sorted(s for s in scores if s > 0)[:top]
    assert best[: len(nearest)] == pytest.approx(nearest)
    assert np.isinf(best[len(nearest) :]).all()
    for given_, distance, score in zip(out, exact, scores, strict=True):
        assert given_ in (distance, -1)
        if len(nearest) < top or score <= nearest[-1]:
            assert given_ == distance


def test_words_that_are_not_usable_are_passed_over() -> None:
    codes, offsets = packed(["a", "b"])
    out = np.empty(2, np.int32)
    levenshtein_nearest(codes, offsets, packed(["b"])[0], np.array([True, False]), False, np.zeros(0), out)
    assert out.tolist() == [1, -1]


@repeatable
@given(st.lists(words_of(), max_size=8), words_of(), st.integers(1, 4))
def test_grams_equal_sets_of_strings(words: list[str], word: str, n: int) -> None:
    sizes, shared = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    count_different_grams(*packed(words), n, sizes)
    assert sizes.tolist() == [len(plain.grams(w, n)) for w in words]
    grams = sorted(plain.grams(word, n))
    if grams:
        count_shared_grams(*packed(words), np.array([[ord(c) for c in gram] for gram in grams], np.int32), shared)
        assert shared.tolist() == [len(plain.grams(w, n) & set(grams)) for w in words]
