"""Density-based validity: by hand, against its definition and hdbscan, and what must not change it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.topics.separation import dbcv
from tests.reference import dbcv as plain
from tests.refusals import refuses
from tests.strategies import blobs, repeatable

# cores of 0, 1, 3 by 1/d: 2 / (1 + 1/3), 2 / (1 + 1/2), 2 / (1/3 + 1/2)
LINE = np.array([[0.0], [1.0], [3.0], [10.0], [11.0], [13.0]])
TWO = np.array([0, 0, 0, 1, 1, 1], np.int32)


@st.composite
def clusters_d(draw: st.DrawFn) -> tuple[Any, Any]:
    """Points (D, E) in groups that overlap more or less, and labels of two clusters or more, -1 for none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, E, K = draw(st.integers(8, 30)), draw(st.integers(1, 6)), draw(st.integers(2, 4))
    labels = np.concatenate([np.repeat(np.arange(K), 2), rng.integers(-1, K, n - 2 * K if n > 2 * K else 0)])
    points = rng.normal(size=(len(labels), E)) + draw(st.sampled_from([0.5, 3.0])) * labels[:, None]
    return points, labels.astype(np.int32)


def test_by_hand() -> None:
    # reachability 0-1: 1.5, 1-3: 2.4, 0-3: 3: the tree 0-1-3 has one inner point, 1, and no inner edge: sparseness 2.4
    # the inner points 1 and 11 are 10 apart
    found = dbcv(LINE, TWO)
    assert found.of_clusters.tolist() == pytest.approx([(10 - 2.4) / 10] * 2)
    assert found.score == pytest.approx(0.76)
    assert (found.n_used, found.n_clusters, found.of_documents) == (6, 2, None)


def test_documents_without_a_cluster_lower_the_score() -> None:
    points = np.concatenate([LINE, [[50.0], [-7.0]]])
    found = dbcv(points, np.array([*TWO, -1, 3], np.int32))  # one of none, one alone in its cluster
    assert found.of_clusters[[0, 1]].tolist() == pytest.approx([0.76] * 2)
    assert np.isnan(found.of_clusters).tolist() == [False, False, True, True]
    assert found.score == pytest.approx(0.76 * 6 / 8)
    assert (found.n_used, found.n_clusters) == (6, 2)


def test_clusters_of_two() -> None:
    # cores and the only edge are 1 and 2; the nearest of 0, 1 | 5, 7 are 4 apart
    found = dbcv(np.array([[0.0], [1.0], [5.0], [7.0]]), np.array([0, 0, 1, 1], np.int32))
    assert found.of_clusters.tolist() == pytest.approx([3 / 4, 2 / 4])


@repeatable
@given(clusters_d())
def test_equals_its_definition(case: tuple[Any, Any]) -> None:
    points, labels = case
    score, of_clusters = plain.validity(points.tolist(), labels.tolist())
    found = dbcv(points, labels)
    assert found.score == pytest.approx(score, abs=1e-9)
    assert found.of_clusters[list(of_clusters)] == pytest.approx(list(of_clusters.values()), abs=1e-9)
    assert -1 <= found.score <= 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("n_dims", [2, 8])
def test_agrees_with_hdbscan_where_the_first_decides(metric: Any, n_dims: int) -> None:
    validity_index = pytest.importorskip("hdbscan.validity").validity_index
    for seed in range(4):
        points, labels = blobs([40, 30, 20, 2], seed=seed, noise=12, n_dims=n_dims)
        points = points.astype(np.float64) - 7
        for X in (points, points + np.random.default_rng(seed).normal(scale=4, size=points.shape)):
            score, of_clusters = validity_index(X, labels, metric=metric, per_cluster_scores=True)
            found = dbcv(X, labels, metric=metric, ties="first")
            assert found.score == pytest.approx(score, abs=1e-10)
            np.testing.assert_allclose(found.of_clusters, of_clusters, atol=1e-10)


@repeatable
@given(clusters_d(), st.randoms(use_true_random=False))
def test_order_scale_and_place_do_not_matter(case: tuple[Any, Any], random: Any) -> None:
    points, labels = case
    score = dbcv(points, labels).score
    order = list(range(len(labels)))
    random.shuffle(order)
    assert dbcv(points[order], labels[order]).score == pytest.approx(score, abs=1e-9)
    assert dbcv(points * 1e-3 + 2, 9 - labels * (labels >= 0) - 10 * (labels < 0)).score == pytest.approx(
        score, abs=1e-6
    )


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_many_dimensions_leave_the_range_of_floats_in_no_scale(scale: float) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 30).astype(np.int32)
    points = rng.normal(size=(4, 500))[labels] + 0.5 * rng.normal(size=(120, 500))
    reference = dbcv(points, labels)
    found = dbcv(points * scale, labels)
    np.testing.assert_allclose(found.of_clusters, reference.of_clusters, atol=1e-9)
    assert 0.4 < found.score < 0.7
    assert dbcv(points.astype(np.float32), labels).score == pytest.approx(reference.score, abs=1e-6)


def test_equal_documents() -> None:
    rng = np.random.default_rng(0)
    points, labels = blobs([30, 20], seed=0)
    points[:20] = np.where(labels[:20, None] == 0, points[labels == 0][0], points[labels == 1][0])
    found = dbcv(points, labels)
    assert np.isfinite(found.score)
    # a cluster of one point over and over is as dense as can be; two such at one place are not apart
    same = np.repeat(rng.normal(size=(1, 40)), 6, axis=0)
    assert dbcv(np.concatenate([same, same + 1]), np.repeat([0, 1], 6).astype(np.int32)).of_clusters.tolist() == [1, 1]
    assert dbcv(np.concatenate([same, same]), np.repeat([0, 1], 6).astype(np.int32)).of_clusters.tolist() == [0, 0]
    for metric in ("euclidean", "cosine"):
        twice = dbcv(np.concatenate([points, points]), np.concatenate([labels, labels]), metric=metric)  # type: ignore[arg-type]
        assert np.isfinite(twice.score)


def test_dense_long_clusters_are_valid_and_cut_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    ring = np.repeat([0, 1], 200).astype(np.int32)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.where(ring, 3.0, 1.0)[:, None]
    halves = (points[:, 0] > 0).astype(np.int32)
    assert dbcv(points, ring).score > 0.3
    assert dbcv(points, halves).score < 0


def test_a_sample_stands_for_all_documents() -> None:
    points, labels = blobs([600, 300, 60], seed=5, noise=40)
    found = dbcv(points, labels, limit=400, seed=1)
    assert (found.n_used, found.n_clusters) == (400, 3)
    assert found.score == pytest.approx(dbcv(points, labels).score, abs=0.15)
    assert found.score == dbcv(points, labels, limit=400, seed=1).score
    assert found.score != dbcv(points, labels, limit=400, seed=2).score
    # the share of documents without a cluster is that of all documents
    assert found.score < 0.96


@pytest.mark.parametrize("labels", [[0] * 6, [-1] * 6, [0, 0, 0, 1, 2, 3]])
def test_fewer_than_two_clusters_have_no_score(labels: list[int]) -> None:
    found = dbcv(LINE, np.array(labels, np.int32))
    assert math.isnan(found.score)
    assert np.isnan(found.of_clusters).all()
    assert found.n_clusters < 2


def test_what_cannot_be_scored() -> None:
    with pytest.raises(UsageError, match="embeddings"):
        dbcv(sparse.csr_array(LINE), TWO)
    with refuses("ties"):
        dbcv(LINE, TWO, ties="last")  # type: ignore[arg-type]
    with refuses("metric"):
        dbcv(LINE, TWO, metric="manhattan")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="got 6 and 2"):
        dbcv(LINE, TWO[:2])
    with pytest.raises(InputError, match="finite"):
        dbcv(np.where(LINE == 3, np.inf, LINE), TWO)
