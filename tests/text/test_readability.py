"""Readability: the formulas by hand, syllables of lists of words."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.text.surface import readability, syllables_of_english, syllables_of_german, text_sizes

ENGLISH = """make:1 tables:2 called:1 little:2 wanted:2 houses:2 the:1 radio:3 million:2 period:3 being:2 science:2 create:2
    didn't:2 don't:1
    capitalism:5 beautiful:3 people:2 nation:2 readability:5 through:1 queue:1 education:4 walked:1 needed:2 changes:2 boxes:2
    times:1 whole:1
    going:2 video:3 government:3 economy:4 politics:3 university:5 judge:1 judges:2 climate:2 temperature:4 serious:3
    rules:1 middles:2 she:1
    trees:1 agreed:2 tied:1 cheese:1 used:1 years:1 lion:2 violin:3 prices:2 pages:2 churches:2 wishes:2 rhythm:2 business:2 idea:3"""
GERMAN = """Haus:1 Häuser:2 neue:2 Quelle:2 Nation:3 Bundesregierung:5 Straße:2 See:1 Yacht:1 Typ:1 Europa:3 Bäume:2 Kolleginnen:4 zwei:1
    Idee:2 Lehrerin:3 Eier:2 Feuer:2 geht:1 Knie:1 Familie:4"""


def right(words: str, count: object) -> float:
    pairs = [word.split(":") for word in words.split()]
    assert callable(count)
    return float(np.mean([count(word) == int(n) for word, n in pairs]))


def test_syllables() -> None:
    assert right(ENGLISH, syllables_of_english) > 0.9
    assert right(GERMAN, syllables_of_german) > 0.9
    assert syllables_of_english("Mr") == syllables_of_german("pst") == 1


def test_sizes() -> None:
    sizes = text_sizes(["The judge called. Nobody in the little courtroom answered her.", None, "123 ..."], "en")
    assert (sizes.sentences.tolist(), sizes.words.tolist()) == ([2, 0, 0], [10, 0, 0])
    assert sizes.long_words.tolist() == [2, 0, 0]  # courtroom, answered
    # the judge called no-bo-dy in the lit-tle court-room an-swered her
    assert (sizes.syllables[0], sizes.monosyllables[0], sizes.polysyllables[0]) == (15, 6, 1)


def test_english_by_hand() -> None:
    scores = readability(["The judge called. Nobody in the little courtroom answered her."], "en")
    assert scores["flesch"][0] == pytest.approx(206.835 - 1.015 * 5 - 84.6 * 1.5)
    assert scores["flesch_kincaid"][0] == pytest.approx(0.39 * 5 + 11.8 * 1.5 - 15.59)
    assert scores["lix"][0] == pytest.approx(5 + 20)


def test_german_by_hand() -> None:
    # Die Kol-le-gin-nen klatsch-ten. Es ist Mon-tag: 6 words, 11 syllables, 2 of more than 6 letters
    scores = readability(["Die Kolleginnen klatschten. Es ist Montag."], "de")
    assert scores["flesch"][0] == pytest.approx(180 - 3 - 58.5 * 11 / 6)
    share = 100 / 6
    assert scores["wiener"][0] == pytest.approx(
        0.1935 * share + 0.1672 * 3 + 0.1297 * 2 * share - 0.0327 * 3 * share - 0.875
    )


def test_other_languages() -> None:
    assert list(readability(["Le chat dort."], "fr")) == ["lix"]
    assert list(readability(["Le chat dort."])) == ["lix"]
    assert readability(["私たち"], "ja") == {}
    assert np.isnan(readability(["", None, "42"], "de")["wiener"]).all()
