"""Lexical diversity: by hand, and the package lexicalrichness."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.texts.corpus import LexicalDiversity, lexical_diversity
from tests.strategies import repeatable


def of(documents: list[list[int]], **settings: Any) -> LexicalDiversity:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    ids = np.array([t for d in documents for t in d], np.int32)
    return lexical_diversity(offsets, ids, int(ids.max(initial=0)) + 1, **settings)


def test_by_hand() -> None:
    # a b a: 1, 1, 2/3 ≤ 0.72 ends a factor; c d: 1 is no part of one. Backward d c a b a: 4/5, no factor, (1 - 4/5) / 0.28 of one
    found = of([[0, 1, 0, 2, 3]], window=2, draws=2)
    assert (found.mtld[0], found.mattr[0]) == (pytest.approx((5 / 1 + 5 / (0.2 / 0.28)) / 2), 1)
    # pairs of 5 tokens: 10, one of them a a; a: 1 - C(3,2)/C(5,2), the others 1 - C(4,2)/C(5,2)
    assert found.hdd[0] == pytest.approx((0.7 + 3 * 0.4) / 2)
    assert of([[0, 0, 1, 1]], window=3).mattr[0] == pytest.approx(2 / 3)


def test_short_documents_have_no_value() -> None:
    found = of([[], [0, 1, 2], [0] * 60, [-1, 0, -1]])
    assert np.isnan(found.mtld).tolist() == [True, False, False, False]
    assert found.mtld.tolist()[1:] == [3, 2, 1]  # nothing comes back; a factor every two words; one word
    assert np.isnan(found.mattr).tolist() == np.isnan(found.hdd).tolist() == [True, True, False, True]
    assert (found.mattr[2], found.hdd[2]) == pytest.approx((1 / 50, 1 / 42))


@repeatable
@given(st.lists(st.integers(0, 30), min_size=50, max_size=200))
def test_like_lexicalrichness(document: list[int]) -> None:
    package = pytest.importorskip("lexicalrichness")
    text = package.LexicalRichness([f"w{t}" for t in document], preprocessor=None, tokenizer=None)
    found = of([document])
    assert found.mtld[0] == pytest.approx(text.mtld(threshold=0.72), rel=1e-9)
    assert found.mattr[0] == pytest.approx(text.mattr(window_size=50), rel=1e-9)
    assert found.hdd[0] == pytest.approx(text.hdd(draws=42), rel=1e-6)


@repeatable
@given(st.lists(st.lists(st.integers(-1, 9), max_size=80), max_size=6))
def test_documents_do_not_touch_each_other(documents: list[list[int]]) -> None:
    together = of(documents)
    for d, document in enumerate(documents):
        alone = of([[t for t in document if t >= 0]])
        for name in ("mtld", "mattr", "hdd"):
            np.testing.assert_equal(getattr(together, name)[d], getattr(alone, name)[0])
    assert all(len(a) == len(b) for a, b in pairwise([together.mtld, together.mattr, together.hdd]))
