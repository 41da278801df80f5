"""Silhouette and its kin: by hand, against their definition and scikit-learn, and what must not change them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import silhouette_samples

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.topics import separation
from nlpkit.metrics.topics.separation import silhouette, stratified_sample
from tests.reference import silhouette as plain
from tests.refusals import refuses
from tests.strategies import blobs, repeatable

LINE = np.array([[0.0], [1.0], [4.0], [6.0]])
TWO = np.array([0, 0, 1, 1], np.int32)


@st.composite
def points_dv(draw: st.DrawFn) -> tuple[Any, Any]:
    """Counts (D, 3), rows of zeros and equal rows among them, and labels of two clusters or more, -1 for none."""
    n = draw(st.integers(2, 20))
    rows = st.lists(st.integers(0, 3), min_size=3, max_size=3)
    labels = draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n))
    labels[:2] = [0, 3]
    return np.array(draw(st.lists(rows, min_size=n, max_size=n)), np.float64), np.array(labels, np.int32)


def test_euclidean_by_hand() -> None:
    found = silhouette(LINE, TWO, metric="euclidean")
    # to the own cluster 1, 1, 2, 2; to the other 5, 4, 3.5, 5.5
    expected = [(5 - 1) / 5, (4 - 1) / 4, (3.5 - 2) / 3.5, (5.5 - 2) / 5.5]
    assert found.of_documents is not None
    assert found.of_documents.tolist() == pytest.approx(expected)
    assert found.score == pytest.approx(sum(expected) / 4)
    assert found.of_clusters.tolist() == pytest.approx([sum(expected[:2]) / 2, sum(expected[2:]) / 2])
    assert (found.n_used, found.n_clusters) == (4, 2)


def test_cosine_by_hand() -> None:
    # east, north | twice west: to the own cluster 1, 1, 0, 0; to the other 2, 1, 1.5, 1.5
    points = np.array([[1, 0], [0, 3], [-1, 0], [-2, 0]], np.float32)
    for rows in (points, sparse.csr_array(points)):
        found = silhouette(rows, TWO).of_documents
        assert found is not None
        assert found.tolist() == pytest.approx([1 / 2, 0, 1, 1])


def test_alone_in_a_cluster_is_zero_and_without_a_cluster_is_left_out() -> None:
    points = np.array([[0.0], [1.0], [4.0], [6.0], [0.5]])
    found = silhouette(points, np.array([0, 0, 3, -1, 0], np.int32), metric="euclidean")
    assert found.of_documents is not None
    assert found.of_documents[2] == 0
    assert math.isnan(found.of_documents[3])
    assert np.isnan(found.of_clusters).tolist() == [False, True, True, False]
    assert (found.n_used, found.n_clusters) == (4, 2)
    without = silhouette(points[[0, 1, 2, 4]], np.array([0, 0, 1, 0], np.int32), metric="euclidean")
    assert found.score == without.score


@repeatable
@given(points_dv(), st.sampled_from(["cosine", "euclidean"]), st.booleans())
def test_equals_the_definition(case: tuple[Any, Any], metric: Any, is_sparse: bool) -> None:
    points, labels = case
    rows = sparse.csr_array(points) if is_sparse else points
    found = silhouette(rows, labels, metric=metric)
    expected = plain.silhouettes(points.tolist(), labels.tolist(), metric=metric)
    np.testing.assert_allclose(found.of_documents, expected, atol=1e-7)
    assert found.score == pytest.approx(np.nanmean(expected), abs=1e-7)
    assert -1 <= found.score <= 1


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_agrees_with_scikit_learn(metric: Any) -> None:
    points, labels = blobs([300, 100, 40, 1], seed=1, noise=30, n_dims=4)
    points -= 10
    given_labels = labels >= 0
    expected = silhouette_samples(points[given_labels].astype(np.float64), labels[given_labels], metric=metric)
    for rows in (points, sparse.csr_array(points)):
        found = silhouette(rows, labels, metric=metric).of_documents
        assert found is not None
        np.testing.assert_allclose(found[given_labels], expected, atol=1e-10)
        assert np.isnan(found[~given_labels]).all()


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "_BLOCK", 256)  # fewer than there are documents
    monkeypatch.setattr(separation, "_ROWS", 100)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900).astype(np.int32)
    points = rng.normal(size=(900, 2)) + np.eye(3, 2)[labels]
    picked = np.sort(rng.choice(900, 200, replace=False))
    for metric in ("cosine", "euclidean"):
        values = silhouette(points, labels, metric=metric).of_documents  # type: ignore[arg-type]
        assert values is not None
        distances = _distances(points[picked], points, metric)
        sums = np.stack([distances[:, labels == k].sum(axis=1) for k in range(3)], axis=1)
        sizes = np.bincount(labels)
        at, own = np.arange(200), labels[picked]
        inside = sums[at, own] / (sizes[own] - 1)
        outside = np.where(np.arange(3) == own[:, None], np.inf, sums / sizes).min(axis=1)
        np.testing.assert_allclose(values[picked], (outside - inside) / np.maximum(inside, outside), atol=1e-9)


def _distances(points: Any, others: Any, metric: str) -> Any:
    from scipy.spatial.distance import cdist

    return cdist(points, others, metric)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_order_and_scale_do_not_matter(metric: Any) -> None:
    points, labels = blobs([30, 20, 10], seed=2, n_dims=3)
    score = silhouette(points, labels, metric=metric).score
    order = np.random.default_rng(0).permutation(60)
    assert silhouette(points[order], labels[order], metric=metric).score == pytest.approx(score, abs=1e-12)
    assert silhouette(points * 1e-4, 7 - labels, metric=metric).score == pytest.approx(score, abs=1e-6)
    if metric == "euclidean":
        assert silhouette(points.astype(np.float64) + 1e6, labels, metric=metric).score == pytest.approx(
            score, abs=1e-6
        )


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_all_points_alike(metric: Any) -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(1, 50)), 40, axis=0).astype(np.float32)
    found = silhouette(points, np.arange(40, dtype=np.int32) % 4, metric=metric)
    assert found.of_documents is not None
    assert found.of_documents.tolist() == [0.0] * 40


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [-1, -1, -1, -1], [2, -1, -1, -1]])
def test_fewer_than_two_clusters_have_no_score(labels: list[int]) -> None:
    codes = np.array(labels, np.int32)
    for metric in ("cosine", "euclidean"):
        found = silhouette(LINE, codes, metric=metric)  # type: ignore[arg-type]
        assert math.isnan(found.score)
        assert np.isnan(found.of_documents).all()
        assert found.n_clusters < 2


def test_a_sample_stands_for_all_documents() -> None:
    points, labels = blobs([900, 500, 90, 3], seed=3, noise=50)
    whole = silhouette(points, labels, metric="euclidean")
    part = silhouette(points, labels, metric="euclidean", limit=200, seed=1)
    assert part.of_documents is not None
    assert (part.n_used, part.n_clusters) == (200, 4)
    assert np.isfinite(part.of_documents).sum() == 200
    assert part.score == pytest.approx(whole.score, abs=0.02)
    again = silhouette(points, labels, metric="euclidean", limit=200, seed=1)
    np.testing.assert_array_equal(part.of_documents, again.of_documents)
    assert silhouette(points, labels, metric="euclidean", limit=200, seed=2).score != part.score
    # cosine needs no sample
    assert silhouette(points, labels, limit=200).n_used == whole.n_used == 1493


@repeatable
@given(st.lists(st.integers(-1, 5), min_size=1, max_size=60), st.integers(1, 60), st.integers(0, 99))
def test_a_sample_holds_each_cluster_in_proportion(labels: list[int], limit: int, seed: int) -> None:
    codes = np.array(labels, np.int32)
    rows = stratified_sample(codes, limit=limit, seed=seed)
    n = int((codes >= 0).sum())
    assert (np.diff(rows) > 0).all()
    assert (codes[rows] >= 0).all()
    least = sum(min(labels.count(k), 2) for k in set(labels) if k >= 0)
    assert len(rows) == n if n <= limit else limit <= len(rows) <= max(limit + least, limit)
    for k in set(labels) - {-1}:
        size, drawn = labels.count(k), int((codes[rows] == k).sum())
        assert drawn >= min(size, 2, limit if n > limit else size)
        if n > limit:
            assert drawn <= max(math.ceil(limit * size / n), 2)


def test_what_cannot_be_scored() -> None:
    bad = np.where(LINE == 4, np.nan, LINE)
    for rows in (bad, sparse.csr_array(bad)):
        for metric in ("cosine", "euclidean"):
            with pytest.raises(InputError, match="finite"):
                silhouette(rows, TWO, metric=metric)  # type: ignore[arg-type]
    assert silhouette(bad, np.array([0, 1, -1, 1], np.int32), metric="euclidean").n_used == 3
    with refuses("metric"):
        silhouette(LINE, TWO, metric="manhattan")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="got 4 and 2"):
        silhouette(LINE, TWO[:2])
    with pytest.raises(UsageError, match="1 document"):
        stratified_sample(TWO, limit=0, seed=0)
