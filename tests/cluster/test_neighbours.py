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


@pytest.mark.parametrize("among_others", [False, True])
@pytest.mark.parametrize("kind", ["vectors", "zeros", "near", "equal"])
def test_candidates_of_torch_give_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, kind: str, among_others: bool
) -> None:
    """Ties at the last candidate, which torch breaks as it likes, are left to the CPU."""
    generator = np.random.default_rng(1)
    X = unit_rows(generator, 700, 24)
    if kind == "zeros":
        X[::3] = 0
    if kind == "near":
        X = neighbours.unit_rows(X[:1] + 1e-5 * generator.normal(size=X.shape))
    if kind == "equal":
        X = X[np.arange(700) % 9]
    points = unit_rows(generator, 300, 24) if among_others else None
    usual = nearest_neighbours(X, points, k=5)
    monkeypatch.setattr(neighbours, "_gpu", lambda products: "cpu")
    monkeypatch.setattr(neighbours, "ROWS_OF_GPU", 256)
    monkeypatch.setattr(neighbours, "COLUMNS_OF_GPU", 100)
    by_torch = nearest_neighbours(X, points, k=5, threads=2)
    np.testing.assert_array_equal(by_torch.index, usual.index)
    np.testing.assert_array_equal(by_torch.similarity, usual.similarity)


def test_a_device_without_room_leaves_them_to_the_cpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(*_: object) -> None:
        raise RuntimeError("CUDA out of memory")

    X = unit_rows(np.random.default_rng(1), 50, 8)
    usual = nearest_neighbours(X, k=3)
    monkeypatch.setattr(neighbours, "_gpu", lambda products: "cpu")
    monkeypatch.setattr(neighbours, "_largest_products", no_room)
    np.testing.assert_array_equal(nearest_neighbours(X, k=3).index, usual.index)
    assert "cpu has no room for 50 vectors" in caplog.text


def test_the_gpu_of_the_encoder_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlpkit.embed import hardware

    monkeypatch.setattr(hardware, "gpus_in_use", ["cuda:1"])
    assert (neighbours._gpu(10**9), neighbours._gpu(10**6)) == ("cuda:1", None)
    hardware.choose_devices("cpu")
    assert neighbours._gpu(10**9) is None


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
