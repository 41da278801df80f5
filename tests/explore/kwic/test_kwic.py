"""Keywords in context: the expressions of the lecture, words of any script, contexts that fit to the text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.explore.kwic.model import compile_pattern, find_hits, find_spans, finds_places_alone
from tests.refusals import refuses
from tests.strategies import repeatable, texts


def found(pattern: str, text: str, **how: bool) -> list[str]:
    return [text[a:b] for a, b in find_spans(text, compile_pattern(pattern, **how))]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        # L551–620
        ("[dD]og", "A dog and a Dog", ["dog", "Dog"]),
        ("[A-Z]", "aBcD", ["B", "D"]),
        ("[^A-Za-z]", "ABC is", [" "]),
        (r"x\^2", "The square value of x is x^2.", ["x^2"]),
        ("dog|man's best friend", "a dog is man's best friend", ["dog", "man's best friend"]),
        ("four|4", "four or 4", ["four", "4"]),
        (r"(ABC)=\1", "ABC=ABC ABC=ABD", ["ABC=ABC"]),
        (r"([A-Z])=\1", "A=A B=C", ["A=A"]),
        (r"(ABC|abc)=\1", "ABC=ABC abc=ABC", ["ABC=ABC"]),
        ("(ABC){3}", "ABCABCABC", ["ABCABCABC"]),
        (r"(ABC){3}=\1", "ABCABCABC=ABC", ["ABCABCABC=ABC"]),
        ("(ABC){2,3}", "ABCABC x ABC", ["ABCABC"]),
        ("colou?r", "color, colour, colouur", ["color", "colour"]),
        ("oo*h!", "oh! ooh! h!", ["oh!", "ooh!"]),
        ("o+h!", "oh! oooh! h!", ["oh!", "oooh!"]),
        ("oh.", "oho oha oh1 oh", ["oho", "oha", "oh1"]),
        ("[dD]og(go)?", "dog doggo Doggo", ["dog", "doggo", "Doggo"]),
        ("Ei(ei)*!", "Ei! Eiei! Eieiei! E!", ["Ei!", "Eiei!", "Eieiei!"]),
        # L680–700
        ("^Fortuna", "Fortuna 1895 Düsseldorf", ["Fortuna"]),
        ("^[0-9]+$", "Fortuna 1895 Düsseldorf", []),
        ("^[0-9]+$", "Fortuna\n1895\nDüsseldorf", ["1895"]),  # "start of line", not of text
        (r"\b\d+\b", "Fortuna 1895 Düsseldorf", ["1895"]),
        (r"\b\w+$", "Fortuna 1895 Düsseldorf", ["Düsseldorf"]),  # where others find sseldorf
        (r"\b[\wäüöÄÜÖ]+$", "Fortuna 1895 Düsseldorf", ["Düsseldorf"]),
        # L706–731
        ("the", "The other theology, the", ["the", "the", "the"]),
        ("[tT]he", "The other theology, the", ["The", "the", "the", "the"]),
        ("[^a-zA-Z][tT]he[^a-zA-Z]", "The other theology, the end", [" the "]),
        (r"\b[tT]he\b", "The other theology, the", ["The", "the"]),
    ],
)
def test_expressions_of_the_lecture(pattern: str, text: str, matches: list[str]) -> None:
    assert found(pattern, text) == matches


def test_whole_words() -> None:
    text = "Über übermorgen, über. über-all C++ C"
    assert found("über", text) == ["über", "über", "über"]
    assert found("über", text, word=True) == ["über", "über"]  # a hyphen is no letter
    assert found("ÜBER", text, word=True, ignore_case=True) == ["Über", "über", "über"]
    assert found(r"C\+\+", text, word=True) == ["C++"]
    assert found("a|b", "a ab b", word=True) == ["a", "b"]
    assert found("(?i)ÜBER", text, word=True) == ["Über", "über", "über"]  # flags stay in front
    assert found("(?x) über # a comment", text, word=True) == ["über", "über"]
    assert found(r"(\w)\1", "aa aab bb", word=True) == ["aa", "bb"]


def test_word_patterns() -> None:
    text = "Climate, climates and climatic change; the climate  change.\nmicroclimate"
    assert found("climat*", text, glob=True) == ["climates", "climatic", "climate"]
    assert found("climate?", text, glob=True) == ["climates"]
    assert found("climat* change", text, glob=True) == ["climatic change", "climate  change"]
    assert found("*climat*", text, glob=True, ignore_case=True)[-1] == "microclimate"
    assert found("a.b", "a.b axb", glob=True) == ["a.b"]  # a dot is a dot


def test_empty_matches_are_none() -> None:
    assert found("a*", "baab") == ["aa"]
    assert found("^|$", "x") == []


@pytest.mark.parametrize(
    "pattern",
    [
        "a(b", "[a-", "*a", "a{99999999999}", "(?<=a+)b", "b(?i)a", "", "  ",
    ],
)  # fmt: skip
def test_what_is_no_expression(pattern: str) -> None:
    for word in (False, True):
        with refuses("pattern"):
            compile_pattern(pattern, word=word)


def test_an_expression_that_python_warns_about_is_used() -> None:
    assert found("[[a]", "a[") == ["a", "["]


def test_accents_of_their_own() -> None:
    text = unicodedata.normalize("NFD", "Fußgängerübergänge über Köln")
    hits = list(find_hits(text, find_spans(text, compile_pattern(r"\büber\b")), words=5))
    assert [unicodedata.normalize("NFC", h.match) for h in hits] == ["über"]
    assert text[hits[0].start : hits[0].end] == hits[0].match
    assert unicodedata.normalize("NFC", hits[0].left) == "Fußgängerübergänge "
    assert found(unicodedata.normalize("NFD", "Köln"), "Köln") == ["Köln"]
    korean = "한국어 말뭉치"
    assert found(r"\b말뭉치\b", unicodedata.normalize("NFD", korean)) == [unicodedata.normalize("NFD", "말뭉치")]


@repeatable
@given(texts(), st.sampled_from(["NFC", "NFD", "NFKD"]))
def test_composing_finds_what_the_composed_text_has(text: str, form: str) -> None:
    given_ = unicodedata.normalize(form, text)
    pattern = compile_pattern(r"\w+")
    composed = unicodedata.normalize("NFC", given_)
    matches = [unicodedata.normalize("NFC", given_[a:b]) for a, b in find_spans(given_, pattern)]
    assert matches == [composed[a:b] for a, b in find_spans(composed, pattern)]


def contexts(text: str, pattern: str, **size: int) -> list[tuple[str, str, str]]:
    return [(h.left, h.match, h.right) for h in find_hits(text, find_spans(text, compile_pattern(pattern)), **size)]


def test_words_of_context() -> None:
    text = "one two, three  KEY (four) five six"
    assert contexts(text, "KEY", words=2) == [("two, three  ", "KEY", " (four) five")]
    assert contexts(text, "KEY", words=99) == [("one two, three  ", "KEY", " (four) five six")]
    assert contexts(text, "KEY", words=0) == [("", "KEY", "")]
    assert contexts(text, "ou", words=1) == [("(f", "ou", "r)")]  # the rest of the word is a word
    assert contexts(text, "one", words=1) == [("", "one", " two,")]


def test_context_of_scripts_without_spaces() -> None:
    assert contexts("我们研究自然语言处理，很好。", "语言", words=2) == [("自然", "语言", "处理，")]
    assert contexts("私は東京で AI を学ぶ", "AI", words=2) == [("京で ", "AI", " を学")]


def test_characters_of_context() -> None:
    assert contexts("one two KEY four", "KEY", characters=3) == [("wo ", "KEY", " fo")]
    assert contexts("KEY", "KEY", characters=3) == [("", "KEY", "")]


def test_long_words_and_many_spaces_before() -> None:
    text = "a " + "b" * 1000 + " " * 1000 + "KEY"
    assert contexts(text, "KEY", words=1) == [("b" * 1000 + " " * 1000, "KEY", "")]
    assert contexts(text, "KEY", words=2) == [(text[:-3], "KEY", "")]


@repeatable
@given(texts(), st.integers(0, 4))
def test_contexts_lie_beside_the_match(text: str, n: int) -> None:
    for size in ({"words": n}, {"characters": n}):
        for hit in find_hits(text, find_spans(text, compile_pattern(r"\w+|<")), **size):  # type: ignore[arg-type]
            assert text[hit.start : hit.end] == hit.match
            assert hit.match
            assert text[: hit.start].endswith(hit.left)
            assert text[hit.end :].startswith(hit.right)
            if "characters" in size:
                assert len(hit.left) == min(n, hit.start)
            elif hit.match != "<" and text.isascii():
                assert len(hit.left.split()) == min(n, len(text[: hit.start].split()))
                assert len(hit.right.split()) == min(n, len(text[hit.end :].split()))


@pytest.mark.parametrize("pattern", ["(?=(ana))", "^", r"\b", "(?<=a)(?=b)", "(?i)$", "(?:)"])
def test_a_pattern_that_matches_no_letter(pattern: str) -> None:
    assert finds_places_alone(compile_pattern(pattern))
    assert finds_places_alone(compile_pattern(pattern, word=True))


@pytest.mark.parametrize("pattern", ["a*", "(?=a)an", "(?i)ANA", "a|", r"\Ban"])
def test_a_pattern_that_may_match_nothing_finds_letters(pattern: str) -> None:
    assert not finds_places_alone(compile_pattern(pattern))
    assert find_spans("banana", compile_pattern(pattern))
