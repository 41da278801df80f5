"""Topics counted by rows of tokens: by hand and against scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.topics.lda.kernels import count_topics
from tests.strategies import repeatable

EACH_ONE = np.zeros(0, np.uint16)


def lists(offsets: list[int], z: list[int], units: Any, K: int) -> list[list[int]]:
    found = count_topics(np.array(offsets, np.int64), np.array(z, np.uint16), units, K)
    return [part.tolist() for part in found]


def test_by_hand() -> None:
    # topics 2, 0, 2 and an empty row and 1
    assert lists([0, 3, 3, 4], [2, 0, 2, 1], EACH_ONE, 3) == [[0, 2, 2, 3], [0, 2, 1], [1, 2, 1]]
    units = np.array([10, 20, 30, 65_535], np.uint16)
    assert lists([0, 3, 3, 4], [2, 0, 2, 1], units, 3) == [[0, 2, 2, 3], [0, 2, 1], [20, 40, 65_535]]


def test_sums_of_weights_pass_16_and_32_bits() -> None:
    n = 70_000
    assert lists([0, n], [1] * n, np.full(n, 65_535, np.uint16), 2) == [[0, 1], [1], [n * 65_535]]


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 0, 0]])
def test_without_tokens(offsets: list[int]) -> None:
    assert lists(offsets, [], EACH_ONE, 3) == [offsets, [], []]


def test_the_highest_topic_of_16_bits() -> None:
    assert lists([0, 2], [65_534, 0], EACH_ONE, 65_535) == [[0, 2], [0, 65_534], [1, 1]]


@repeatable
@given(st.data())
def test_equals_scipy(data: st.DataObject) -> None:
    K = data.draw(st.integers(1, 6))
    rows = data.draw(st.lists(st.lists(st.integers(0, K - 1), max_size=12), max_size=6))
    offsets, z = np.cumsum([0, *map(len, rows)]), np.array([k for row in rows for k in row], np.uint16)
    weighted = data.draw(st.booleans())
    units = np.random.default_rng(len(z)).integers(1, 65_536, len(z)).astype(np.uint16) if weighted else EACH_ONE
    row = np.repeat(np.arange(len(rows)), np.diff(offsets))
    ones = units.astype(np.int64) if weighted else np.ones(len(z), np.int64)
    expected = sparse.coo_array((ones, (row, z)), shape=(len(rows), K)).tocsr()  # sums what is at the same place
    expected.sort_indices()
    indptr, topics, counts = count_topics(offsets, z, units, K)
    assert (topics.dtype, counts.dtype) == (np.int32, np.int64)
    assert indptr.tolist() == expected.indptr.tolist()
    assert topics.tolist() == expected.indices.tolist()
    assert counts.tolist() == expected.data.tolist()
