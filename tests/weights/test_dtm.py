"""Counts of terms by document and by group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.platform.types import TokenTable
from nlpkit.weights.dtm import count_terms, document_frequency, group_rows, scale_rows
from tests.strategies import counts_dv, repeatable


def table(documents: list[list[int]], n_terms: int, dtype: Any = np.int64) -> TokenTable:
    offsets = np.cumsum([0, *map(len, documents)]).astype(dtype)
    ids = np.array([i for doc in documents for i in doc], np.int32)
    return TokenTable(offsets, ids, tuple(f"term{v}" for v in range(n_terms)))


def test_by_hand() -> None:
    dtm = count_terms(table([[2, 0, 2], [], [1]], 4))
    assert dtm.toarray().tolist() == [[1, 0, 2, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert (dtm.indices.tolist(), dtm.dtype) == ([0, 2, 1], np.int32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_tokens_come_back_as_they_went_in(dtype: Any) -> None:
    tokens = table([[2, 0, 2, 1], [1, 0]], 3, dtype)
    count_terms(tokens)
    assert (tokens.term_ids.tolist(), tokens.offsets.tolist()) == ([2, 0, 2, 1, 1, 0], [0, 4, 6])


@pytest.mark.parametrize("documents", [[], [[]], [[], [], []]])
def test_no_tokens(documents: list[list[int]]) -> None:
    dtm = count_terms(table(documents, 2))
    assert (dtm.shape, dtm.nnz) == ((len(documents), 2), 0)


@repeatable
@given(st.lists(st.lists(st.integers(0, 6)), min_size=1, max_size=10))
def test_equals_counting(documents: list[list[int]]) -> None:
    dtm = count_terms(table(documents, 7))
    expected = np.array([np.bincount(np.array(doc, int), minlength=7) for doc in documents])
    np.testing.assert_array_equal(dtm.toarray(), expected)
    np.testing.assert_array_equal(document_frequency(dtm), (expected > 0).sum(axis=0))
    assert dtm.sum() == sum(map(len, documents))


@repeatable
@given(counts_dv(), st.data())
def test_groups_add_their_rows(counts: Any, data: st.DataObject) -> None:
    n_groups = data.draw(st.integers(1, 4))
    groups = np.array([data.draw(st.integers(-1, n_groups - 1)) for _ in counts], np.int32)
    matrix = sparse.csr_array(counts)
    grouped = group_rows(matrix, groups, n_groups)
    assert grouped.dtype == np.int64  # a group may have more of a term than int32 counts
    np.testing.assert_array_equal(grouped.toarray(), [counts[groups == g].sum(axis=0) for g in range(n_groups)])
    np.testing.assert_array_equal(matrix.toarray(), counts)


@repeatable
@given(counts_dv())
def test_rows_are_scaled_in_a_copy(counts: Any) -> None:
    weights = np.linspace(0.0, 2.0, len(counts))
    matrix = sparse.csr_array(counts)
    scaled = scale_rows(matrix, weights)
    np.testing.assert_allclose(scaled.toarray(), counts * weights[:, None])
    assert scaled.dtype == np.float64
    np.testing.assert_array_equal(matrix.toarray(), counts)


def test_explicit_zeros_are_no_documents() -> None:
    dtm = sparse.csr_array((np.array([1, 0], np.int32), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert document_frequency(dtm).tolist() == [1, 0]
