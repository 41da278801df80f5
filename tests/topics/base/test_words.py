"""Words of topics: weights by typical documents, names, shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.cluster.neighbours import Neighbours, nearest_neighbours, unit_rows
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.base.topic_words import (
    core_term_weights,
    few_core_terms,
    leading_term,
    nearness,
    share_in_topic,
    share_of_best,
    topic_terms,
    typicality,
)
from nlpkit.topics.bertopic.fit import fit_topics
from nlpkit.weights.ctfidf import class_tfidf, importance, keyness, top_terms
from nlpkit.weights.dtm import count_terms, group_rows
from tests.strategies import planted


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
    two, ten, three = np.log([2, 10, 3])  # ln(1 + tf)
    scaled = sparse.csr_array(np.array([[2 * two, 0.5 * ten, 0.0], [0.0, 0.0, 2 * three]]))
    expected = class_tfidf(scaled).toarray()
    expected[0, 1] = 0.0
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_rare_terms_of_large_topics_are_left_out() -> None:
    dense = np.zeros((101, 3), np.int32)
    dense[:, 0] = 1
    dense[:2, 1] = 50  # 2 of 101 documents
    dense[:3, 2] = 1  # 3 of 101
    weights = core_term_weights(sparse.csr_array(dense), np.zeros(101, np.int32), np.ones(101), 1).toarray()[0]
    assert weights[1] == 0
    assert (weights[[0, 2]] > 0).all()
    alone = core_term_weights(sparse.csr_array(dense[:1]), np.zeros(1, np.int32), np.ones(1), 1).toarray()[0]
    assert (alone > 0).all()  # a topic of one document has its words


def test_all_documents_alike_and_all_terms_common_is_ctfidf_of_damped_counts() -> None:
    rng = np.random.default_rng(0)
    dtm = sparse.csr_array(rng.integers(1, 5, (20, 6)).astype(np.int32))
    topics = rng.integers(0, 3, 20).astype(np.int32)
    plain = class_tfidf(group_rows(dtm.astype(np.float64).log1p(), topics, 3)).toarray()
    np.testing.assert_allclose(core_term_weights(dtm, topics, np.ones(20), 3).toarray(), plain, rtol=1e-12)


def test_nearness_by_hand() -> None:
    # term 0 in both documents of topic 0, term 1 in all, term 2 in one of topic 1; the mean of all documents is (0.5, 0.5)
    embeddings = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    counts = sparse.csr_array(np.array([[1, 7, 0], [3, 1, 0], [0, 1, 0], [0, 2, 1]], np.int32))
    centroids = np.array([[1, 0], [0, 1], [0.5, 0.5]], np.float32)
    near = nearness(embeddings, counts, np.array([[0, 1, 2], [0, 2, -1], [0, 1, 2]], np.int32), centroids)
    two, one = (
        1 / np.sqrt(1 + (1 / 2 - 1 / 4)),
        1 / np.sqrt(1 + (1 - 1 / 4)),
    )  # |t - m|² = 1 - |m|² = 0.5, which cancels
    np.testing.assert_allclose(near[0], [two, 0.0, -one], atol=1e-6)
    np.testing.assert_allclose(near[1, :2], [-two, one], atol=1e-6)
    assert near[2].tolist() == [1.0] * 3  # a topic that is the mean has no direction
    assert nearness(embeddings, counts, np.full((3, 2), -1, np.int32), centroids).tolist() == [[1.0] * 2] * 3


def test_share_of_best_by_hand() -> None:
    # relative to all of its topic, term 0 has ¼ in topic 0 and ½ in topic 1, which has less of everything
    scores = np.array([[3.0, 1.0, 0.0], [0.2, 0.2, 0.0], [0.0, 0.0, 0.0]])
    shares = share_of_best(scores, np.array([[1, 0, -1], [0, 2, -1], [-1, -1, -1]], np.int32), 4)
    np.testing.assert_allclose(shares, [[1.0, 0.5, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])


def test_a_word_of_every_topic_comes_after_the_words_of_a_topic() -> None:
    rng = np.random.default_rng(0)
    topics = np.repeat([0, 1], 20).astype(np.int32)
    embeddings = unit_rows(np.eye(2)[topics] + 0.1 * rng.random((40, 2)))
    counts = np.zeros((40, 4), np.int32)
    counts[:, 0] = 9  # of all documents, and the word of highest c-tf-idf of both topics
    counts[:20, 1], counts[20:, 2] = 1, 1
    counts[[0, 20], 3] = 9  # of one document of each topic
    dtm = sparse.csr_array(counts)
    neighbours = nearest_neighbours(embeddings, k=3, threads=1)
    assert top_terms(class_tfidf(group_rows(dtm, topics, 2)), 1).term_ids.tolist() == [[0], [0]]
    best = topic_terms(embeddings, neighbours, dtm, topics, 2, 3)
    assert best.term_ids.tolist() == [[1, 0, -1], [2, 0, -1]]
    assert (best.weights[:, 2] == 0).all()


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


def test_every_weighting_of_the_stored_terms_is_that_of_all_documents_of_the_topics() -> None:
    corpus = planted((30, 30, 30), seed=3)
    model = fit_topics(corpus.embeddings, corpus.tokens, np.ones(90, bool), BertopicOptions(k="3"))
    counts = group_rows(count_terms(corpus.tokens), model.topics, 3)
    for found, weights in ((model.key_scores, keyness(counts).z), (model.importance, importance(counts))):
        dense = weights.toarray()
        expected = np.take_along_axis(dense, np.maximum(model.terms.term_ids, 0), axis=1)
        np.testing.assert_allclose(found, np.where(model.terms.term_ids >= 0, expected, np.nan))


def test_topics_of_texts_that_share_no_words_have_those_of_plain_ctfidf() -> None:
    """Short answers that come again and again, each the only one with its words: the core of such a topic was empty."""
    rng = np.random.default_rng(1)
    topics = np.repeat([0, 1], 8).astype(np.int32)
    embeddings = unit_rows(np.eye(2)[topics] + 0.1 * rng.random((16, 2)))
    counts = np.zeros((16, 26), np.int32)
    counts[np.arange(8), 2 * np.arange(8)] = counts[np.arange(8), 2 * np.arange(8) + 1] = np.arange(
        1, 9
    )  # two words each, of no other
    counts[8:, 16:22] = rng.integers(1, 4, (8, 6))  # six words of all texts of the other topic
    counts[8, 22:] = 1
    dtm = sparse.csr_array(counts)
    neighbours = nearest_neighbours(embeddings, k=3, threads=1)
    core = core_term_weights(dtm, topics, np.ones(16), 2)
    every = group_rows(dtm, topics, 2)
    assert np.diff(core[[0]].tocsr().indptr).sum() == 0 or core[[0]].sum() == 0
    assert few_core_terms(core, every).tolist() == [True, False]
    best = topic_terms(embeddings, neighbours, dtm, topics, 2, 6)
    plain = top_terms(class_tfidf(every), 6)
    np.testing.assert_array_equal(best.term_ids[0], plain.term_ids[0])
    np.testing.assert_allclose(best.weights[0], plain.weights[0], rtol=1e-6)
    assert set(best.term_ids[1].tolist()) == set(range(16, 22))
