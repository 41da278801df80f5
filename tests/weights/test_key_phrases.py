"""Phrases of groups of documents."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.text.spacy_tokens import Word
from nlpkit.weights.key_phrases import (
    Phrases,
    as_written,
    count_phrases,
    key_phrases,
    nearness_of_vectors,
    nearness_of_words,
    noun_segments,
    plain_segments,
    spelled,
)


def test_no_phrase_goes_across_punctuation_or_a_paragraph() -> None:
    text = "The e.g.card 1.2, at 12:30 (new\nmonitor). It works: yes\n\nNext – part"
    parts = [" ".join(part.split()) for part in plain_segments(text)]
    assert parts == ["The e.g.card 1.2", "at 12:30", "new monitor", "It works", "yes", "Next", "part"]


def test_segments_of_adjectives_and_nouns() -> None:
    text = "The new video card, cheap and fast monitors"
    tags = {"The": "DET", "and": "CCONJ", "new": "ADJ", "cheap": "ADJ", "fast": "ADJ", ",": "PUNCT"}
    words, at = [], 0
    for form in ("The", "new", "video", "card", ",", "cheap", "and", "fast", "monitors"):
        start = text.index(form, at)
        at = start + len(form)
        words.append(Word(start, at, "", tags.get(form, "NOUN"), "", ""))
    assert noun_segments(text, words) == ["new video card", "fast monitors"]  # cheap alone has no noun
    assert noun_segments("card (monitor", [Word(0, 4, "", "NOUN", "", ""), Word(6, 13, "", "NOUN", "", "")]) == [
        "card",
        "monitor",
    ]


WORDS = ["the", "video", "cards", "card", "rain", "storm", "sea"]
FORMS = [None, "video", "card", "card", "rain", "storm", "sea"]


def counted(segments: list[list[int]]) -> tuple[dict[tuple[str, ...], int], Phrases]:
    """Phrases of one segment for each document, and their numbers."""
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in segments])]).astype(np.int64)
    ids = np.concatenate(segments).astype(np.int32)
    phrases = count_phrases(offsets, ids, WORDS, FORMS, np.arange(len(segments)), len(segments))
    return {words: p for p, words in enumerate(phrases.words)}, phrases


CARDS_AND_RAIN = [[0, 1, 3], [1, 2], [1, 3, 0, 1], [1, 3], [4, 6], [4, 0, 5, 6], [4, 5, 6], [4, 5]]


def test_documents_that_hold_a_phrase_by_hand() -> None:
    at, phrases = counted(CARDS_AND_RAIN)
    # 'the' is in no phrase; two documents hold 'rain storm', one 'cards': fewer than three
    assert set(at) == {("video",), ("card",), ("video", "card"), ("rain",), ("storm",), ("sea",)}
    assert phrases.forms[at["video", "card"]] == ("video", "card")
    held = phrases.held.toarray()
    assert held[:, at[("video",)]].tolist() == [1, 1, 1, 1, 0, 0, 0, 0]
    assert held[:, at["video", "card"]].tolist() == [1, 0, 1, 1, 0, 0, 0, 0]
    texts = ["a Video Card", "", "the video CARD", *["video card"] * 5]
    first = np.array([1, 1, 1, 0, 0, 0, 0, 0], bool)
    assert spelled(phrases, at["video", "card"], texts, first) == ("Video Card", "a Video Card")
    assert spelled(phrases, at["video", "card"], texts, ~first) == ("video card", "video card")
    assert spelled(phrases, at["video", "card"], ["?"] * 8, first) == ("video card", "")


def test_pairs_of_characters_that_overlap_are_no_phrase() -> None:
    words, forms = ["公交", "交司", "司机", "top", "pot"], ["公交", "交司", "司机", "top", "pot"]
    ids, offsets = np.array([0, 1, 2, 0, 2, 3, 4] * 3, np.int32), np.arange(0, 22, 7)
    found = count_phrases(offsets, ids, words, forms, np.arange(3), 3).words
    assert ("公交", "交司") not in found
    assert {("公交",), ("司机", "公交"), ("公交", "司机"), ("top", "pot")} <= set(found)


def test_phrases_of_a_group_by_hand() -> None:
    at, phrases = counted(CARDS_AND_RAIN)
    group = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)
    near = np.zeros((len(at), 2))
    near[at[("sea",)], 1], near[at[("storm",)], 1] = 0.3, 0.2
    of_cards, of_rain = key_phrases(phrases, group, 2, lambda p: near[p], 6)
    assert of_cards == []  # without 'video card' a second time there are no three words
    # s = near + 0.1 ln df + 0.3 ln 1 + min(lead, 0.1); sea .3 + .1 ln .75 + .1, storm .2 + .1 ln .75 + .1, rain 0 + 0 + 0
    assert of_rain == [at[("sea",)], at[("storm",)], at[("rain",)]]


def test_a_phrase_of_all_groups_names_none() -> None:
    _, phrases = counted([[4, 0, 5, 6]] * 4 + [[4, 0, 3, 1]] * 4)
    group = np.array([0] * 4 + [1] * 4, np.int32)
    chosen = key_phrases(phrases, group, 2, lambda p: np.zeros((len(p), 2)), 6)
    assert [phrases.words[p] for p in chosen[0]] == [("storm", "sea"), ("rain",)]  # 'rain' costs 0.3 ln 2
    assert chosen == key_phrases(phrases, group, 2, lambda p: np.zeros((len(p), 2)), 6)


def test_the_second_phrase_tells_a_group_from_its_sibling() -> None:
    at, phrases = counted([[4, 0, 5, 0, 6, 0, 1]] * 4 + [[4, 0, 5, 0, 6, 0, 3]] * 4)
    group = np.array([0] * 4 + [1] * 4, np.int32)
    near = np.full((len(at), 2), 0.5)
    near[at[("sea",)]] = [0.5, 0.2]  # as near as 'rain' and 'storm', to group 0 only
    assert at[("sea",)] in key_phrases(phrases, group, 2, lambda p: near[p], 6)[0][:2]


def test_a_group_without_documents_has_no_phrase() -> None:
    _, phrases = counted([[4, 5, 6]] * 4)
    group = np.array([2, 2, 2, -1], np.int32)
    assert [len(row) for row in key_phrases(phrases, group, 3, lambda p: np.zeros((len(p), 3)), 6)] == [0, 0, 2]
    nothing = count_phrases(np.zeros(1, np.int64), np.zeros(0, np.int32), [], [], np.zeros(0, np.int64), 4)
    assert key_phrases(nothing, group, 3, lambda p: np.zeros((len(p), 3)), 6) == [[], [], []]


def test_nearness_by_hand() -> None:
    vectors = np.array([[2.0, 0.0], [0.0, 0.0]], np.float32)
    centroids = np.array([[0.6, 0.8], [-0.6, 0.8]], np.float32)
    # the mean of all is (0, 1): what is left of the centroids is (1, 0) and (-1, 0)
    np.testing.assert_allclose(nearness_of_vectors(vectors, centroids, np.array([3, 3])), [[1, -1], [-1, 1]], rtol=1e-6)
    # the mean is (0.6, 0.8): nothing is left of the first, (-0.8, 0.6) of the second
    near = nearness_of_vectors(vectors, centroids, np.array([3, 0]))
    np.testing.assert_allclose(near, [[0, -0.8], [0, 0.8]], atol=1e-3)
    assert nearness_of_vectors(vectors, np.array([[0.0, 1.0]]), np.array([4])).tolist() == [[0.0], [0.0]]
    at, phrases = counted(CARDS_AND_RAIN)
    weights = np.array([1, 2**-0.25])
    near = nearness_of_words(phrases, np.array([at["video", "card"], at[("card",)]]), [["card", "video"], [], ["sea"]])
    np.testing.assert_allclose(near, [[1, 0, 0], [weights[0] / weights.sum(), 0, 0]])


@pytest.mark.parametrize(
    ("words", "texts", "written"),
    [
        (("video", "card"), ["A Video Card is", "the video\ncard", "video card."], "video card"),
        (("new", "york"), ["in New York", "in NEW YORK", "old New York"], "New York"),
        (("nets", "card"), ["The netscape carded"], None),
        (("十分", "面白い"), ["これは十分面白い話"], "十分面白い"),
        (("top", "up"), ["a top-up of"], "top-up"),
        (("c++",), ["I like C++ most"], "C++"),
        (("moon",), ["Moon", "Hi. Moon", '"Moon"', "the moon"], "moon"),  # at the beginning of a sentence all are
        (("moon",), ["Moon is", "Moon"], "Moon"),
        (("supreme", "court"), ["a SUPREME COURT", "no SUPREME COURT", "the Supreme Court"], "Supreme Court"),
        (("fbi",), ["the FBI", "an FBI", "no fbi"], "FBI"),
    ],
)
def test_as_it_is_mostly_written(words: tuple[str, ...], texts: list[str], written: str | None) -> None:
    result = as_written(words, texts)
    assert (result and result[0]) == written


def test_the_passage_begins_with_a_whole_word() -> None:
    result = as_written(("video", "card"), ["Somebody wanted to sell an excellent video card for little"])
    assert result == ("video card", "to sell an excellent video card for little")
