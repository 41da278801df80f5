"""Complete linkage against all pairs of clusters, and against scipy where no two distances are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from nlpkit.metrics.kernels import complete_linkage
from tests.reference import linkage as plain
from tests.strategies import repeatable


def merges(distances: np.ndarray) -> list[tuple[int, int, float]]:
    left, right, height = complete_linkage(distances.copy())
    return list(zip(left.tolist(), right.tolist(), height.tolist(), strict=True))


def symmetric(n: int, values: np.ndarray) -> np.ndarray:
    out = np.zeros((n, n))
    out[np.triu_indices(n, 1)] = values
    return out + out.T


def test_by_hand() -> None:
    # 0 and 2 are closest, which puts the pair at max(3, 5) from 1 and at max(9, 2.5) from 3; 1 and 3 are at 4
    distances = symmetric(4, np.array([3.0, 1.0, 9.0, 5.0, 4.0, 2.5]))
    assert merges(distances) == [(0, 2, 1.0), (1, 3, 4.0), (4, 5, 9.0)]


def test_equal_distances_merge_from_the_left() -> None:
    # the first point draws one place after the other: the order of R's hclust
    assert merges(symmetric(4, np.ones(6))) == [(0, 1, 1.0), (4, 2, 1.0), (5, 3, 1.0)]


def test_a_cluster_takes_the_place_of_its_first_point() -> None:
    # 0 and 3 merge at 1; all others are at 2, so that the pair at place 0 comes before 1 and 2
    distances = symmetric(4, np.array([2.0, 2.0, 1.0, 2.0, 2.0, 2.0]))
    assert merges(distances) == [(0, 3, 1.0), (4, 1, 2.0), (5, 2, 2.0)]


@pytest.mark.parametrize("n", [1, 2])
def test_few_points(n: int) -> None:
    assert merges(symmetric(n, np.full(n * (n - 1) // 2, 0.5))) == [(0, 1, 0.5)][: n - 1]


@repeatable
@given(st.integers(1, 14), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_equals_all_pairs_under_ties(n: int, levels: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(1, levels + 1, n * (n - 1) // 2) / levels
    distances = symmetric(n, values)
    assert merges(distances) == plain.complete_linkage(distances.tolist())


@repeatable
@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_equals_scipy_without_ties(n: int, seed: int) -> None:
    values = np.random.default_rng(seed).permutation(n * (n - 1) // 2).astype(float) + 1
    distances = symmetric(n, values)
    theirs = hierarchy.linkage(squareform(distances), "complete")
    ours = merges(distances)
    assert [{a, b} for a, b, _ in ours] == [{int(a), int(b)} for a, b in theirs[:, :2]]
    assert [h for *_, h in ours] == theirs[:, 2].tolist()
