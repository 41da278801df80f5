"""Tokens kept on request: how they are cut and what they are called."""

from __future__ import annotations

import polars as pl
import pytest

from nlpkit.text.tokenize import KINDS, WORD_PATTERN, check_kinds, keep_patterns, kind_of, trim_url
from tests.refusals import refuses


def cut(text: str, *keep: str) -> list[str]:
    pattern = "|".join([*keep_patterns(keep), WORD_PATTERN])
    return list(pl.Series([text]).str.extract_all(pattern)[0])


def of_kind(text: str, kind: str) -> list[str]:
    return [token for token in cut(text, *KINDS) if kind_of(token) == kind]


def test_the_sentence_of_the_lecture() -> None:  # L926
    text = "That U.S.A. poster-print costs $12.40..."
    assert cut(text, "number") == ["That", "U.S.A.", "poster-print", "costs", "$12.40"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("82% of 1,000.50 for 5€ or €5", ["82%", "1,000.50", "5€", "€5"]),
        ("on 2024-03-05, 01.02.2006 and 01/02/06 at 3:1.", ["2024-03-05", "01.02.2006", "01/02/06", "3:1"]),
        ("$3.5bn, $40m, £2k", ["$3.5bn", "$40m", "£2k"]),
        ("½ of 3½, ٣٤ and １２", ["½", "3½", "٣٤", "１２"]),
        ("the 1990s, 2nd, 24-hour, 3D, covid-19, H2O, 90's", []),  # words with digits
        ("A4 x2 n.5 v1.2", ["5", "2"]),
    ],
)
def test_numbers(text: str, tokens: list[str]) -> None:
    assert of_kind(text, "number") == tokens


def test_words_with_digits_stay_whole_when_numbers_are_kept() -> None:
    text = "the 1990s, 2nd, 24-hour, 3D, covid-19"
    assert cut(text, "number") == ["the", "1990s", "2nd", "24-hour", "3D", "covid-19"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("#nlp, #NLP2024! #2024 #1st C# foo#bar ＃東京 #über_uns", ["#nlp", "#NLP2024", "#1st", "＃東京", "#über_uns"]),
        ("&#39;quote&#39; it&#x27;s", []),  # entities
    ],
)
def test_hashtags(text: str, tokens: list[str]) -> None:
    assert of_kind(text, "hashtag") == tokens


def test_mentions_and_emails() -> None:
    text = "@anna, @b.c. me@x.org 123@x.org name@host (@user@mastodon.social) @_x"
    assert of_kind(text, "mention") == ["@anna", "@b.c", "@user@mastodon.social", "@_x"]
    assert of_kind(text, "email") == ["me@x.org", "123@x.org"]
    assert cut("123@x.org 5", "number") == ["123@x.org", "5"]  # not cut in two, kept or not


@pytest.mark.parametrize(
    "sign",
    ["😀", "👍🏽", "👩‍👩‍👧", "👨🏽‍🚀", "🇩🇪", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "#️⃣", "❤️", "❤", "☺", "❤️‍🔥", "➡️", "🏳️‍🌈"],
)
def test_an_emoji_is_one_token(sign: str) -> None:
    assert cut(f"ok {sign}{sign} x", *KINDS) == ["ok", sign, sign, "x"]
    assert kind_of(sign) == "emoji"


def test_signs_that_are_type_are_no_emoji() -> None:
    assert cut("© ® ™ → ↔ ■ ★ * # 1 x", "emoji") == ["1", "x"]


def test_two_flags_side_by_side() -> None:
    assert cut("🇩🇪🇫🇷", "emoji") == ["🇩🇪", "🇫🇷"]


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        *[("<b>", "tag"), ("</p>", "tag"), ("https://a.b/c", "url"), ("WWW.x.de", "url"), ("ftp://a", "url")],
        *[("me@x.org", "email"), ("@me", "mention"), ("#x", "hashtag"), ("1990", "number"), ("$5", "number")],
        *[
            ("don't", "word"),
            ("1990s", "word"),
            ("", "word"),
            ("@", "email"),
            ("#", "word"),
            ("$", "word"),
            ("中国", "word"),
        ],
    ],
)
def test_kinds(raw: str, kind: str) -> None:
    assert kind_of(raw) == kind


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("https://a.b/c?d=1).", "https://a.b/c?d=1"),
        ("https://a.b/c_(d)", "https://a.b/c_(d)"),
        ("https://a.b/c_(d))", "https://a.b/c_(d)"),
        ("www.x.de/…", "www.x.de/"),
        ('https://a.b/?q="x"\'', 'https://a.b/?q="x'),
        ("https://a.b/x;!?:,", "https://a.b/x"),
    ],
)
def test_addresses_end_before_the_marks_of_the_sentence(raw: str, url: str) -> None:
    assert trim_url(raw) == url


def test_unknown_kinds() -> None:
    assert keep_patterns([]) == []
    assert check_kinds(["url", "url"]) == {"url"}
    with refuses("keep"):
        keep_patterns(["url", "smiley"])
