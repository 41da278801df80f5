"""Features without a vocabulary: by hand, against Python's own Unicode tables, and that none is ever NaN."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.classify.features import HAND_FEATURES, hand_features
from nlpkit.platform.types import FloatArray
from nlpkit.text.surface import _EMOJI
from tests.strategies import corpora, repeatable

NAMES = list(HAND_FEATURES)
SHARES = [
    NAMES.index(n) for n in ("type_token_ratio", "upper_share", "capital_words", "digit_share", "punctuation_share")
]


def features(texts: Sequence[str | None]) -> FloatArray:
    return hand_features(pa.array(texts, pa.string()))


def of(text: str | None, name: str) -> float:
    """Return a share, or the number behind a logarithm."""
    value = float(features([text])[0, NAMES.index(name)])
    return value if NAMES.index(name) in SHARES else float(np.expm1(value))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("Grüße, ok", "characters", 9),
        ("👍🏽", "characters", 2),  # code points
        ("one two,three", "words", 3),
        ("don't we’re rock'n'roll 'quoted'", "words", 4),
        ("Straße über_alles 3.5", "words", 5),
        ("cafe\u0301 x", "words", 2),
        ("कि नमस्ते", "words", 2),
        ("自然语言处理。", "words", 6),
        ("第3章ABC", "words", 4),
        ("สวัสดี", "words", 4),  # letters; the marks stay with them
        ("안녕 하세요", "words", 2),
        ("𠀀𠀁", "words", 2),
        ("... !", "words", 0),
        ("One. Two! Three", "sentences", 3),
        ("One... two?! three.", "sentences", 3),
        ("He said “Stop.” Then went (at 3.5 km.) So", "sentences", 3),
        ("It costs 3.50, see x.y", "sentences", 1),
        ("? ! . ...", "sentences", 0),
        ("One\ntwo\n \nthree\r\n\r\nfour\n\n\n", "sentences", 3),
        ("你好。再见！嗯", "sentences", 3),
        ("See http://x.org. Then go", "sentences", 2),
        ("ab abcd", "word_length", 3),
        ("One two three. Four.", "sentence_length", 2),
        ("The the THE cat", "type_token_ratio", 0.5),
        ("İi Ää", "type_token_ratio", 1.0),
        ("ÄbC d", "upper_share", 0.5),
        ("语言", "upper_share", 0.0),
        ("I am VERY ÄRGERLICH, A1 B2B", "capital_words", 3 / 6),
        ("a1 ٢3", "digit_share", 3 / 4),
        ("½²", "digit_share", 0.0),
        ("a, b!", "punctuation_share", 2 / 4),
        ("don't $", "punctuation_share", 1 / 6),
        ("wow!!! ！¡", "exclamations", 4),
        ("what?? ？؟ ¿", "questions", 4),
        ('"a" „b“ «c» 「d」 don\'t ’', "quotes", 8),
        ("http://a.b, (https://c.d/e?f=G1!) WWW.x.de ftp://q; xwww.no http:// www. https", "links", 4),
        ("HTTP://ABC.DE/12", "upper_share", 0.0),
        ("HTTP://ABC.DE/12!", "punctuation_share", 1.0),
        ("x http://a.b/ y", "punctuation_share", 0.0),
        ("http://a.b", "characters", 10),
        ("@me hi @_you me@host.org @ @@two .@three", "mentions", 4),
        ("#one #2 #3d C# a#b #größe (#in)", "hashtags", 4),
        ("😀😀 ok", "emoji", 2),
        ("👨‍👩‍👧 👍🏽 🇩🇪🇫🇷 1️⃣ ❤️ ©️ ♥ 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "emoji", 9),
        ("👍👍🏽🇩 © ™ → ✓ 1", "emoji", 2),
        ("👩‍ 👧", "emoji", 2),
        ("a\nb\r\nc\rd\u2028e", "line_breaks", 4),
        ("a<br>b<BR />c<br/>d <brx> <b>", "line_breaks", 3),
        ("a<br /><br />b", "sentences", 2),
        ("a<br>b", "words", 2),
    ],
)
def test_by_hand(text: str, name: str, value: float) -> None:
    assert of(text, name) == pytest.approx(value, rel=1e-12)


def test_of_no_text() -> None:
    assert features([]).shape == (0, len(HAND_FEATURES))
    assert not features(["", None]).any()
    found = features(["x", None, " \n"])
    assert found[1].tolist() == [0.0] * len(HAND_FEATURES)
    assert np.flatnonzero(found[2]).tolist() == [NAMES.index("characters"), NAMES.index("line_breaks")]


@repeatable
@given(corpora())
def test_what_python_says(documents: list[str | None]) -> None:
    found = features(documents)
    assert found.shape == (len(documents), len(HAND_FEATURES))
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found[:, SHARES] <= 1).all()
    for row, document in zip(found, documents, strict=True):
        text = document or ""
        numbers = dict(zip(NAMES, row.tolist(), strict=True))
        assert np.expm1(numbers["characters"]) == pytest.approx(len(text))
        assert (numbers["words"] > 0) == (numbers["sentences"] > 0) == (numbers["type_token_ratio"] > 0)
        if re.search(r"://|www\.|<br", text, re.IGNORECASE):
            continue
        kinds = [unicodedata.category(c) for c in text]
        seen = sum(not c.isspace() for c in text)
        # planes 2 and 3 are Han, also what this Python's Unicode has not assigned yet
        letters = sum(k[0] == "L" or 0x20000 <= ord(c) < 0x40000 for c, k in zip(text, kinds, strict=True))
        assert numbers["digit_share"] == pytest.approx(kinds.count("Nd") / seen if seen else 0)
        assert numbers["punctuation_share"] == pytest.approx(sum(k[0] == "P" for k in kinds) / seen if seen else 0)
        upper = kinds.count("Lu") + kinds.count("Lt")
        assert numbers["upper_share"] == pytest.approx(upper / letters if letters else 0)


@repeatable
@given(st.lists(st.sampled_from(["Haus", "don't", "EU", "größer", "3", "x²", "naïve", "Straße", "ok"]), max_size=20))
def test_words_and_types(words: list[str]) -> None:
    for between in (" ", ", ", "\n", " - "):
        row = dict(zip(NAMES, features([between.join(words)])[0].tolist(), strict=True))
        assert np.expm1(row["words"]) == pytest.approx(len(words))
        assert row["type_token_ratio"] == pytest.approx(len({w.lower() for w in words}) / len(words) if words else 0)
        assert row["capital_words"] == pytest.approx(words.count("EU") / len(words) if words else 0)
        length = sum(len(w.replace("'", "")) for w in words) / len(words) if words else 0
        assert np.expm1(row["word_length"]) == pytest.approx(length)


@repeatable
@given(corpora())
def test_rows_do_not_depend_on_their_neighbours(documents: list[str | None]) -> None:
    whole = features(documents)
    part = pa.array([*documents, "x y"], pa.large_string()).slice(1)
    assert np.array_equal(hand_features(part)[:-1], whole[1:])
    for row, document in zip(whole, documents, strict=True):
        assert np.array_equal(features([document])[0], row)


def test_emoji_are_those_of_the_tokeniser() -> None:
    import polars as pl

    from nlpkit.text.tokenize import EMOJI_PATTERN

    points = [point for point in range(0x80, 0x20000) if not 0xD800 <= point < 0xE000]
    ours: set[int] = set()
    for run in _EMOJI.split():
        ends = [int(end, 16) for end in run.split("-")]
        ours.update(range(ends[0], ends[-1] + 1))
    theirs = pl.Series([chr(point) for point in points]).str.contains(f"^(?:{EMOJI_PATTERN})$").to_list()
    assert ours == {point for point, is_one in zip(points, theirs, strict=True) if is_one}


def test_long_texts_take_time_in_proportion() -> None:
    features(["warm up"])
    start = time.process_time()
    found = features(["http://" * 100_000, "'" * 1_000_000, "#1" * 200_000, "<br" * 300_000, "a " * 1_000_000])
    assert time.process_time() - start < 5
    assert np.isfinite(found).all()
