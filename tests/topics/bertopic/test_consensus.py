"""The consensus of fits to parts of the documents."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.topics.base.options import BertopicOptions
from nlpkit.topics.bertopic.engine import consensus
from nlpkit.topics.bertopic.fit import fit_topics
from tests.refusals import refuses
from tests.strategies import Planted, planted

SIZES = [70, 50, 40]


@pytest.fixture(scope="module")
def corpus() -> Planted:
    return planted(SIZES, seed=11, spread=0.6)


def test_what_most_clusterings_put_together_stays_together() -> None:
    truth = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(0)
    clusterings = []
    for number in range(9):
        labels = truth.copy()
        astray = rng.permutation(60)[:12]  # another fifth of the points each time, at random
        labels[astray] = rng.integers(0, 3, 12)
        clusterings.append(((labels + number) % 3).astype(np.int32))  # clusters have other numbers in each
    assert max(adjusted_rand_score(truth, labels) for labels in clusterings) < 0.85
    assert adjusted_rand_score(truth, consensus(clusterings, 3, seed=1)) == 1.0


@pytest.mark.parametrize("cluster", ["kmeans", "agglomerative", "gmm"])
def test_an_ensemble_has_as_many_topics_as_asked_for(corpus: Planted, cluster: str) -> None:
    options = BertopicOptions(k=3, cluster=cluster, ensemble=5)
    model = fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, options)
    assert adjusted_rand_score(corpus.labels, model.topics) > 0.95
    assert model.unassigned == 0


@pytest.mark.parametrize("k", [1, 2, 50, 160])
def test_any_number_of_topics(corpus: Planted, k: int) -> None:
    model = fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(k=k, ensemble=3))
    assert model.n_topics == k


def test_bad_values() -> None:
    with refuses("ensemble"):
        BertopicOptions(cluster="hdbscan", ensemble=2)
