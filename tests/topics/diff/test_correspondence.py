"""Relations of the topics of two models, on tables that can be read by eye."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.topics.diff.correspondence import correspondence, ranked_words


def links(table: list[list[int]], threshold: float = 0.5) -> list[tuple[str, int | None, int | None]]:
    both = np.array(table, np.float64)
    forward = both / np.maximum(both.sum(axis=1, keepdims=True), 1)
    backward = both / np.maximum(both.sum(axis=0, keepdims=True), 1)
    return [(link.relation, link.a, link.b) for link in correspondence(forward, backward, threshold=threshold)]


def test_the_same_topics_in_another_order_are_matched() -> None:
    assert links([[0, 9, 0], [0, 0, 8], [7, 1, 0]]) == [("matched", 0, 1), ("matched", 1, 2), ("matched", 2, 0)]


def test_a_topic_that_is_split_and_two_that_are_merged() -> None:
    assert links([[6, 5, 0], [0, 0, 9]]) == [("matched", 1, 2), ("split", 0, 0), ("split", 0, 1)]
    assert links([[6, 0], [5, 1], [0, 9]]) == [("matched", 2, 1), ("merged", 0, 0), ("merged", 1, 0)]


def test_a_small_topic_that_goes_into_a_large_one_is_merged_with_it() -> None:
    assert links([[90, 2], [4, 0], [1, 50]]) == [("matched", 2, 1), ("merged", 0, 0), ("merged", 1, 0)]


def test_scattered_topics_vanish_and_new_ones_come() -> None:
    table = [[40, 0, 0, 0, 1], [2, 2, 2, 2, 2], [0, 30, 30, 30, 0]]
    relations = links(table)
    assert ("vanished", 1, None) in relations
    assert ("new", None, 4) in relations
    assert [r for r in relations if r[0] == "split"] == [("split", 2, 1), ("split", 2, 2), ("split", 2, 3)]


def test_models_without_topics() -> None:
    assert [link.relation for link in correspondence(np.zeros((0, 2)), np.zeros((0, 2)), threshold=0.5)] == [
        "new",
        "new",
    ]
    assert [link.relation for link in correspondence(np.zeros((2, 0)), np.zeros((2, 0)), threshold=0.5)] == [
        "vanished"
    ] * 2


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_every_topic_has_a_relation_and_the_way_back_is_the_mirror(K: int, L: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = rng.random((K, L)) ** 4  # no two are equal, so that nothing depends on an order
    forward, backward = both / both.sum(axis=1, keepdims=True), both / both.sum(axis=0, keepdims=True)
    there = correspondence(forward, backward, threshold=0.5)
    back = correspondence(backward.T, forward.T, threshold=0.5)
    assert {link.a for link in there} - {None} == set(range(K))
    assert {link.b for link in there} - {None} == set(range(L))
    mirror = {"split": "merged", "merged": "split", "vanished": "new", "new": "vanished", "matched": "matched"}
    pairs = {(link.a, link.b) for link in there if link.relation not in ("split", "merged")}
    assert pairs == {(link.b, link.a) for link in back if link.relation not in ("split", "merged")}
    assert {
        (mirror[link.relation], link.b, link.a) for link in there if link.relation in ("vanished", "new", "matched")
    } == {(link.relation, link.a, link.b) for link in back if link.relation in ("vanished", "new", "matched")}


def test_words_count_by_rank_alone() -> None:
    topics, terms, ranks = (np.array(v, np.int32) for v in ([0, 0, 1, 1], [0, 1, 1, 2], [1, 2, 1, 2]))
    matrix = ranked_words(topics, terms, ranks, (2, 3)).toarray()
    first, second = 1.0, 1 / np.log2(3)
    assert matrix[0] == pytest.approx(np.array([first, second, 0]) / np.hypot(first, second))
    assert (matrix[0] @ matrix[1]) == pytest.approx(first * second / (first**2 + second**2))
