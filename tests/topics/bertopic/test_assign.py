"""Votes of neighbours, centroids and nearest topics."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.cluster.assign import nearest_topics, rule, similarity_to_topic, topic_centroids, vote
from nlpkit.cluster.neighbours import Neighbours
from tests.strategies import repeatable, unit_rows


def neighbours(index: list[list[int]], similarity: list[list[float]]) -> Neighbours:
    return Neighbours(np.array(index, np.int32), np.array(similarity, np.float32))


def test_votes_by_hand() -> None:
    topics = np.array([0, 1, 1, -1], np.int32)
    votes = vote(
        neighbours([[0, 1, 2], [3, 0, 1], [3, 3, 3]], [[0.5, 0.25, 0.25], [0.5, 0.25, -0.5], [1, 1, 1]]), topics
    )
    assert votes.offsets.tolist() == [0, 2, 3, 3]
    assert votes.topic.tolist() == [0, 1, 0]
    np.testing.assert_allclose(votes.prob, [0.5, 0.5, 1.0])
    np.testing.assert_allclose(votes.unassigned, [0.0, 2 / 3, 1.0], rtol=1e-6)  # a negative similarity has no weight
    best, prob = votes.winner()
    assert best.tolist() == [0, 0, -1]  # ties: the lower number
    assert prob.tolist() == [0.5, 1.0, 0.0]
    assert votes.prob_of(np.array([1, 1, 0], np.int32)).tolist() == [0.5, 0.0, 0.0]


def test_the_document_itself_votes_with_similarity_one() -> None:
    topics = np.array([0, 1], np.int32)
    votes = vote(neighbours([[1], [0]], [[0.5], [0.5]]), topics, self_topics=np.array([0, -1], np.int32))
    np.testing.assert_allclose(votes.prob, [2 / 3, 1 / 3, 1.0])
    np.testing.assert_allclose(votes.unassigned, [0.0, 2 / 3], rtol=1e-6)


def test_no_topic_when_most_of_the_weight_has_none() -> None:
    topics = np.array([0, -1, -1], np.int32)
    votes = vote(neighbours([[0, 1, 2], [0, 1, 2]], [[0.9, 0.5, 0.5], [0.9, 0.4, 0.4]]), topics)
    best, prob = rule(votes)
    assert best.tolist() == [-1, 0]
    assert prob.tolist() == [0.0, 1.0]


@repeatable
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 3), st.integers(0, 9999))
def test_votes_are_shares(D: int, k: int, K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    topics = rng.integers(-1, K + 1, 8).astype(np.int32)
    found = Neighbours(rng.integers(0, 8, (D, k)).astype(np.int32), rng.uniform(-1, 1, (D, k)).astype(np.float32))
    votes = vote(found, topics)
    best, prob = votes.winner()
    for d in range(D):
        weights = np.zeros(K + 1)
        total = 0.0
        for j, s in zip(found.index[d], found.similarity[d], strict=True):
            total += max(float(s), 0.0)
            if topics[j] >= 0:
                weights[topics[j]] += max(float(s), 0.0)
        row = slice(votes.offsets[d], votes.offsets[d + 1])
        assert votes.topic[row].tolist() == np.flatnonzero(weights).tolist()
        np.testing.assert_allclose(votes.prob[row], weights[weights > 0] / max(weights.sum(), 1e-300), rtol=1e-6)
        np.testing.assert_allclose(votes.unassigned[d], 1 - weights.sum() / total if total else 1.0, atol=1e-6)
        assert prob[d] == votes.prob[row].max(initial=0.0)
        assert best[d] == (-1 if not weights.any() else votes.topic[row][votes.prob[row].argmax()])


def test_votes_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    topics = rng.integers(-1, 3, 20).astype(np.int32)
    found = Neighbours(rng.integers(0, 20, (20, 4)).astype(np.int32), rng.uniform(-1, 1, (20, 4)).astype(np.float32))
    whole = vote(found, topics, self_topics=topics)
    monkeypatch.setattr(sys.modules[vote.__module__], "VOTING_ROWS", 7)
    blocks = vote(found, topics, self_topics=topics)
    for field in dataclasses.fields(whole):
        np.testing.assert_array_equal(getattr(blocks, field.name), getattr(whole, field.name))


def test_no_documents() -> None:
    votes = vote(Neighbours(np.zeros((0, 3), np.int32), np.zeros((0, 3), np.float32)), np.array([0, 1], np.int32))
    assert votes.offsets.tolist() == [0]
    assert [len(x) for x in rule(votes)] == [0, 0]


def test_centroids_are_unit_means() -> None:
    X = unit_rows(np.random.default_rng(0), 30, 4)
    labels = np.array([0, 1, -1] * 10, np.int32)
    centroids = topic_centroids(X, labels, 3)
    for k in range(2):
        mean = X[labels == k].mean(axis=0, dtype=np.float64)
        np.testing.assert_allclose(centroids[k], mean / np.linalg.norm(mean), rtol=1e-5)
    assert centroids[2].tolist() == [0, 0, 0, 0]  # a topic without documents
    assert centroids.dtype == np.float32


def test_nearest_topic_and_its_margin() -> None:
    centroids = np.eye(3, dtype=np.float32)
    X = np.array([[0.8, 0.6, 0.0], [0.0, 0.6, 0.8]], np.float32)
    nearest, cosine, margin = nearest_topics(X, centroids, threads=1)
    assert nearest.tolist() == [0, 2]
    np.testing.assert_allclose(cosine, [0.8, 0.8])
    np.testing.assert_allclose(margin, [0.2, 0.2], rtol=1e-5)


def test_one_topic_leads_over_nothing() -> None:
    nearest, cosine, margin = nearest_topics(
        np.array([[0.6, 0.8]], np.float32), np.eye(2, dtype=np.float32)[:1], threads=1
    )
    assert nearest.tolist() == [0]
    assert cosine.tolist() == margin.tolist()


def test_similarity_to_the_own_topic() -> None:
    X = np.array([[0.6, 0.8], [0.6, 0.8], [1.0, 0.0]], np.float32)
    found = similarity_to_topic(X, np.eye(2, dtype=np.float32), np.array([0, 1, -1], np.int32))
    np.testing.assert_allclose(found, [0.6, 0.8, 0.0])
