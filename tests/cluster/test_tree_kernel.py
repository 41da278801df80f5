"""Single linkage, condensed tree and excess of mass against recursion over sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.cluster.kernels import condense, excess_of_mass, single_linkage
from tests.reference import tree as plain
from tests.strategies import repeatable, trees_n

# two groups of three on a line, one point far away
ENDS = np.array([[0, 1], [3, 4], [1, 2], [4, 5], [2, 3], [5, 6]], np.int64)
HEIGHTS = np.array([1.0, 1.25, 2.0, 2.5, 5.0, 10.0])


def kernel_clusters(ends: Any, heights: Any, min_size: int) -> tuple[Any, ...]:
    left, right, size = single_linkage(ends, len(heights) + 1)
    return condense(left, right, size, heights, min_size)


def test_single_linkage_by_hand() -> None:
    left, right, size = single_linkage(ENDS, 7)
    assert left.tolist() == [0, 3, 2, 5, 9, 6]
    assert right.tolist() == [1, 4, 7, 8, 10, 11]
    assert size.tolist() == [2, 2, 3, 3, 6, 7]


def test_condense_by_hand() -> None:
    point_cluster, point_lambda, parent, birth, stability = kernel_clusters(ENDS, HEIGHTS, 3)
    assert parent.tolist() == [-1, 0, 0]
    assert birth.tolist() == [0.0, 0.2, 0.2]
    one, other = point_cluster[0], point_cluster[3]
    assert {one, other} == {1, 2}
    assert point_cluster.tolist() == [one] * 3 + [other] * 3 + [0]
    # a group of three falls apart where its pair and its third point part
    assert point_lambda.tolist() == [0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.1]
    assert stability[0] == pytest.approx(0.1 + 6 * 0.2)
    assert stability[one] == pytest.approx(3 * (0.5 - 0.2))
    assert stability[other] == pytest.approx(3 * (0.4 - 0.2))


def test_excess_of_mass_by_hand() -> None:
    point_cluster, point_lambda, parent, _, stability = kernel_clusters(ENDS, HEIGHTS, 3)
    labels, member = excess_of_mass(point_cluster, point_lambda, parent, stability, 7)
    assert sorted({labels[0], labels[3]}) == [0, 1]
    assert labels.tolist() == [labels[0]] * 3 + [labels[3]] * 3 + [-1]
    assert member.tolist() == [1, 1, 1, 1, 1, 1, 0]


def test_the_root_is_never_a_topic() -> None:
    point_cluster, point_lambda, parent, _, stability = kernel_clusters(ENDS, HEIGHTS, 4)
    labels, member = excess_of_mass(point_cluster, point_lambda, parent, stability, 7)
    assert labels.tolist() == [-1] * 7
    assert member.tolist() == [0] * 7


def test_a_cluster_as_stable_as_its_parts_is_taken_whole() -> None:
    # powers of two: cluster 1 of eight points splits into 2 and 3 of four points each, cluster 4 is beside it
    parent = np.array([-1, 0, 1, 1, 0])
    point_cluster = np.repeat([2, 3, 4], 4)
    for stability, parts in ((2.0, 1), (1.9375, 2)):
        labels, _ = excess_of_mass(point_cluster, np.ones(12), parent, np.array([0, stability, 1.0, 1.0, 0.5]), 12)
        assert len(set(labels[:8].tolist())) == parts
        assert len(set(labels.tolist())) == parts + 1


@repeatable
@given(trees_n())
def test_single_linkage_equals_sets(tree: tuple[Any, Any]) -> None:
    ends, heights = tree
    left, right, size = single_linkage(ends, len(heights) + 1)
    merges = plain.single_linkage(ends.tolist(), len(heights) + 1)
    assert list(zip(left.tolist(), right.tolist(), size.tolist(), strict=True)) == merges


@repeatable
@given(trees_n(), st.integers(2, 6))
def test_condense_equals_recursion(tree: tuple[Any, Any], min_size: int) -> None:
    ends, heights = tree
    point_cluster, point_lambda, parent, birth, stability = kernel_clusters(ends, heights, min_size)
    root = plain.condense(plain.single_linkage(ends.tolist(), len(heights) + 1), heights.tolist(), min_size)
    members: list[set[int]] = [set(np.flatnonzero(point_cluster == c).tolist()) for c in range(len(parent))]
    for c in range(len(parent) - 1, 0, -1):
        assert parent[c] < c
        members[parent[c]] |= members[c]
    ours = {frozenset(points): (birth[c], stability[c]) for c, points in enumerate(members)}
    theirs = {cluster.points: (cluster.birth, cluster.stability) for cluster in root.walk()}
    assert ours.keys() == theirs.keys()
    for points, numbers in theirs.items():
        assert ours[points] == pytest.approx(numbers, rel=1e-9, abs=1e-9)
    falls = {p: lam for cluster in root.walk() for p, lam in cluster.fell.items()}
    assert point_lambda.tolist() == [falls[p] for p in range(len(point_lambda))]


@repeatable
@given(trees_n(), st.integers(2, 6), st.sampled_from([0.3, 0.5, 1.0]))
def test_excess_of_mass_equals_recursion(tree: tuple[Any, Any], min_size: int, max_share: float) -> None:
    ends, heights = tree
    n = len(heights) + 1
    point_cluster, point_lambda, parent, _, stability = kernel_clusters(ends, heights, min_size)
    labels, member = excess_of_mass(point_cluster, point_lambda, parent, stability, int(max_share * n))
    root = plain.condense(plain.single_linkage(ends.tolist(), n), heights.tolist(), min_size)
    chosen = plain.excess_of_mass(root, int(max_share * n))
    ours = {frozenset(np.flatnonzero(labels == k).tolist()) for k in range(labels.max(initial=-1) + 1)}
    assert ours == {cluster.points for cluster in chosen}
    expected = {p: share for cluster in chosen for p, share in plain.membership(cluster).items()}
    np.testing.assert_allclose(member, [expected.get(p, 0.0) for p in range(n)], rtol=1e-6)
    assert all(len(points) >= min_size for points in ours)
