"""Clusters of topics of many runs: by hand, on planted topics with noise, over segments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.topics.robust.model import (
    Clusters,
    RunTopics,
    cluster_topics,
    robust_clusters,
    robust_counts,
    robust_fit,
    runs_with,
    share_not_robust,
    similarity_of_documents,
    term_shares,
    topic_similarity,
    usual_threshold,
)
from nlpkit.topics.robust.tables import RunFacts, run_tables, share_tables, terms_table, topic_columns

T, TERMS, DOCUMENTS = 5, 400, 300  # planted topics, which have 20 terms each; the rest of the terms is noise


def run_of(words: list[list[float]], documents: list[list[float]], present: list[int] | None = None) -> RunTopics:
    """Return a run of small arrays; present: which documents it has, usually all."""
    there = np.ones(len(documents), bool) if present is None else np.isin(np.arange(len(documents)), present)
    theta = sparse.csr_array(np.array(documents, float) * there[:, None])
    return RunTopics(sparse.csr_array(np.array(words, float)), theta, there)


def planted_runs(n_runs: int, seed: int, *, segment: int = 0, topics: range = range(T)) -> list[RunTopics]:
    """Return runs that have all planted topics with some error, and three topics each of words and documents at random."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(T, 0.1), DOCUMENTS)
    runs = []
    for _ in range(n_runs):
        words, shares = [], []
        for t in rng.permutation(list(topics)).tolist():
            p = np.zeros(TERMS)
            p[20 * t : 20 * (t + 1)] = 1 / np.arange(1, 21)
            words.append(rng.multinomial(400, 0.9 * p / p.sum() + 0.1 / TERMS))
            shares.append(truth[:, t] * rng.uniform(0.8, 1.2, DOCUMENTS))
        for _ in range(3):
            words.append(rng.multinomial(400, rng.dirichlet(np.full(TERMS, 0.1))))
            shares.append(rng.dirichlet(np.full(DOCUMENTS, 0.05)) * 20)
        theta = np.array(shares).T
        theta /= np.maximum(theta.sum(axis=1, keepdims=True), 1e-12)
        runs.append(
            RunTopics(
                sparse.csr_array(np.array(words, float)), sparse.csr_array(theta), np.ones(DOCUMENTS, bool), segment
            )
        )
    return runs


def came_back(clusters: Clusters, groups: np.ndarray | None = None) -> list[int]:
    """Return in how many runs each robust topic is, or in how many groups of runs."""
    where = clusters.run if groups is None else groups[clusters.run]
    return [len(set(where[clusters.topic == m].tolist())) for m in range(clusters.n_topics)]


EVEN = np.full(TERMS, 10)  # documents with each term


def test_the_cosine_of_words_by_hand() -> None:
    a, b = run_of([[2, 1, 0]], [[1.0]] * 8), run_of([[1, 0, 3]], [[1.0]] * 8)
    df = np.array([4, 8, 2])  # ln 2, 0 and ln 4
    x, y = np.array([2 * np.log(2), 0, 0]), np.array([np.log(2), 0, 3 * np.log(4)])
    expected = x @ y / np.linalg.norm(x) / np.linalg.norm(y)
    assert topic_similarity([a, b], df, match="words") == pytest.approx(np.array([[1, expected], [expected, 1]]))


def test_documents_are_compared_where_both_runs_have_them() -> None:
    a = run_of([[1], [1]], [[1, 0], [0.5, 0.5], [0, 1], [0, 1]], present=[0, 1, 2])
    b = run_of([[1]], [[1], [1], [1], [1]], present=[1, 2, 3])
    similarity, comparable = similarity_of_documents([a, b])
    assert comparable.all()
    assert similarity[0, 2] == pytest.approx(0.5 / (0.5 * np.sqrt(2)))
    assert similarity[1, 2] == pytest.approx(1.5 / (np.sqrt(1.25) * np.sqrt(2)))
    assert similarity[0, 1] == pytest.approx(0.25 / (np.sqrt(1.25) * np.sqrt(1.25)))
    apart, none = similarity_of_documents([a, run_of([[1]], [[1]] * 4, present=[3])])
    assert not none[0, 2]
    assert apart[0, 2] == 0


def test_two_runs_without_a_common_document_are_compared_by_words() -> None:
    a = run_of([[3, 1]], [[1], [1], [0]], present=[0, 1])
    b = run_of([[3, 1]], [[0], [0], [1]], present=[2])
    assert topic_similarity([a, b], np.array([1, 1]))[0, 1] == pytest.approx(1.0)
    both = run_of([[3, 1]], [[1], [1], [1]])
    assert topic_similarity([a, both], np.array([1, 1]))[0, 1] == pytest.approx(1.0)  # (1 + 1) / 2


def test_the_usual_threshold_is_what_few_topics_of_a_run_reach() -> None:
    similarity = np.eye(20)
    run = np.repeat([0, 1], 10)
    similarity[0, 1] = similarity[1, 0] = 0.45
    assert usual_threshold(similarity, run) == pytest.approx(0.3)  # the 90 % quantile is 0.045, below the limits
    similarity[:10, :10] = np.where(np.eye(10) > 0, 1, 0.4)
    assert usual_threshold(similarity, run) == pytest.approx(0.4)
    similarity[:10, :10] = np.where(np.eye(10) > 0, 1, 0.8)
    assert usual_threshold(similarity, run) == pytest.approx(0.5)


def test_clusters_by_average_linkage() -> None:
    similarity = np.array([[1, 0.9, 0.5, 0], [0.9, 1, 0.3, 0], [0.5, 0.3, 1, 0], [0, 0, 0, 1.0]])
    assert cluster_topics(similarity, 0.41).tolist() == [0, 0, 1, 2]  # the mean of 0.5 and 0.3 is 0.4
    assert cluster_topics(similarity, 0.39).tolist() == [0, 0, 0, 1]
    assert cluster_topics(np.eye(1), 0.5).tolist() == [0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("match", ["both", "words", "documents"])
def test_planted_topics_come_back_and_noise_does_not(seed: int, match: str) -> None:
    runs = planted_runs(8, seed)
    clusters = robust_clusters(runs, EVEN, match=match)
    assert clusters.n_topics == T
    assert came_back(clusters) == [8] * T
    words = sparse.vstack([run.words for run in runs]).toarray()
    planted = words[:, : 20 * T].reshape(len(words), T, 20).sum(axis=2)
    is_planted = planted.max(axis=1) > 0.8 * words.sum(axis=1)
    assert (clusters.topic[is_planted] >= 0).all()
    assert (
        clusters.topic[~is_planted] >= 0
    ).sum() <= 1  # of 24 topics at random, which may have the first word of a planted one
    for m in range(T):
        assert len(set(planted[(clusters.topic == m) & is_planted].argmax(axis=1).tolist())) == 1
    noise = clusters.cluster[clusters.topic < 0]
    assert np.bincount(noise).max() < 4


def test_the_order_of_the_runs_does_not_matter() -> None:
    runs = planted_runs(6, 3)
    fits = [
        robust_fit(some, robust_clusters(some, EVEN), tuple(map(str, range(TERMS))), np.full(DOCUMENTS, 50), EVEN)[0]
        for some in (runs, runs[::-1])
    ]
    assert fits[0].doc_topic.toarray() == pytest.approx(fits[1].doc_topic.toarray())
    assert fits[0].model.phi == pytest.approx(fits[1].model.phi)


def test_a_topic_of_few_runs_is_robust_where_few_are_enough() -> None:
    runs = [*planted_runs(6, 0, topics=range(4)), *planted_runs(2, 0)]
    assert robust_clusters(runs, EVEN, min_runs=0.5).n_topics == 4
    few = robust_clusters(runs, EVEN, min_runs=0.25)
    assert sorted(came_back(few)) == [2, 8, 8, 8, 8]
    assert robust_clusters(runs, EVEN, min_runs=1.0).n_topics == 4


def test_what_is_in_one_run_of_two_has_not_come_back() -> None:
    runs = [*planted_runs(1, 0, topics=range(4)), *planted_runs(1, 0)]
    assert robust_clusters(runs, EVEN, min_runs=0.1).n_topics == 4


def small_clusters() -> tuple[list[RunTopics], Clusters]:
    """Return three runs of two, two and three topics: topic 0 is in all, topic 1 in two, twice in the last one."""
    runs = [
        run_of([[4, 0, 0], [0, 2, 2]], [[1, 0], [0.5, 0.5], [0, 1], [0, 1]]),
        run_of([[3, 1, 0], [0, 0, 1]], [[0.8, 0.2], [0.4, 0.6], [0, 0], [0.2, 0.8]], present=[0, 1, 3]),
        run_of([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]]),
    ]
    topic = np.array([0, 1, 0, -1, 0, 1, 1], np.int32)
    clusters = Clusters(np.array([0, 0, 1, 1, 2, 2, 2], np.int32), np.array([0, 1, 0, 2, 0, 1, 1], np.int32), topic,
                        np.array([0.9, 0.7, 0.8, np.nan, 0.85, 0.6, 0.5]), (0.4,))  # fmt: skip
    return runs, clusters


def test_documents_have_the_mean_over_the_runs_that_have_topic_and_document() -> None:
    runs, clusters = small_clusters()
    counts = robust_counts(runs, clusters, np.array([10, 10, 10, 0])).toarray()
    expected = np.array([
        [(1 + 0.8 + 1) / 3, 0, 1 - 2.8 / 3],
        [0.3 / 1.05, 0.75 / 1.05, 0],  # 0.9 / 3 and 1.5 / 2 are more than one document
        [0, 1, 0],
        [0, 0, 0],
    ])  # fmt: skip
    assert counts == pytest.approx(10 * expected * np.array([1, 1, 1, 0])[:, None])
    assert runs_with(clusters, 3).tolist() == [[True, True], [True, False], [True, True]]
    assert share_not_robust(runs, clusters) == pytest.approx((0.2 + 0.6 + 0.8) / 3 / 3)


def test_words_are_the_mean_over_the_runs_that_have_the_topic() -> None:
    runs, clusters = small_clusters()
    assert term_shares(runs, clusters, 0) == pytest.approx(np.array([[1, 0, 0], [0.75, 0.25, 0], [1, 0, 0]]))
    assert term_shares(runs, clusters, 1) == pytest.approx(np.array([[0, 0.5, 0.5], [0, 0.5, 0.5]]))
    rows = terms_table(runs, clusters, ("a", "b", "c"), 3).to_pylist()
    first = rows[0]
    assert (first["topic"], first["term"], first["runs"], first["runs_in_top"]) == (0, "a", 3, 3)
    assert first["mean"] == pytest.approx(2.75 / 3)
    assert (first["low"], first["high"]) == (0.75, 1.0)
    assert first["sd"] == pytest.approx(np.std([1, 0.75, 1], ddof=1))
    assert [(row["topic"], row["term"]) for row in rows] == [(0, "a"), (0, "b"), (1, "b"), (1, "c")]


def test_shares_by_column_with_their_spread() -> None:
    runs, clusters = small_clusters()
    columns = {"party": (["left", "right"], np.array([0, 0, 1, -1]))}
    shares, of_runs = share_tables(runs, clusters, columns, with_rest=True)
    cells = {(row["value"], row["topic"]): row for row in shares.to_pylist() if row["column"] == "party"}
    left = cells["left", 0]
    assert (left["documents"], left["runs"]) == (2, 3)
    assert left["share"] == pytest.approx(np.mean([0.75, 0.6, 0.5]))
    assert (left["low"], left["high"]) == pytest.approx((0.5, 0.75))
    assert cells["left", 1]["runs"] == 2  # the second run has not the topic
    assert cells["right", 0]["runs"] == 2  # … nor the document
    assert cells["left", 2]["share"] == pytest.approx(np.mean([0, 0.4, 0]))
    everything = [row for row in shares.to_pylist() if row["column"] == ""]
    assert [row["runs"] for row in everything] == [3, 2, 3]
    held = [row for row in of_runs.to_pylist() if (row["column"], row["value"], row["topic"]) == ("party", "left", 0)]
    assert [(row["run"], row["share"]) for row in held] == [(0, 0.75), (1, pytest.approx(0.6)), (2, 0.5)]


def test_the_tables_of_runs_and_topics() -> None:
    runs, clusters = small_clusters()
    facts = [RunFacts(f"run{r}", "lda-gibbs", r) for r in range(3)]
    tables = run_tables(runs, clusters, facts, ("a", "b", "c"))
    assert tables["robust_runs"].column("robust_topics").to_pylist() == [2, 1, 2]
    assert tables["robust_runs"].column("documents").to_pylist() == [4, 3, 4]
    assert "segment" not in tables["robust_runs"].column_names
    members = tables["robust_members"].to_pylist()
    assert [row["cluster_runs"] for row in members] == [3, 2, 3, 1, 3, 2, 2]
    assert [row["similarity"] is None for row in members] == [False] * 3 + [True] + [False] * 3
    assert members[2]["top_terms"] == ["a", "b"]
    columns = topic_columns(runs, clusters, facts, share_tables(runs, clusters, {}, with_rest=True)[0], 3)
    assert columns["runs"].to_pylist() == [3, 2, None]
    assert columns["of_runs"].to_pylist() == [3, 3, None]
    assert (columns["k_low"].to_pylist(), columns["k_high"].to_pylist()) == ([2, 2, None], [3, 3, None])
    assert "segments" not in columns


def test_segments_have_topics_in_common_and_of_their_own() -> None:
    runs = [*planted_runs(6, 0, segment=0, topics=range(3)), *planted_runs(6, 1, segment=1, topics=range(1, T))]
    half = np.arange(DOCUMENTS) < DOCUMENTS // 2
    apart = []
    for run in runs:
        present = half if run.segment == 0 else ~half
        documents = sparse.csr_array(sparse.diags_array(present.astype(float)) @ run.documents)
        apart.append(RunTopics(run.words, documents, present, run.segment))
    clusters = robust_clusters(apart, EVEN)
    segments = np.array([run.segment for run in apart])
    assert clusters.n_topics == T
    assert sorted(came_back(clusters)) == [6, 6, 6, 12, 12]
    assert sorted(came_back(clusters, segments)) == [1, 1, 1, 2, 2]
    assert len(clusters.thresholds) == 3
