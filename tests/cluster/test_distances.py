"""Distances against scikit-learn and scipy on whole matrices; the definitions of the lecture by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity, pairwise_distances

from nlpkit.cluster import neighbours as distances
from nlpkit.cluster.neighbours import Metric, close_pairs, nearest_rows, values_between
from nlpkit.errors import UsageError

CASES = [("cosine", None, 0.3), ("euclidean", None, 3.0), ("manhattan", None, 14.0), ("minkowski", 3.0, 1.9)]


def dense() -> Any:
    points = np.random.default_rng(0).normal(size=(700, 16)).astype(np.float32)
    points[600] = points[5]
    return points


def words() -> Any:
    points = sparse.random_array((300, 400), density=0.05, format="csr", rng=np.random.default_rng(1))
    return sparse.csr_array(points)


def whole(points: Any, name: str, p: float | None) -> Any:
    rows = points.toarray() if sparse.issparse(points) else points.astype(np.float64)
    if name == "cosine":
        return cosine_similarity(rows)
    return pairwise_distances(rows, metric=name, **({} if p is None else {"p": p}))


def all_of(points: Any, metric: Metric, threshold: float, threads: int = 1) -> tuple[Any, ...]:
    return tuple(map(np.concatenate, zip(*close_pairs(points, metric, threshold, threads=threads), strict=True)))


@pytest.mark.parametrize("points", [dense(), words()], ids=["dense", "sparse"])
@pytest.mark.parametrize(("name", "p", "threshold"), CASES)
def test_pairs_are_those_of_the_whole_matrix(points: Any, name: str, p: float | None, threshold: float) -> None:
    expected = whole(points, name, p)
    near = np.triu(expected >= threshold if name == "cosine" else expected <= threshold, 1)
    i, j, values = all_of(points, Metric(name, p), threshold)
    assert len(i) > 3
    assert np.array_equal(np.stack([i, j]), np.stack(np.nonzero(near)))
    assert np.allclose(values, expected[i, j], atol=1e-6)
    again = all_of(points, Metric(name, p), threshold, threads=3)
    assert [a.tobytes() for a in again] == [i.tobytes(), j.tobytes(), values.tobytes()]


@pytest.mark.parametrize("points", [dense(), words()], ids=["dense", "sparse"])
@pytest.mark.parametrize(("name", "p", "_threshold"), CASES)
def test_the_nearest_are_those_of_the_whole_matrix(points: Any, name: str, p: float | None, _threshold: float) -> None:
    expected = whole(points, name, p)[:4]
    order = np.argsort(-expected if name == "cosine" else expected, axis=1, kind="stable")[:, :6]
    index, values = nearest_rows(points[:4], points, Metric(name, p), k=6)
    assert np.allclose(values, np.take_along_axis(expected, order, axis=1), atol=1e-6)
    assert np.array_equal(index, order)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = dense()
    before = all_of(points, Metric("euclidean"), 3.2)
    monkeypatch.setattr(distances, "BLOCK_ROWS", 37)
    monkeypatch.setattr(distances, "BLOCK_COLUMNS", 111)
    monkeypatch.setattr(distances, "EXACT_PAIRS", 5)
    after = all_of(points, Metric("euclidean"), 3.2)
    assert [a.tobytes() for a in after] == [b.tobytes() for b in before]


def test_equal_rows_are_a_pair_at_the_bound() -> None:
    i, j, values = all_of(dense(), Metric(), 1.0)
    assert (i.tolist(), j.tolist(), values.tolist()) == ([5], [600], [1.0])
    assert all_of(dense(), Metric("euclidean"), 0.0)[2].tolist() == [0.0]
    assert len(all_of(np.ones((9, 3), np.float32), Metric(), 1.0)[0]) == 9 * 8 // 2


def test_far_from_the_origin_no_digit_is_lost() -> None:
    points = np.random.default_rng(2).normal(size=(200, 3)) * 1e-3 + 1e4
    i, j, values = all_of(points, Metric("euclidean"), 1e-3)
    expected = np.linalg.norm(points[:, None] - points, axis=2)
    assert np.array_equal(np.stack([i, j]), np.stack(np.nonzero(np.triu(expected <= 1e-3, 1))))
    assert np.allclose(values, expected[i, j], rtol=1e-12)
    assert len(i) > 3


def test_the_definitions_of_the_lecture() -> None:
    a, b = np.array([[3.0, 1.0, 0.0]]), np.array([[1.0, 2.0, 2.0]])
    for rows, others in ((a, b), (sparse.csr_array(a), sparse.csr_array(b))):
        assert values_between(rows, others, Metric()) == pytest.approx((3 + 2) / (10**0.5 * 3))
        assert values_between(rows, others, Metric("euclidean")) == pytest.approx((4 + 1 + 4) ** 0.5)
        assert values_between(rows, others, Metric("manhattan")) == pytest.approx(2 + 1 + 2)
        assert values_between(rows, others, Metric("minkowski", 3)) == pytest.approx((8 + 1 + 8) ** (1 / 3))


@pytest.mark.parametrize(("name", "p"), [("cosin", None), ("minkowski", None), ("minkowski", 0.5), ("cosine", 2.0)])
def test_a_metric_that_is_none_is_refused(name: str, p: float | None) -> None:
    with pytest.raises(UsageError):
        Metric(name, p)
