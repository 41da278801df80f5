"""Advice at the end of a fit: each line appears where it helps, and nowhere else."""

from __future__ import annotations

import logging

import numpy as np
import pyarrow as pa
import pytest

from nlpkit.platform.types import IntArray, TokenTable
from nlpkit.topics.base.notes import PAGE, TopicResult, advice, has_copy, mirrored_column, note_advice, topics_of_copies
from nlpkit.weights.dtm import count_terms

K, PER_TOPIC, LENGTH, V = 4, 40, 12, 400
TERMS = tuple(f"w{v:03}" for v in range(V))


def tokens_of(documents: list[list[int]]) -> TokenTable:
    ends = np.cumsum([0, *map(len, documents)])
    return TokenTable(ends.astype(np.int64), np.array([v for d in documents for v in d], np.int32), TERMS)


def planted(per_topic: int = PER_TOPIC) -> tuple[IntArray, list[list[int]]]:
    """Return topics with a hundred words each, and documents of different words of their topic."""
    rng = np.random.default_rng(3)
    topics = np.repeat(np.arange(K, dtype=np.int32), per_topic)
    return topics, [(100 * k + rng.permutation(100)[:LENGTH]).tolist() for k in topics.tolist()]


def top_terms(first: list[int]) -> IntArray:
    return np.array([[term, 399] for term in first], np.int32)


DIFFERENT = top_terms([0, 100, 200, 300])


def lines(**changes: object) -> list[str]:
    topics, documents = planted()
    usual = {"topics": topics, "top_terms": DIFFERENT, "tokens": tokens_of(documents)}
    return list(advice(TopicResult(**(usual | changes))))  # type: ignore[arg-type]


def test_topics_without_a_flaw_get_no_advice() -> None:
    columns = pa.table({"source": ["a", "b"] * (K * PER_TOPIC // 2)})
    assert lines(columns=columns, can_assign=True) == []


def test_unreliable_topics_come_first() -> None:
    (line,) = lines(unreliable=[1, 3], repeated="a second layout")
    assert line == "Do not rely on topics 1, 3 (marked !): they did not come back in a second layout"
    assert lines(unreliable=[2], repeated="a second layout")[0].startswith("Do not rely on topic 2 (marked !): it did")


def test_a_topic_of_copies() -> None:
    topics, documents = planted()
    rows = np.flatnonzero(topics == 2)
    for d in rows[: len(rows) // 2 + 1]:
        documents[d] = documents[rows[0]]
    (line,) = lines(tokens=tokens_of(documents))
    assert line.startswith("Topic 2: most documents are near-copies of others")
    assert "`dedupe=near:0.7`" in line
    for d in rows[: len(rows) // 2 + 1][::2]:  # fewer than half: no advice
        documents[d] = planted()[1][d]
    documents[rows[1]] = documents[rows[3]]
    assert topics_of_copies(topics, count_terms(tokens_of(documents))) == []


def test_copies_share_nine_words_in_ten() -> None:
    same, one_else, three_else = [*range(20)], [*range(19), 50], [*range(17), 60, 61, 62]
    assert has_copy(count_terms(tokens_of([same, one_else]))).tolist() == [True, True]
    assert has_copy(count_terms(tokens_of([same, three_else]))).tolist() == [False, False]


def test_texts_of_a_word_or_two_are_no_copies() -> None:
    topics = np.zeros(60, np.int32)
    assert topics_of_copies(topics, count_terms(tokens_of([[1, 2]] * 60))) == []
    assert topics_of_copies(topics, count_terms(tokens_of([[1, 2, 3, 4, 5]] * 60))) == [0]


@pytest.mark.parametrize(("first", "advised"), [([5, 5, 200, 300], True), ([5, 100, 200, 300], False)])
def test_a_word_that_leads_many_topics(first: list[int], advised: bool) -> None:
    got = lines(top_terms=top_terms(first))
    assert bool(got) == advised
    assert all(line.startswith("'w005' is the first word of 2 of 4 topics") for line in got)


def test_a_column_that_topics_follow() -> None:
    topics, _ = planted()
    rng = np.random.default_rng(5)
    follows = topics % 2
    columns = pa.table(
        {
            "title": [f"title {d}" for d in range(len(topics))],
            "paper": [f"paper {v}" for v in follows],
            "chance": rng.choice(["a", "b"], len(topics)).tolist(),
            "number": follows,
        }
    )
    (line,) = lines(columns=columns)
    assert line.startswith("Topics follow the column 'paper' (AMI 0.6")
    assert line.endswith("`debias=paper`")
    assert lines(columns=columns.drop_columns(["paper"])) == []


def test_a_column_counts_with_five_documents_a_value() -> None:
    topics, _ = planted()
    assert mirrored_column(topics, {"topic": topics}) == ("topic", pytest.approx(1.0))
    rare = topics.copy()
    rare[:4] = 9
    assert mirrored_column(topics, {"rare": rare, "one": np.zeros_like(topics)}) is None
    missing = np.where(np.arange(len(topics)) < 5, -1, topics).astype(np.int32)
    found = mirrored_column(topics, {"missing": missing})
    assert found is not None
    assert found[0] == "missing"


def test_many_documents_without_a_topic() -> None:
    topics, _ = planted()
    some = np.where(np.arange(len(topics)) % 5 < 2, -1, topics).astype(np.int32)
    (line,) = lines(topics=some, can_assign=True)
    assert line.startswith("40% of the documents have no topic: `assign_outliers`")
    assert lines(topics=some) == []
    few = np.where(np.arange(len(topics)) % 5 < 1, -1, topics).astype(np.int32)
    assert lines(topics=few, can_assign=True) == []


@pytest.mark.parametrize(("per_topic", "says"), [(4, "Only 16 documents: "), (25, None)])
def test_few_documents(per_topic: int, says: str | None) -> None:
    topics, documents = planted(per_topic)
    got = lines(topics=topics, tokens=tokens_of(documents))
    assert [line[: len(says)] for line in got if says] == ([says] if says else got)


def test_few_documents_of_a_topic() -> None:
    topics, _ = planted()
    many = np.arange(len(topics), dtype=np.int32) // 5
    (line,) = lines(topics=many, top_terms=np.arange(32, dtype=np.int32)[:, None])
    assert line == "Only 5.0 documents a topic on average: add documents, or ask for fewer topics (`k`)"


def test_two_lines_at_most_and_the_last_names_the_page(caplog: pytest.LogCaptureFixture) -> None:
    topics, documents = planted(4)
    result = TopicResult(
        topics, top_terms([5, 5, 5, 300]), tokens_of(documents), unreliable=[0], repeated="a second layout"
    )
    assert len(list(advice(result))) == 3
    with caplog.at_level(logging.INFO, "nlpkit"):
        note_advice(result)
    assert [line.startswith("what now? ") for line in caplog.messages] == [True, True]
    assert [PAGE in line for line in caplog.messages] == [False, True]
