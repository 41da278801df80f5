"""Clusters against scikit-learn and scipy, PAM against the plain book version, and what the lecture defines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, fcluster, linkage
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from nlpkit.cluster.files import newick
from nlpkit.cluster.kernels import build, swap
from nlpkit.cluster.model import MATRIX_LIMIT, cluster_points, scaled
from nlpkit.cluster.neighbours import unit_points
from nlpkit.cluster.options import METHODS, SQUARES, ClusterOptions
from nlpkit.errors import InputError
from tests.reference.pam import pam

POINTS, LABELS = make_blobs(90, n_features=4, centers=3, random_state=3, cluster_std=1.0)


def options(**settings: Any) -> ClusterOptions:
    return ClusterOptions(feature_cols="x", **settings)


@pytest.mark.parametrize("method", METHODS)
def test_planted_groups_come_back_and_their_number_with_them(method: str) -> None:
    result = cluster_points(POINTS, options(method=method), seed=1)
    assert adjusted_rand_score(LABELS, result.labels) == 1.0
    assert result.sizes.tolist() == [30, 30, 30]
    assert result.labels[0] == 0  # of equally large ones the first
    assert result.silhouette == pytest.approx(silhouette_score(POINTS, result.labels))
    if method != "hdbscan":
        assert [c.k for c in result.candidates if c.chosen] == [3]
        assert max(result.candidates, key=lambda c: c.silhouette).chosen


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("method", ["average", "complete", "single"])
def test_linkages_are_those_of_scipy(method: str, metric: str) -> None:
    points = np.random.default_rng(0).normal(size=(60, 5))
    result = cluster_points(points, options(method=method, metric=metric, k=7), seed=0)
    merges = linkage(points, method, metric="cityblock" if metric == "manhattan" else metric)
    assert result.merges is not None
    assert np.allclose(result.merges[:, 2], merges[:, 2], atol=1e-6)
    assert adjusted_rand_score(fcluster(merges, 7, "maxclust"), result.labels) == 1.0


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows_have_the_clusters_of_dense_ones(method: str, metric: str) -> None:
    if method == "gmm" or (metric == "manhattan" and method in SQUARES):
        pytest.skip("gmm takes dense points alone; means go with squared Euclidean distances")
    points = np.maximum(POINTS, [0.1, 0.0, 0.0, 0.0])  # most values are zeros, no row has nothing else
    given = options(method=method, metric=metric, **({} if method == "hdbscan" else {"k": 3}))
    dense, thin = cluster_points(points, given, seed=0), cluster_points(sparse.csr_array(points), given, seed=0)
    assert thin.labels.tolist() == dense.labels.tolist()
    # dense rows of length 1 are in float32
    assert thin.distance == pytest.approx(dense.distance, abs=1e-6, nan_ok=True)
    assert (thin.silhouette, thin.inertia) == pytest.approx((dense.silhouette, dense.inertia), rel=1e-4)


def test_ward_is_that_of_scipy_also_on_rows_of_length_1() -> None:
    points = np.random.default_rng(0).normal(size=(60, 5))
    result = cluster_points(points, options(method="ward", metric="cosine", k=4), seed=0)
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    assert result.merges is not None
    assert np.allclose(result.merges[:, 2], linkage(unit, "ward")[:, 2], atol=1e-5)


def test_mixture_and_density_are_those_of_scikit_learn() -> None:
    points = np.random.default_rng(4).normal(size=(200, 3))
    mixture = GaussianMixture(4, covariance_type="diag", random_state=5, max_iter=300).fit_predict(points)
    assert adjusted_rand_score(mixture, cluster_points(points, options(method="gmm", k=4), seed=5).labels) == 1.0
    density = HDBSCAN(min_cluster_size=8, copy=True).fit_predict(points)
    result = cluster_points(points, options(method="hdbscan", min_cluster_size=8), seed=0)
    assert np.array_equal(density < 0, result.labels < 0)
    assert adjusted_rand_score(density, result.labels) == 1.0


@pytest.mark.parametrize("k", [1, 2, 4, 9])
@pytest.mark.parametrize("seed", range(4))
def test_pam_is_that_of_the_book(seed: int, k: int) -> None:
    points = np.random.default_rng(seed).integers(0, 50, (35, 3)).astype(float)  # sums without rounding: ties are ties
    distances = pairwise_distances(points, metric="manhattan" if seed % 2 else "sqeuclidean")
    medoids = build(distances, k)
    swap(distances, medoids, 1e-12)
    assert medoids.tolist() == pam(distances, k)


def test_pam_by_hand() -> None:
    points = np.array([[0.0], [1.0], [2.0], [10.0], [20.0], [21.0], [22.0]])
    medoids = build(pairwise_distances(points, metric="manhattan"), 2)
    assert points[medoids].ravel().tolist() == [
        10,
        21,
    ]  # 10 has the least total distance, 60; with 21 it is 29, with 1 it is 35
    result = cluster_points(points, options(method="kmedoids", metric="manhattan", k=2), seed=0)
    assert result.labels.tolist() == [0, 0, 0, 0, 1, 1, 1]  # SWAP exchanges 10 for 1: 13
    assert result.distance.tolist() == [1, 0, 1, 9, 1, 0, 1]
    assert result.inertia == 13


def test_inertia_is_what_the_lecture_minimises() -> None:
    result = cluster_points(POINTS, options(k=3), seed=0)
    means = np.stack([POINTS[result.labels == k].mean(axis=0) for k in range(3)])
    assert result.inertia == pytest.approx(((POINTS - means[result.labels]) ** 2).sum())
    assert result.distance == pytest.approx(np.linalg.norm(POINTS - means[result.labels], axis=1))


@pytest.mark.parametrize("method", ["kmeans", "kmedoids", "ward", "hdbscan"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_sparse_points_are_clustered_as_dense_ones(method: str, metric: str) -> None:
    rng = np.random.default_rng(0)
    words = rng.poisson(np.kron(np.eye(3), np.ones((1, 6))).repeat(20, axis=0) * 3 + 0.05).astype(np.float64)
    k = {} if method == "hdbscan" else {"k": 3}
    rows = sparse.csr_array(words)
    by_words = cluster_points(rows, ClusterOptions(by="tfidf", method=method, metric=metric, **k), seed=0)
    dense = cluster_points(words, options(method=method, metric=metric, **k), seed=0)
    assert adjusted_rand_score(by_words.labels, dense.labels) == 1.0
    assert adjusted_rand_score(by_words.labels, np.repeat(range(3), 20)) > 0.9
    assert by_words.silhouette == pytest.approx(dense.silhouette, abs=1e-5)
    assert by_words.inertia == pytest.approx(dense.inertia, rel=1e-4)


def test_scaling_is_that_of_scikit_learn() -> None:
    for name, scaler in (("standard", StandardScaler()), ("minmax", MinMaxScaler()), ("robust", RobustScaler())):
        assert np.array_equal(scaled(POINTS, name), scaler.fit_transform(POINTS))
    stretched = POINTS * [1e4, 1, 1, 1]
    assert adjusted_rand_score(LABELS, cluster_points(stretched, options(k=3, scale="standard"), seed=0).labels) == 1.0


def test_equal_points_and_one_point_are_one_cluster() -> None:
    for method in METHODS[:-2]:
        for points in (np.ones((6, 2)), np.ones((1, 2))):
            result = cluster_points(points, options(method=method), seed=0)
            assert result.labels.tolist() == [0] * len(points)
            assert np.isnan(result.silhouette)
            assert result.inertia == 0
        with pytest.raises(InputError, match="all documents are equal"):
            cluster_points(np.ones((6, 2)), options(method=method, k=2), seed=0)
    assert cluster_points(np.ones((1, 2)), options(method="hdbscan"), seed=0).labels.tolist() == [-1]


def test_every_number_up_to_the_points_is_given() -> None:
    for method in ("kmeans", "kmedoids", "average", "gmm"):
        for k in (1, 2, 5, 11, 12):
            assert len(cluster_points(POINTS[:12], options(method=method, k=k), seed=0).sizes) == k
    with pytest.raises(InputError, match="at most 12"):
        cluster_points(POINTS[:12], options(k=13), seed=0)
    assert [c.k for c in cluster_points(POINTS[:12], options(k="3:9:3"), seed=0).candidates] == [3, 6, 9]


def test_a_matrix_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="too many"):
        cluster_points(np.zeros((MATRIX_LIMIT + 1, 2), np.float32), options(method="average", k=3), seed=0)


def test_newick_has_the_heights_of_the_merges() -> None:
    points = np.array([[0.0], [1.0], [5.0]])
    assert newick(linkage(points, "single"), ["a", "b'", "c d"]) == "('c d':4,('a':1,'b''':1):3);\n"
    assert newick(np.zeros((0, 4)), ["a"]) == "'a';\n"
    merges = linkage(np.random.default_rng(0).normal(size=(40, 2)), "average")
    text = newick(merges, [f"n{i}" for i in range(40)])
    assert (text.count("("), text.count("'n"), text.count(",")) == (39, 40, 39)
    # the path from a leaf to the root is as long as the last merge is high: the cophenetic distance of its two sides
    assert cophenet(merges).max() == pytest.approx(merges[-1, 2])
    depth, way, open_ = 0.0, [], []
    import re

    for token in re.findall(r"\(|\)|:[0-9.e+-]+|'[^']+'", text):
        if token == "(":
            open_.append(0.0)
        elif token.startswith("'"):
            depth = 0.0
        elif token == ")":
            depth = open_.pop()
        else:
            depth += float(token[1:])
            if open_:
                open_[-1] = depth
            way.append(depth)
    assert max(way) == pytest.approx(merges[-1, 2], rel=1e-6)


def test_sparse_points_that_differ_by_rounding_are_equal() -> None:
    directions = np.random.default_rng(0).random((5, 4))
    scales = np.array([1, 0.1, 3, 0.7, 1.3, 11])
    points = sparse.csr_array((scales[:, None, None] * directions).reshape(-1, 4))
    assert len(np.unique(unit_points(points).toarray(), axis=0)) > 5
    found = cluster_points(points, options(metric="cosine"), seed=0)  # warnings are errors here
    assert max(one.k for one in found.candidates) == 4
    with pytest.raises(InputError, match="there are 5 different documents"):
        cluster_points(points, options(k="6", metric="cosine"), seed=0)
