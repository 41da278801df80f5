"""The bound under which a document is unlike all that a model was fitted to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlpkit.cluster.assign import least_similarity, mean_similarity, similarity_without_itself
from nlpkit.cluster.neighbours import Neighbours, nearest_neighbours


def similarities(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32) / np.float32(n)


@pytest.mark.parametrize(
    ("n", "quantile", "at"),
    [(99, 0.95, 4), (99, 0.99, 0), (99, 0.5, 49), (199, 0.95, 9), (5, 0.95, 0), (1, 0.5, 0), (19, 0.95, 0), (39, 0.95, 1)],
)  # fmt: skip
def test_the_bound_is_an_order_statistic(n: int, quantile: float, at: int) -> None:
    values = similarities(n)
    shuffled = np.random.default_rng(1).permutation(values)
    assert least_similarity(shuffled, np.zeros(n, np.int32), quantile) == values[at]


def test_documents_without_a_topic_do_not_count() -> None:
    values = similarities(100)
    topics = np.where(np.arange(100) < 50, -1, 3).astype(np.int32)
    assert least_similarity(values, topics, 0.95) == values[50 + 1]
    assert least_similarity(values, np.full(100, -1, np.int32), 0.95) == -math.inf


def test_no_bound() -> None:
    assert least_similarity(similarities(50), np.zeros(50, np.int32), 1.0) == -math.inf


def test_false_alarms_are_as_many_as_the_quantile_says() -> None:
    """New documents drawn as the training documents are below the bound with the probability it promises."""
    rng = np.random.default_rng(5)
    X = (rng.standard_normal((3000, 12)) + 1.5 * rng.standard_normal((6, 12))[rng.integers(0, 6, 3000)]).astype(
        np.float32
    )
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train, new = X[:1500], X[1500:]
    own = similarity_without_itself(train, n_neighbors=15, threads=1)
    later = mean_similarity(nearest_neighbours(new, train, k=14))
    for quantile in (0.8, 0.9, 0.95):
        bound = least_similarity(own, np.zeros(1500, np.int32), quantile)
        assert abs((later < bound).mean() - (1 - quantile)) < 0.03


def test_copies_of_a_document_do_not_make_it_familiar() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 8)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    once = similarity_without_itself(X, n_neighbors=5, threads=1)
    twice = similarity_without_itself(np.concatenate([X, X]), n_neighbors=5, threads=2)
    np.testing.assert_array_equal(twice, np.concatenate([once, once]))
    by_hand = np.sort(X @ X.T - 2 * np.eye(40), axis=1)[:, -4:].mean(axis=1)
    np.testing.assert_allclose(once, by_hand, atol=1e-6)


def test_without_neighbours_nothing_is_alike() -> None:
    none = Neighbours(np.zeros((3, 0), np.int32), np.zeros((3, 0), np.float32))
    assert mean_similarity(none).tolist() == [0, 0, 0]
