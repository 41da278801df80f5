"""k-means topics: planted topics are found, exactly N for every N, and the evidence for a number."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.naive_bayes import MultinomialNB

from nlpkit.cluster.hierarchy import KMeansFits, cut_into, nearest_centers, plain_view, smoothed
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.cluster.options import Range
from nlpkit.errors import InputError
from nlpkit.platform.options import Execution, with_settings
from nlpkit.topics.base import options
from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic import fit as bertopic
from nlpkit.topics.bertopic.description import TopicModel
from nlpkit.topics.bertopic.engine import Engine
from nlpkit.topics.bertopic.evidence import (
    CLEAR,
    FEWEST,
    PRIOR_COUNT,
    NumberEvidence,
    Sample,
    _grid,
    choose_number,
    middle_number,
    read_by_words,
    samples,
)
from nlpkit.topics.bertopic.fit import fit_topics
from nlpkit.weights.dtm import count_terms
from tests.few import few
from tests.refusals import refuses
from tests.strategies import Planted, planted

SIZES = [70, 50, 40, 25, 60]


def fit(corpus: Planted, **options: Any) -> TopicModel:
    record, execution = with_settings((BertopicOptions(cluster="kmeans"), Execution()), options)
    return fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, record, execution=execution)


@pytest.fixture(scope="module")
def corpus() -> Planted:
    return planted(SIZES, seed=11, spread=0.6)


def test_planted_topics_are_found_and_every_document_has_one(corpus: Planted) -> None:
    model = fit(corpus)
    assert model.n_topics == len(SIZES)
    assert adjusted_rand_score(corpus.labels, model.topics) > 0.95
    assert model.unassigned == 0
    assert list(model.size) == sorted(model.size, reverse=True)
    assert [c.k for c in model.candidates if c.chosen] == [len(SIZES)]


@pytest.mark.parametrize("seed", few([12, 14, 15, 16], 2))
def test_a_sharp_fall_after_the_planted_number_is_not_smoothed_away(seed: int) -> None:
    assert fit(planted([70, 50, 40, 25], seed=seed, spread=0.5)).n_topics == 4


@pytest.mark.parametrize("k", [1, 2, 3, 7, 50, 244, 245])
def test_exactly_as_many_topics_as_asked_for(corpus: Planted, k: int) -> None:
    model = fit(corpus, k=k)
    assert model.n_topics == k == len(np.unique(model.topics))
    assert model.candidates == ()


def test_more_topics_than_documents(corpus: Planted) -> None:
    with pytest.raises(InputError, match="245 different documents; give `k=245`"):
        fit(corpus, k=246)


def test_a_range_and_its_step_bound_the_choice(corpus: Planted) -> None:
    assert {c.k for c in fit(corpus, k="8:12:2").candidates} == {8, 10, 12}
    assert {c.k for c in fit(corpus, k="7:9").candidates} == {7, 8, 9}
    with pytest.raises(InputError):
        fit(corpus, k="200:220")


def test_ten_documents_are_enough(corpus: Planted) -> None:
    ten = planted([5, 5], seed=3, spread=0.3)
    model = fit(ten)
    assert model.n_topics == 2
    assert adjusted_rand_score(ten.labels, model.topics) == 1


def test_the_same_bytes_on_any_number_of_threads(corpus: Planted) -> None:
    one, four = fit(corpus, threads=1), fit(corpus, threads=4)
    assert one.candidates == four.candidates
    assert one.topics.tobytes() == four.topics.tobytes()
    assert one.topic_prob.tobytes() == four.topic_prob.tobytes()


def test_options_of_the_density_engine_are_refused() -> None:
    for name, value in (("min_topic_size", 5), ("min_samples", 2), ("assign_outliers", True), ("n_components", 7)):
        with refuses(name):
            BertopicOptions(cluster="kmeans", **{name: value})
    with refuses("cluster"):
        BertopicOptions(cluster="kmean")


def test_every_engine_that_can_be_asked_for_is_there() -> None:
    assert set(bertopic.METHODS) == set(options.ENGINES)


def test_the_numbers_that_are_compared() -> None:
    assert _grid(Range(), 4000)[:11] == [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14]
    assert _grid(Range(), 4000)[-2:] == [160, 190]
    assert _grid(Range(), 10) == [2]
    assert _grid(Range(11, 15), 400) == [11, 12, 14, 15]
    assert _grid(Range(10, 60, 20), 400) == [10, 30, 50]
    assert _grid(Range(10, 60, 20), 70) == [10, 30]


@pytest.mark.parametrize("K", [1, 3, 40])
def test_documents_are_read_as_by_the_naive_bayes_of_scikit_learn(K: int) -> None:
    rng = np.random.default_rng(K)
    X = sparse.random_array((300, 500), density=0.03, format="csr", rng=rng)
    X.data[:] = 1.0
    labels = (rng.integers(0, K, 200) * 2).astype(np.int32)  # not all numbers are there
    expected = MultinomialNB(alpha=PRIOR_COUNT).fit(X[:200], labels).predict(X[200:])
    np.testing.assert_array_equal(read_by_words(X[:200], labels, X[200:]), expected)


def test_without_words_the_largest_class_is_read() -> None:
    labels = np.array([4, 7, 7, 9], np.int32)
    assert read_by_words(sparse.csr_array((4, 0)), labels, sparse.csr_array((2, 0))).tolist() == [7, 7]


def test_a_large_corpus_has_several_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, engine = planted(SIZES, seed=11), Engine(BertopicOptions(), Execution())
    n = len(corpus.embeddings)
    assert [len(s.rows) for s in samples(corpus.embeddings, engine)] == [n]
    monkeypatch.setattr(import_module("nlpkit.topics.bertopic.evidence"), "SAMPLE", n // 2)
    drawn, shares = samples(corpus.embeddings, engine), list[float]()
    assert [len(s.rows) for s in drawn] == [n // 2] * 3
    assert len({s.rows.tobytes() for s in drawn}) == 3
    several = choose_number(drawn, count_terms(corpus.tokens), Range(2, 6, 1), progress=shares.append)
    assert shares == sorted(set(shares))
    assert shares[0] > 0
    assert shares[-1] < 1
    apart = [choose_number([s], count_terms(corpus.tokens), Range(2, 6, 1)) for s in drawn]
    for together, single in zip(several, zip(*apart, strict=True), strict=True):
        assert together.words == pytest.approx(np.mean([x.words for x in single]))


@pytest.mark.parametrize("spread", [0.6, 2.5])
def test_the_largest_number_that_is_clear_is_chosen(spread: float) -> None:
    corpus = planted(SIZES, seed=11, spread=spread)
    sample = Sample(corpus.embeddings, Engine(BertopicOptions(), Execution()))
    numbers = choose_number([sample], count_terms(corpus.tokens), Range())
    clear = [n.k for n in numbers if n.k >= FEWEST and min(n.halves, n.views, n.words) >= CLEAR]
    assert [n.k for n in numbers if n.chosen] == ([max(clear)] if clear else [middle_number(numbers)])
    assert bool(clear) == (spread < 1)


@pytest.mark.parametrize(
    ("scores", "k"),
    [
        ({2: 0.9, 3: 0.73, 4: 0.72, 5: 0.70, 6: 0.66, 8: 0.64}, 4),  # near the best, which two topics cannot be
        ({3: 0.73, 4: 0.71, 6: 0.64, 8: 0.66, 12: 0.69, 17: 0.68, 20: 0.68, 28: 0.66}, 20),  # a later peak
        ({3: 0.73, 4: 0.71, 6: 0.68, 8: 0.67, 12: 0.69, 17: 0.68, 28: 0.66}, 17),  # one that rises by 0.0215 radians
        ({3: 0.73, 4: 0.71, 6: 0.68, 8: 0.675, 12: 0.69, 17: 0.68, 28: 0.66}, 3),  # it hardly rises
        ({3: 0.80, 4: 0.71, 6: 0.60, 8: 0.66, 12: 0.69, 17: 0.68, 28: 0.66}, 3),  # it stays far below
        ({3: 0.73, 6: 0.64, 8: 0.69, 10: 0.64, 12: 0.691, 20: 0.6}, 12),  # the last of two
        ({2: 0.5}, 2),
    ],
)
def test_the_number_that_scores_lead_to(scores: dict[int, float], k: int) -> None:
    assert middle_number([NumberEvidence(n, score, score, score, score) for n, score in scores.items()]) == k


def test_smoothing_is_the_mean_of_a_row_and_its_neighbours(corpus: Planted) -> None:
    near = nearest_neighbours(corpus.embeddings, k=3)
    result = smoothed(corpus.embeddings, near)
    mean = corpus.embeddings
    for _ in range(2):
        mean = mean + mean[near.index].sum(axis=1)
        mean = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    assert np.allclose(result, mean, atol=2e-3)
    assert np.allclose(np.linalg.norm(result, axis=1), 1, atol=1e-6)


def test_rows_that_are_neighbours_of_one_another_stay_apart() -> None:
    """Four rows that are each other's only neighbours have the same average; k-means can still divide them."""
    four = np.eye(4, 8, dtype=np.float32)
    view = plain_view(smoothed(four, nearest_neighbours(four, k=3)))
    assert len(np.unique(KMeansFits(view, seed=0).fit(4)[0])) == 4


def test_centers_are_nearest_by_distance() -> None:
    rng = np.random.default_rng(1)
    points, centers = rng.normal(size=(5000, 4)).astype(np.float32), rng.normal(size=(7, 4)).astype(np.float32)
    expected = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest_centers(points, centers) == expected).mean() > 0.999


@pytest.mark.parametrize("seed", range(3))
def test_topics_that_are_longer_than_wide_are_found_better_after_smoothing(seed: int) -> None:
    """Six arcs of a quarter circle: an average with neighbours is drawn along the arc, the noise around it is not."""
    rng = np.random.default_rng(seed)
    labels, axes = np.repeat(np.arange(6), 120), np.linalg.qr(rng.normal(size=(24, 24)))[0]
    angle = rng.uniform(0, np.pi / 2, len(labels))[:, None]
    rows = np.cos(angle) * axes[2 * labels] + np.sin(angle) * axes[2 * labels + 1]
    rows += rng.normal(scale=1 / np.sqrt(24), size=rows.shape)
    X = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    views = plain_view(X), plain_view(smoothed(X, nearest_neighbours(X, k=14)))
    raw, averaged = (adjusted_mutual_info_score(labels, KMeansFits(view, seed=0).fit(6)[0]) for view in views)
    assert averaged > raw


@pytest.mark.parametrize("k", [1, 2, 7, 29, 30])
def test_a_cut_of_a_tree_is_scipys(k: int) -> None:
    merges = linkage(np.random.default_rng(4).normal(size=(30, 3)), "ward")
    group = cut_into(merges, k)
    assert len(np.unique(group)) == k
    assert adjusted_rand_score(cut_tree(merges, n_clusters=[k]).ravel(), group) == 1


def test_more_clusters_than_the_tree_has_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KMeansFits, "LEAVES", 20)
    fits = KMeansFits(np.random.default_rng(2).normal(size=(60, 3)).astype(np.float32), seed=1)
    for k in (1, 20, 21, 60):
        labels, centers = fits.fit(k)
        assert len(np.unique(labels)) == k == len(centers)
