"""Names of topics from phrases of their documents."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.text.spacy_tokens import Word
from nlpkit.topics.name.phrases import (
    as_written,
    count_phrases,
    noun_segments,
    phrase_labels,
    plain_segments,
    ranked_phrases,
    words_of_terms,
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


def counted() -> tuple[list[str], object]:
    """Two topics: 'the video card' of cards in four documents, 'rain' in four; a stop word divides phrases."""
    words = ["the", "video", "cards", "card", "rain", "storm"]
    segments = [[0, 1, 3], [1, 2], [1, 3, 0, 1], [1, 3], [4], [4, 0, 5], [4, 5], [4, 5]]
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in segments])]).astype(np.int64)
    forms = [None, "video", "card", "card", "rain", "storm"]
    topic = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)
    ids = np.concatenate(segments).astype(np.int32)
    return words, count_phrases(offsets, ids, words, forms, np.arange(8), topic)


def test_counts_by_hand() -> None:
    _, phrases = counted()
    by_words = {words: p for p, words in enumerate(phrases.words)}
    # two documents hold 'rain storm', one 'cards': fewer than three
    assert set(by_words) == {("video",), ("card",), ("video", "card"), ("rain",), ("storm",)}
    assert phrases.forms[by_words["video", "card"]] == ("video", "card")
    counts, documents = phrases.counts.toarray(), phrases.documents.toarray()
    assert counts[:, by_words[("video",)]].tolist() == [5, 0]
    assert documents[:, by_words[("video",)]].tolist() == [4, 0]
    assert documents[:, by_words["video", "card"]].tolist() == [3, 0]


def test_the_phrase_that_says_most_comes_first() -> None:
    _, phrases = counted()
    ranked = ranked_phrases(phrases, [["card", "video"], ["storm", "rain"]], np.array([4, 4]))
    assert phrases.words[ranked[0][0]] == ("video", "card")
    assert {phrases.words[p] for p in ranked[1]} == {("rain",), ("storm",)}
    # w_v = r^(-1/4) / Σ; of 'card' 3 of the 11 occurrences of topic 0 (video 5, card 3, video card 3)
    weights = np.array([1, 2**-0.25])
    weights /= weights.sum()
    totals, average = {"video": 5, "card": 3, "both": 3}, (11 + 7) / 2
    score = {
        name: covers * np.sqrt(n / 11 * np.log1p(average / n))
        for (name, n), covers in zip(totals.items(), (weights[1], weights[0], 1.0), strict=True)
    }
    order = sorted(score, key=score.__getitem__, reverse=True)
    names = {("video",): "video", ("card",): "card", ("video", "card"): "both"}
    assert [names[phrases.words[p]] for p in ranked[0]] == order


def test_topics_without_words_in_phrases_have_none() -> None:
    _, phrases = counted()
    assert ranked_phrases(phrases, [["tax"], []], np.array([4, 4])) == [[], []]


def test_a_word_for_each_term() -> None:
    _, phrases = counted()
    assert words_of_terms(phrases, 0, ["card", "video", "tax"]) == [("card",), ("video",), ("tax",)]


@pytest.mark.parametrize(
    ("words", "texts", "written"),
    [
        (("video", "card"), ["A Video Card is", "the video\ncard", "video card."], "video card"),
        (("new", "york"), ["in New York", "in NEW YORK", "old New York"], "New York"),
        (("nets", "card"), ["The netscape carded"], None),
        (("十分", "面白い"), ["これは十分面白い話"], "十分面白い"),
        (("top", "up"), ["a top-up of"], "top-up"),
        (("c++",), ["I like C++ most"], "C++"),
    ],
)
def test_as_it_is_mostly_written(words: tuple[str, ...], texts: list[str], written: str | None) -> None:
    result = as_written(words, texts)
    assert (result and result[0]) == written


def test_the_passage_begins_with_a_whole_word() -> None:
    result = as_written(("video", "card"), ["Somebody wanted to sell an excellent video card for little"])
    assert result == ("video card", "to sell an excellent video card for little")


def test_labels_are_unique_and_repeat_no_word() -> None:
    phrases = ["Video Card", "video card", "", "bank"]
    terms = [["card", "cards", "video", "monitor"], ["video", "monitor", "mac"], ["rain"], ["banks", "loan"]]
    assert phrase_labels(phrases, terms, ["a", "b", "old name", "c"]) == (
        "Video Card, monitor",
        "video card, monitor",
        "old name",
        "bank, loan",
    )
    assert phrase_labels(["card", "card"], [["mac", "pc"], ["mac", "sun"]], ["a", "b"]) == (
        "card, mac, pc",
        "card, mac, sun",
    )
    assert phrase_labels(["card", "card"], [["mac"], ["mac"]], ["a", "b"]) == ("card, mac 0", "card, mac 1")
