"""One raw token to its terms."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.normalize import MAX_TERM_LENGTH, normalize_token
from nlpkit.text.tokenize import cut_tokens
from tests.strategies import repeatable, texts


def terms_of(text: str) -> list[str]:
    return [term for raw in cut_tokens(pa.array([text])).types for term in normalize_token(raw)]


@pytest.mark.parametrize(
    ("raw", "terms"),
    [
        ("Don’t", ["don't"]),
        ("DON'T", ["don't"]),
        ("AT&T", ["at&t"]),
        ("U.S.A.", ["u.s.a."]),
        ("State-of-the-Art", ["state-of-the-art"]),
        ("e‑mail", ["e-mail"]),
        ("__init__", ["init"]),
        ("Müller", ["müller"]),
        ("straße", ["straße"]),
        ("ΟΔΟΣ", ["οδος"]),
        ("covid-19", ["covid-19"]),
        ("2nd", ["2nd"]),
        ("हिन्दी", ["हिन्दी"]),
        ("한국어", ["한국어"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
    ],
)
def test_words(raw: str, terms: list[str]) -> None:
    assert list(normalize_token(raw)) == terms


@pytest.mark.parametrize(
    "raw",
    [
        *["<b>", "</p>", '<a style="x;y">', "&amp;", "&#39;", "&nbsp;"],
        *["http://a.b/c", "http://a.b/c?d&amp;e", "HTTPS://A.B", "www.x.de", "WWW.x.de", "me@x.org"],
        *["2024", "1", "000", "a", "Z", "_", "٣٤"],
    ],
)
def test_junk_falls_away(raw: str) -> None:
    assert normalize_token(raw) == ()


@pytest.mark.parametrize(
    ("raw", "terms"),
    [
        ("Hi&nbsp;you", ["hi", "you"]),
        ("S&amp;P", ["s&p"]),
        ("don&#39;t", ["don't"]),
        ("don&#x2019;t", ["don't"]),
        ("caf&eacute;s", ["cafés"]),
        ("&Uuml;ber", ["über"]),
        ("one&lt;br&gt;two", ["one", "br", "two"]),
        ("first&mdash;second", ["first", "second"]),
        ("&amp;foo", ["foo"]),
        ("x&unknown;", ["x&unknown"]),
    ],
)
def test_entities_become_what_they_name(raw: str, terms: list[str]) -> None:
    assert list(normalize_token(raw)) == terms


def test_decomposed_letters_are_composed() -> None:
    decomposed = unicodedata.normalize("NFD", "Überraschungsgäste")
    assert decomposed != "Überraschungsgäste"
    assert normalize_token(decomposed) == normalize_token("Überraschungsgäste") == ("überraschungsgäste",)


def test_invisible_hyphens_are_removed() -> None:
    assert normalize_token("Donau\u00addampf\u00adschiff") == ("donaudampfschiff",)


@pytest.mark.parametrize(
    ("raw", "term"), [("İçin", "için"), ("İSTANBUL", "istanbul"), ("ışık", "ışık"), ("ŞEKER", "şeker")]
)
def test_turkish(raw: str, term: str) -> None:
    assert normalize_token(raw) == (term,)


@pytest.mark.parametrize(
    ("raw", "terms"),
    [
        ("自然语言", ["自然", "然语", "语言"]),
        ("语言", ["语言"]),
        ("我", ["我"]),
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("2024年", ["年"]),
        ("iPhone手机", ["iphone", "手机"]),
        ("コンピューター", ["コンピューター"]),
        ("カ", []),
        ("ひらがな", []),
        ("コーヒーを飲む", ["コーヒー", "飲"]),
        ("東京タワー", ["東京", "タワー"]),
        ("ภาษาไทย", ["ภาษ", "าษา", "ษาไ", "าไท", "ไทย"]),
        ("กา", ["กา"]),
    ],
)
def test_scripts_without_spaces(raw: str, terms: list[str]) -> None:
    assert list(normalize_token(raw)) == terms


def test_case_is_kept_on_request() -> None:
    assert normalize_token("İzmir", lower=False) == ("İzmir",)
    assert normalize_token("AT&T", lower=False) == ("AT&T",)


def test_length_bounds() -> None:
    assert normalize_token("x" * MAX_TERM_LENGTH) == ("x" * MAX_TERM_LENGTH,)
    assert normalize_token("x" * (MAX_TERM_LENGTH + 1)) == ()
    assert normalize_token("ab") == ("ab",)


@repeatable
@given(texts())
def test_terms_are_composed_words_of_bounded_length(text: str) -> None:
    for term in terms_of(text):
        assert unicodedata.is_normalized("NFC", term), term
        assert any(c.isalpha() for c in term), term
        assert not set(term) & set("\u00ad\u200b\ufeff <>"), term
        assert len(term) <= MAX_TERM_LENGTH


@repeatable
@given(
    st.lists(
        st.sampled_from(["Don’t", "U.S.A.", "State-of-the-Art", "AT&T", "über", "İlk", "covid-19", "L'été"]), max_size=6
    )
)
def test_terms_pass_a_second_time_unchanged(words: list[str]) -> None:
    once = terms_of(" ".join(words))
    assert terms_of(" ".join(once)) == once
