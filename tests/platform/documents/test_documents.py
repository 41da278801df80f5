"""Columns of a document table to arrays and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.embed.encoder import unit_length
from nlpkit.errors import ColumnError, UsageError
from nlpkit.platform.documents.arrays import (
    add_column,
    embedding_column,
    embedding_matrix,
    has_unit_rows,
    token_table,
    tokens_column,
)

tokens = st.lists(st.lists(st.sampled_from(["river", "bank", "ä", "漢字", "don't"]), max_size=6), max_size=8)


def strings(table: Any) -> list[list[str]]:
    at = table.offsets
    return [[table.terms[t] for t in table.term_ids[at[d] : at[d + 1]]] for d in range(table.n_docs)]


@given(st.lists(tokens, min_size=1, max_size=3), st.sampled_from(["list", "large", "codes", "views"]))
def test_tokens_to_ids_and_back(chunks: list[list[list[str]]], kind: str) -> None:
    type_ = {
        "list": pa.list_(pa.string()),
        "large": pa.large_list(pa.large_string()),
        "codes": pa.list_(pa.dictionary(pa.int32(), pa.string())),
        "views": pa.large_list(pa.string_view()),  # as Polars has them
    }[kind]
    column = pa.chunked_array([pa.array(chunk, type_) for chunk in chunks], type_)
    found = token_table(column)
    flat = [row for chunk in chunks for row in chunk]
    assert strings(found) == flat
    assert list(found.terms) == list(dict.fromkeys(t for row in flat for t in row))  # in order of first appearance
    assert (found.offsets.dtype, found.term_ids.dtype) == (np.int64, np.int32)
    back = tokens_column(found.offsets, found.term_ids, pa.array(found.terms, pa.string()))
    assert (back.to_pylist(), len(back.flatten().dictionary)) == (flat, len(found.terms))


def test_tokens_of_slices_and_nulls() -> None:
    array = pa.array([["a"], ["b", "a"], None, [], ["c"]], pa.list_(pa.string()))
    assert strings(token_table(pa.chunked_array([array.slice(1)]))) == [["b", "a"], [], [], ["c"]]
    assert token_table(pa.chunked_array([], pa.list_(pa.string()))).n_docs == 0
    assert strings(token_table(pa.chunked_array([pa.array([[], []], pa.list_(pa.null()))]))) == [[], []]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a b"]),
        pa.array([[1]]),
        pa.array([["a", None]]),
    ],
)
def test_tokens_that_are_none(array: pa.Array) -> None:
    with pytest.raises(ColumnError):
        token_table(pa.chunked_array([array]))


def test_embeddings_are_normalised_and_come_back() -> None:
    vectors = np.array([[3, 4], [0, 0], [1e-3, 0]], np.float32)
    column = embedding_column(vectors)
    assert column.type == pa.list_(pa.float32(), 2)
    assert embedding_matrix(pa.chunked_array([column])).tolist() == [[np.float32(0.6), np.float32(0.8)], [0, 0], [1, 0]]
    unit = np.array([[0.6, 0.8]], np.float32)
    assert np.array_equal(embedding_matrix(pa.chunked_array([embedding_column(unit)])), unit)  # not a bit is changed


@pytest.mark.parametrize(
    "type_",
    [
        pa.list_(pa.float32()),
        pa.list_(pa.float64()),
        pa.large_list(pa.float16()),
        pa.list_(pa.int64()),
        pa.list_(pa.float64(), 2),
    ],
)
def test_embeddings_of_other_types(type_: pa.DataType) -> None:
    values = [[np.float16(1), np.float16(0)], [np.float16(0), np.float16(2)]]
    array = pa.array([[int(x) for x in v] for v in values] if type_ == pa.list_(pa.int64()) else values, type_)
    both = pa.chunked_array([array, array.slice(1)])
    assert embedding_matrix(both).tolist() == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["x"]),
        pa.array([["x"]]),
        pa.array([[[1.0]]]),
        pa.array([[1.0], [1.0, 2.0]]),
        pa.array([[1.0], None]),
        pa.array([[1.0, float("nan")]]),
        pa.array([[1.0, float("inf")]]),
        pa.array([[1.0, None]]),
    ],
)
def test_embeddings_that_are_none(array: pa.Array) -> None:
    with pytest.raises(ColumnError):
        embedding_matrix(pa.chunked_array([array]))


def test_a_column_is_appended_or_replaced_in_place() -> None:
    batch = pa.record_batch({"a": [1], "b": [2]})
    assert add_column(batch, "c", pa.array([3])).to_pylist() == [{"a": 1, "b": 2, "c": 3}]
    assert add_column(batch, "a", pa.array(["x"])).to_pylist() == [{"a": "x", "b": 2}]


unit_vectors = st.integers(0, 2**32 - 1).map(
    lambda seed: unit_length(np.random.default_rng(seed).normal(size=(7, 16)).astype(np.float32))
)


@given(unit_vectors, st.sampled_from([("float32", 0.0), ("float16", 1e-3), ("int8", 5e-3), ("binary", 1.0)]))
def test_small_types_keep_directions(vectors: Any, kind: tuple[str, float]) -> None:
    dtype, error = kind
    column = pa.chunked_array([embedding_column(vectors[:3], dtype), embedding_column(vectors[3:], dtype)])
    for unit in (True, False):
        back = embedding_matrix(column, unit=unit)
        assert (back.shape, back.dtype) == (vectors.shape, np.float32)
        assert np.abs(back - vectors).max() <= error
    np.testing.assert_allclose(np.linalg.norm(embedding_matrix(column), axis=1), 1, atol=1e-3)
    assert has_unit_rows(column)
    if dtype == "binary":
        np.testing.assert_array_equal(back, np.where(vectors > 0, 0.25, -0.25))


@pytest.mark.parametrize(("dtype", "n_bytes"), [("float32", 64), ("float16", 32), ("int8", 16), ("binary", 2)])
def test_bytes_of_a_row(dtype: str, n_bytes: int) -> None:
    column = embedding_column(np.ones((10, 16), np.float32), dtype)
    assert column.nbytes == 10 * n_bytes
    assert embedding_matrix(pa.chunked_array([column.slice(2, 5)])).tolist() == [[0.25] * 16] * 5
    assert embedding_matrix(pa.chunked_array([column.slice(0, 0)])).shape == (0, 16)


def test_vectors_of_zeros_stay_zeros_in_int8() -> None:
    assert not embedding_matrix(pa.chunked_array([embedding_column(np.zeros((2, 3), np.float32), "int8")])).any()


def test_bits_that_do_not_fill_bytes() -> None:
    with pytest.raises(UsageError, match="there are 12"):
        embedding_column(np.zeros((2, 12), np.float32), "binary")
    with pytest.raises(ColumnError, match="without a vector"):
        embedding_matrix(pa.chunked_array([pa.array([b"ab", None], pa.binary(2))]))
