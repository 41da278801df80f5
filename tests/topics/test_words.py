"""Words of topics: weights by typical documents, names, shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.topics.neighbours import Neighbours
from nlpkit.topics.words import core_term_weights, leading_term, share_in_topic, topic_names, typicality
from nlpkit.weighting.ctfidf import class_tfidf
from nlpkit.weighting.dtm import group_rows


def test_typicality_by_hand() -> None:
    # points 0 … 2 in topic 0, 3 in topic 1, 4 in none; the own vote counts 1
    labels = np.array([0, 0, 0, 1, -1], np.int32)
    neighbours = Neighbours(
        np.array([[1], [0], [3], [2], [0]], np.int32), np.array([[1.0], [1.0], [1.0], [0.5], [1.0]], np.float32)
    )
    cosine = np.array([1.0, 0.5, 1.0, 0.8, 0.0], np.float32)
    share = np.array([1, 1, 0.5])
    expected = (share * cosine[:3]) ** 4
    result = typicality(labels, cosine, neighbours)
    np.testing.assert_allclose(result[:3], expected / expected.mean(), rtol=1e-6)
    np.testing.assert_allclose(result[3:], [1.0, 0.0])  # alone in its topic: average; in none: nothing


def test_points_that_all_point_away_count_alike() -> None:
    labels = np.array([0, 0], np.int32)
    neighbours = Neighbours(np.array([[1], [0]], np.int32), np.ones((2, 1), np.float32))
    assert typicality(labels, np.array([-0.1, 0.0], np.float32), neighbours).tolist() == [1.0, 1.0]


def test_core_weights_by_hand() -> None:
    # term 0 in two documents of topic 0, term 1 in one of them only (however often), term 2 in both of topic 1
    dtm = sparse.csr_array(np.array([[1, 9, 0], [1, 0, 0], [0, 0, 2], [0, 0, 2], [5, 5, 5]], np.int32))
    topics = np.array([0, 0, 1, 1, -1], np.int32)
    typical = np.array([0.5, 1.5, 1.0, 1.0, 0.0])
    weights = core_term_weights(dtm, topics, typical, 2).toarray()
    scaled = sparse.csr_array(np.array([[2.0, 4.5, 0.0], [0.0, 0.0, 4.0]]))
    expected = class_tfidf(scaled).toarray()
    expected[0, 1] = 0.0
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_rare_terms_of_large_topics_are_left_out() -> None:
    dense = np.zeros((100, 3), np.int32)
    dense[:, 0] = 1
    dense[:4, 1] = 50  # 4 of 100 documents
    dense[:5, 2] = 1  # 5 of 100
    weights = core_term_weights(sparse.csr_array(dense), np.zeros(100, np.int32), np.ones(100), 1).toarray()[0]
    assert weights[1] == 0
    assert (weights[[0, 2]] > 0).all()


def test_all_documents_alike_and_all_terms_common_is_plain_ctfidf() -> None:
    rng = np.random.default_rng(0)
    dtm = sparse.csr_array(rng.integers(1, 5, (20, 6)).astype(np.int32))
    topics = rng.integers(0, 3, 20).astype(np.int32)
    plain = class_tfidf(group_rows(dtm, topics, 3)).toarray()
    np.testing.assert_allclose(core_term_weights(dtm, topics, np.ones(20), 3).toarray(), plain, rtol=1e-12)


def test_a_word_of_all_topics_names_none() -> None:
    # the first term is the most frequent of every topic, and in all of them
    counts = np.array(
        [[9, 5, 4, 3, 0, 0], [9, 0, 0, 0, 6, 0], [9, 0, 0, 0, 0, 7], [9, 0, 0, 0, 0, 0], [0] * 6], np.int32
    )
    names = topic_names(sparse.csr_array(counts), ("said", "vote", "votes", "law", "goal", "film"))
    assert names == ("vote, law, said", "goal, said", "film, said", "said", "topic 4")


def test_shares_by_hand() -> None:
    counts = sparse.csr_array(np.array([[3, 0, 1], [1, 2, 0]], np.int32))
    shares = share_in_topic(np.array([[2, 0], [1, -1]], np.int32), counts)
    assert shares.tolist() == [[1.0, pytest.approx(0.75)], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ([5, 5, 1, 2], (5, 2)),
        ([5, 1, 2, 3], None),
        ([5, 5, *range(10, 16)], None),  # a quarter is not more than a quarter
        ([5, 5, *range(10, 15)], (5, 2)),
        ([5], None),  # one topic of one
        ([-1, -1, -1], None),
        ([7, -1, 7, -1], (7, 2)),
    ],
)
def test_a_term_that_leads(first: list[int], told: tuple[int, int] | None) -> None:
    assert leading_term(np.array([[term, 99] for term in first], np.int32)) == told
    assert leading_term(np.zeros((0, 3), np.int32)) is None
