"""Topics guided by labels, by names and by seed words: planted topics come out as they were said to be."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

from nlpkit.errors import InputError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import IntArray, TokenTable
from nlpkit.topics.base.options import ENGINES, BertopicOptions
from nlpkit.topics.bertopic.description import TopicModel
from nlpkit.topics.bertopic.fit import fit_topics
from nlpkit.topics.bertopic.guided import (
    WORD_SIMILARITY,
    PredefinedTopics,
    directions_of_names,
    directions_of_words,
    with_classes,
)
from nlpkit.topics.bertopic.guided_options import GuidedOptions
from tests.refusals import refuses
from tests.strategies import Planted, planted


def some_labels(classes: IntArray, share: float, seed: int = 5) -> IntArray:
    return np.where(np.random.default_rng(seed).random(len(classes)) < share, classes, -1).astype(np.int32)


@pytest.fixture(scope="module")
def corpus() -> Planted:
    """Eight clusters; the classes are pairs of clusters that have nothing to do with each other."""
    return planted([40] * 8, seed=3, spread=0.7)


@pytest.mark.parametrize("cluster", [engine for engine in ENGINES if engine != "hdbscan"])
def test_unlabelled_documents_follow_the_classes_of_the_labelled(corpus: Planted, cluster: str) -> None:
    classes = (corpus.labels % 4).astype(np.int32)
    labels = some_labels(classes, 0.2)
    rows = with_classes(corpus.embeddings, labels)
    free = labels < 0
    agreement = []
    for guided in (None, rows):
        model = fit_topics(
            corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(k=4, cluster=cluster), rows=guided
        )
        agreement.append(adjusted_mutual_info_score(classes[free], model.topics[free]))
    assert agreement[1] > max(agreement[0] + 0.1, 0.9)


def test_groups_without_a_label_stay_topics(corpus: Planted) -> None:
    labels = np.where(corpus.labels < 2, some_labels(corpus.labels, 0.3), -1).astype(np.int32)
    rows = with_classes(corpus.embeddings, labels)
    model = fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(), rows=rows)
    assert adjusted_mutual_info_score(corpus.labels, model.topics) > 0.95


def test_labels_of_chance_change_little(corpus: Planted) -> None:
    labels = some_labels(np.random.default_rng(1).permutation(corpus.labels).astype(np.int32), 0.1)
    rows = with_classes(corpus.embeddings, labels)
    model = fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(k=8), rows=rows)
    assert adjusted_mutual_info_score(corpus.labels, model.topics) > 0.8


def test_rows_are_unit_vectors_the_same_on_any_number_of_threads(corpus: Planted) -> None:
    labels = some_labels(corpus.labels, 0.1)
    before = corpus.embeddings.copy(), labels.copy()
    one, four = (with_classes(corpus.embeddings, labels, threads=n) for n in (1, 4))
    assert one.tobytes() == four.tobytes()
    assert one.shape == (320, corpus.embeddings.shape[1] + 8)
    assert np.allclose(np.linalg.norm(one, axis=1), 1)
    assert np.array_equal(before[0], corpus.embeddings)
    assert np.array_equal(before[1], labels)
    fits = [
        fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(), rows=one,
                   execution=Execution(threads=n))
        for n in (1, 4)
    ]  # fmt: skip
    assert fits[0].topics.tobytes() == fits[1].topics.tobytes()


# ---------------------------------------------------------------- topics that are given


def seeded(corpus: Planted, topics: list[int], words: int = 3) -> PredefinedTopics:
    """Topics of the corpus given by some of their own words, and one that has no word."""
    seeds = [[corpus.tokens.terms.index(f"{chr(97 + w)}{chr(97 + k)}own") for w in range(words)] for k in topics]
    directions = partial(directions_of_words, seeds=[*seeds, []])
    return PredefinedTopics((*(f"planted {k}" for k in topics), "nothing"), directions, WORD_SIMILARITY)


def fit(corpus: Planted, predefined: PredefinedTopics, **options: int | str) -> TopicModel:
    return fit_topics(
        corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(**options), predefined=predefined
    )  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def uneven() -> Planted:
    return planted([30, 60, 45, 70, 50], seed=8, spread=0.6)


@pytest.mark.parametrize("cluster", [engine for engine in ENGINES if engine != "hdbscan"])
def test_given_topics_come_first_and_the_others_are_found(uneven: Planted, cluster: str) -> None:
    model = fit(uneven, seeded(uneven, [2, 0]), cluster=cluster)
    assert model.labels[:3] == ("planted 2", "planted 0", "nothing")
    recommended = next(layer for layer in model.layers if layer.chosen)
    assert recommended.labels == model.labels
    assert np.array_equal(recommended.topics, model.topics)
    assert model.size.tolist() == [45, 30, 0, 70, 60, 50]
    assert (uneven.labels[model.topics == 0] == 2).all()
    assert (uneven.labels[model.topics == 1] == 0).all()
    assert adjusted_mutual_info_score(uneven.labels, model.topics) > 0.98
    assert np.isnan(model.stability[2])  # it has no document that could come back
    assert (np.delete(model.stability, 2) > 0.9).all()
    assert model.agreement > 0.95


@pytest.mark.parametrize("chosen", [[2, 0], [0, 1, 2, 3, 4]])
def test_given_topics_have_layers_and_a_second_fit(uneven: Planted, chosen: list[int]) -> None:
    models = [
        fit_topics(
            uneven.embeddings, uneven.tokens, uneven.usable, BertopicOptions(), predefined=seeded(uneven, chosen),
            execution=Execution(threads=threads),
        )
        for threads in (1, 3)
    ]  # fmt: skip
    model = models[0]
    assert 2 <= len(model.layers) <= 6
    assert [layer.chosen for layer in model.layers].count(True) == 1
    sizes = [int((layer.size > 0).sum()) for layer in model.layers]
    assert sizes == sorted(set(sizes))
    for coarse, fine in pairwise(model.layers):
        assert (fine.parent[fine.size > 0] >= 0).all()
        assert (fine.parent[fine.size == 0] == -1).all()
        assert np.array_equal(fine.parent[fine.topics], coarse.topics)
    assert np.nanmin(model.stability) > 0.9
    assert model.agreement > 0.95
    for name in ("stability", "agreement"):
        assert np.array_equal(getattr(models[1], name), getattr(model, name), equal_nan=True)
    assert [x.stability.tobytes() for x in models[1].layers] == [x.stability.tobytes() for x in model.layers]


def test_a_given_topic_that_only_some_documents_point_to_is_not_stable(uneven: Planted) -> None:
    """Its seed word is in two documents of two clusters: the halves see it in different places."""
    which = [int(np.flatnonzero(uneven.labels == k)[5]) for k in (0, 1)]
    documents = np.split(uneven.tokens.term_ids, uneven.tokens.offsets[1:-1])
    new = uneven.tokens.n_terms
    documents = [np.append(ids, new).astype(np.int32) if d in which else ids for d, ids in enumerate(documents)]
    offsets = np.cumsum([0, *map(len, documents)])
    tokens = TokenTable(offsets, np.concatenate(documents), (*uneven.tokens.terms, "zzz"))
    vague = PredefinedTopics(("vague",), partial(directions_of_words, seeds=[[new]]), 0.3)
    model = fit_topics(uneven.embeddings, tokens, uneven.usable, BertopicOptions(), predefined=vague)
    assert model.size[0] > 0
    assert model.stability[0] < 0.7 < model.stability[1:].min()


@pytest.mark.parametrize(("k", "n_topics"), [("auto", 6), (3, 3), (8, 8), ("4:6", 6), ("3:3", 3)])
def test_k_counts_all_topics(uneven: Planted, k: int | str, n_topics: int) -> None:
    model = fit(uneven, seeded(uneven, [2, 0]), k=k)
    assert model.n_topics == n_topics
    assert model.unassigned == 0


def test_numbers_of_topics_that_cannot_be(uneven: Planted) -> None:
    predefined = seeded(uneven, [2, 0])
    with refuses("k"):
        fit(uneven, predefined, k=2)
    with pytest.raises(InputError, match="different documents are close to none of the"):
        fit(uneven, seeded(uneven, [0, 1, 2, 3, 4]), k=100)
    with pytest.raises(InputError, match="no document is close to any of the"):
        fit(uneven, PredefinedTopics(predefined.names, predefined.directions, 1.0))


def test_topics_are_given_that_all_documents_belong_to(uneven: Planted) -> None:
    model = fit(uneven, seeded(uneven, [0, 1, 2, 3, 4]))
    assert model.size.tolist() == [30, 60, 45, 70, 50, 0]


def test_two_seed_words_count_more_than_twice_one() -> None:
    X = np.eye(3, dtype=np.float32)
    dtm = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 1]])
    direction = directions_of_words(X, sparse.csr_array(dtm), [[0, 1]])[0]
    one, two = np.log(3 / 2), np.log(3 / 2) + np.log(3)
    expected = np.array([two**2, one**2, 0]) / (two**2 + one**2) - 1 / 3
    assert np.allclose(direction, expected / np.linalg.norm(expected), atol=1e-6)


def test_names_are_told_apart_from_one_another_and_one_from_nothing() -> None:
    vectors = np.array([[1.0, 0.1, 0.0], [1.0, 0.0, 0.1]])
    reference = np.array([[1.0, 0.0, 0.0]], np.float32)
    two, one = directions_of_names(vectors, reference), directions_of_names(vectors[:1], reference)
    assert (two @ two.T)[0, 1] < 0
    assert np.allclose(one, [[0, 1, 0]])


def test_options_that_do_not_go_together() -> None:
    with refuses("seed_words"):
        GuidedOptions(topics_from=Path("a"), seed_words=Path("b"))
    with refuses("topics_from"):
        GuidedOptions(topics_from=Path("a"), semi_supervised=True)
    with refuses("least_similarity"):
        GuidedOptions(least_similarity=0.3)
