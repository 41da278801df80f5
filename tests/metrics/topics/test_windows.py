"""Counting windows: plans, batches, groups, threads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.metrics.topics import window_counts as windows
from nlpkit.metrics.topics.window_counts import WindowCounter, WindowCounts, Windows, plan_pairs
from tests.reference import windows as plain
from tests.refusals import refuses
from tests.strategies import repeatable

TOPICS = [["c", "a"], ["b", "d", "a"], [], ["e"]]
DOCUMENTS = st.lists(st.lists(st.integers(-1, 4), max_size=15), min_size=1, max_size=12)


def arrays(documents: list[list[int]]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return offsets, np.array([u for tokens in documents for u in tokens], np.int32)


def count(documents: list[list[int]], window: Any, cuts: list[int] | None = None, **options: Any) -> WindowCounts:
    counter = WindowCounter(plan_pairs(TOPICS), window, **options)
    for a, b in pairwise([0, *(cuts or []), len(documents)]):
        counter.add(*arrays(documents[a:b]))
    return counter.result()


def equal(a: WindowCounts, b: WindowCounts) -> bool:
    names = ("n_windows", "n_windows_relevant", "single", "joint")
    return a.n_docs == b.n_docs and all(np.array_equal(getattr(a, x), getattr(b, x)) for x in names)


def test_a_plan_holds_each_pair_of_a_topic_once() -> None:
    plan = plan_pairs([["c", "a"], ["a", "b", "c"], []])
    assert plan.words == ("a", "b", "c")
    assert plan.topics.tolist() == [[2, 0, -1], [0, 1, 2], [-1, -1, -1]]
    assert plan.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    # places (0, 1), (0, 2), (1, 2)
    assert plan.topic_pairs.tolist() == [[1, -1, -1], [0, 1, 2], [-1, -1, -1]]
    assert (plan.n_repeated, plan.n_words, plan.n_pairs) == (0, 3, 3)


def test_words_of_different_topics_are_no_pair_unless_asked() -> None:
    topics = [["a", "b"], ["c"]]
    assert plan_pairs(topics).pairs.tolist() == [[0, 1]]
    every = plan_pairs(topics, all_pairs=True)
    assert every.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert every.topic_pairs.tolist() == [[0], [-1]]


def test_a_repeated_word_counts_at_its_first_place() -> None:
    plan = plan_pairs([["b", "a", "b", "b"], ["a", "a"]])
    assert (plan.topics.tolist(), plan.n_repeated) == ([[1, 0], [0, -1]], 3)


def test_a_plan_of_nothing() -> None:
    plan = plan_pairs([])
    assert (plan.words, plan.topics.shape, plan.n_pairs) == ((), (0, 0), 0)
    counter = WindowCounter(plan, 3)
    counter.add(np.array([0, 2]), np.array([-1, -1], np.int32))
    assert counter.result().n_windows.tolist() == [1]


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MOST_PAIRS", 5)
    with pytest.raises(UsageError, match="every pair of 4 words"):
        plan_pairs([list("abcd")], all_pairs=True)


@pytest.mark.parametrize("size", [1, 0, -3])
def test_a_window_of_under_two_tokens_is_refused(size: int) -> None:
    with refuses("window"):
        WindowCounter(plan_pairs(TOPICS), size)


def test_ids_that_are_not_of_the_plan_are_refused() -> None:
    counter = WindowCounter(plan_pairs(TOPICS), 3)
    with pytest.raises(ValueError, match="word id"):
        counter.add(np.array([0, 1]), np.array([5], np.int32))
    with pytest.raises(ValueError, match="offsets"):
        counter.add(np.array([0, 2]), np.array([1], np.int32))
    with pytest.raises(ValueError, match="offsets"):
        counter.add(np.array([0, 2, 1]), np.array([1, 1], np.int32))


@pytest.mark.parametrize("rule", ["boolean", "gensim", "tomotopy"])
@repeatable
@given(DOCUMENTS, st.one_of(st.none(), st.integers(2, 6)))
def test_counts_are_those_of_sets(rule: Any, documents: list[list[int]], size: int | None) -> None:
    counts = count(documents, Windows(size, rule))
    n_windows, relevant, single, joint = plain.count(documents, size, rule)
    assert (counts.n_windows.tolist(), counts.n_windows_relevant.tolist()) == ([n_windows], [relevant])
    assert counts.single.tolist() == [[single[u] for u in range(5)]]
    assert counts.joint.tolist() == [[joint[u, v] for u, v in counts.plan.pairs.tolist()]]
    assert (counts.n_docs, counts.window) == (len(documents), size)


@repeatable
@given(st.data())
def test_batches_and_threads_do_not_matter(data: st.DataObject) -> None:
    documents = data.draw(DOCUMENTS)
    size, groups = data.draw(st.one_of(st.none(), st.integers(2, 6))), data.draw(st.integers(1, 4))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(documents)), max_size=3)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "_SMALL", data.draw(st.sampled_from([0, 10, 10**6])))
        other = count(documents, size, cuts, groups=groups, threads=data.draw(st.integers(1, 5)))
    assert equal(count(documents, size, groups=groups), other)


@repeatable
@given(DOCUMENTS, st.integers(1, 4))
def test_groups_add_up(documents: list[list[int]], groups: int) -> None:
    counts = count(documents, 3, groups=groups)
    assert counts.n_groups == groups
    assert equal(counts.total(), count(documents, 3))


def test_documents_are_spread_over_groups() -> None:
    documents = [[0, 1]] * 1000
    counts = count(documents, None, groups=10)
    assert counts.n_windows.sum() == 1000
    assert 60 < counts.n_windows.min() <= counts.n_windows.max() < 140
    # the group is that of the number of the document: the first 500 are grouped as before
    first = count(documents[:500], None, groups=10)
    assert (first.n_windows <= counts.n_windows).all()


def test_a_group_drawn_twice_counts_twice() -> None:
    counts = count([[0, 2, -1], [1, 3], [0, 0, 4], [2]] * 5, 2, groups=3)
    drawn = counts.resampled(np.array([2, 0, 1]))
    assert drawn.single.dtype == np.int64
    assert drawn.n_windows.tolist() == [2 * counts.n_windows[0] + counts.n_windows[2]]
    assert drawn.joint.tolist() == [(2 * counts.joint[0] + counts.joint[2]).tolist()]
    halves = counts.resampled(np.array([0.5, 0.0, 0.0]))
    np.testing.assert_array_equal(halves.single[0], counts.single[0] / 2)
    with pytest.raises(ValueError, match="3 groups"):
        counts.resampled(np.ones(2))


def test_counting_can_go_on_after_a_result() -> None:
    counter = WindowCounter(plan_pairs(TOPICS), None)
    counter.add(*arrays([[0, 1]]))
    first = counter.result()
    counter.add(*arrays([[0]]))
    assert (first.single[0, 0], counter.result().single[0, 0]) == (1, 2)


def test_arguments_may_be_views_of_other_types() -> None:
    offsets, ids = arrays([[0, 2], [1, 3, 1]])
    counter = WindowCounter(plan_pairs(TOPICS), 2)
    counter.add(offsets.astype(np.int32), np.repeat(ids, 2)[::2].astype(np.int64))
    assert equal(counter.result(), count([[0, 2], [1, 3, 1]], 2))
