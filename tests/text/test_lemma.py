"""Base forms of words."""

from __future__ import annotations

from typing import Any

import pytest

from nlpkit.errors import MissingError
from nlpkit.text import normalize as lemma_module
from nlpkit.text.normalize import has_lemmas, lemma_languages, lemmatizer
from tests.refusals import refuses

# lower-cased before they are looked up, as --lower does
GERMAN = """häuser=haus kinder=kind kind=kind männer=mann städte=stadt bücher=buch bäume=baum autos=auto frauen=frau
    menschen=mensch jahren=jahr millionen=million regierung=regierung regierungen=regierung parteien=partei
    politikerinnen=politikerin krankenhäuser=krankenhaus übergänge=übergang fußgängerübergänge=fußgängerübergang
    fahrräder=fahrrad straßen=straße städten=stadt länder=land land=land frage=frage arbeit=arbeit tage=tag spiel=spiel
    krieg=krieg grenze=grenze markt=markt angriff=angriff bericht=bericht berichte=bericht erfolg=erfolg gruppe=gruppe
    ging=gehen gegangen=gehen läuft=laufen sieht=sehen sagte=sagen gesagt=sagen ist=sein war=sein wurde=werden hat=haben
    besser=gut größer=groß schönen=schön gute=gut guter=gut neuen=neu deutschen=deutsch wichtigsten=wichtig
    wäre=sein würde=werden hätte=haben"""


def test_german_words_in_lower_case() -> None:
    lemma = lemmatizer(["de"])
    pairs = [pair.split("=") for pair in GERMAN.split()]
    assert len(pairs) >= 50
    assert {word: lemma(word).lower() for word, _ in pairs} == dict(pairs)


def test_german_words_as_they_are_written() -> None:
    lemma = lemmatizer(["de"], cased=True)
    words = (
        "Bäume weine Weine Arbeiten arbeiten Frage kamen Schöne Die Deutschen Stunden US CDU Müller Fußgängerübergänge"
    )
    found = "Baum weinen Wein Arbeit arbeiten Frage kommen schön der deutsch Stunde US CDU Müller Fußgängerübergang"
    assert [lemma(word) for word in words.split()] == found.split()


def slow(*values: str) -> Any:
    """Of a language whose dictionary takes seconds to be read, and no other code than that of the others."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("code", "words", "lemmas"),
    [
        ("en", "am are is cars car's better stories reading", "be be be car car good story read"),  # lecture L1000
        ("en", "children went mice states States at&t", "child go mouse state state at&t"),
        ("fr", "maisons chevaux yeux allons", "maison cheval œil aller"),
        slow("es", "casas mejores niños diciendo", "casa mejor niño decir"),
        slow("it", "uomini case andato", "uomo casa andare"),
        slow("ru", "городов людей было", "город человек быть"),
        ("tr", "evlerde kitaplar", "ev kitap"),
        slow("no", "bilene husene", "bil hus"),
        slow("hr", "kućama gradovi", "kuća grad"),
    ],
)
def test_languages(code: str, words: str, lemmas: str) -> None:
    lemma = lemmatizer([code])
    assert [lemma(word) for word in words.split()] == lemmas.split()


def test_what_no_dictionary_knows_stays() -> None:
    for code in ("en", "de", "fr"):
        assert lemmatizer([code])("xqzwvk").lower() == "xqzwvk"
    assert lemmatizer(["en", "de"])("Xqzwvk") == "Xqzwvk"


def test_of_two_languages_the_first_that_knows_the_word_decides() -> None:
    lemma = lemmatizer(["en", "de"])
    assert [lemma(word).lower() for word in ("children", "häuser", "was")] == ["child", "haus", "be"]
    assert lemmatizer(["de", "en"])("children") == "child"


def test_many_languages() -> None:
    assert len(lemma_languages()) >= 40
    codes = "en de fr es it pt nl ru pl tr no nb nn hr sr uk cs hu fi sv da el"
    assert all(map(has_lemmas, codes.split()))
    assert not has_lemmas("zh")


@pytest.mark.parametrize("codes", [[], ["en", "zh"]])
def test_languages_without_a_dictionary(codes: list[str]) -> None:
    with refuses("lemma"):
        lemmatizer(codes)


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemma_module, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match="pip install simplemma"):
        lemmatizer(["en"])
