"""N-grams of batches, against scikit-learn and by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from nlpkit.platform.types import IntArray
from nlpkit.text.fitted import NgramVocabulary
from nlpkit.text.vocab import EncodedBatch
from tests.refusals import refuses
from tests.strategies import repeatable

TERMS = ("i", "am", "sam", "green", "eggs", "ham")
DOCUMENTS = st.lists(st.lists(st.integers(0, len(TERMS) - 1), max_size=12), max_size=8)


def batch(documents: list[list[int]]) -> EncodedBatch:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return EncodedBatch(offsets, np.array([t for d in documents for t in d], np.int32))


def rows(found: EncodedBatch) -> list[list[int]]:
    return [found.term_ids[a:b].tolist() for a, b in pairwise(found.offsets.tolist())]


def test_sentences_of_the_lecture() -> None:  # L1475: P(am | I) = 2/3, P(do | I) = 1/3
    words = ["I am Sam", "Sam I am", "I do not like ham and eggs"]
    names = sorted({w for text in words for w in text.split()})
    vocab = NgramVocabulary(1, 2)
    vocab.encode(batch([[names.index(w) for w in text.split()] for text in words]))
    cf = dict(zip(vocab.terms(names, np.arange(len(vocab))), vocab.cf.tolist(), strict=True))
    assert cf["I am"] / cf["I"] == 2 / 3
    assert cf["I do"] / cf["I"] == 1 / 3
    assert "Sam Sam" not in cf  # no n-gram crosses the end of a document


def test_ids_in_order_of_first_appearance_short_ones_first() -> None:
    vocab = NgramVocabulary(1, 3)
    found = vocab.encode(batch([[0, 1, 0], [1], []]))
    assert vocab.words(np.arange(len(vocab))) == [(0,), (1,), (0, 1), (1, 0), (0, 1, 0)]
    assert rows(found) == [[0, 1, 0, 2, 3, 4], [1], []]
    assert vocab.terms(["new", "york"], np.array([4, 3]), "_") == ["new_york_new", "york_new"]
    assert (vocab.cf.tolist(), vocab.df.tolist(), vocab.n_docs) == ([2, 2, 1, 1, 1], [1, 2, 1, 1, 1], 3)


@pytest.mark.parametrize("n_range", [(1, 1), (1, 2), (2, 2), (1, 3), (3, 4)])
@repeatable
@given(DOCUMENTS)
def test_equals_scikit_learn(n_range: tuple[int, int], documents: list[list[int]]) -> None:
    vocab = NgramVocabulary(*n_range)
    found = vocab.encode(batch(documents))
    names = vocab.terms(TERMS, np.arange(len(vocab)))
    if not names:  # scikit-learn refuses an empty vocabulary
        assert not any(len(d) >= n_range[0] for d in documents)
        return
    texts = [[TERMS[t] for t in d] for d in documents]
    outside = CountVectorizer(analyzer="word", tokenizer=lambda x: x, preprocessor=lambda x: x, token_pattern=None,
                              lowercase=False, ngram_range=n_range)  # fmt: skip
    expected = outside.fit_transform(texts).toarray()
    columns = [outside.vocabulary_[name] for name in names]
    counts = np.array([np.bincount(row, minlength=len(names)) for row in rows(found)])
    assert len(columns) == expected.shape[1]
    np.testing.assert_array_equal(counts, expected[:, columns])
    np.testing.assert_array_equal(vocab.cf, expected[:, columns].sum(0))
    np.testing.assert_array_equal(vocab.df, (expected[:, columns] > 0).sum(0))


@repeatable
@given(DOCUMENTS, st.integers(0, 8), st.integers(1, 3), st.integers(0, 2))
def test_result_does_not_depend_on_the_batches(documents: list[list[int]], cut: int, n_min: int, more: int) -> None:
    whole, parts = NgramVocabulary(n_min, n_min + more), NgramVocabulary(n_min, n_min + more)
    at_once = rows(whole.encode(batch(documents)))
    in_two = rows(parts.encode(batch(documents[:cut]))) + rows(parts.encode(batch(documents[cut:])))
    assert at_once == in_two
    ids = np.arange(len(whole))
    assert (whole.words(ids), whole.cf.tolist()) == (parts.words(ids), parts.cf.tolist())
    assert whole.df.tolist() == parts.df.tolist()


def test_a_vocabulary_of_many_terms_grows() -> None:
    rng = np.random.default_rng(0)
    documents: list[IntArray] = [rng.integers(0, 3000, 500).astype(np.int32) for _ in range(40)]
    vocab = NgramVocabulary(1, 2)
    found = vocab.encode(EncodedBatch(np.arange(41, dtype=np.int64) * 500, np.concatenate(documents)))
    pairs = [tuple(p) for d in documents for p in zip(d[:-1].tolist(), d[1:].tolist(), strict=True)]
    assert len(vocab) == len(set(pairs)) + len(np.unique(documents))
    words = vocab.words(found.term_ids)
    assert [w for w in words if len(w) == 2] == pairs
    assert vocab.cf.sum() == 40 * (500 + 499)


def test_gaps_are_in_no_ngram() -> None:
    vocab = NgramVocabulary(1, 2)
    assert rows(vocab.encode(batch([[2, -1, 2, 3], [-1]]))) == [[0, 0, 1, 2], []]
    assert (vocab.cf.tolist(), vocab.df.tolist()) == ([2, 1, 1], [1, 1, 1])


@pytest.mark.parametrize("n_range", [(0, 1), (2, 1), (-1, 3)])
def test_a_range_that_cannot_be_meant(n_range: tuple[int, int]) -> None:
    with refuses("ngrams"):
        NgramVocabulary(*n_range)


def test_longer_ngrams_than_any_document_take_no_time() -> None:
    for n_min, n_max in ((1, 10**12), (1, 10**30), (3, 10**12), (10**12, 10**30)):
        ngrams = NgramVocabulary(n_min, n_max)
        assert (len(ngrams.encode(batch([[0, 1], [], [0]])).offsets), ngrams.n_docs) == (4, 3)
        assert ngrams.words(np.arange(len(ngrams))) == ([(0,), (1,), (0, 1)] if n_min == 1 else [])
