"""Edits as plain data: which topics they mean, what contradicts itself, and the numbers and names that follow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.topics.bertopic.choose import merge_classes
from nlpkit.topics.edit.edits import (
    EditPlan,
    Edits,
    NewTopic,
    TopicWords,
    joined_topics,
    match_topics,
    names_after,
    new_numbers,
    new_topics,
    plan_edits,
    review_after,
)
from nlpkit.topics.edit.files import edits_from
from tests.refusals import refuses

TOPICS = [TopicWords(f"name {k}", tuple(f"w{k}{i}" for i in range(10))) for k in range(6)]  # no word is in two topics


def planned(text: str) -> EditPlan:
    return plan_edits(edits_from(text, "e.toml"), TOPICS, file="e.toml", run="run")


def shifted(*topics: int) -> str:
    """The table of a file that was written for a fit with these topics of TOPICS in this order."""
    lines = [f'{n} = {{ name = "{TOPICS[k].name}", words = {list(TOPICS[k].words)} }}' for n, k in enumerate(topics)]
    return "[topics]\n" + "\n".join(lines).replace("'", '"')


def test_numbers_and_names_mean_topics_of_the_run() -> None:
    plan = planned('merge = [[2, "name 0"]]\ndrop = [5]\npin = [1]\n[rename]\n3 = "Three"\n"name 4" = "Four"')
    assert (plan.merge, plan.drop, plan.pin) == (((2, 0),), {5}, {1})
    assert plan.rename == {3: "Three", 4: "Four"}
    assert (plan.moved, plan.skipped) == ({}, ())


def test_a_topic_is_the_one_with_its_words_whatever_its_number() -> None:
    plan = planned('merge = [[0, "name 5"]]\ndrop = [2]\n' + shifted(3, 5, 1))
    assert (plan.merge, plan.drop) == (((3, 5),), {1})
    assert {number: match.topic for number, match in plan.moved.items()} == {0: 3, 1: 5, 2: 1}
    assert all((match.shared, match.words) == (10, 10) for match in plan.moved.values())


def test_the_number_and_the_name_decide_where_words_do_not() -> None:
    same = TopicWords("a", ("x", "y", "z"))
    assert {n: m.topic for n, m in match_topics({1: same}, [same, same, same]).items()} == {1: 1}
    other = TopicWords("b", same.words)
    assert {n: m.topic for n, m in match_topics({0: other}, [same, other]).items()} == {0: 1}


def test_topics_that_share_too_few_words_are_left_out_and_said() -> None:
    table = '[topics]\n1 = { name = "gone", words = ["w00", "w01", "x", "y", "z", "a", "b", "c", "d", "e"] }\n'
    plan = planned('merge = [[1, 2]]\ndrop = [3, 1]\nsplit = { 1 = 2 }\n[rename]\n1 = "X"\n' + table)
    assert (plan.merge, plan.drop, plan.split, plan.rename) == ((), {3}, {}, {})
    assert [sentence.split(":")[0] for sentence in plan.skipped] == [
        "merge of topic 1 (w00 w01 x y z)", "merge of 1, 2", "split of topic 1 (w00 w01 x y z)", "drop of topic 1 (w00 w01 x y z)",
        "rename of topic 1 (w00 w01 x y z)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "drop = [6]", 'drop = ["name 9"]', "merge = [[0, 1], [1, 2]]", "merge = [[0, 0]]", "merge = [[0]]",
        "merge = [[0, 1], [1, 0]]", "merge = [[0, 1]]\ndrop = [1]", "merge = [[0, 1]]\nsplit = { 1 = 2 }",
        "pin = [0]\ndrop = [0]", "pin = [0]\nmerge = [[0, 1]]", "pin = [0]\nsplit = { 0 = 2 }", "split = { 0 = 2 }\ndrop = [0]",
        'split = { 0 = 2 }\nrename = { 0 = "X" }', 'drop = [0]\nrename = { 0 = "X" }', "drop = [0, 1, 2, 3, 4, 5]",
        'merge = [[0, 1]]\nrename = { 0 = "X", 1 = "Y" }', "reorder = [0, 0]", "drop = [0]\nreorder = [0]", "drop = [1, 1]",
        "merge = [[0, 1]]\nreorder = [0, 1]", "reduce = 2\npin = [0, 1]", 'rename = { 0 = "X", "name 0" = "Y" }',
    ],
)  # fmt: skip
def test_edits_that_contradict_each_other_or_name_no_topic_are_refused(text: str) -> None:
    with refuses("edits", InputError):
        planned(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "merge = [0, 1]", "merge = 3", "drop = [-1]", "drop = [true]", 'drop = [""]', "split = { 0 = 1 }", "split = [0]",
        "reduce = 0", "reduce = 2.5", 'max_outliers = "101 %"', "max_outliers = -0.1", 'max_outliers = "five"', "max_outliers = true",
        'stop_words = "said"', "rename = { 0 = 3 }", 'reorder = "name"', "merg = [[0, 1]]", "merge = [[0, 1]", '[topics]\n0 = "x"',
        'rename = { 0 = "a\\u001bb" }',
    ],
)  # fmt: skip
def test_a_file_that_holds_no_edits_is_refused(text: str) -> None:
    with refuses("edits", InputError):
        edits_from(text, "e.toml")


@pytest.mark.parametrize(("text", "share"), [('"5 %"', 0.05), ('"2.5%"', 0.025), ("0.1", 0.1), ("0", 0.0), ("1", 1.0)])
def test_shares_of_outliers(text: str, share: float) -> None:
    assert edits_from(f"max_outliers = {text}", "e.toml").max_outliers == share


def test_merged_topics_keep_the_first_number_and_free_numbers_go_to_the_last() -> None:
    plan = planned("merge = [[4, 1]]\ndrop = [0]")
    topics, into = new_topics(plan, 6)
    assert [topic.sources for topic in topics] == [(4, 1), (2,), (3,), (5,)]
    assert into.tolist() == [-1, 0, 1, 2, 0, 3]
    assert new_numbers(topics, np.array([1, 1, 1, 1]), ()).tolist() == [0, 2, 3, 1]
    assert new_numbers(topics, np.array([1, 4, 3, 2]), "size").tolist() == [3, 0, 1, 2]
    assert new_numbers(topics, np.array([1, 1, 1, 1]), (3, 1)).tolist() == [1, 3, 0, 2]


def test_parts_of_split_topics_come_last_the_largest_first() -> None:
    topics = [NewTopic((0,), is_split=True), NewTopic((1,)), NewTopic((0,), 1, True), NewTopic((0,), 2, True)]
    assert new_numbers(topics, np.array([9, 5, 2, 3]), ()).tolist() == [0, 1, 3, 2]


@given(
    st.integers(1, 8).flatmap(
        lambda K: st.tuples(st.just(K), st.sets(st.integers(0, K - 1), max_size=K - 1), st.randoms())
    )
)
def test_numbers_are_a_permutation_and_topics_that_can_keep_theirs(drawn: tuple[int, set[int], Any]) -> None:
    K, drop, random = drawn
    topics, _ = new_topics(EditPlan(drop=frozenset(drop)), K)
    size = np.array([random.randrange(9) for _ in topics])
    rank = new_numbers(topics, size, ())
    assert sorted(rank.tolist()) == list(range(len(topics)))
    for topic, number in zip(topics, rank.tolist(), strict=True):
        assert number == topic.sources[0] or topic.sources[0] >= len(topics)


def test_names_that_someone_gave_stay() -> None:
    topics = [NewTopic((0,)), NewTopic((1, 2)), NewTopic((3,), is_pinned=True), NewTopic((4,), 0, True), NewTopic((5,))]
    labels, generated = ["given", "auto 1", "auto 2", "auto 3", "given too", "auto 5"], [f"auto {k}" for k in range(6)]
    plan = EditPlan(rename={2: "Merged"})
    assert list(names_after(topics, plan, labels, generated)) == ["given", "Merged", "auto 3", "", "auto 5"]
    plan = EditPlan(stop_words=("x",))
    assert list(names_after(topics, plan, labels, generated)) == ["given", "", "auto 3", "", ""]


def test_reduce_merges_the_most_similar_pairs_but_not_pinned_topics() -> None:
    counts = sparse.csr_array(np.array([[9, 1, 0, 0], [8, 2, 0, 0], [0, 0, 9, 1], [0, 0, 7, 3], [0, 5, 0, 5]]))
    into, merges = merge_classes(counts, 3)
    assert into.tolist() == [0, 0, 1, 1, 2]
    assert sorted(merge[:2] for merge in merges) == [(0, 1), (2, 3)]
    frozen, _ = merge_classes(counts, 3, [0, 2])
    assert len({int(frozen[0]), int(frozen[2])}) == 2
    assert [int((frozen == frozen[k]).sum()) for k in (0, 2)] == [1, 1]
    joined = joined_topics([NewTopic((k,)) for k in range(5)], into)
    assert [topic.sources for topic in joined] == [(0, 1), (2, 3), (4,)]


def test_a_file_without_an_edit_is_no_edit_but_one_with_only_a_share_of_zero_is() -> None:
    assert edits_from("max_outliers = 0", "e.toml") == Edits(max_outliers=0.0)


@pytest.mark.parametrize(
    ("value", "why"),
    [("''", "topic 0 has '', which is empty"), (r'"a\nb"', "which has a line break"), ("5", "topic 0 has 5;")],
)
def test_a_name_that_is_none_is_named_with_its_topic(value: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        edits_from(f"[rename]\n0 = {value}", "e.toml")


def test_what_people_say_of_topics_is_read_and_goes_with_the_topics() -> None:
    said = 'hide = [4]\n[judgements]\n0 = "junk"\n2 = "mixed"\n3 = "understood"\n[notes]\n0 = "a"\n2 = "b"\n3 = ""'
    plan = planned(said)
    assert (plan.hide, plan.judgements, plan.notes) == (
        (4,), {0: "junk", 2: "mixed", 3: "understood"}, {0: "a", 2: "b", 3: ""},
    )  # fmt: skip
    before = {"hidden": [1], "judgements": {"1": "mixed"}, "notes": {"1": "old", "3": "gone"}}
    topics = [((1, 0), False), ((2,), True), ((3,), False), ((5, 4), False), ((), False)]
    assert review_after(topics, plan, before) == {
        "hidden": [3],  # the edit names all that are hidden
        "judgements": {"0": "mixed", "2": "understood"},  # the first of merged ones; none of a part
        "notes": {"0": "old / a", "1": "b"},
    }
    assert review_after([((1,), False)], EditPlan(), before)["hidden"] == [0]
    assert review_after([((1,), False)], EditPlan(hide=()), {"hidden": [1]}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "hide = [4]\ndrop = [4]", "hide = [4]\nsplit = { 4 = 2 }", "hide = [9]", "hide = [1, 1]", "hide = 3",
        '[judgements]\n1 = "good"', '[judgements]\n1 = "junk"\n"name 1" = "mixed"', '[notes]\n9 = "?"', "[notes]\n1 = 3",
        '[open]\n1 = "junk"', 'coder = ""', 'coder = "anna"',
    ],
)  # fmt: skip
def test_bad_judgements_notes_and_hidden_topics_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        planned(text)


def test_open_decisions_are_left_out_and_said() -> None:
    plan = planned('drop = [0]\n[open]\n3 = ["judgement: anna mixed, ben junk"]')
    assert plan.skipped == ("topic 3 is open (judgement: anna mixed, ben junk)",)
