"""The growing vocabulary against counting by hand, and the bounds of its pruning."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.errors import UsageError
from nlpkit.text.fitted import bound, df_bounds
from nlpkit.text.normalize import Normalizer
from nlpkit.text.tokenize import cut_tokens
from nlpkit.text.vocab import EncodedBatch, Vocabulary, prune_batch
from tests.strategies import corpora, repeatable

normalize = Normalizer()


def encode(vocab: Vocabulary, documents: list[str | None]) -> EncodedBatch:
    return vocab.encode(cut_tokens(pa.array(documents, pa.string())))


def documents_of(batch: EncodedBatch, terms: list[str]) -> list[list[str]]:
    return (
        [[terms[i] for i in ids] for ids in np.split(batch.term_ids, batch.offsets[1:-1])]
        if len(batch.offsets) > 1
        else []
    )


def by_hand(documents: list[str | None]) -> list[list[str]]:
    result = []
    for text in documents:
        raw = cut_tokens(pa.array([text or ""]))
        result.append([term for c in raw.codes for term in normalize(raw.types[c])])
    return result


def test_by_hand() -> None:
    vocab = Vocabulary(normalize)
    first = encode(vocab, ["Rates rise, rates fall", "语言处理 x 12"])
    second = encode(vocab, [None, "fall RISE fall"])
    assert vocab.terms == ["rates", "rise", "fall", "语言", "言处", "处理"]
    assert (vocab.cf.tolist(), vocab.df.tolist()) == ([2, 2, 3, 1, 1, 1], [1, 2, 2, 1, 1, 1])
    assert vocab.n_docs == 4
    assert (first.offsets.tolist(), first.term_ids.tolist()) == ([0, 4, 7], [0, 1, 0, 2, 3, 4, 5])
    assert (second.offsets.tolist(), second.term_ids.tolist()) == ([0, 0, 3], [2, 1, 2])


def test_each_distinct_token_is_normalised_once() -> None:
    calls: Counter[str] = Counter()

    def normalise(raw: str) -> tuple[str, ...]:
        calls[raw] += 1
        return normalize(raw)

    vocab = Vocabulary(normalise)
    for _ in range(3):
        encode(vocab, ["one two one", "two One"])
    assert calls == {"one": 1, "two": 1, "One": 1}


def test_more_terms_than_first_reserved() -> None:
    words = [f"word{i}" for i in range(2500)]
    vocab = Vocabulary(normalize)
    for start in range(0, 2500, 500):
        encode(vocab, [" ".join(words[: start + 500])])
    assert vocab.terms == words
    assert vocab.df.tolist() == [5] * 500 + [4] * 500 + [3] * 500 + [2] * 500 + [1] * 500


@repeatable
@given(corpora())
def test_equals_counting_by_hand(documents: list[str | None]) -> None:
    vocab = Vocabulary(normalize)
    batch = encode(vocab, documents)
    expected = by_hand(documents)
    assert documents_of(batch, vocab.terms) == expected
    cf = Counter(term for doc in expected for term in doc)
    df = Counter(term for doc in expected for term in set(doc))
    known = {term for raw in cut_tokens(pa.array(documents, pa.string())).types for term in normalize(raw)}
    assert set(vocab.terms) == known == set(cf)
    assert dict(zip(vocab.terms, vocab.cf.tolist(), strict=True)) == dict(cf)
    assert dict(zip(vocab.terms, vocab.df.tolist(), strict=True)) == dict(df)


@repeatable
@given(corpora(), st.lists(st.integers(0, 12)))
def test_how_texts_are_split_into_batches_does_not_matter(documents: list[str | None], cuts: list[int]) -> None:
    whole, parts = Vocabulary(normalize), Vocabulary(normalize)
    batch = encode(whole, documents)
    edges = [0, *sorted(min(c, len(documents)) for c in cuts), len(documents)]
    pieces = [encode(parts, documents[a:b]) for a, b in pairwise(edges)]
    assert (parts.terms, parts.cf.tolist()) == (whole.terms, whole.cf.tolist())
    assert parts.df.tolist() == whole.df.tolist()
    assert parts.n_docs == whole.n_docs == len(documents)
    np.testing.assert_array_equal(np.concatenate([p.term_ids for p in pieces]), batch.term_ids)
    np.testing.assert_array_equal(np.concatenate([np.diff(p.offsets) for p in pieces]), np.diff(batch.offsets))


def test_bounds_as_counts_and_as_shares() -> None:
    assert df_bounds(200, min_df=2, max_df=1.0) == (2, 200)
    assert df_bounds(200, min_df=0.05, max_df=0.5) == (10, 100)
    assert df_bounds(200, min_df=1, max_df=150) == (1, 150)
    assert df_bounds(200, min_df=0, max_df=0.0) == (0, 0)
    assert bound(1, 50, name="min-df") == 1  # one document
    assert bound(1.0, 50, name="min-df") == 50  # all of them


def test_every_share_of_a_hundred_documents_is_a_whole_number() -> None:
    assert [bound(p / 100, 100, name="min-df") for p in range(101)] == list(range(101))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"min_df": 1.5, "max_df": 1.0}, "`min_df=1.5"),
        ({"min_df": -0.1, "max_df": 1.0}, "`min_df=-0.1"),
        ({"min_df": -1, "max_df": 1.0}, "cannot be negative"),
        ({"min_df": 1, "max_df": 2.0}, "`max_df=2.0"),
        ({"min_df": 60, "max_df": 0.5}, "no term can satisfy both"),
        ({"min_df": float("nan"), "max_df": 1.0}, "`min_df=nan"),
    ],
)
def test_bounds_that_cannot_be_meant(bounds: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        df_bounds(100, **bounds)


def test_pruning_renumbers_and_keeps_documents_in_place() -> None:
    batch = EncodedBatch(np.array([0, 3, 3, 5]), np.array([0, 1, 2, 1, 1], np.int32))
    pruned = prune_batch(batch, np.array([1, -1, 0], np.int32))
    assert (pruned.offsets.tolist(), pruned.term_ids.tolist()) == ([0, 2, 2, 2], [1, 0])
    assert batch.term_ids.tolist() == [0, 1, 2, 1, 1]


def test_pruning_a_batch_without_tokens() -> None:
    empty = EncodedBatch(np.zeros(3, np.int64), np.zeros(0, np.int32))
    assert prune_batch(empty, np.zeros(0, np.int32)).offsets.tolist() == [0, 0, 0]


def test_ids_of_a_batch_are_read_only_whoever_made_them() -> None:
    """So a kernel is compiled once for ids that Arrow stored and for others; and the array that was given stays as it was."""
    given = np.array([0, 1, 1], np.int32)
    batch = EncodedBatch(np.array([0, 3]), given)
    assert (given.flags.writeable, batch.term_ids.flags.writeable) == (True, False)
    assert np.shares_memory(given, batch.term_ids)
