"""One hierarchy for all cuts, against hdbscan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.cluster.hierarchy import Hierarchy, build_hierarchy
from tests.strategies import blobs, same_partition

hdbscan = pytest.importorskip("hdbscan")


def theirs(points: Any, min_cluster_size: int, min_samples: int) -> Any:
    return hdbscan.HDBSCAN(
        min_cluster_size=min_cluster_size,
        min_samples=min_samples,
        algorithm="boruvka_kdtree",
        approx_min_span_tree=False,
        gen_min_span_tree=True,
        core_dist_n_jobs=1,
    ).fit(points.astype(np.float64))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("min_cluster_size", [3, 8, 25])
def test_cut_equals_hdbscan(seed: int, min_cluster_size: int) -> None:
    points, _ = blobs([60, 40, 30, 50], seed=seed, noise=20)
    hierarchy = build_hierarchy(points, min_samples=5)
    model = theirs(points, min_cluster_size, 5)
    assert model.labels_.max() >= 3
    # mutual reachability distances are often equal, and hdbscan merges equal ones in an order of its own: on its merges the
    # labels are the same, on ours a point between two groups may go to the other one
    merges = model.single_linkage_tree_.to_numpy()
    left, right, size = (np.ascontiguousarray(merges[:, x].astype(np.int64)) for x in (0, 1, 3))
    same = replace(hierarchy, left=left, right=right, size=size, lengths=np.ascontiguousarray(merges[:, 2]))
    assert same_partition(same.cut(min_cluster_size, max_share=1.0), model.labels_)
    np.testing.assert_array_equal(hierarchy.lengths, np.sort(merges[:, 2]))
    labels = hierarchy.cut(min_cluster_size, max_share=1.0)
    assert labels.max() == model.labels_.max()
    assert adjusted_rand_score(model.labels_, labels) > 0.98


@pytest.mark.parametrize("seed", range(4))
def test_planted_blobs_come_back(seed: int) -> None:
    points, planted = blobs([60, 40, 30, 50], seed=seed)
    labels = build_hierarchy(points, min_samples=5).cut(15)
    assert labels.dtype == np.int32
    assert labels.max() == 3
    assert adjusted_rand_score(planted, labels) > 0.9


def test_a_group_of_most_points_is_split() -> None:
    # three patches of evenly spaced points with narrow gaps between them, and a fourth far away
    rng = np.random.default_rng(0)
    patch = np.stack(np.meshgrid(np.arange(5.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    corners = np.array([[0, 0], [5.5, 0], [11, 0], [90, 90]])
    points = np.concatenate([corner + patch for corner in corners]) + rng.uniform(-0.02, 0.02, (160, 2))
    hierarchy = build_hierarchy(points.astype(np.float32), min_samples=3)
    planted = np.repeat([0, 1, 2, 3], 40)
    far_and_rest = planted // 3
    assert same_partition(hierarchy.cut(15, max_share=1.0), far_and_rest)
    split = hierarchy.cut(15)
    assert split.max() == 3
    assert adjusted_rand_score(planted, split) > 0.95


def test_larger_minimum_sizes_make_larger_topics() -> None:
    points, _ = blobs([60, 40, 30, 50], seed=1, noise=30)
    hierarchy = build_hierarchy(points, min_samples=5)
    for size in (2, 5, 20, 45):
        labels = hierarchy.cut(size)
        assert np.bincount(labels[labels >= 0]).min(initial=size) >= size
    assert hierarchy.cut(1000).tolist() == [-1] * len(points)


def test_validity_equals_hdbscan() -> None:
    compared = 0
    for seed in range(6):
        points, _ = blobs([60, 40, 30, 50], seed=seed, noise=10)
        hierarchy = build_hierarchy(points, min_samples=5)
        model = theirs(points, 15, 5)
        ends = model.minimum_spanning_tree_.to_numpy()[:, :2].astype(int)
        pairs = {frozenset(model.labels_[pair]) for pair in ends} - {frozenset([k]) for k in range(-1, 10)}
        touching = {k for pair in pairs if -1 not in pair for k in pair}
        if touching == set(range(model.labels_.max() + 1)):  # else hdbscan takes twice the longest edge
            assert hierarchy.validity(model.labels_.astype(np.int32)) == pytest.approx(model.relative_validity_)
            compared += 1
    assert compared >= 2


def test_validity_of_two_clusters_by_hand() -> None:
    # a chain 0 - 1 - 2 - 3 - 4 with edges of 1, 2, 8, 4; the last point has no topic
    tree = Hierarchy(
        np.array([[0, 1], [1, 2], [3, 4], [2, 3]]), np.array([1.0, 2.0, 4.0, 8.0]), *[np.zeros(4, np.int64)] * 3
    )
    two = np.array([0, 0, 0, 1, 1], np.int32)  # sparseness 2 and 4, separation 8: 3/4 of three points, 1/2 of two
    assert tree.validity(two) == pytest.approx((3 * 6 / 8 + 2 * 4 / 8) / 5)
    with_outlier = np.array([0, 0, 0, 1, -1], np.int32)  # a single point is dense: 1 of one point, and one of none
    assert tree.validity(with_outlier) == pytest.approx((3 * 6 / 8 + 1) / 5)
    apart = np.array([0, 0, -1, 1, 1], np.int32)  # no edge between them: the longest of all is their distance
    assert tree.validity(apart) == pytest.approx((2 * 7 / 8 + 2 * 4 / 8) / 5)


def test_validity_is_bounded_and_prefers_the_planted_groups() -> None:
    points, planted = blobs([60, 40, 30, 50], seed=2)
    hierarchy = build_hierarchy(points, min_samples=5)
    rng = np.random.default_rng(0)
    good = hierarchy.validity(planted)
    random = [hierarchy.validity(rng.integers(-1, 4, len(points)).astype(np.int32)) for _ in range(10)]
    assert 0.5 < good <= 1
    assert all(-1 <= score < 0 for score in random)
    assert hierarchy.validity(np.zeros(len(points), np.int32)) == 0.0
    assert hierarchy.validity(np.full(len(points), -1, np.int32)) == 0.0


def test_the_order_of_points_does_not_matter() -> None:
    points, _ = blobs([60, 40, 30], seed=3, noise=10)
    order = np.random.default_rng(0).permutation(len(points))
    labels = build_hierarchy(points, min_samples=5).cut(10)
    assert same_partition(build_hierarchy(points[order], min_samples=5).cut(10), labels[order])


def test_copies_of_a_point() -> None:
    points = np.repeat(np.array([[0, 0], [5, 5], [9, 0]], np.float32), 12, axis=0)
    labels = build_hierarchy(points, min_samples=3).cut(5)
    assert same_partition(labels, np.repeat([0, 1, 2], 12))
