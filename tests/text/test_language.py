"""Languages of small samples, and their stop words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nlpkit.text.language import LanguageShare, detect_languages, foreign_language, language_code
from nlpkit.text.stopwords import has_stop_words, stop_words
from tests.refusals import refuses

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def sample(name: str) -> list[str]:
    lines = (SAMPLES / name).read_text(encoding="utf-8").splitlines()
    return [text for line in lines if (text := json.loads(line).get("text"))]


@pytest.mark.parametrize(("name", "code"), [("news.jsonl", "en"), ("nachrichten.jsonl", "de")])
def test_samples(name: str, code: str) -> None:
    (found,) = detect_languages(sample(name))
    assert (found.code, found.share) == (code, 1.0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The council voted on Tuesday to extend the tram line by four stops.", "en"),
        ("Der Stadtrat hat am Dienstag beschlossen, die Straßenbahn zu verlängern.", "de"),
        ("自然语言处理是计算机科学领域与人工智能领域中的一个重要方向。", "zh"),
        ("Le conseil a décidé mardi de prolonger la ligne de tramway de quatre arrêts.", "fr"),
    ],
)
def test_one_sentence(text: str, code: str) -> None:
    assert [found.code for found in detect_languages([text])] == [code]


def test_shares_are_of_characters_largest_first() -> None:
    english, german = sample("news.jsonl")[:60], sample("nachrichten.jsonl")[:20]
    found = detect_languages([*german, *english])
    assert [f.code for f in found] == ["en", "de"]
    assert found[0].share > 0.6
    assert sum(f.share for f in found) == pytest.approx(1.0)


def test_a_few_texts_of_another_language_are_left_out() -> None:
    assert [f.code for f in detect_languages(sample("news.jsonl")[:200] + sample("nachrichten.jsonl")[:3])] == ["en"]


def test_very_short_texts_vote_together() -> None:
    assert [f.code for f in detect_languages(["Guten Tag", "wie geht es", "den Kindern heute?"])] == ["de"]


def test_mandarin_is_not_taken_for_wu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlpkit.text.language._classifier", lambda: lambda text: ("wuu" if "1" in text else "zh", 1.0))
    assert detect_languages(["中" * 30, "中1" * 30]) == (LanguageShare("zh", 1.0),)


def test_names_with_english_words_are_not_taken_for_pidgin() -> None:
    texts = [f"Northern District of {state}; October {day}, 2006" for state in ("Texas", "Florida") for day in range(9)]
    assert [f.code for f in detect_languages([*texts, "Western District of New York; September 20, 2006"])] == ["en"]


@pytest.mark.parametrize("texts", [[], [""], ["12 345", "…"]])
def test_no_letters_no_language(texts: list[str]) -> None:
    assert detect_languages(texts) == ()


@pytest.mark.parametrize(
    "texts",
    [
        ["banana", "apple", "pear", "lemon", "clock"],
        ["test"],
        ["foo bar baz"],
        ["plain ascii text"] * 200,
        ["plain ascii text " * 50],
        [f"plain ascii text {n}" for n in range(50)],
        ["good", "bad", "ugly"],
        ["x, y", "z w"],  # of which two are words of Polish
        [f"orbit {n}. moon{n % 3}" for n in range(300)],
        [f"x {n}, {n + 1}" for n in range(300)],
    ],
)
def test_no_language_is_known_of_a_few_words(texts: list[str]) -> None:
    assert detect_languages(texts) == ()


def test_short_texts_have_the_language_of_all() -> None:
    """Each alone is taken for Pidgin, Catalan, Somali …; the sum is certain."""
    rows = [
        "lol i cant even", "too expensive", "never again thanks", "waited two hours", "good bad ugly",
        "love it works",
    ] * 10  # fmt: skip
    assert detect_languages(rows) == (LanguageShare("en", 1.0),)
    german = ["Haus Baum Straße", "zu teuer", "nie wieder danke", "zwei Stunden gewartet", "sehr gut"]
    assert detect_languages(german) == (LanguageShare("de", 1.0),)


def test_stop_words_per_language() -> None:
    english, german = stop_words(["en"]), stop_words(["de"])
    assert {"the", "and", "don't", "dont"} <= english
    assert {"state", "world", "help"}.isdisjoint(english)  # they carry meaning
    assert {"und", "der", "nicht"} <= german
    assert {"und", "nicht"}.isdisjoint(english)
    assert {"的"} <= stop_words(["zh"])
    assert {"için"} <= stop_words(["tr"])
    assert stop_words(["en", "de"]) == english | german
    assert stop_words([]) == frozenset()


def test_a_language_without_a_list_adds_nothing() -> None:
    assert not has_stop_words("xx")
    assert has_stop_words("de")
    assert stop_words(["xx"]) == frozenset()
    assert stop_words(["xx", "de"]) == stop_words(["de"])


@pytest.mark.parametrize(
    ("name", "code"),
    [("en", "en"), ("German", "de"), (" ZH ", "zh"), ("is", "is"), ("deu", "de"), ("ger", "de"), ("Farsi", "fa")],
)
def test_language_names(name: str, code: str) -> None:
    assert language_code(name) == code


@pytest.mark.parametrize("name", ["klingon", "", "e1", "xx", "qqq"])
def test_names_that_are_none(name: str) -> None:
    with refuses("language"):
        language_code(name)


def test_a_foreign_language_is_one_the_model_does_not_know() -> None:
    english, german = sample("news.jsonl")[:60], sample("nachrichten.jsonl")[:60]
    found = foreign_language(german, ["en"])
    assert found is not None
    assert (found.code, found.share) == ("de", 1.0)
    assert foreign_language(english, ["en"]) is None
    assert foreign_language(german, ["en", "de"]) is None
    assert foreign_language([*english, *german[:20]], ["en"]) is None  # the smaller part
    assert foreign_language(["Der Rat tagt."], ["en"]) is None  # too little to tell
    assert foreign_language([], ["en"]) is None
    assert foreign_language(german, []) is None  # nothing is known of the model
