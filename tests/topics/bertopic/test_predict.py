"""Topics of new documents."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from nlpkit.cluster.assign import Prediction, Training, predict_topics
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.description import TopicModel
from nlpkit.topics.bertopic.fit import fit_topics
from tests.strategies import Planted, planted

pytest.importorskip("hdbscan")

N_NEIGHBORS = 15


@pytest.fixture(scope="module")
def corpus() -> Planted:
    """The first 200 documents are for training, the others new."""
    return planted([90, 80, 60, 50], seed=21, spread=0.6)


@pytest.fixture(scope="module")
def fitted(corpus: Planted) -> tuple[TopicModel, Training]:
    usable = np.arange(len(corpus.labels)) < 200
    options = BertopicOptions(k=4, n_neighbors=N_NEIGHBORS)
    model = fit_topics(corpus.embeddings, corpus.tokens, usable, options)
    rows = {f"text {d}": d for d in range(200)}
    arrays = (a[:200] for a in (model.topics, model.topic_prob, model.nearest_topic, model.margin, corpus.embeddings))
    return model, Training(rows, *arrays, centroids=model.centroids, similarity=model.similarity[:200])


def predict(training: Training, corpus: Planted, documents: Any, **options: Any) -> Prediction:
    hashes = [f"text {d}" for d in documents]
    usable = options.pop("usable", np.ones(len(hashes), bool))
    least = options.pop("least_similarity", -np.inf)
    return predict_topics(
        training,
        corpus.embeddings[documents],
        hashes,
        usable,
        n_neighbors=N_NEIGHBORS,
        least_similarity=least,
        **options,
    )


def test_training_texts_get_the_topic_they_had(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    model, training = fitted
    found = predict(training, corpus, np.arange(200))
    assert found.known.all()
    np.testing.assert_array_equal(found.topics, model.topics[:200])
    np.testing.assert_array_equal(found.topic_prob, model.topic_prob[:200])
    np.testing.assert_array_equal(found.nearest_topic, model.nearest_topic[:200])
    np.testing.assert_array_equal(found.margin, model.margin[:200])


def test_a_training_text_keeps_what_its_neighbours_would_not_give(
    corpus: Planted, fitted: tuple[TopicModel, Training]
) -> None:
    model, training = fitted
    other = (model.topics[:200] + 1) % 4
    arrays = (other.astype(np.int32), np.float32(0.25) * np.ones(200, np.float32), other.astype(np.int32))
    moved = replace(training, **dict(zip(("topics", "topic_prob", "nearest_topic"), arrays, strict=True)))
    moved.topics[7] = 0
    moved.topics[8] = -1
    found = predict(moved, corpus, [7, 8])
    assert (found.topics.tolist(), found.topic_prob.tolist()) == ([0, -1], [0.25, 0.25])
    assert found.nearest_topic.tolist() == other[[7, 8]].tolist()


def test_new_texts_get_the_topic_they_belong_to(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    model, training = fitted
    new = np.arange(200, len(corpus.labels))
    found = predict(training, corpus, new)
    assert not found.known.any()
    planted_topic = [np.bincount(corpus.labels[:200][model.topics[:200] == k]).argmax() for k in range(4)]
    right = np.array(planted_topic)[found.topics] == corpus.labels[new]
    assert right[found.topics >= 0].mean() > 0.95
    assert (found.topics >= 0).mean() > 0.9
    assert ((found.topic_prob > 0) & (found.topic_prob <= 1))[found.topics >= 0].all()
    assert (found.topic_prob[found.topics < 0] == 0).all()
    assert [getattr(found, f.name).dtype for f in fields(Prediction)] == [
        np.int32,
        np.float32,
        np.int32,
        np.float32,
        bool,
        bool,
    ]


def test_a_row_depends_on_itself_alone(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    _, training = fitted
    documents = np.r_[150:280]
    batch = predict(training, corpus, documents, threads=2)
    for part in ([0], [7], [129], [60, 3, 100], range(40, 120)):
        alone = predict(training, corpus, documents[list(part)])
        for f in fields(Prediction):
            np.testing.assert_array_equal(getattr(alone, f.name), getattr(batch, f.name)[list(part)], err_msg=f.name)


def test_documents_without_text_have_no_topic(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    _, training = fitted
    usable = np.array([True, False, True, False])
    for assign in (False, True):
        found = predict(training, corpus, [0, 1, 250, 251], usable=usable, assign_outliers=assign)
        assert (found.topics[~usable] == -1).all()
        assert (found.nearest_topic[~usable] == -1).all()
        assert (found.topic_prob[~usable] == 0).all()
        assert (found.margin[~usable] == 0).all()
        assert found.known.tolist() == [True, False, False, False]


def outliers(corpus: Planted, fitted: tuple[TopicModel, Training]) -> tuple[Training, Any]:
    """A training set of which most has no topic, and a document beside those."""
    model, training = fitted
    out = np.where(model.topics[:200] == 0, -1, model.topics[:200]).astype(np.int32)
    beside = next(d for d in range(200, len(corpus.labels)) if predict(training, corpus, [d]).topics[0] == 0)
    return replace(training, topics=out), beside


def test_a_text_among_outliers_is_one(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    training, beside = outliers(corpus, fitted)
    found = predict(training, corpus, [beside])
    assert (found.topics[0], found.topic_prob[0]) == (-1, 0)
    assert found.nearest_topic[0] == 0


def test_outliers_go_to_the_nearest_topic_on_request(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    training, beside = outliers(corpus, fitted)
    found = predict(training, corpus, [beside, 0, 250], assign_outliers=True)
    assert (found.topics >= 0).all()
    assert found.topics[0] == found.nearest_topic[0] == 0


def test_nothing_to_predict(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    found = predict(fitted[1], corpus, np.zeros(0, int))
    assert all(len(getattr(found, f.name)) == 0 for f in fields(Prediction))


def test_text_unlike_all_training_documents_has_no_topic(corpus: Planted, fitted: tuple[TopicModel, Training]) -> None:
    model, training = fitted
    noise = np.random.default_rng(3).standard_normal((20, corpus.embeddings.shape[1])).astype(np.float32)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    embeddings = np.concatenate([noise, corpus.embeddings[200:], corpus.embeddings[:3]])
    hashes = [f"new {d}" for d in range(20)] + [f"text {d}" for d in [*range(200, len(corpus.labels)), 0, 1, 2]]
    for assign in (False, True):
        found = predict_topics(
            training, embeddings, hashes, np.ones(len(hashes), bool), n_neighbors=N_NEIGHBORS,
            least_similarity=model.least_similarity, assign_outliers=assign,
        )  # fmt: skip
        assert found.novel[:20].mean() > 0.9
        assert found.novel[20:-3].mean() < 0.15
        assert not found.novel[-3:].any()  # texts of the fit
        assert (found.topics[found.novel] == -1).all()
        assert (found.topic_prob[found.novel] == 0).all()
        assert (found.nearest_topic[found.novel] >= 0).all()
    unbounded = predict_topics(
        training, embeddings, hashes, np.ones(len(hashes), bool), n_neighbors=N_NEIGHBORS, least_similarity=-np.inf
    )
    assert not unbounded.novel.any()
    assert (unbounded.topics[:20] >= 0).mean() > 0.5  # what was given before there was a bound
