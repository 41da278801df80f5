"""Topics guided by labels: planted classes that the embeddings hardly show come out once some documents say what they are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from nlpkit.parameters import Execution
from nlpkit.topics.bertopic import fit_topics
from nlpkit.topics.guided import with_classes
from nlpkit.topics.options import ENGINES, BertopicOptions
from nlpkit.types import IntArray
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
