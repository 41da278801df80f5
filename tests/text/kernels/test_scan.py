"""The scanner of the default tokens against the regular expression that says what it does."""

from __future__ import annotations

import itertools
import re
import unicodedata
from itertools import pairwise

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.text.kernels import scan
from nlpkit.text.tokenize import (
    _PLAIN,
    JOINERS,
    RawTokens,
    character_classes,
    cut_tokens,
    scan_runs,
    scan_tokens,
    string_buffers,
)
from tests.strategies import corpora, repeatable

# pieces that begin, go on with, or just miss every alternative of the pattern
PIECES = [
    "<", ">", "</", "<b>", "<a href='x'>", "<1>", "< b>", "http", "https", "HTTPS://", "http://", "://", "www", "WWW.", "www.", "/", "\"",
    "@", "a@b.c", "x.y+z@q-r.st", "@b.c", "a@", "a@b", "a@b.", ".", "..", "U.", "U.S.", "ü.", "1.", "&", "&amp;", "&amp", "&a;", "&ab;",
    "&#1;", "&#x1f;", "&#X1F", "&#12345678;", "&#x1234567;", "&", ";", "'", "’", "‘", "-", "‐", "‑", "_", "%", "+", "\u00ad", "\u200c",
    "\u200d", "\u0308", "a", "Z", "é", "ß", "9", "½", "Ⅻ", "日", "本", "ア", "ภ", "न", "म", "😀", " ", "\n", "\u00a0", "\u3000", "ſ", "K",
    "don", "t", "#tag", "$12.40", "a_b", "\u2028", "\x00", "\x7f", "\U000323af", "\U000e0100", "\x92",
    "ftp", "FTP://", "f", "\x1b", "\x1b[", "\x1b[1;31m", "\x1b[m", "[", "?", "…", "´", "`", "′", "＇", "＆", "－", "·", "א", "ג",
    "ץ", "\ufb2a",
    "\u05b0", "״", "”", "׳", "׃", 'צה"ל', "ג'",
]  # fmt: skip


# Behind a run of ASCII letters and digits these end the word, and no address or abbreviation can begin before them.
ENDS = ' \t\n\r\v\f,;!?"()[]{}<>=/*#$^~|\\'


def classes_of_engine() -> np.ndarray:
    """Return the flags of every code point (0x110000,) uint8 as the engine of the patterns sees them; see `unicode_runs`.

    Only planes 0 to 3 and the first of plane 14 are asked: the others have no letters (a test looks).
    """
    codes = np.concatenate([np.arange(0xD800), np.arange(0xE000, 0x40000), np.arange(0xE0000, 0xE1000)]).astype("<u4")
    every = pl.Series([codes.tobytes().decode("utf-32-le")])
    flags = np.zeros(0x110000, np.uint8)
    for inside, flag in (
        (r"\p{L}", scan.START | scan.IN | scan.LOCAL | scan.RUN | scan.LETTER),
        (r"\p{N}", scan.START | scan.IN | scan.LOCAL | scan.RUN),
        (r"\p{M}", scan.IN),
        (r"\s", scan.SPACE),
    ):
        for run in every.str.extract_all(f"{inside}+")[0]:
            flags[ord(run[0]) : ord(run[-1]) + 1] |= flag  # the surrogates inside do not occur in UTF-8
    for inside, flag in (
        ("_\u00ad\u200c\u200d", scan.IN),
        (JOINERS, scan.JOIN),
        ("._%+-", scan.LOCAL),
        ("_", scan.RUN),
        (ENDS, scan.ENDS),
    ):
        flags[[ord(c) for c in inside]] |= flag
    return flags


def tangled() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def same(found: RawTokens, wanted: RawTokens) -> bool:
    return (
        found.offsets.tolist() == wanted.offsets.tolist()
        and found.codes.tolist() == wanted.codes.tolist()
        and found.types == wanted.types
    )


@repeatable
@given(st.lists(st.one_of(st.none(), tangled(), tangled(), tangled()), max_size=40))
def test_tangled_pieces(documents: list[str | None]) -> None:
    texts = pa.array(documents, pa.string())
    assert same(scan_tokens(texts), cut_tokens(texts))


@repeatable
@given(corpora())
def test_corpora(documents: list[str | None]) -> None:
    texts = pa.array(documents, pa.large_string())
    assert same(scan_tokens(texts), cut_tokens(texts))


@repeatable
@given(st.lists(tangled(), max_size=20))
def test_without_junk_the_rest_is_the_same(documents: list[str]) -> None:
    texts = pa.array(documents, pa.string())
    every, rest = scan_tokens(texts), scan_tokens(texts, junk=False)
    types = every.types
    junk = [t[0] in "<\x1b" or "@" in t or "://" in t or t[:4].lower() == "www." for t in types]
    expected = [
        [types[c] for c in every.codes[a:b] if not junk[c]]
        for a, b in zip(every.offsets, every.offsets[1:], strict=False)
    ]
    found = [[rest.types[c] for c in rest.codes[a:b]] for a, b in zip(rest.offsets, rest.offsets[1:], strict=False)]
    assert found == expected


@repeatable
@given(st.lists(tangled(), max_size=20))
def test_runs_are_the_tokens_of_scikit_learn(documents: list[str]) -> None:
    documents = [text.replace("\U000323af", "") for text in documents]  # a letter since Unicode 15; Python 3.11 has 14
    raw = scan_runs(pa.array(documents, pa.string()))
    found = [[raw.types[c] for c in raw.codes[a:b]] for a, b in pairwise(raw.offsets)]
    pattern = re.compile(r"(?u)\b\w\w+\b")
    assert found == [pattern.findall(text.lower()) for text in documents]


def test_lower_case_is_that_of_ascii_and_not_of_entities() -> None:
    raw = scan_tokens(pa.array(["The THE ÉTÉ &Prime;X USA U.S. A&B S&amp;P"]), lower=True)
    assert raw.types == ["the", "ÉtÉ", "&Prime;X", "usa", "u.s.", "a&b", "S&amp;P"]
    assert raw.codes.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_more_types_than_there_is_room_for_at_first() -> None:
    words = [f"w{i}x" for i in range(70_000)]
    long = ["y" * 300_000, "z" * 300_001]
    texts = pa.array([" ".join(words), " ".join(long), " ".join(words[::-1])])
    raw = scan_tokens(texts)
    assert (raw.types, raw.codes[-1]) == (words + long, 0)
    assert raw.offsets.tolist() == [0, 70_000, 70_002, 140_002]


@pytest.mark.parametrize("text", ["y", "7", "日", "a b", "a b c", "1 2 3 4 5 6 7 8 9", "U.S.A", "x<a>x<b>x"])
@pytest.mark.parametrize("n_docs", [1, 2, 999])
def test_as_many_tokens_as_there_can_be(text: str, n_docs: int) -> None:
    texts = pa.array([text] * n_docs)
    assert same(scan_tokens(texts), cut_tokens(texts))
    assert same(scan_tokens(texts.slice(1)), cut_tokens(texts.slice(1)))
    assert scan_runs(texts, least=1).offsets[-1] == n_docs * len(re.findall(r"\w+", text))


def test_the_scanner_stops_where_the_room_ends() -> None:
    """Whatever the room at first for tokens, types and their bytes, the tokens are the same."""
    texts = pa.array(["one two one", "", "three", "a b c d e one three"])
    wanted = cut_tokens(texts)
    data, offsets = string_buffers(texts)
    for n_codes, n_types, n_bytes in itertools.product((0, 1, 10, 11, 12), (0, 1, 7, 8, 9), (0, 2, 3, 15, 16, 17)):
        codes, types = np.full(n_codes + 1, -7, np.int32), np.full((n_types + 1, 4), -7, np.int64)
        arena, ends = np.full(n_bytes + 1, 77, np.uint8), np.zeros(5, np.int64)
        state = np.zeros(5, np.int64)
        done = scan.scan_tokens(
            data, offsets, character_classes(), _PLAIN, True, 0, np.full(32, -1, np.int32), types[:-1],
            arena[:-1], codes[:-1], ends, state,
        )  # fmt: skip
        assert done == (n_codes >= 11 and n_types >= 8 and n_bytes >= 16)
        assert (codes[-1], arena[-1], types[-1].tolist()) == (-7, 77, [-7] * 4)
        assert codes[: state[2]].tolist() == wanted.codes[: state[2]].tolist()
        assert state[2] <= n_codes
        assert state[3] <= n_types
        assert state[4] <= n_bytes


def test_a_slice_of_a_longer_array() -> None:
    texts = pa.array(["no no", "one two", None, "three"], pa.string())
    assert same(scan_tokens(texts.slice(1)), cut_tokens(texts.slice(1)))


@pytest.mark.parametrize("length", [299, 300, 301])
def test_the_longest_tag(length: int) -> None:
    texts = pa.array([f"<a{'é' * length}>b"])
    assert same(scan_tokens(texts), cut_tokens(texts))


def test_the_classes_of_all_characters() -> None:
    """The table asks the engine about some planes only: no letter, mark, number or space may lie in the others."""
    classes = character_classes()
    assert (classes == classes_of_engine()).all()
    for plane in range(0x40000, 0x110000, 0x10000):
        block = "".join(map(chr, range(plane, plane + 0x10000)))
        for inside, flag in ((r"\p{L}", scan.LETTER), (r"[\p{M}\p{L}\p{N}]", scan.IN), (r"\s", scan.SPACE)):
            found = "".join(pl.Series([block]).str.extract_all(inside)[0])
            assert [ord(c) for c in found] == (plane + np.flatnonzero(classes[plane : plane + 0x10000] & flag)).tolist()
    for c in "aZéß日ア":
        assert classes[ord(c)] & scan.LETTER
        assert unicodedata.category(c)[0] == "L"


def test_documents_as_long_as_you_like_take_linear_time() -> None:
    """Runs that could be the beginning of an address, over and over, are looked at once."""
    for piece in ("a.b.", "a@", "&a", "<a ", "www", "h", "a-"):
        text = piece * (400_000 // len(piece))
        assert scan_tokens(pa.array([text])).offsets[-1] >= 1
