"""Vectors of words learned from a corpus."""

from __future__ import annotations

import numpy as np
import pytest

from nlpkit.embed import word2vec
from nlpkit.embed.word2vec import train_word2vec
from nlpkit.errors import MissingError
from nlpkit.types import TokenTable


def token_table(texts: list[list[str]]) -> TokenTable:
    terms = sorted({word for text in texts for word in text})
    ids = np.array([terms.index(word) for text in texts for word in text], np.int32)
    return TokenTable(np.cumsum([0, *map(len, texts)]).astype(np.int64), ids, tuple(terms))


def planted() -> list[list[str]]:
    rng = np.random.default_rng(0)
    halves = [["sun", "moon", "star", "sky"], ["court", "judge", "law", "jury"]]
    return [list(rng.choice(halves[d % 2], 8)) for d in range(600)]


def test_equals_gensim() -> None:
    models = pytest.importorskip("gensim.models")
    texts = planted()
    expected = models.Word2Vec(texts, min_count=1, workers=1, seed=7).wv
    words = ["court", "nowhere", "sun"]
    vectors, known = train_word2vec(token_table(texts), words, seed=7)
    assert known.tolist() == [True, False, True]
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors[[0, 2]], np.stack([expected["court"], expected["sun"]]))
    assert not vectors[1].any()


def test_the_same_seed_gives_the_same_vectors_and_words_of_one_theme_are_near() -> None:
    pytest.importorskip("gensim")
    tokens, words = token_table(planted() * 5), ["sun", "moon", "court", "judge"]
    vectors, _ = train_word2vec(tokens, words, seed=1)
    assert np.array_equal(vectors, train_word2vec(tokens, words, seed=1)[0])
    assert not np.array_equal(vectors, train_word2vec(tokens, words, seed=2)[0])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    assert min(cosines[0, 1], cosines[2, 3]) > max(cosines[0, 2], cosines[0, 3], cosines[1, 2], cosines[1, 3]) + 0.2


def test_a_document_of_any_length_is_read_to_its_end() -> None:
    pytest.importorskip("gensim")
    text = ["a", "b"] * 5_000 + ["late"] * 20
    assert train_word2vec(token_table([text]), ["late"], seed=1)[1].all()


def test_no_words() -> None:
    pytest.importorskip("gensim")
    vectors, known = train_word2vec(TokenTable(np.zeros(1, np.int64), np.zeros(0, np.int32), ()), ["a"], seed=1)
    assert (vectors.shape, known.tolist()) == ((1, 100), [False])


def test_without_gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word2vec, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match="needs the extra 'words'"):
        train_word2vec(token_table([["a", "b"]]), ["a"], seed=1)
