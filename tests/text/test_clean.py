"""Cleaning: markup, Unicode form, emoji, replacements."""

from __future__ import annotations

import re
import unicodedata

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.platform.documents.tags import strip_markup
from nlpkit.text.clean import Cleaner, ReplacementRules, check_pattern, compose, template
from tests.refusals import refuses
from tests.strategies import corpora, repeatable

EVERYTHING = Cleaner(
    html=True, emoji="words", replacements=ReplacementRules((("New York", "new_york"),), ((r"\d+%", "SHARE"),))
)


def cleaned(text: str, cleaner: Cleaner) -> str:
    (found,) = cleaner.clean(pa.array([text])).to_pylist()
    return str(found)


def words(text: str, cleaner: Cleaner) -> str:
    return " ".join(cleaned(text, cleaner).split())


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("state-of-\nthe-art", "state-of-the-art"), ("E-Mail-Adres-\nse", "E-Mail-Adresse"),
        ("die Men-\nschen", "die Menschen"), ("Regie- \r\n   rung", "Regierung"), ("so\u00ad\ngar", "sogar"),
        ("E-\nMail", "E-\nMail"), ("Hin-\nund Rückfahrt", "Hin-\nund Rückfahrt"), ("in-\nundate", "inundate"),
        ("a well-known\nfact", "a well-known\nfact"), ("1-\nb", "1-\nb"), ("- a\n- b", "- a\n- b"), ("word-\n", "word-\n"),
    ],
)  # fmt: skip
def test_words_that_a_line_end_divides(text: str, joined: str) -> None:
    assert cleaned(text, Cleaner(join_hyphens=True)) == joined
    assert cleaned(text, Cleaner()) == text
    assert Cleaner(join_hyphens=True).clean(pa.array([None, "a"])).to_pylist() == [None, "a"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<p class='x'>Hi <b>W</b>ord</p>", "Hi Word"),
        ("one<br />two<br>three", "one two three"),
        ("<ul><li>a</li><li>b</li></ul>", "a b"),
        ("a <!-- c <b> d --> b", "a b"),
        ("<script type='a'>if (a<b) x();</script>ok<STYLE>p{}</STYLE >", "ok"),
        ("<![CDATA[raw text]]>", "raw text"),
        ("<!DOCTYPE html><?xml version='1.0'?><html lang=de>x</html>", "x"),
        ("<img src=\"a>b\" alt='c'/><input disabled>text", "text"),
        ("<ns:tag a='1'>x</ns:tag>", "x"),
        ("S&amp;P caf&eacute; &#228;&#xe4; a&nbsp;b", "S&P café ää a b"),
        ("&lt;b&gt;bold&lt;/b&gt; &amp;lt;i&amp;gt;twice", "bold twice"),
        ("AT&T R&D; &unknown; 5 &", "AT&T R&D; &unknown; 5 &"),
        ("a < b and c > d, x<y and y>z <3", "a < b and c > d, x<y and y>z <3"),
        ("<http://a.b> <me@x.org>", "<http://a.b> <me@x.org>"),
        ("Fußgängerübergänge <i>über</i> Straßen", "Fußgängerübergänge über Straßen"),
    ],
)
def test_markup(text: str, left: str) -> None:
    assert words(text, Cleaner(html=True)) == left
    assert cleaned(text, Cleaner()) == text


def test_paragraphs_stay_paragraphs() -> None:
    assert cleaned("<p>a</p><p>b<br/>c</p>", Cleaner(html=True)) == "\n\na\n\n\n\nb c\n\n"


@pytest.mark.parametrize("text", ["cafe\u0301", "हिन्दी", "각", "\u212b", "ガ", "שָׁלוֹם", "مُحَمَّد", "Việt"])
def test_nfc(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert cleaned(unicodedata.normalize(form, text), Cleaner()) == unicodedata.normalize("NFC", text)
    assert cleaned("cafe\u0301", Cleaner(nfc=False)) == "cafe\u0301"


@repeatable
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_nfc_is_that_of_python(texts: list[str]) -> None:
    assert compose(pl.Series(texts, dtype=pl.String)).to_list() == [unicodedata.normalize("NFC", t) for t in texts]


def test_nfc_of_every_character() -> None:
    chars = [chr(c) for c in range(0x80, 0x30000) if not 0xD800 <= c < 0xE000]
    assert compose(pl.Series(chars)).to_list() == [unicodedata.normalize("NFC", c) for c in chars]


@pytest.mark.parametrize(
    ("text", "language", "left"),
    [
        ("I ❤️ NY", "en", "I red heart NY"),
        ("ok😀👍🏽!", "en", "ok grinning face thumbs up medium skin tone !"),
        ("😀", "de", "grinsendes gesicht"),
        ("😀", "fr", "visage rieur"),
        ("😀", "pl", "grinning face"),  # no names in Polish: English
        ("🇩🇪", "en", "Germany"),
        ("© ™ 1 #", "en", "© ™ 1 #"),
    ],
)
def test_emoji_become_words(text: str, language: str, left: str) -> None:
    assert words(text, Cleaner(emoji="words", emoji_language=language)) == left


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("صـــورة كِتَابٌ", "صورة كتاب"),  # tatweel and vowels
        ("قُرْآن أَسْئِلَة", "قرآن أسئلة"),  # hamza and madda are letters
        ("شָׁלוֹם בְּרֵאשִׁית".replace("ش", "ש"), "שלום בראשית"),
        ("\ufb2a\ufb4b", "שו"),  # letters with their points
        ("é ü ñ चीज़ ที่", "é ü ñ चीज़ ที่"),  # marks of other scripts stay
        ("בית־ספר", "בית־ספר"),
    ],
)
def test_marks_of_arabic_and_hebrew(text: str, folded: str) -> None:
    assert cleaned(text, Cleaner(fold_marks=True)) == unicodedata.normalize("NFC", folded)
    assert cleaned(text, Cleaner()) == unicodedata.normalize("NFC", text)


def test_emoji_are_removed() -> None:
    text = "a😀b 👩‍👩‍👧 1️⃣ 🇩🇪🇫🇷 c ©"
    assert words(text, Cleaner(emoji="remove")) == "a b c ©"
    assert cleaned(text, Cleaner()) == text
    with refuses("emoji"):
        Cleaner(emoji="drop")


def replaced(text: str, *phrases: tuple[str, str], ignore_case: bool = False) -> str:
    return cleaned(text, Cleaner(replacements=ReplacementRules(phrases, ignore_case=ignore_case)))


def test_phrases_are_whole_words_the_longest_first_and_done_once() -> None:
    rules = [("York", "Jork"), ("New York", "york"), ("New York Times", "nyt"), ("york", "no")]
    assert replaced("New York, New\n York Times, York Yorker, New-York", *rules) == "york, nyt, Jork Yorker, New-Jork"


def test_phrases_with_signs_apostrophes_and_dollars() -> None:
    assert (
        replaced("C++ C++11 don’t dont a.b axb", ("C++", "cpp"), ("don't", "$1"), ("a.b", ""))
        == "cpp C++11 $1 dont  axb"
    )


def test_phrases_of_scripts_without_spaces_stand_inside_a_run() -> None:
    assert replaced("我在中国人民大学", ("中国", "A"), ("中国人民", "B")) == "我在B大学"


def test_phrases_in_any_case() -> None:
    rules = [("NEW york", "ny"), ("überfall", "x"), ("из", "y"), ("οδος", "z"), ("ışık", "t"), ("straße", "s")]
    text = "new YORK Überfall ÜBERFALL Из ΟΔΟΣ οδός Οδος ışık IŞIK Straße"
    assert replaced(text, *rules, ignore_case=True) == "ny x x y z οδός z t IŞIK s"
    assert replaced("New York NEW york", *rules) == "New York ny"


def test_patterns_come_after_the_phrases_in_their_order() -> None:
    rules = ReplacementRules((("ten", "10"),), ((r"(?P<n>\d+) ?%", r"\g<n> percent costs $\1\n"), ("percent", r"\\")))
    assert cleaned("ten % 5%", Cleaner(replacements=rules)) == "10 \\ costs $10\n 5 \\ costs $5\n"
    assert cleaned("A a", Cleaner(replacements=ReplacementRules((), (("a", "b"),), True))) == "b b"


def test_templates() -> None:
    assert template(r"\1 \g<x> $1 \t\n\\ \q") == "${1} ${x} $$1 \t\n\\ \\q"


@pytest.mark.parametrize("pattern", ["(a", "a(?=b)", "a*", "^", r"(a)\1"])
def test_patterns_that_cannot_be_meant(pattern: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"/{pattern}/")):
        check_pattern(pattern)
    with pytest.raises(UsageError, match=re.escape(f"/{pattern}/")):
        Cleaner(replacements=ReplacementRules((), ((pattern, "b"),))).clean(pa.array(["a"]))


def test_many_phrases() -> None:
    rules = [(f"word{i} number", f"w{i}") for i in range(3000)]
    assert replaced("word7 number word2999 number word3000 number", *rules) == "w7 w2999 word3000 number"


@repeatable
@given(
    st.lists(
        st.text("ab ", min_size=1, max_size=5).filter(str.strip), max_size=6, unique_by=lambda p: " ".join(p.split())
    )
)
def test_phrases_against_a_plain_reading(phrases: list[str]) -> None:
    """A plain twin: at each place that begins a word, the longest phrase that ends where a word ends."""
    text = "a ab  ba b aab a b ab ba"
    rules = {" ".join(p.split()): f"<{number}>" for number, p in enumerate(phrases)}
    tokens = re.split(r"(\s+)", text)
    expected, at = "", 0
    while at < len(tokens):
        ends = [
            e for e in range(len(tokens), at, -2) if at % 2 == 0 and " ".join("".join(tokens[at:e]).split()) in rules
        ]
        expected += rules[" ".join("".join(tokens[at : ends[0]]).split())] if ends else tokens[at]
        at = ends[0] if ends else at + 1
    assert replaced(text, *rules.items()) == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_null_empty_and_slices(kind: pa.DataType) -> None:
    texts = pa.array(["<b>no</b>", "<b>x</b>😀", None, "", "5% &amp;"], kind)
    found = EVERYTHING.clean(texts.slice(1))
    assert found.type == pa.large_string()
    assert found.to_pylist() == ["x grinning face ", None, "", "SHARE &"]
    assert texts.to_pylist()[1] == "<b>x</b>😀"  # as it went in
    assert EVERYTHING.clean(pa.array([], kind)).to_pylist() == []
    assert EVERYTHING.clean(pa.array([None], kind)).to_pylist() == [None]


def test_a_series_comes_back_as_it_went_in() -> None:
    texts = pl.Series(["<b>x</b>", "y", "e\u0301"])
    strip_markup(texts)
    compose(texts)
    assert texts.to_list() == ["<b>x</b>", "y", "e\u0301"]


@repeatable
@given(corpora(), st.integers(1, 4))
def test_a_batch_is_cleaned_as_its_parts_are(documents: list[str | None], size: int) -> None:
    texts = pa.array(documents, pa.string())
    parts = [EVERYTHING.clean(texts.slice(at, size)).to_pylist() for at in range(0, len(texts), size)]
    assert EVERYTHING.clean(texts).to_pylist() == [text for part in parts for text in part]
