"""Questions with intruders: what they are made of, and how answers are scored."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.topics.intrusion import (
    Document,
    Item,
    design_document_intrusion,
    design_optimal_labels,
    design_ratings,
    design_topic_intrusion,
    design_word_intrusion,
    design_word_sets,
    model_precision,
    shortened,
    topic_log_odds,
)
from nlpkit.metrics.topics.word_vectors import automatic_precision, detect_intruders
from tests.strategies import repeatable

K, N = 6, 30
TOPICS = [[f"{chr(97 + k)}{n}" for n in range(N)] for k in range(K)]


def documents(n: int = 12) -> list[Document]:
    """Documents d with topics d, d + 1, d + 2 (mod K) as 0.5, 0.3, 0.1 and the next one as 0.08."""
    return [
        Document(f"d{d}", f"text {d}", {(d + i) % K: p for i, p in enumerate((0.5, 0.3, 0.1, 0.08))}) for d in range(n)
    ]


def intruder(item: Item) -> tuple[str, ...]:
    return item.options[item.answer]


# ---------------------------------------------------------------- word intrusion


def test_a_word_intrusion_has_the_five_first_words_and_a_stranger() -> None:
    design = design_word_intrusion(TOPICS, seed=1)
    assert (design.kind, design.seed, dict(design.skipped)) == ("word-intrusion", 1, {})
    assert sorted(item.topic for item in design.items) == list(range(K))
    for item in design.items:
        (word,) = intruder(item)
        assert word[0] != TOPICS[item.topic][0][0]
        assert int(word[1:]) < 10  # high in its own topic
        assert TOPICS[item.option_topics[item.answer]][0][0] == word[0]
        others = {o for i, o in enumerate(item.options) if i != item.answer}
        assert others == {(w,) for w in TOPICS[item.topic][:5]}
        assert [t for i, t in enumerate(item.option_topics) if i != item.answer] == [item.topic] * 5


def test_an_intruder_is_low_in_the_topic() -> None:
    # of the ten first words of the second topic all but x9 are among the 50 first of the first one
    first = [*(f"a{i}" for i in range(41)), *(f"x{i}" for i in range(9)), "x9"]
    second = [f"x{i}" for i in range(10)]
    for seed in range(5):
        design = design_word_intrusion([first, second], seed=seed)
        about = next(item for item in design.items if item.topic == 0)
        assert intruder(about) == ("x9",)


def test_case_does_not_make_a_stranger() -> None:
    design = design_word_intrusion([["Bank", "b", "c", "d", "e"], ["BANK", "x", "b", "D", "E", "c"]], seed=0)
    assert intruder(next(item for item in design.items if item.topic == 0)) == ("x",)
    assert list(design.skipped) == [1]  # all its words are in the other topic


def test_places_of_intruders_and_order_of_topics_are_random() -> None:
    places: Counter[int] = Counter()
    for seed in range(100):
        design = design_word_intrusion(TOPICS, seed=seed)
        places.update(item.answer for item in design.items)
    assert sorted(places) == list(range(6))
    assert min(places.values()) > 60  # of 600 in 6 places
    orders = {tuple(item.topic for item in design_word_intrusion(TOPICS, seed=s).items) for s in range(10)}
    assert len(orders) > 5


@pytest.mark.parametrize("make", [design_word_intrusion, design_word_sets, design_ratings])
def test_the_seed_says_it_all(make: Any) -> None:
    assert make(TOPICS, seed=5) == make(TOPICS, seed=5)
    assert make(TOPICS, seed=5) != make(TOPICS, seed=6)


def test_fewer_and_more_questions_than_topics() -> None:
    few = design_word_intrusion(TOPICS, seed=0, n_items=2)
    assert len({item.topic for item in few.items}) == len(few.items) == 2
    many = design_word_intrusion(TOPICS, seed=0, n_items=15)
    counts = Counter(item.topic for item in many.items)
    assert sorted(counts.values()) == [2, 2, 2, 3, 3, 3]
    of_one = [intruder(item) for item in many.items if item.topic == max(counts, key=counts.__getitem__)]
    assert len(set(of_one)) > 1
    with pytest.raises(UsageError, match="not 0"):
        design_word_intrusion(TOPICS, seed=0, n_items=0)


def test_topics_without_enough_words_are_left_out_and_named() -> None:
    design = design_word_intrusion([["a", "b", "b", " ", "c"], TOPICS[0], TOPICS[1], []], seed=0)
    assert dict(design.skipped) == {0: "3 words, 5 needed", 3: "0 words, 5 needed"}
    assert {item.topic for item in design.items} == {1, 2}


@pytest.mark.parametrize(
    ("topics", "says"),
    [
        ([], r"no word-intrusion can be made of 0 topics \(there is no topic"),
        ([["a"]], "topic 0: 1 word, 5 needed"),
        ([TOPICS[0]], "topic 0: no other topic has a word among its first 10"),
        ([TOPICS[0], TOPICS[0]], "no other topic has a word"),
    ],
)
def test_when_no_question_can_be_made(topics: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        design_word_intrusion(topics, seed=0)


@repeatable
@given(
    st.lists(st.lists(st.sampled_from("aAbBcdefghijklmnop"), max_size=15), min_size=1, max_size=5), st.integers(0, 9)
)
def test_any_topics(topics: list[list[str]], seed: int) -> None:
    try:
        design = design_word_intrusion(topics, seed=seed)
    except InputError:
        return
    assert len(design.items) + len(design.skipped) == len(topics)
    for item in design.items:
        (word,) = intruder(item)
        assert word.casefold() not in {w.casefold() for w in topics[item.topic]}
        assert len(set(item.options)) == 6
        assert word in topics[item.option_topics[item.answer]]


# ---------------------------------------------------------------- word sets


def test_word_sets_are_three_of_the_topic_and_one_of_another() -> None:
    design = design_word_sets(TOPICS, seed=3)
    assert sorted(item.topic for item in design.items) == list(range(K))
    for item in design.items:
        assert [len(words) for words in item.options] == [4, 4, 4, 4]
        own = [w for i, words in enumerate(item.options) if i != item.answer for w in words]
        assert len(set(own)) == 12
        assert set(own) <= set(TOPICS[item.topic][:20])
        assert set(intruder(item)) <= set(TOPICS[item.option_topics[item.answer]][:20])
        assert item.option_topics[item.answer] != item.topic


def test_words_of_sets_are_drawn_by_weight() -> None:
    heavy = [[1000.0] * 12 + [0.001] * 18 for _ in TOPICS]
    for item in design_word_sets(TOPICS, heavy, seed=0).items:
        own = {w for i, words in enumerate(item.options) if i != item.answer for w in words}
        assert own == set(TOPICS[item.topic][:12])
    by_chance = design_word_sets(TOPICS, None, seed=0)
    negative = [[-1.0] * N for _ in TOPICS]  # logarithms are no shares
    assert design_word_sets(TOPICS, negative, seed=0) == by_chance
    assert any(int(w[1:]) >= 12 for item in by_chance.items for words in item.options for w in words)


def test_sets_need_twelve_words() -> None:
    design = design_word_sets([TOPICS[0][:11], TOPICS[1][:12], TOPICS[2]], seed=0)
    assert dict(design.skipped) == {0: "11 words, 12 needed"}
    with pytest.raises(InputError):
        design_word_sets([TOPICS[0], [*TOPICS[0][:27], "x", "y", "z"]], seed=0)


# ---------------------------------------------------------------- documents and names of topics


def assigned(n: int = 30) -> list[Document]:
    """Documents d of topic d mod 5 with .9, of the next with .05; the next after these has none, and topic K - 1 no document."""
    probs = [{d % 5: 0.9, (d + 1) % 5: 0.3} for d in range(n)]
    return [Document(f"d{d}", f"text {d}", p, d % 5) for d, p in enumerate(probs)]


def test_a_document_intrusion_has_three_documents_of_a_topic_and_one_far_from_it() -> None:
    alike = [Document("copy", "text 0", {0: 1.0}, 0), Document("none", "text x", {}, -1), Document("empty", " ", {}, 1)]
    design = design_document_intrusion(K, [*assigned(), *alike], seed=0, n_items=50)
    assert dict(design.skipped) == {K - 1: "0 documents with different text, 3 needed"}
    for item in design.items:
        numbers = [int(text.removeprefix("text ")) for (text,) in item.options]
        assert len(set(numbers)) == 4
        assert [n % 5 for n in numbers] == list(item.option_topics)
        assert [n % 5 == item.topic for n in numbers] == [place != item.answer for place in range(4)]
        assert numbers[item.answer] % 5 != (item.topic - 1) % 5  # its documents have .3 of the topic, more than 1 / K
    assert Counter(item.topic for item in design.items) == dict.fromkeys(range(5), 10)
    with pytest.raises(InputError, match="no document of another topic is far enough"):
        design_document_intrusion(
            2, [Document(str(d), str(d), dict.fromkeys((0, 1), 0.5001), d % 2) for d in range(6)], seed=0
        )


def test_an_optimal_label_has_the_name_of_the_topic_and_three_others() -> None:
    names = ["A", "B", "C", "D", "E", "a"]  # the last is the name of the first, too
    design = design_optimal_labels(names, assigned(), seed=0, n_items=40)
    assert dict(design.skipped) == {K - 1: "no document"}
    for item in design.items:
        shown = [name for (name,) in item.options]
        assert int(item.document[1:]) % 5 == item.topic
        assert (item.text, shown[item.answer]) == (f"text {item.document[1:]}", names[item.topic])
        assert len({name.casefold() for name in shown}) == 4
        assert [names[k] for k in item.option_topics] == shown
    design = design_optimal_labels(["A", " ", "C", "D", "E", ""], assigned(), seed=0)
    assert dict(design.skipped) == {1: "no name", K - 1: "no document"}
    with pytest.raises(InputError, match="2 other names, 3 needed"):
        design_optimal_labels(["A", "B", "C"], assigned()[:3], seed=0)


# ---------------------------------------------------------------- topic intrusion


def test_a_topic_intrusion_has_the_three_first_topics_and_a_low_one() -> None:
    design = design_topic_intrusion(TOPICS, documents(), seed=0)
    assert sorted(item.document for item in design.items) == sorted(d.id for d in documents())
    for item in design.items:
        d = int(item.document[1:])
        best = {(d + i) % K for i in range(3)}
        assert item.text == f"text {d}"
        assert item.option_topics[item.answer] not in best
        assert set(item.option_topics) - {item.option_topics[item.answer]} == best
        assert [words == tuple(TOPICS[k][:8]) for words, k in zip(item.options, item.option_topics, strict=True)]
        expected = documents()[d].probs
        assert item.probs == tuple(expected.get(k, 0.0) for k in item.option_topics)
    assert {d for item in design.items for d in [item.option_topics[item.answer]]} == set(range(K))


def test_a_topic_above_its_share_is_no_intruder_unless_all_are() -> None:
    four = TOPICS[:5]
    flat = Document("a", "text", {0: 0.24, 1: 0.23, 2: 0.22, 3: 0.21, 4: 0.1})  # 1/K = 0.2
    for seed in range(6):
        (item,) = design_topic_intrusion(four, [flat], seed=seed).items
        assert item.option_topics[item.answer] == 4
    above = Document("a", "text", {0: 0.24, 1: 0.23, 2: 0.22, 3: 0.211, 4: 0.21})
    (item,) = design_topic_intrusion(four, [above], seed=0).items
    assert item.option_topics[item.answer] == 4


def test_documents_that_cannot_be_asked_about() -> None:
    bad = [
        Document("blank", " \n", {0: 0.5, 1: 0.3, 2: 0.2}),
        Document("two", "t", {0: 0.5, 1: 0.5, -1: 0.3, 99: 0.1}),
        Document("even", "t", dict.fromkeys(range(K), 1 / K)),
    ]
    good = documents(1)
    design = design_topic_intrusion(TOPICS, [*bad, *good], seed=0)
    assert [item.document for item in design.items] == ["d0"]
    assert dict(design.skipped) == {
        0: "no text",
        1: "fewer than 3 topics",
        2: "no topic is less probable than its first three",
    }
    with pytest.raises(InputError, match=r"no topic-intrusion can be made of 1 documents \(document 0: no text"):
        design_topic_intrusion(TOPICS, bad[:1], seed=0)
    with pytest.raises(InputError):
        design_topic_intrusion([*TOPICS[:3], ["a"]], good, seed=0)


def test_topics_that_look_alike_are_not_set_against_each_other() -> None:
    twins = [TOPICS[0], TOPICS[1], TOPICS[2], TOPICS[0], TOPICS[4]]
    document = Document("a", "t", {0: 0.5, 1: 0.3, 2: 0.1})
    for seed in range(6):
        (item,) = design_topic_intrusion(twins, [document], seed=seed).items
        assert item.option_topics[item.answer] == 4


def test_fifty_documents_unless_asked() -> None:
    assert len(design_topic_intrusion(TOPICS, documents(80), seed=0).items) == 50
    assert len(design_topic_intrusion(TOPICS, documents(80), seed=0, n_items=70).items) == 70
    assert len(design_topic_intrusion(TOPICS, documents(8), seed=0, n_items=70).items) == 8


def test_long_texts_are_cut_at_a_word() -> None:
    assert shortened("a text\n") == "a text"
    assert shortened("one two three", 9) == "one two …"
    assert shortened("x" * 20, 5) == "xxxxx …"
    (item,) = design_topic_intrusion(TOPICS, [Document("d", "word " * 900, documents()[0].probs)], seed=0).items
    assert 900 < len(item.text) <= 1002


# ---------------------------------------------------------------- ratings


def test_ratings_show_ten_words_of_each_topic_once() -> None:
    design = design_ratings([*TOPICS, ["alone"]], seed=2)
    assert dict(design.skipped) == {K: "1 word, 2 needed"}
    assert {item.topic: item.words for item in design.items} == {k: tuple(TOPICS[k][:10]) for k in range(K)}
    assert all(item.options == () and item.answer == -1 for item in design.items)
    assert len(design_ratings(TOPICS, seed=2, n_items=40).items) == K
    assert len(design_ratings(TOPICS, seed=2, n_items=2).items) == 2


# ---------------------------------------------------------------- scores


def test_model_precision_by_hand() -> None:
    chosen = np.array([[1, 1, 0], [2, -1, 2], [0, 0, 0], [-1, -1, -1]])
    answers = np.array([1, 2, 3, 0])
    # topic 0: two of three and two of two, topic 1: none of three, topic 2: nobody answered, topic 3: not asked
    precision = model_precision(chosen, answers, np.array([0, 0, 1, 2]), 4)
    assert precision.tolist() == pytest.approx([4 / 5, 0, math.nan, math.nan], nan_ok=True)


def test_topic_log_odds_by_hand() -> None:
    probs = np.array([[0.5, 0.3, 0.15, 0.05], [0.6, 0.3, 0.1, 0.0], [0.4, 0.3, 0.2, 0.1]])
    chosen = np.array([[3, 0, -1], [3, 2, 2], [-1, -1, -1]])
    odds = topic_log_odds(chosen, np.array([3, 3, 3]), probs, floor=0.01)
    # (0 + ln 0.05 - ln 0.5) / 2; (0 + 2 (ln 0.01 - ln 0.1)) / 3
    assert odds.tolist() == pytest.approx([math.log(0.1) / 2, 2 * math.log(0.1) / 3, math.nan], nan_ok=True)


@repeatable
@given(st.integers(0, 10_000))
def test_scores_do_not_depend_on_the_order_of_coders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen, answers = rng.integers(-1, 4, (5, 3)), rng.integers(0, 4, 5)
    groups, probs = rng.integers(0, 3, 5), rng.random((5, 4))
    other = chosen[:, rng.permutation(3)]
    precision = model_precision(chosen, answers, groups, 3)
    np.testing.assert_array_equal(precision, model_precision(other, answers, groups, 3))
    odds = topic_log_odds(chosen, answers, probs, floor=1e-3)
    np.testing.assert_allclose(odds, topic_log_odds(other, answers, probs, floor=1e-3), rtol=1e-12)
    assert ((precision >= 0) & (precision <= 1) | np.isnan(precision)).all()


# ---------------------------------------------------------------- by word vectors

VECTORS = {
    "river": np.array([1.0, 0.1, 0.0]),
    "water": np.array([5.0, 0.0, 0.5]),
    "boat": np.array([0.9, 0.2, 0.1]),
    "judge": np.array([0.1, 3.0, 0.0]),
    "court": np.array([0.0, 1.0, 0.2]),
    "zero": np.zeros(3),
}


def words(*options: str) -> list[tuple[str, ...]]:
    return [tuple(option.split()) for option in options]


def test_the_intruder_is_the_least_similar() -> None:
    items = [
        words("river", "judge", "boat", "water"),
        words("river judge", "water boat", "river boat", "court judge"),
        words("river", "unknown", "court", "boat", "zero"),
        words("river", "unknown", "court"),
        [],
    ]
    assert detect_intruders(items, VECTORS).tolist() == [1, 3, 2, -1, -1]


def test_cosines_by_hand() -> None:
    # unit vectors at 0, 30 and 100 degrees: sums of cosines cos 30 + cos 100, cos 30 + cos 70, cos 100 + cos 70
    at = {str(a): 7.0 * np.array([math.cos(math.radians(a)), math.sin(math.radians(a))]) for a in (0, 30, 100)}
    assert detect_intruders([words("0", "30", "100"), words("100", "0", "30")], at).tolist() == [2, 0]
    assert detect_intruders([words("0", "0", "0")], at).tolist() == [0]


def test_automatic_precision_by_topic() -> None:
    def item(topic: int, options: list[tuple[str, ...]], answer: int) -> Item:
        return Item(topic, tuple(options), answer)

    items = [
        item(0, words("river", "judge", "boat"), 1),
        item(0, words("river", "water", "boat"), 0),  # found is what the vectors hold least alike
        item(2, words("river", "water", "boat", "unknown"), 3),  # could not be found: does not count
        item(2, words("river", "court"), 1),  # two options do not make a question
    ]
    share, asked = automatic_precision(items, VECTORS)
    assert asked.tolist() == [2, 0, 0]
    assert share[0] in (0.5, 1.0)
    assert np.isnan(share[1:]).all()
    assert [len(a) for a in automatic_precision([], VECTORS)] == [0, 0]


def test_planted_topics_are_found_by_vectors() -> None:
    rng = np.random.default_rng(0)
    vectors = {w: np.eye(K)[k] + 0.1 * rng.normal(size=K) for k, topic in enumerate(TOPICS) for w in topic}
    for make in (design_word_intrusion, design_word_sets):
        share, asked = automatic_precision(make(TOPICS, seed=0, n_items=30).items, vectors)
        assert asked.sum() == 30
        assert share.tolist() == [1.0] * K
