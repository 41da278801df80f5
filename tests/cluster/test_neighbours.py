"""The neighbour search against brute force, on any number of threads and in any company."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.cluster import neighbours
from nlpkit.cluster.neighbours import group_sums, nearest_neighbours
from tests.reference import topk as plain
from tests.strategies import repeatable, unit_rows


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of which a small input has several."""
    monkeypatch.setattr(neighbours, "BLOCK_ROWS", 32)
    monkeypatch.setattr(neighbours, "BLOCK_COLUMNS", 48)


@pytest.mark.parametrize(("D", "k"), [(2, 1), (31, 5), (33, 5), (70, 14), (130, 3)])
def test_equals_brute_force(D: int, k: int) -> None:
    X = unit_rows(np.random.default_rng(D), D, 7)
    found = nearest_neighbours(X, k=k)
    index, similarity = plain.nearest(X, None, k)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_array_equal(found.similarity, similarity)


@pytest.mark.parametrize(("D", "P", "k"), [(1, 1, 1), (40, 3, 2), (5, 100, 10)])
def test_other_points_equal_brute_force(D: int, P: int, k: int) -> None:
    rng = np.random.default_rng(P)
    queries, points = unit_rows(rng, D, 5), unit_rows(rng, P, 5)
    found = nearest_neighbours(queries, points, k=k)
    index, similarity = plain.nearest(queries, points, k)
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_array_equal(found.similarity, similarity)


@repeatable
@given(st.integers(2, 80), st.integers(1, 9), st.integers(0, 99))
def test_ties_go_to_the_lower_index(D: int, k: int, seed: int) -> None:
    X = np.eye(3, dtype=np.float32)[np.random.default_rng(seed).integers(0, 3, D)]  # three different rows only
    found = nearest_neighbours(X, k=k)
    exact = [sorted((j for j in range(D) if j != i), key=lambda j: (-(X[i] @ X[j]), j))[:k] for i in range(D)]
    # more than k + 16 ties hold none but the lowest, which the search meets first
    assert found.index.tolist() == exact


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_same_bytes_on_any_number_of_threads(threads: int) -> None:
    X = unit_rows(np.random.default_rng(1), 400, 64)
    one, many = nearest_neighbours(X, k=14, threads=1), nearest_neighbours(X, k=14, threads=threads)
    assert one.index.tobytes() == many.index.tobytes()
    assert one.similarity.tobytes() == many.similarity.tobytes()


def test_a_row_finds_the_same_alone_and_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the blocks of production
    rng = np.random.default_rng(0)
    queries, points = unit_rows(rng, 600, 64), unit_rows(rng, 3000, 64)
    batch = nearest_neighbours(queries, points, k=14)
    for rows in (slice(0, 1), slice(7, 8), slice(511, 514), slice(100, 599)):
        part = nearest_neighbours(queries[rows], points, k=14)
        assert part.index.tobytes() == batch.index[rows].tobytes()
        assert part.similarity.tobytes() == batch.similarity[rows].tobytes()


def test_k_is_lowered_to_what_there_is() -> None:
    X = unit_rows(np.random.default_rng(2), 4, 3)
    own = nearest_neighbours(X, k=100)
    assert own.index.shape == (4, 3)
    assert [sorted(row) for row in own.index.tolist()] == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert nearest_neighbours(X, X[:2], k=100).index.shape == (4, 2)


def test_nothing_to_find() -> None:
    X = unit_rows(np.random.default_rng(2), 1, 3)
    assert nearest_neighbours(X, k=5).index.shape == (1, 0)
    assert nearest_neighbours(X[:0], X, k=5).index.shape == (0, 1)


def test_arguments_come_back_as_they_went_in() -> None:
    X = unit_rows(np.random.default_rng(5), 50, 8)
    before = X.tobytes()
    nearest_neighbours(X, k=3, threads=2)
    assert X.tobytes() == before


def test_sums_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "SUMMED_ROWS", 7)
    rng = np.random.default_rng(6)
    rows, groups = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(-1, 4, 30).astype(np.int32)
    expected = [rows[groups == g].sum(axis=0, dtype=np.float64) for g in range(5)]
    np.testing.assert_allclose(group_sums(rows, groups, 5), expected, rtol=1e-12)
    assert group_sums(rows[:0], groups[:0], 2).tolist() == [[0.0] * 3] * 2
