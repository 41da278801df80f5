"""Stop words: lists of languages, patterns, words of nearly every document."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest

from nlpkit.text.stopwords import (
    ADDED,
    ALIASES,
    ELISIONS,
    ENCLITICS,
    KEPT,
    SOURCES,
    auto_stop,
    clitics,
    has_stop_words,
    stop_matcher,
    stop_word_languages,
    stop_words,
)
from tests.refusals import refuses

FUNCTION_WORDS = {
    "en": "the and of is was don't isn't dont did does", "de": "und der nicht wurde wurden wäre bei daß dass gibt's",
    "fr": "le dans c'est qu'il être où", "es": "el ella también está porque", "it": "che perché c'è della è più",
    "pt": "não você também uma às", "nl": "het een niet zoals", "ru": "и что который нибудь ещё", "pl": "się będę że które",
    "tr": "için değil şu ve", "zh": "的 我们 但是 因为", "ja": "です が という", "el": "είναι από και στην", "he": "של אני",
    "ar": "هذا هذه على", "hi": "में और नहीं", "ro": "și în că ţi", "hu": "és ő előtt hogy", "lt": "iš tačiau už", "ko": "그리고",
    "sv": "och jag inte", "no": "ikke jeg kvifor", "fi": "ja ei mutta", "cs": "že který jsem", "uk": "що який під", "vi": "nhưng",
    "th": "ที่ และ", "fa": "این است", "da": "og ikke", "id": "yang tidak",
}  # fmt: skip
CONTENT_WORDS = {
    "en": "state world help system computer interest bill", "de": "jahr tag mensch menschen zeit uhr groß neue gott",
    "fr": "personne personnes valeur gens nouveau parole", "es": "trabajo verdad estado tiempo valor", "it": "mondo anni città",
    "pt": "tempo pessoas trabalho sistema", "ru": "год время человек люди жизнь мира", "zh": "人 年 结果", "pl": "pan lat",
    "cs": "článek strana", "hu": "cikk nagy", "id": "hal kecil", "hi": "घर", "uk": "життя люди", "ar": "زيارة قوة سنة",
    "fi": "vuosi asia", "sv": "dag viktig", "bn": "কাজ", "vi": "người nhà", "fa": "مردم خدمات", "sl": "oktober gospod",
}  # fmt: skip


@pytest.mark.parametrize("code", FUNCTION_WORDS)
def test_function_words_are_in_the_list(code: str) -> None:
    assert set(FUNCTION_WORDS[code].split()) <= stop_words([code])


@pytest.mark.parametrize("code", CONTENT_WORDS)
def test_words_with_a_meaning_are_not(code: str) -> None:
    assert not set(CONTENT_WORDS[code].split()) & stop_words([code])


def test_there_are_many_languages_and_every_word_can_be_a_token() -> None:
    assert len(stop_word_languages()) >= 50
    for code in stop_word_languages():
        words = stop_words([code])
        assert 30 <= len(words) <= 1000, code
        for word in words:
            assert word == word.lower().strip(), (code, word)
            assert " " not in word, (code, word)
            assert any(c.isalpha() for c in word), (code, word)


def test_every_choice_belongs_to_a_language_with_a_list() -> None:
    assert set(KEPT) | set(ADDED) | set(ALIASES.values()) <= set(SOURCES)
    assert not any(has_stop_words(code) and ALIASES.get(code) == code for code in SOURCES)
    for code, words in KEPT.items():
        assert not set(words.split()) & set(ADDED.get(code, "").split()), code


def test_languages_are_joined_and_unknown_ones_add_nothing() -> None:
    assert stop_words(["en", "de"]) == stop_words(["en"]) | stop_words(["de"])
    assert stop_words(["nb"]) == stop_words(["nn"]) == stop_words(["no"])
    assert stop_words([]) == stop_words(["xx"]) == frozenset()
    assert has_stop_words("nb")
    assert not has_stop_words("xx")


def test_clitics() -> None:
    assert {"l'", "d'", "qu'", "jusqu'"} <= clitics(["fr"])
    assert "aujourd'" not in clitics(["fr"])
    assert {"dell'", "un'", "'s"} <= clitics(["it", "en"])
    assert clitics(iter(["en"])) == {"'s"}
    assert clitics(["de", "nl"]) == frozenset()  # foto's is a plural
    assert {*ELISIONS, *ENCLITICS} <= set(SOURCES)


def test_patterns_match_the_whole_term() -> None:
    is_stop = stop_matcher(frozenset({"the"}), [r"\d+th", "a|an"])
    assert [t for t in ("the", "19th", "x19th", "19ths", "a", "an", "ant", "then") if is_stop(t)] == [
        "the",
        "19th",
        "a",
        "an",
    ]
    assert not stop_matcher(frozenset())("the")


def test_a_bad_pattern_is_named() -> None:
    with refuses("stop_words"):
        stop_matcher(frozenset(), ["b", "(a"])


def test_auto_stop_is_by_share_of_documents() -> None:
    df = np.array([100, 8, 7, 0], np.int64)
    assert auto_stop(df, 100, share=0.07).tolist() == [True, True, False, False]
    assert auto_stop(df, 100, share=1.0).tolist() == [False] * 4
    assert auto_stop(np.zeros(0, np.int64), 0, share=0.5).tolist() == []
    with refuses("auto_stop"):
        auto_stop(df, 100, share=50)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("bn", "আপনাকে কখনো সাথে"), ("es", "cuál"), ("he", "האם הכל כבר"), ("hi", "आपको मेरा अब"), ("id", "untuk"),
        ("sl", "še lahko ga mu to tem ima niso"), ("tr", "mısın musun değilim"), ("uk", "можу має всі коли-небудь"),
    ],
)  # fmt: skip
def test_pronouns_particles_and_auxiliaries_that_the_packages_lack(code: str, words: str) -> None:
    assert {unicodedata.normalize("NFC", word) for word in words.split()} <= stop_words([code])
