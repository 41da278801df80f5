"""The kernels of the neighbour search against sorting whole rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.platform.kernels.topk import insert, merge_rows, rescore_rows, top_k_pairs, top_k_rows
from tests.reference import topk as plain
from tests.strategies import repeatable


def empty(rows: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((rows, k), -1, np.int32), np.full((rows, k), -np.inf, np.float32)


def test_by_hand() -> None:
    index, score = empty(2, 2)
    top_k_rows(np.array([[0.1, 0.9, 0.5], [0.7, 0.7, 0.2]], np.float32), 0, -1, index, score)
    assert index.tolist() == [[1, 2], [0, 1]]
    assert score == pytest.approx(np.array([[0.9, 0.5], [0.7, 0.7]]))


def test_a_row_does_not_find_itself() -> None:
    index, score = empty(2, 2)
    top_k_rows(np.ones((2, 4), np.float32), 0, 1, index, score)
    assert index.tolist() == [[0, 2], [0, 1]]


def test_fewer_than_k_leave_places_empty() -> None:
    index, score = empty(1, 4)
    top_k_rows(np.array([[3.0, 5.0]], np.float32), 10, -1, index, score)
    assert index.tolist() == [[11, 10, -1, -1]]
    assert score[0, 2:].tolist() == [-np.inf, -np.inf]


@repeatable
@given(st.data())
def test_blocks_of_columns_equal_one_sort(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 20))
    k, own = data.draw(st.integers(1, 8)), data.draw(st.integers(-1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    scores = rng.integers(0, data.draw(st.sampled_from([3, 1000])), (rows, columns)).astype(np.float32)  # 3: many ties
    width = data.draw(st.integers(1, columns))
    index, score = empty(rows, k)
    for first in range(0, columns, width):
        top_k_rows(np.ascontiguousarray(scores[:, first : first + width]), first, own, index, score)
    expected = plain.top_k(scores, k, own=own)
    np.testing.assert_array_equal(index, expected[0])
    np.testing.assert_array_equal(score, expected[1])


def test_insertion_keeps_the_order_and_drops_the_last() -> None:
    index, score = np.array([4, 7, 9], np.int32), np.array([3.0, 2.0, 1.0], np.float32)
    insert(index, score, 5, 2.0)
    assert (index.tolist(), score.tolist()) == ([4, 5, 7], [3.0, 2.0, 2.0])


@repeatable
@given(st.data())
def test_pairs_in_any_order_of_blocks_and_by_any_number_of_workers_equal_one_sort(data: st.DataObject) -> None:
    n, k = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 8))
    height, width = data.draw(st.integers(1, n)), data.draw(st.integers(1, n))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    scores = rng.integers(0, data.draw(st.sampled_from([3, 1000])), (n, n)).astype(np.float32)  # 3: many ties
    scores = np.maximum(scores, scores.T)
    blocks = [(row, column) for row in range(0, n, height) for column in range(row, n, width)]
    workers = [(*empty(n, k), np.full(n, -np.inf, np.float32)) for _ in range(data.draw(st.integers(1, 3)))]
    for number, (row, column) in enumerate(data.draw(st.permutations(blocks))):
        block = np.ascontiguousarray(scores[row : row + height, column : column + width])
        top_k_pairs(block, row, column, *workers[number % len(workers)])
    (index, score, worst), *others = workers
    np.testing.assert_array_equal(worst, score[:, -1])
    for other in others:
        merge_rows(index, score, *other[:2])
    expected = plain.top_k(scores, k, own=0)
    np.testing.assert_array_equal(index, expected[0])
    np.testing.assert_array_equal(score, expected[1])


@repeatable
@given(st.data())
def test_rescoring_finds_the_best_of_the_candidates_in_any_order(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n_dims, P, k = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    points = rng.integers(-1, 2, (P, n_dims)).astype(np.float32)  # small whole numbers: ties
    queries = rng.integers(-1, 2, (3, n_dims)).astype(np.float32)
    found = np.full((3, P + 2), -1, np.int32)  # two places empty
    found[:, :P] = [rng.permutation(P) for _ in range(3)]
    index, score = empty(3, k)
    rescore_rows(queries, points, found, index, score)
    expected = plain.top_k(queries @ points.T, k)
    np.testing.assert_array_equal(index, expected[0])
    np.testing.assert_array_equal(score, expected[1])
