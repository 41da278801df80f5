"""Modularity against networkx and its formula; adjusted mutual information."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.metrics.labels.clustering import adjusted_mutual_information, modularity
from tests.strategies import repeatable


def random_graph(seed: int, n: int) -> Any:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return upper + upper.T


def by_formula(graph: Any, labels: Any) -> float:
    """Σ over pairs in one cluster of (w_ij - d_i d_j / 2m) / 2m."""
    degrees, total = graph.sum(axis=1), graph.sum()
    same = (labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)
    return float(((graph - np.outer(degrees, degrees) / total) * same).sum() / total) if total else 0.0


def test_two_triangles_by_hand() -> None:
    edges = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    graph = np.zeros((6, 6))
    for i, j in edges:
        graph[i, j] = graph[j, i] = 1
    labels = np.array([0, 0, 0, 1, 1, 1], np.int32)
    assert modularity(sparse.csr_array(graph), labels) == pytest.approx(12 / 14 - 2 * (7 / 14) ** 2)
    assert modularity(sparse.csr_array(graph), np.zeros(6, np.int32)) == pytest.approx(0.0)


@repeatable
@given(st.integers(0, 999), st.integers(2, 15), st.data())
def test_equals_the_formula_with_unassigned_points(seed: int, n: int, data: st.DataObject) -> None:
    graph = random_graph(seed, n)
    labels = np.array([data.draw(st.integers(-1, 3)) for _ in range(n)], np.int32)
    score = modularity(sparse.csr_array(graph), labels)
    assert score == pytest.approx(by_formula(graph, labels), abs=1e-12)
    assert -0.5 <= score <= 1


def test_equals_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(0)
    for seed in range(10):
        graph = random_graph(seed, 20)
        labels = rng.integers(0, 4, 20).astype(np.int32)
        groups = [set(np.flatnonzero(labels == k).tolist()) for k in range(4)]
        expected = networkx.community.modularity(networkx.from_numpy_array(graph), groups)
        assert modularity(sparse.csr_array(graph), labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("labels", [[-1, -1, -1], [0, 0, 1]])
def test_nothing_to_score(labels: list[int]) -> None:
    no_edges = sparse.csr_array((3, 3), dtype=np.float32)
    assert modularity(no_edges, np.array(labels, np.int32)) == 0.0


def test_agreement_of_clusterings() -> None:
    a = np.array([0, 0, 0, 1, 1, 1, 2, 2, -1], np.int32)
    renumbered = np.array([2, 2, 2, 0, 0, 0, 1, 1, -1], np.int32)
    assert adjusted_mutual_information(a, renumbered) == pytest.approx(1.0)
    other = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)
    assert adjusted_mutual_information(a, other) == pytest.approx(adjusted_mutual_information(other, a))
    assert adjusted_mutual_information(a, other) < 0.1
    without = np.where(a < 0, 2, a)  # none is a cluster of its own, not a part of topic 2
    assert adjusted_mutual_information(a, without) < 1.0


def test_agreement_of_random_clusterings_is_about_zero() -> None:
    rng = np.random.default_rng(4)
    scores = [adjusted_mutual_information(rng.integers(0, 4, 300), rng.integers(0, 4, 300)) for _ in range(20)]
    assert abs(np.mean(scores)) < 0.01


def test_agreement_equals_scikit_learn() -> None:
    from sklearn.metrics import adjusted_mutual_info_score

    rng = np.random.default_rng(5)
    for K in (1, 2, 30):
        a, b = rng.integers(-1, K, 400).astype(np.int32), rng.integers(-1, 5, 400).astype(np.int32)
        assert adjusted_mutual_information(a, b) == pytest.approx(adjusted_mutual_info_score(a, b), abs=1e-10)
