"""Tokens of texts by way of their words, against the library tokenizers on whole texts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from nlpkit.embed import token_ids
from nlpkit.embed.token_ids import TokenIds, TokenReader, iterate_ids
from tests.strategies import repeatable

SIGNS = [
    *"abZé'.,-#[]<=>ßİΣς´中文가😀", "e\u0301", " ", "  ", "\n", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u3000",
    "\u0301", "\u0338", "\u200b", "\ufffd", "\x00", "[MASK]", "[CLS]", "mask", "MASK", "<e1>", "the", "The", "ﬁ", "\u00ad", "x" * 120,
]  # fmt: skip
TEXTS = st.lists(st.lists(st.sampled_from(SIGNS), max_size=20).map("".join), max_size=8)
WORDS = [
    *"abzeß'.,-#[]<=>",
    "≠",
    "≮",
    "é",
    "中",
    "the",
    "##e",
    "##a",
    "##b",
    "##the",
    "fi",
    "σ",
    "##σ",
    "##ς",
    "mask",
    "The",
    "Z",
]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go by words from the first text on."""
    monkeypatch.setattr(token_ids, "_WORTH", 0)


def bert(**settings: Any) -> Tokenizer:
    """Return a small WordPiece tokenizer with BERT's steps, or others."""
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(["[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = settings.get("normalizer", normalizers.BertNormalizer())
    tokenizer.pre_tokenizer = settings.get("splitter", pre_tokenizers.BertPreTokenizer())
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[MASK]", *settings.get("added", ())])
    return tokenizer


CASED = normalizers.BertNormalizer(strip_accents=False, lowercase=False)
KINDS = {
    "bert": bert(),
    "cased": bert(normalizer=CASED),
    "dirty": bert(normalizer=normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False)),
    "composed": bert(normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])),
    "added": bert(added=[AddedToken("<e1>", single_word=True), AddedToken("the-", normalized=True, lstrip=True)]),
    "spaces": bert(normalizer=normalizers.Lowercase(), splitter=pre_tokenizers.WhitespaceSplit()),
    "words": bert(
        normalizer=None, splitter=pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits()])
    ),
    "whole": bert(splitter=pre_tokenizers.Metaspace()),
}


def whole(tokenizer: Tokenizer, texts: list[str], keep: int) -> list[list[int]]:
    return [[1, *ids[:keep], 2] for ids in iterate_ids(tokenizer, texts)]


def rows(ids: TokenIds) -> list[list[int]]:
    return [part.tolist() for part in np.split(ids.flat, ids.starts[1:-1])] if len(ids.counts) else []


@pytest.mark.parametrize("kind", KINDS)
@repeatable
@given(texts=TEXTS, more=TEXTS)
def test_tokens_of_words_are_those_of_whole_texts(kind: str, texts: list[str], more: list[str]) -> None:
    reader = TokenReader(KINDS[kind])
    for part in (texts, more):
        for keep in (3, 1000):
            ids = TokenIds(reader, part, keep + 2)
            assert rows(ids) == whole(KINDS[kind], part, keep)
            assert ids.counts.tolist() == [len(row) for row in iterate_ids(KINDS[kind], part)]
            assert (ids.cut == np.maximum(ids.counts - keep, 0)).all()
            assert ids.lengths.tolist() == [len(row) for row in rows(ids)]


def test_which_tokenizers_are_read_by_word() -> None:
    assert {kind for kind, tokenizer in KINDS.items() if TokenReader(tokenizer).kinds is None} == {"whole"}
    spaced = bert(added=["the the"])
    assert TokenReader(spaced).kinds is None


@pytest.mark.parametrize("most", ["_MOST_WORDS", "_MOST_BYTES"])
def test_words_are_forgotten_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch, most: str) -> None:
    monkeypatch.setattr(token_ids, most, 3)
    reader = TokenReader(KINDS["bert"])
    for texts in (["the a b z"], ["e the", "a", "z z b"], ["", "b b"]):
        assert rows(TokenIds(reader, texts, 100)) == whole(KINDS["bert"], texts, 98)
    assert reader._table.n == 1  # b


def test_a_million_characters_are_read_as_they_are() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_ids, "_WORTH", 20)
        reader = TokenReader(KINDS["bert"])
        for texts, by_word in ((["the a b"] * 2, False), (["the"], False), (["the a"], True)):
            assert rows(TokenIds(reader, texts, 100)) == whole(KINDS["bert"], texts, 98)
            assert bool(reader._table.n) == by_word


def test_threads_share_what_was_read() -> None:
    texts = [f"a{i} the-{i} b{i % 7}" for i in range(4000)]
    reader = TokenReader(KINDS["bert"])
    parts = [texts[start : start + 50] for start in range(0, len(texts), 50)] * 2
    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(lambda part: rows(TokenIds(reader, part, 100)), parts))
    assert [row for part in read for row in part] == 2 * whole(KINDS["bert"], texts, 98)


def test_a_text_without_special_tokens() -> None:
    ids = TokenIds(TokenReader(KINDS["bert"]), ["the a", "", " "], 1, specials=False)
    assert ids.starts.tolist() == [0, 1, 1, 1]
    assert ids.lengths.tolist() == [1, 1, 1]
    assert ids.counts.tolist() == [2, 0, 0]
    assert ids.lay_out(np.array([1, 0, 2]), np.array([1, 3, 2])).tolist() == [0, ids.flat[0], 0, 0, 0, 0]


def test_no_texts() -> None:
    ids = TokenIds(TokenReader(KINDS["bert"]), [], 5)
    assert len(ids.flat) == len(ids.lengths) == 0
