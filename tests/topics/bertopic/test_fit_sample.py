"""Fits to a sample: which documents, what the others get, and that all of a run is of all documents."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.cluster.assign import rule, vote
from nlpkit.errors import InputError
from nlpkit.platform.options import Execution
from nlpkit.topics.base.options import FIT_ALL_UP_TO, FIT_SAMPLE, BertopicOptions
from nlpkit.topics.bertopic.clustering import neighbours_among, sample_size, sampling_order
from nlpkit.topics.bertopic.description import TopicModel
from nlpkit.topics.bertopic.fit import fit_topics
from nlpkit.topics.bertopic.guided import PredefinedTopics
from tests.refusals import refuses
from tests.strategies import Planted, planted, take

SIZES = [160, 120, 90, 60]
N = sum(SIZES)


@pytest.fixture(scope="module")
def corpus() -> Planted:
    return planted(SIZES, seed=3, spread=0.5)


def fit(corpus: Planted, sample: int | str, *, threads: int = 1, seed: int = 42, **options: Any) -> TopicModel:
    how = BertopicOptions(fit_sample=sample, **options)
    return fit_topics(
        corpus.embeddings, corpus.tokens, corpus.usable, how, execution=Execution(seed=seed, threads=threads)
    )


def test_planted_topics_come_back_from_a_third_of_the_documents(corpus: Planted) -> None:
    model = fit(corpus, 150)
    assert model.n_topics == 4
    assert adjusted_rand_score(corpus.labels, model.topics) > 0.97
    assert model.fitted.sum() == 150
    assert model.sample is not None
    assert (model.sample.n_fitted, model.sample.n_assigned, model.sample.n_compared) == (150, N - 150, 150)
    assert model.sample.agreement > 0.95


def test_words_sizes_and_shares_are_of_all_documents(corpus: Planted) -> None:
    model = fit(corpus, 150, k=4)
    assert model.size.sum() == N
    counts = np.diff(corpus.tokens.offsets)
    assert model.words.sum() == counts.sum()
    assert model.words.tolist() == [counts[model.topics == k].sum() for k in range(4)]
    assert (model.topic_prob > 0).all()
    assert (np.diff(model.votes.offsets) > 0).all()


def test_the_others_have_the_topic_of_their_neighbours_in_the_sample(corpus: Planted) -> None:
    model = fit(corpus, 150, k=4)
    points = corpus.embeddings[model.fitted]
    near = neighbours_among(corpus.embeddings, np.flatnonzero(model.fitted), k=14, threads=1)
    assert model.fitted[near.index].all()
    by_rule, _ = rule(vote(near, model.topics))
    others = ~model.fitted
    assert np.array_equal(by_rule[others], model.topics[others])
    exact = np.argsort(-(corpus.embeddings[others].astype(np.float64) @ points.T), axis=1, kind="stable")[:, :14]
    assert np.array_equal(np.flatnonzero(model.fitted)[exact], near.index[others])


def test_a_fitted_document_is_no_neighbour_of_its_own(corpus: Planted) -> None:
    fitted = np.arange(0, N, 3)
    near = neighbours_among(corpus.embeddings, fitted, k=5, threads=2)
    assert not (near.index == np.arange(N)[:, None]).any()
    assert np.isin(near.index, fitted).all()


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_fewer_fitted_rows_than_neighbours(corpus: Planted, n: int) -> None:
    near = neighbours_among(corpus.embeddings[:50], np.arange(n) * 2, k=14, threads=1)
    assert near.index.shape == (50, min(14, n - 1))
    assert ((near.index >= 0) & (near.index < 2 * n)).all()


def test_a_sample_as_large_as_the_corpus_is_a_fit_to_all(corpus: Planted) -> None:
    whole = fit(corpus, "all")
    for sample in (N, 10**9, "auto"):
        model = fit(corpus, sample)
        assert model.sample is None
        assert model.fitted.all()
        assert model.topics.tobytes() == whole.topics.tobytes()


def test_the_same_bytes_on_any_number_of_threads(corpus: Planted) -> None:
    first, second = fit(corpus, 150), fit(corpus, 150, threads=3)
    for f in fields(TopicModel):
        a = getattr(first, f.name)
        if isinstance(a, np.ndarray):
            assert a.tobytes() == getattr(second, f.name).tobytes(), f.name


def test_the_sample_follows_the_documents_not_their_places(corpus: Planted) -> None:
    order = sampling_order(corpus.embeddings, seed=5)
    turned = np.random.default_rng(0).permutation(N)
    again = sampling_order(corpus.embeddings[turned], seed=5)
    assert np.array_equal(turned[again], order)
    assert sorted(order.tolist()) == list(range(N))
    assert not np.array_equal(sampling_order(corpus.embeddings, seed=6), order)


def test_copies_count_once_and_share_a_topic(corpus: Planted) -> None:
    rows = [*range(N), *[0] * 300, -1]
    model = fit_topics(*take(corpus, rows), BertopicOptions(k=4, fit_sample=150))
    assert model.sample is not None
    assert model.sample.n_fitted + model.sample.n_assigned == N
    assert len(set(model.topics[[0, *range(N, N + 300)]].tolist())) == 1
    assert model.topics[-1] == -1
    assert not model.fitted[-1]


@pytest.mark.parametrize("cluster", ["hdbscan", "agglomerative", "gmm"])
def test_every_engine_takes_a_sample(corpus: Planted, cluster: str) -> None:
    if cluster == "hdbscan":
        pytest.importorskip("hdbscan")
    model = fit(corpus, 200, k=4, cluster=cluster)
    assert model.sample is not None
    assert model.n_topics == 4
    assert adjusted_rand_score(corpus.labels, model.topics) > 0.8


def test_topics_that_are_given_come_first(corpus: Planted) -> None:
    directions = np.stack([corpus.embeddings[corpus.labels == k].mean(axis=0) for k in (3, 2)])
    directions -= corpus.embeddings.mean(axis=0)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    predefined = PredefinedTopics(("small", "middling"), lambda X, counts: directions.astype(np.float32), 0.5)
    model = fit_topics(
        corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(k=4, fit_sample=150), predefined=predefined
    )
    assert model.labels[:2] == ("small", "middling")
    assert (corpus.labels[model.topics == 0] == 3).mean() > 0.9
    assert model.sample is not None


def test_layers_are_of_all_documents(corpus: Planted) -> None:
    model = fit(corpus, 150, k=4)
    assert len(model.layers) > 1
    for layer in model.layers:
        assert layer.size.sum() == N


def test_more_topics_than_the_sample_has_documents(corpus: Planted) -> None:
    with refuses("fit_sample", InputError):
        fit(corpus, 50, k=60)


def test_equal_texts_alone_cannot_be_fitted(corpus: Planted) -> None:
    with refuses(None, InputError):
        fit_topics(*take(corpus, [0] * 40), BertopicOptions(fit_sample=20))


@pytest.mark.parametrize(
    ("sample", "k", "n", "size"),
    [
        ("auto", "auto", FIT_ALL_UP_TO, FIT_ALL_UP_TO),
        ("auto", "auto", FIT_ALL_UP_TO + 1, FIT_SAMPLE),
        ("auto", 1000, 10**6, 50_000),
        ("auto", "10:800:10", 10**6, 40_000),
        ("auto", 10**5, 10**6, 10**6),
        ("all", "auto", 10**7, 10**7),
        (500, 500, 10**7, 500),
        ("500", "auto", 400, 400),
    ],
)
def test_how_many_are_fitted(sample: int | str, k: int | str, n: int, size: int) -> None:
    assert sample_size(BertopicOptions(fit_sample=sample, k=k), n) == size


@pytest.mark.parametrize("value", [9, 0, -5, "9", "some", "1e4", "0.5", ""])
def test_what_is_no_sample(value: int | str) -> None:
    with refuses("fit_sample"):
        BertopicOptions(fit_sample=value)


def test_rule_agreement_is_that_of_the_fitted(corpus: Planted) -> None:
    """The others agree with the rule by definition, which would say nothing."""
    model = fit(corpus, 150, k=4)
    alone = replace(
        corpus, embeddings=corpus.embeddings[model.fitted], labels=corpus.labels[model.fitted],
        tokens=take(corpus, np.flatnonzero(model.fitted).tolist())[1],
    )  # fmt: skip
    whole = fit(alone, "all", k=4)
    assert model.rule_agreement == pytest.approx(whole.rule_agreement, abs=0.05)
