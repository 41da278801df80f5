"""How many topics."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from nlpkit.cluster.hierarchy import Hierarchy, build_hierarchy
from nlpkit.cluster.neighbours import nearest_neighbours
from nlpkit.cluster.options import Range
from nlpkit.cluster.reduce import fuzzy_graph
from nlpkit.errors import InputError
from nlpkit.metrics.topics.coherence import postings
from nlpkit.topics.bertopic.choose import Evidence, choose_cut, cut_exactly, merge_topics, size_grid
from nlpkit.weights.dtm import count_terms
from tests.strategies import blobs, planted, same_partition, token_table

pytest.importorskip("hdbscan")


def meaning(labels: Any, rng: np.random.Generator) -> Evidence:
    """Evidence that speaks for groups: a neighbour graph and words of each group, and words that all share."""
    K = int(labels.max()) + 1
    X = 0.1 * rng.normal(size=(len(labels), K)) + np.eye(K)[labels]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    graph = fuzzy_graph(nearest_neighbours(X.astype(np.float32), k=14))
    words = [np.concatenate([10 * k + rng.integers(0, 10, 6), 10 * K + rng.integers(0, 9, 4)]) for k in labels]
    dtm = count_terms(token_table(words, [f"w{v}" for v in range(10 * K + 9)]))
    return Evidence(graph, dtm, postings(dtm))


def evidence(sizes: list[int], seed: int) -> tuple[list[Hierarchy], Evidence, Any]:
    """Two layouts with the same planted groups, and evidence for these."""
    points, labels = blobs(sizes, seed=seed)
    rng = np.random.default_rng(seed)
    other = (points + rng.normal(scale=0.3, size=points.shape)).astype(np.float32)
    return [build_hierarchy(p, min_samples=5) for p in (points, other)], meaning(labels, rng), labels


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("K", range(3, 9))
def test_finds_the_planted_number(K: int, seed: int) -> None:
    hierarchies, scores, planted_labels = evidence([40] * K, seed)
    layout, labels, candidates = choose_cut(hierarchies, scores, smallest=5, wanted=Range())
    assert labels.max() + 1 == K
    assert adjusted_rand_score(planted_labels, labels) > 0.95
    assert layout in (0, 1)
    (chosen,) = [c for c in candidates if c.chosen]
    assert chosen.k == K


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fine", [False, True])
def test_words_and_neighbours_decide_between_groups_and_their_parts(fine: bool, seed: int) -> None:
    # four groups of three parts each: the layouts offer 4 and 12 topics
    rng = np.random.default_rng(seed)
    group, part = np.repeat(np.arange(4), 60), np.tile(np.repeat(np.arange(3), 20), 4)
    centers = 40.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[group] + 6.0 * np.array([[0, 0], [1, 0], [0, 1]])[part]
    layouts = [(centers + rng.normal(scale=0.7, size=centers.shape)).astype(np.float32) for _ in range(2)]
    hierarchies = [build_hierarchy(layout, min_samples=5) for layout in layouts]
    planted_labels = 3 * group + part if fine else group
    _, labels, candidates = choose_cut(hierarchies, meaning(planted_labels, rng), smallest=5, wanted=Range())
    assert {4, 12} <= {c.k for c in candidates}
    assert labels.max() + 1 == (12 if fine else 4)
    assert adjusted_rand_score(planted_labels, labels) > 0.9


def test_candidates_carry_their_evidence() -> None:
    hierarchies, scores, _ = evidence([60, 50, 40, 30, 20], 3)
    _, labels, candidates = choose_cut(hierarchies, scores, smallest=3, wanted=Range())
    assert sum(c.chosen for c in candidates) == 1
    for c in candidates:
        parts = [c.assigned, c.validity, c.separation, c.agreement, c.npmi, c.diversity]
        assert all(-1 <= part <= 1 for part in parts)
        assert c.score == pytest.approx(np.mean(parts))
        assert c.as_dict()["k"] == c.k
    (chosen,) = [c for c in candidates if c.chosen]
    assert chosen.assigned == pytest.approx((labels >= 0).mean())
    sizes = [c.min_topic_size for c in candidates]
    assert sizes == sorted(set(sizes))  # finest first


@pytest.mark.parametrize("wanted", [Range(5, 6), Range(2, 2), Range(1, 3), Range(4, None)])
def test_stays_within_the_range(wanted: Range) -> None:
    hierarchies, scores, _ = evidence([30] * 6, 0)
    _, labels, candidates = choose_cut(hierarchies, scores, smallest=5, wanted=wanted)
    assert labels.max() + 1 in wanted
    assert all(c.k in wanted for c in candidates)


def test_steps_start_at_the_lowest_number() -> None:
    hierarchies, scores, _ = evidence([30] * 7, 1)
    _, labels, candidates = choose_cut(hierarchies, scores, smallest=5, wanted=Range(3, 8, 2))
    assert {c.k for c in candidates} == {3, 5, 7}
    assert labels.max() + 1 == 7


def test_a_range_beyond_the_documents() -> None:
    hierarchies, scores, _ = evidence([20] * 3, 0)
    with pytest.raises(InputError, match="cannot cut 60 different documents into 40 to 50 topics of at least 10"):
        choose_cut(hierarchies, scores, smallest=10, wanted=Range(40, 50))


def test_no_groups_at_all() -> None:
    hierarchies, scores, _ = evidence([15] * 2, 0)
    with pytest.raises(InputError, match="found no group of at least 25 similar documents among 30 different ones"):
        choose_cut(hierarchies, scores, smallest=25, wanted=Range())


@pytest.mark.parametrize("K", range(1, 8))
def test_exactly_k(K: int) -> None:
    (hierarchy, _), scores, _ = evidence([30] * 6, 2)
    if K > 6:
        with pytest.raises(
            InputError, match=r"cannot make 7 topics of at least 10 documents .* at most 6 are possible"
        ):
            cut_exactly(hierarchy, scores.dtm, k=K, smallest=10)
        return
    labels, size, merges = cut_exactly(hierarchy, scores.dtm, k=K, smallest=10)
    assert sorted(set(labels.tolist()) - {-1}) == list(range(K))
    found = hierarchy.cut(size).max() + 1
    assert len(merges) == found - K
    # merged from the cut with the fewest topics that has enough
    offered = {int(hierarchy.cut(n).max()) + 1 for n in range(10, 40)}
    assert found == min(n for n in offered if n >= K)
    assert np.array_equal(labels < 0, hierarchy.cut(size) < 0)  # merging moves no document in or out


def test_merges_as_few_topics_as_it_can() -> None:
    # two pairs of a group of 25 and one of 15: cut into four or, where 15 are too few, into two
    rng = np.random.default_rng(0)
    sizes = [25, 15, 25, 15]
    points = np.concatenate(
        [np.array([c, 0]) + rng.normal(size=(n, 2)) for c, n in zip((0, 9, 60, 69), sizes, strict=True)]
    )
    hierarchy = build_hierarchy(points.astype(np.float32), min_samples=5)
    dtm = count_terms(token_table([np.array([d // 20]) for d in range(80)], list("abcd")))
    assert (hierarchy.cut(5).max(), hierarchy.cut(17).max()) == (3, 1)
    labels, size, merges = cut_exactly(hierarchy, dtm, k=2, smallest=5)
    assert size > 15
    assert merges == []
    assert same_partition(labels[labels >= 0], np.repeat([0, 1], 40)[labels >= 0])
    assert len(cut_exactly(hierarchy, dtm, k=3, smallest=5)[2]) == 1


def test_the_most_of_the_message_can_be_made() -> None:
    for seed in range(4):
        corpus, _ = blobs([25, 15, 30, 10], seed=seed, noise=30)
        hierarchy = build_hierarchy(corpus, min_samples=5)
        dtm = count_terms(token_table([np.array([d % 7]) for d in range(len(corpus))], list("abcdefg")))
        with pytest.raises(InputError) as error:
            cut_exactly(hierarchy, dtm, k=60, smallest=3)
        found = re.search(r"at most (\d+)", str(error.value))
        assert found is not None
        most = int(found[1])
        assert cut_exactly(hierarchy, dtm, k=most, smallest=3)[0].max() + 1 == most
        with pytest.raises(InputError):
            cut_exactly(hierarchy, dtm, k=most + 1, smallest=3)


def test_merging_takes_the_topics_with_the_most_similar_words() -> None:
    documents = [[0, 0, 1], [0, 1, 1], [4, 5, 5], [2, 3, 3], [2, 2, 3], [4, 2, 2]]
    labels = np.array([0, 1, 2, 3, 4, -1], np.int32)  # 0 and 1 share words, 3 and 4 do, 2 has its own
    dtm = count_terms(token_table([np.array(d) for d in documents], list("abcdef")))
    before = labels.copy()
    merged, merges = merge_topics(labels, dtm, 3)
    assert merged.tolist() == [0, 0, 1, 2, 2, -1]
    assert {m[:2] for m in merges} == {(0, 1), (3, 4)}
    assert all(0 < m[2] <= 1 for m in merges)
    assert merges[0][2] >= merges[1][2]
    assert labels.tolist() == before.tolist()


def test_topics_without_words_can_be_merged() -> None:
    dtm = count_terms(token_table([[], [], [0]], ["a"]))
    merged, merges = merge_topics(np.array([0, 1, 2], np.int32), dtm, 1)
    assert merged.tolist() == [0, 0, 0]
    assert len(merges) == 2


@pytest.mark.parametrize(("smallest", "n"), [(3, 100), (2, 8), (10, 5000), (3, 100_000), (50, 60)])
def test_size_grid(smallest: int, n: int) -> None:
    sizes = size_grid(smallest, n)
    assert sizes[0] == max(smallest, n // 1000, 2)
    assert sizes == sorted(set(sizes))
    assert len(sizes) == 1 or sizes[-1] <= n / 4 + 1
    assert all(b / a < 1.3 or b == a + 1 for a, b in pairwise(sizes))


def test_range_holds_its_numbers() -> None:
    assert [k for k in range(12) if k in Range(3, 7)] == [3, 4, 5, 6, 7]
    assert 10_000 in Range()
    assert 1 not in Range()


def test_whole_corpora() -> None:
    """The same through the embeddings: see test_bertopic for the rest of fit_topics."""
    from nlpkit.topics.base.options import BertopicOptions
    from nlpkit.topics.bertopic.fit import fit_topics

    for K in (3, 7):
        corpus = planted([30] * K, seed=K)
        model = fit_topics(corpus.embeddings, corpus.tokens, corpus.usable, BertopicOptions(cluster="hdbscan"))
        assert model.n_topics == K
        assert adjusted_rand_score(corpus.labels, model.topics) > 0.98
