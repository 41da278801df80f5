"""Texts to raw tokens: what is one token, and where each document begins."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from nlpkit.text.tokenize import cut_tokens
from tests.strategies import corpora, repeatable


def cut(text: str) -> list[str]:
    raw = cut_tokens(pa.array([text]))
    return [raw.types[c] for c in raw.codes]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't stop.", ["Don't", "stop"]),
        ("He said 'yes', didn’t he?", ["He", "said", "yes", "didn’t", "he"]),
        ("don\x92t \x91rock \x91n\x92 roll\x92, 5\x92 \x96 it\x85", ["don\x92t", "rock", "n", "roll", "5", "it"]),
        ("AT&T and R&D", ["AT&T", "and", "R&D"]),
        ("ein 1,5-Grad-Ziel, 3.5-fold. In 2,5", ["ein", "1,5-Grad-Ziel", "3.5-fold", "In", "2,5"]),
        ("at 10.30am, 1,000.50 of 2.The", ["at", "10.30am", "1,000.50", "of", "2", "The"]),
        ("her Ph.D., his M.Sc. and z.B. so", ["her", "Ph.D.", "his", "M.Sc.", "and", "z.B.", "so"]),
        ("yes.no. it.So.x abcd.e.", ["yes", "no", "it", "So", "x", "abcd", "e"]),
        ("the U.S.A. in 1999", ["the", "U.S.A.", "in", "1999"]),
        ("state-of-the-art -- really", ["state-of-the-art", "really"]),
        ("That U.S.A. poster-print costs $12.40...", ["That", "U.S.A.", "poster-print", "costs", "12.40"]),
        ("über cafe\u0301 Donau\u00addampf", ["über", "cafe\u0301", "Donau\u00addampf"]),
        ("see https://a.b/c?d=1&e=2, or WWW.X.de", ["see", "https://a.b/c?d=1&e=2,", "or", "WWW.X.de"]),
        ("mail first.last+tag@mail.example.org now", ["mail", "first.last+tag@mail.example.org", "now"]),
        (
            '<p class="x">Hi</p> &#39;a&#x27; &nbsp; </p>',
            ['<p class="x">', "Hi", "</p>", "&#39;a&#x27;", "&nbsp;", "</p>"],
        ),
        ("Hi&nbsp;you, S&amp;P; caf&eacute;s", ["Hi&nbsp;you", "S&amp;P", "caf&eacute;s"]),
        ("Q&A; then R&D;", ["Q&A", "then", "R&D"]),
        ("a < b and c > d", ["a", "b", "and", "c", "d"]),
        ("自然语言，处理。", ["自然语言", "处理"]),
        ("ภาษาไทย คือ", ["ภาษาไทย", "คือ"]),
        ("#tag @user 😀", ["tag", "user"]),
        ("", []),
        (" \n\t…!?", []),
    ],
)
def test_one_text(text: str, tokens: list[str]) -> None:
    assert cut(text) == tokens


def test_the_sentence_of_the_lecture_has_13_tokens_of_12_types() -> None:
    raw = cut_tokens(pa.array(["they bought a swimming pool for their apartment in San Francisco and they"]))
    assert (len(raw.codes), len(raw.types)) == (13, 12)


def test_offsets_null_and_empty() -> None:
    raw = cut_tokens(pa.array(["b a", None, "", "a c a"]))
    assert raw.offsets.tolist() == [0, 2, 2, 2, 5]
    assert raw.types == ["b", "a", "c"]  # in order of first appearance
    assert (raw.codes.tolist(), raw.offsets.dtype) == ([0, 1, 1, 2, 1], np.int64)
    assert raw.codes.dtype == np.int32


@pytest.mark.parametrize("texts", [pa.array([], pa.string()), pa.array([None, None], pa.string())])
def test_no_text_at_all(texts: pa.Array) -> None:
    raw = cut_tokens(texts)
    assert raw.offsets.tolist() == [0] * (len(texts) + 1)
    assert len(raw.codes) == len(raw.types) == 0


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_slices_of_an_array(kind: pa.DataType) -> None:
    part = pa.array(["no no", "one two", None, "three"], kind).slice(1)
    raw = cut_tokens(part)
    assert (raw.offsets.tolist(), raw.types) == ([0, 2, 2, 3], ["one", "two", "three"])


def test_another_pattern() -> None:
    assert cut_tokens(pa.array(["a1 b2"]), r"[0-9]").types == ["1", "2"]


@repeatable
@given(corpora())
def test_tokens_are_found_in_their_text_in_order(documents: list[str | None]) -> None:
    raw = cut_tokens(pa.array(documents, pa.string()))
    assert (raw.offsets[0], raw.offsets[-1]) == (0, len(raw.codes))
    for d, text in enumerate(documents):
        at = 0
        tokens = [raw.types[c] for c in raw.codes[raw.offsets[d] : raw.offsets[d + 1]]]
        for token in tokens:
            found = (text or "").find(token, at)
            assert found >= at
            at = found + len(token)
        # plain words of the text are never lost
        for word in re.findall(r"(?<!\S)[A-Za-z]{2,}(?!\S)", text or ""):
            assert word in tokens
