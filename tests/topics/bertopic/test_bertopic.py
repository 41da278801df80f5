"""fit_topics on corpora with planted topics."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.cluster.options import NumberOfTopics, Range
from nlpkit.errors import InputError
from nlpkit.platform.options import Execution, with_settings
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.description import TopicModel
from nlpkit.topics.bertopic.fit import fit_topics
from nlpkit.weights.ctfidf import class_tfidf, top_terms
from nlpkit.weights.dtm import count_terms, group_rows
from tests.refusals import refuses
from tests.strategies import OWN_WORDS, Planted, planted, take

pytest.importorskip("hdbscan")

SIZES = [70, 50, 40, 25]


def fit(corpus: Planted, **options: Any) -> TopicModel:
    how, execution = with_settings((BertopicOptions(), Execution()), options)
    return fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, how, execution=execution)


@pytest.fixture(scope="module")
def corpus() -> Planted:
    return planted(SIZES, seed=11, spread=0.5)


@pytest.fixture(scope="module", params=["kmeans", "hdbscan", "agglomerative"])
def cluster(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(corpus: Planted, cluster: str) -> TopicModel:
    return fit(corpus, cluster=cluster)


@pytest.fixture(scope="module")
def crowd() -> tuple[Any, Any, Any]:
    """A corpus of which document 3 is there 31 times, and six documents have no text, two of them at the ends."""
    corpus = planted(SIZES, seed=12, spread=0.5)
    n = len(corpus.labels)
    return take(corpus, [-1, *range(n), -1, *[3] * 30, -1, -1, *range(10), -1, -1])


def _equal(a: Any, b: Any) -> bool:
    return a.tobytes() == b.tobytes() if isinstance(a, np.ndarray) else bool(a == b)


def assert_same(a: TopicModel, b: TopicModel) -> None:
    for f in fields(TopicModel):
        if f.name == "seconds":
            continue
        x, y = getattr(a, f.name), getattr(b, f.name)
        if f.name in ("votes", "terms"):
            for g in fields(x):
                assert getattr(x, g.name).tobytes() == getattr(y, g.name).tobytes(), (f.name, g.name)
        elif f.name == "layers":
            for layer, other in zip(x, y, strict=True):
                assert all(_equal(getattr(layer, g.name), getattr(other, g.name)) for g in fields(layer))
        elif isinstance(x, np.ndarray):
            assert x.dtype == y.dtype
            assert x.tobytes() == y.tobytes(), f.name
        else:
            assert x == y, f.name


def test_planted_topics_come_back(corpus: Planted, model: TopicModel) -> None:
    assert model.n_topics == len(SIZES)
    assert adjusted_rand_score(corpus.labels, model.topics) > 0.98


def test_topics_are_numbered_by_size(corpus: Planted, model: TopicModel) -> None:
    assert model.size.tolist() == sorted(model.size.tolist(), reverse=True)
    assert model.size.tolist() == np.bincount(model.topics[model.topics >= 0]).tolist()
    # planted sizes fall, so topic k is planted topic k
    for k in range(len(SIZES)):
        assert (corpus.labels[model.topics == k] == k).mean() > 0.95


def test_words_are_those_of_the_topic(corpus: Planted, model: TopicModel) -> None:
    for k in range(model.n_topics):
        own = set(range(OWN_WORDS * k, OWN_WORDS * (k + 1)))
        assert set(model.terms.term_ids[k, :10].tolist()) <= own
        weights = model.terms.weights[k][model.terms.term_ids[k] >= 0]
        assert (np.diff(weights) <= 0).all()
        names = model.labels[k].split(", ")
        assert len(names) == 3
        assert {corpus.tokens.terms.index(name) for name in names} <= own


def test_scores_are_in_their_bounds(model: TopicModel) -> None:
    assert ((model.npmi > 0.2) & (model.npmi <= 1)).all()
    assert ((model.exclusivity > 0.9) & (model.exclusivity <= 1)).all()
    assert 0.9 < model.diversity <= 1
    assert 0.9 < model.rule_agreement <= 1
    assert sum(c.chosen for c in model.candidates) == 1
    assert model.merges == ()


def test_documents(model: TopicModel) -> None:
    assert ((model.topic_prob >= 0) & (model.topic_prob <= 1)).all()
    assert (model.topic_prob[model.topics >= 0] > 0).all()
    assert (model.topic_prob[model.topics < 0] == 0).all()
    assert (model.nearest_topic >= 0).all()
    assert (model.margin >= 0).all()
    assert (model.nearest_topic == model.topics)[model.topics >= 0].mean() > 0.95
    assert [x.dtype for x in (model.topics, model.nearest_topic)] == [np.int32] * 2
    assert [x.dtype for x in (model.topic_prob, model.margin, model.centroids)] == [np.float32] * 3


def test_votes_sum_to_one(model: TopicModel) -> None:
    votes = model.votes
    rows = np.repeat(np.arange(len(model.topics)), np.diff(votes.offsets))
    sums = np.bincount(rows, weights=votes.prob, minlength=len(model.topics))
    filled = np.diff(votes.offsets) > 0
    np.testing.assert_allclose(sums[filled], 1.0, rtol=1e-6)
    assert filled[model.topics >= 0].all()
    assert ((votes.unassigned >= -1e-6) & (votes.unassigned <= 1)).all()
    np.testing.assert_array_equal(votes.prob_of(model.topics)[model.topics >= 0], model.topic_prob[model.topics >= 0])


def test_representatives_are_different_documents_of_the_topic(model: TopicModel) -> None:
    for k, documents in enumerate(model.representatives.tolist()):
        assert len(set(documents)) == 3
        assert all(model.topics[d] == k for d in documents)


def test_arguments_come_back_as_they_went_in(corpus: Planted) -> None:
    arrays = [corpus.embeddings, corpus.tokens.offsets, corpus.tokens.term_ids, corpus.usable]
    before = [a.tobytes() for a in arrays]
    fit_topics(corpus.embeddings, corpus.tokens, arrays[3], BertopicOptions(k="3"))
    assert [a.tobytes() for a in arrays] == before


def test_same_result_twice_and_on_any_number_of_threads(corpus: Planted, model: TopicModel, cluster: str) -> None:
    for options in ({}, {"threads": 3}):
        assert_same(fit(corpus, cluster=cluster, **options), model)


@pytest.mark.parametrize(("cluster", "longest"), [("kmeans", "evidence"), ("hdbscan", "layout")])
def test_progress_tells_stages_in_order(corpus: Planted, cluster: str, longest: str) -> None:
    steps: list[tuple[str, float]] = []
    options = BertopicOptions(cluster=cluster)
    fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, options, progress=lambda *step: steps.append(step))
    assert list(dict.fromkeys(stage for stage, _ in steps)) == ["neighbours", longest, "topics"]
    shares = [share for stage, share in steps if stage == longest]
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 1


def test_documents_without_text_have_no_topic(crowd: tuple[Any, Any, Any]) -> None:
    embeddings, tokens, usable = crowd
    for options in (BertopicOptions(), BertopicOptions(cluster="hdbscan", assign_outliers=True)):
        model = fit_topics(embeddings, tokens, usable, options)
        assert (~usable).sum() == 6
        assert (model.topics[~usable] == -1).all()
        assert (model.nearest_topic[~usable] == -1).all()
        assert (model.topic_prob[~usable] == 0).all()
        assert (model.margin[~usable] == 0).all()
        assert (np.diff(model.votes.offsets)[~usable] == 0).all()
        assert usable[model.representatives[model.representatives >= 0]].all()


def test_copies_share_a_topic_and_make_none_of_their_own(crowd: tuple[Any, Any, Any]) -> None:
    embeddings, tokens, usable = crowd
    model = fit_topics(embeddings, tokens, usable, BertopicOptions())
    assert model.n_topics == len(SIZES)
    copies = (embeddings == embeddings[4]).all(axis=1)
    assert copies.sum() == 32  # 31 of the crowd, one of the ten that are there twice
    for value in (model.topics, model.topic_prob, model.nearest_topic, model.margin):
        assert len(set(value[copies].tolist())) == 1
    assert model.topics[4] >= 0
    assert model.size.sum() == (model.topics >= 0).sum()  # copies count in the size
    for documents in model.representatives:
        assert len(np.unique(embeddings[documents], axis=0)) == 3
    assert copies[model.representatives[model.topics[4], 0]]  # what most documents of a topic are is typical of it


def test_what_repeats_does_not_move_the_others() -> None:
    corpus = planted(SIZES, seed=13, spread=0.5)
    n = len(corpus.labels)
    once = fit(corpus)
    often = fit_topics(*take(corpus, [*range(n), *[0] * 3]), BertopicOptions())
    # the layout sees the same points: the same groups, maybe other numbers
    assert adjusted_rand_score(once.topics, often.topics[:n]) == 1.0


def small_group(seed: int) -> tuple[Planted, dict[str, Any]]:
    """Three groups, and a fourth too small for a topic."""
    return planted([40, 38, 37, 15], seed=seed, spread=0.5), {"min_topic_size": 20, "cluster": "hdbscan"}


def test_assigning_outliers_leaves_topics_and_words() -> None:
    compared = 0
    for seed in range(
        1, 9
    ):  # how a layout is rounded depends on the machine: on some the small group is drawn into another
        corpus, options = small_group(seed)
        without, assigned = fit(corpus, **options), fit(corpus, assign_outliers=True, **options)
        sizes = assigned.size.tolist()
        assert sizes == sorted(sizes, reverse=True)
        out = without.topics == -1
        if out.sum() < 10:
            continue
        assert assigned.outliers_assigned == out.sum()
        assert (assigned.topics >= 0).all()
        assert (assigned.unassigned, assigned.size.sum()) == (0, len(corpus.labels))
        # the same topics, maybe by other numbers
        number = [int(assigned.topics[without.topics == k][0]) for k in range(without.n_topics)]
        assert sorted(number) == list(range(assigned.n_topics))
        np.testing.assert_array_equal(assigned.topics[~out], np.array(number)[without.topics[~out]])
        np.testing.assert_array_equal(assigned.topics[out], np.array(number)[without.nearest_topic[out]])
        np.testing.assert_array_equal(assigned.terms.term_ids[number], without.terms.term_ids)
        np.testing.assert_array_equal(assigned.terms.weights[number], without.terms.weights)
        np.testing.assert_array_equal(assigned.npmi[number], without.npmi)
        assert [assigned.labels[k] for k in number] == list(without.labels)
        assert ((assigned.topic_prob > 0) & (assigned.topic_prob <= 1)).all()
        compared += 1
        if compared == 2:
            break
    assert compared == 2


def test_documents_amid_a_topic_join_it() -> None:
    joined = 0
    for seed in (1, 2):
        corpus = planted(SIZES, seed=seed, spread=1.6)
        options: dict[str, Any] = {"k": 4, "cluster": "hdbscan"}
        left, model = fit(corpus, join_neighbors=False, **options), fit(corpus, **options)
        assert left.outliers_joined == 0
        assert model.outliers_joined == (left.topics == -1).sum() - (model.topics == -1).sum() >= 0
        # who had a topic keeps it, and its words are those of the documents it was found in
        had = left.topics >= 0
        number = [int(model.topics[left.topics == k][0]) for k in range(4)]
        np.testing.assert_array_equal(model.topics[had], np.array(number)[left.topics[had]])
        np.testing.assert_array_equal(model.terms.term_ids[number], left.terms.term_ids)
        assert model.size.tolist() == sorted(model.size.tolist(), reverse=True)
        joined += model.outliers_joined
    assert joined > 0


def test_words_of_all_documents_on_request(corpus: Planted) -> None:
    model = fit(corpus, core_terms=False)
    counts = group_rows(count_terms(corpus.tokens), model.topics, model.n_topics)
    best = top_terms(class_tfidf(counts), 30)
    np.testing.assert_array_equal(model.terms.term_ids, best.term_ids)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_exactly_k_topics(corpus: Planted, k: int) -> None:
    model = fit(corpus, k=k)
    assert model.n_topics == k == len(model.labels) == len(model.npmi)
    assert set(model.topics.tolist()) - {-1} == set(range(k))
    assert (model.candidates, model.centroids.shape[0]) == ((), k)


def test_a_range_of_topics(corpus: Planted) -> None:
    model = fit(corpus, k="2:3")
    assert 2 <= model.n_topics <= 3
    assert all(2 <= c.k <= 3 for c in model.candidates)


def test_more_topics_than_there_are(corpus: Planted) -> None:
    with pytest.raises(InputError):
        fit(corpus, k=100, cluster="hdbscan")


@pytest.mark.parametrize("n", [0, 1, 9])
def test_under_ten_different_documents(n: int) -> None:
    corpus = planted([30], seed=0)
    rows = [*range(n), *([0] * 20 if n else []), -1, -1]
    with pytest.raises(InputError):
        fit_topics(*take(corpus, rows), BertopicOptions())


def test_ten_documents_are_enough() -> None:
    corpus = planted([6, 6], seed=3, spread=0.3)
    model = fit(corpus, k=1)
    assert (model.n_topics, len(model.topics)) == (1, 12)


def test_documents_without_tokens_still_have_topics() -> None:
    corpus = planted(SIZES, seed=14)
    empty = take(corpus, [-1] * len(corpus.labels))[1]
    model = fit_topics(corpus.embeddings, empty, corpus.usable, BertopicOptions(k=4))
    assert adjusted_rand_score(corpus.labels, model.topics) > 0.9
    assert (model.terms.term_ids == -1).all()
    assert np.isnan(model.npmi).all()
    assert all(model.labels)  # a name all the same


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("auto", NumberOfTopics()),
        ("1", NumberOfTopics(exactly=1)),
        ("50", NumberOfTopics(exactly=50)),
        ("5:50", NumberOfTopics(within=Range(5, 50))),
        ("7:7", NumberOfTopics(within=Range(7, 7))),
        ("10:100:10", NumberOfTopics(within=Range(10, 100, 10))),
    ],
)
def test_spellings_of_k(text: str, number: NumberOfTopics) -> None:
    assert NumberOfTopics.parse(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "Auto!", "", "-3", "3.5", "5:", ":5", "1:2:3:4", "²", "five", "0", "9:5", "0:5", "1:5:0",
    ],
)  # fmt: skip
def test_spellings_that_are_none(text: str) -> None:
    with refuses("k") as caught:
        NumberOfTopics.parse(text)
    assert caught.value.parameter == "k"
