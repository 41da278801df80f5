"""Spelling by a noisy channel: edits by brute force, the formula by hand, errors that were planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.lm.spelling import LN10, Speller, SpellOptions
from nlpkit.lm.trie import SPECIAL
from tests.lm.helpers import model_of
from tests.reference import levenshtein as plain
from tests.strategies import repeatable

TEXT = [
    s.split()
    for s in ["the captain left the ship"] * 6 + ["the caption of the picture", "a ship left", "the judge left"]
]


def speller(order: int = 3, **settings: object) -> Speller:
    return Speller(model_of(TEXT, order=order, discount=0.75), SpellOptions(**{"min_gain": 0.0, **settings}))  # type: ignore[arg-type]


def suggested(one: Speller, *sentences: str) -> list[tuple[int, str]]:
    words = [s.split() for s in sentences]
    found = one.suggest(np.cumsum([0, *map(len, words)]), [w for s in words for w in s])
    return [(int(place), one.model.words[word]) for place, word in zip(found.place, found.word, strict=True)]


@repeatable
@given(
    st.lists(st.text("abc😀é", min_size=1, max_size=7), min_size=1, max_size=12, unique=True),
    st.text("abcé", min_size=1, max_size=7),
    st.sampled_from([1, 2]),
)
def test_candidates_are_the_words_within_some_edits(words: list[str], word: str, limit: int) -> None:
    one = Speller(model_of([words], order=1), SpellOptions())
    found, channel = one.candidates(word, limit)
    expected = {w: plain.osa(w, word) for w in one.model.words[len(SPECIAL) :]}
    assert [one.model.words[i] for i in found] == [w for w, d in expected.items() if 0 < d <= limit]
    for i, ln in zip(found, channel, strict=True):
        w = one.model.words[i]
        assert ln == pytest.approx(expected[w] * np.log(0.05 / (54 * len(w) + 25)))


def test_gain_by_the_formula() -> None:
    one = speller()
    sentence = ["the", "captian", "left", "the", "ship"]
    found = one.suggest(np.array([0, 5]), sentence)
    assert [one.model.words[w] for w in found.word] == ["captain"]

    def whole(words: list[str]) -> float:
        return float(one.model.score(*one.model.encode([words])).log_prob.sum())

    letters = one._letters
    spelled = letters.score(*letters.encode(["captian"])).log_prob.sum()
    meant = np.log(0.05 / (54 * 7 + 25)) + whole(["the", "captain", "left", "the", "ship"])
    written = np.log(0.95) + whole(sentence) + spelled
    assert found.gain[0] == pytest.approx((meant - written) / LN10)


@pytest.mark.parametrize(("order", "expected"), [(3, ["form", "farm"]), (1, ["form", "form"])])
def test_the_context_decides_and_single_words_do_not(order: int, expected: list[str]) -> None:
    text = [s.split() for s in ["sign the form of consent"] * 6 + ["cows on the farm eat grass"] * 3]
    one = Speller(model_of(text, order=order, discount=0.75), SpellOptions(min_gain=0.0))
    assert [word for _, word in suggested(one, "sign the fxrm of consent", "cows on the fxrm eat grass")] == expected


def test_what_is_left_alone() -> None:
    assert suggested(speller(), "the captain left", "the zebra left", "teh c4ptain left", "") == []
    assert suggested(speller(max_distance=1), "the captnia left the ship") == []
    assert suggested(speller(min_gain=50.0), "the captian left the ship") == []
    assert suggested(speller(), "") == []


def test_real_words() -> None:
    text = ["a form of the paper"] * 20 + ["it came from the north"] * 20
    one = Speller(model_of([s.split() for s in text], order=3), SpellOptions(real_words=True, min_gain=0.0))
    assert suggested(one, "it came form the north", "a form of the paper") == [(2, "from")]


def test_many_variants_are_scored_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = ["the captian left the shp", "captien of the picturs"]
    whole = suggested(speller(), *sentences)
    monkeypatch.setattr("nlpkit.lm.spelling.MOST_VARIANTS", 2)
    assert suggested(speller(), *sentences) == whole
    assert len(whole) == 3


@pytest.mark.parametrize("settings", [{"smoothing": "mle"}, {"closed": True}])
def test_models_without_unknown_words(settings: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no probability"):
        Speller(model_of(TEXT, **settings), SpellOptions())
    with pytest.raises(UsageError, match=r"must be (above|below)"):
        SpellOptions(error=1.0)
