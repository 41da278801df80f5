"""Columns of a document table to the arrays of the core, and back."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import ColumnError, UsageError
from nlpkit.platform.types import Float32Array, IntArray, LongArray, TokenTable, narrow

BLOCK_ROWS = 8192
UNIT_TOLERANCE = 1e-3
TEXT_HASH = "\0text_hash"  # no column of a user is called like that
DICTIONARY_TOKENS = pa.list_(pa.dictionary(pa.int32(), pa.string()))


def tokens_column(offsets: LongArray, term_ids: IntArray, terms: pa.Array) -> pa.ListArray:
    """Return the tokens column of a batch as list<dictionary>: one string per distinct term of the batch.

    Args:
        offsets: (D+1,) int64; term_ids: (N,) int32 into terms (V,), an Arrow string array.
    """
    occurs = np.zeros(len(terms), bool)
    occurs[term_ids] = True
    codes = (np.cumsum(occurs, dtype=np.int32) - 1)[term_ids]
    dictionary = terms.take(pa.array(np.flatnonzero(occurs)))
    flat = pa.DictionaryArray.from_arrays(pa.array(codes), dictionary)
    return pa.ListArray.from_arrays(pa.array(narrow(offsets, "tokens of a batch")), flat)


VOCABULARY_KEY = b"nlpkit.vocabulary"


def tokens_field(vocabulary: Sequence[str] | None = None) -> pa.Field:
    """Return the field of the tokens column; a vocabulary that the tokens were restricted to travels in its metadata.

    So every table that the column is copied to knows all terms and their order, also those that occur in no document.
    """
    if vocabulary is None:
        return pa.field("tokens", DICTIONARY_TOKENS)
    packed = base64.b64encode(zlib.compress(json.dumps(list(vocabulary), ensure_ascii=False).encode()))
    return pa.field("tokens", DICTIONARY_TOKENS, metadata={VOCABULARY_KEY: packed})


def vocabulary_of(schema: pa.Schema) -> tuple[str, ...] | None:
    """Return the vocabulary that the tokens column of a table was restricted to, None where there is none.

    Raises:
        ColumnError: it cannot be read.
    """
    at = schema.get_field_index("tokens")
    packed = None if at < 0 else (schema.field(at).metadata or {}).get(VOCABULARY_KEY)
    if packed is None:
        return None
    try:
        return tuple(map(str, json.loads(zlib.decompress(base64.b64decode(packed)))))
    except (ValueError, TypeError, zlib.error):
        raise ColumnError(
            "column 'tokens' has a vocabulary that cannot be read; compute the column again with: `preprocess(vocab)`"
        ) from None


def token_table(column: pa.ChunkedArray) -> TokenTable:
    """Return the tokens column of a document table as term ids, terms in order of first appearance; null counts as empty.

    Raises:
        ColumnError: the column does not hold lists of strings.
    """
    known: dict[str, int] = {}
    offsets, ids, at = [np.zeros(1, np.int64)], [], 0
    for chunk in column.chunks:
        ends, codes = token_ids(chunk, known)
        ids.append(codes)
        offsets.append(at + ends[1:])
        at += int(ends[-1])
    joined = np.concatenate(ids) if ids else np.zeros(0, np.int32)
    return TokenTable(np.concatenate(offsets), joined, tuple(known))


def token_ids(column: pa.Array, known: dict[str, int]) -> tuple[LongArray, IntArray]:
    """Return offsets (D+1,) and term ids (N,) of one chunk of a tokens column; new terms are added to `known` in order.

    Raises:
        ColumnError: the column does not hold lists of strings.
    """
    if not pa.types.is_list(column.type) and not pa.types.is_large_list(column.type):
        raise ColumnError(
            f"column 'tokens' holds {column.type}, but lists of strings are needed; compute it with: `preprocess()`"
        )
    lengths = np.asarray(column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    flat = column.flatten()
    if pa.types.is_null(flat.type) or pa.types.is_string_view(flat.type):  # no document has a token; Polars' strings
        flat = flat.cast(pa.string())
    if not pa.types.is_dictionary(flat.type):
        if not pa.types.is_string(flat.type) and not pa.types.is_large_string(flat.type):
            raise ColumnError(f"column 'tokens' holds lists of {flat.type}, but lists of strings are needed")
        flat = flat.dictionary_encode()
    if flat.null_count:
        raise ColumnError("column 'tokens' holds null terms; compute it again with: `preprocess()`")
    codes = flat.indices.to_numpy(zero_copy_only=False)
    used, first = np.unique(codes, return_index=True)
    in_order = used[np.argsort(first)]
    lookup = np.zeros(len(flat.dictionary), np.int32)
    lookup[in_order] = [known.setdefault(s, len(known)) for s in flat.dictionary.take(pa.array(in_order)).to_pylist()]
    return offsets, lookup[codes]


def embedding_column(embeddings: Float32Array, dtype: str = "float32") -> pa.Array:
    """Return embeddings (D, E) as a column that `embedding_matrix` reads.

    float32, float16  fixed_size_list of E numbers x
    int8              fixed_size_list of E whole numbers round(127 x / max |x|): each row has a scale of its own, which is not stored,
                      for it is gone when the row is brought to length 1
    binary            fixed_size_binary of E/8 bytes, a bit each, the high ones first: 1 where x > 0

    Raises:
        UsageError: binary of a number of dimensions that 8 does not divide.
    """
    n, dim = embeddings.shape
    if dtype == "binary":
        if dim % 8:
            raise UsageError(
                f"`dtype=binary` stores 8 dimensions per byte, and there are {dim}; set `truncate_dim` to "
                f"{dim // 8 * 8}"
            )
        packed = np.packbits(embeddings > 0, axis=1)
        return pa.Array.from_buffers(pa.binary(dim // 8), n, [None, pa.py_buffer(packed)])
    if dtype == "int8":
        largest = np.abs(embeddings).max(axis=1, keepdims=True, initial=0)
        embeddings = np.rint(embeddings * (127 / np.where(largest > 0, largest, 1).astype(np.float64)))
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(embeddings, dtype).ravel()), dim)


def embedding_matrix(column: pa.ChunkedArray, *, unit: bool = True) -> Float32Array:
    """Return the embedding column as (D, E) float32, rows L2-normalised: only directions are seen, `has_unit_rows` tells if that matters.

    unit: False leaves the vectors as they are, except for those stored as int8 or bits, which have a direction and no length.

    Raises:
        ColumnError: not lists of numbers of one length, or a null or non-finite row.
    """
    kind = column.type
    packed = pa.types.is_fixed_size_binary(kind)
    lists = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not packed and not (lists and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))):
        raise ColumnError(
            f"column 'embedding' holds {kind}, but lists of numbers are needed; compute it with: `embed()`"
        )
    # chunk by chunk: together their values may be more than 32 bits count
    chunks = column.chunks
    lengths = (
        {n for chunk in chunks for n in chunk.value_lengths().unique().to_pylist()}
        if not packed and not pa.types.is_fixed_size_list(kind)
        else {kind.byte_width if packed else kind.list_size}
    )
    if column.null_count or len(lengths) > 1:
        raise ColumnError(
            "column 'embedding' has rows without a vector, or vectors of different lengths; compute it again "
            "with: `embed()`"
        )
    size = lengths.pop() if lengths else 0
    if packed:
        bits = [np.frombuffer(b"".join(chunk.to_pylist()), np.uint8) for chunk in column.chunks]
        signs = np.unpackbits(np.concatenate([np.zeros(0, np.uint8), *bits]).reshape(-1, size), axis=1)
        return (signs.astype(np.float32) * 2 - 1) / np.float32(np.sqrt(size * 8))
    matrix = np.empty((len(column), size), np.float32)
    at = 0
    for chunk in chunks:  # the column is not in memory twice
        rows = matrix[at : at + len(chunk)]
        rows[:] = chunk.flatten().to_numpy(zero_copy_only=False).reshape(rows.shape)
        at += len(chunk)
    for block in _blocks(matrix):
        if not np.isfinite(block).all():
            raise ColumnError("column 'embedding' has values that are not finite; compute it again with: `embed()`")
        if unit or pa.types.is_int8(kind.value_type):
            norms = np.linalg.norm(block.astype(np.float64), axis=1, keepdims=True)
            block[:] = np.where(np.abs(norms - 1.0) < UNIT_TOLERANCE, block, block / np.maximum(norms, 1e-12))
    return matrix


def has_unit_rows(column: pa.ChunkedArray) -> bool:
    """Return whether `embedding_matrix` gives the vectors of a column, which it takes, the length that they were stored with."""
    if pa.types.is_fixed_size_binary(column.type) or pa.types.is_int8(column.type.value_type):
        return True
    for chunk in column.chunks:
        values = chunk.flatten().to_numpy(zero_copy_only=False)
        for block in _blocks(values.reshape(len(chunk), -1) if len(chunk) else values.reshape(0, 0)):
            norms = np.linalg.norm(block.astype(np.float64), axis=1)
            if not (np.abs(norms - 1.0) < UNIT_TOLERANCE).all():
                return False
    return True


def _blocks(rows: Any) -> Iterator[Any]:
    """Yield views of rows, some thousand at a time."""
    return (rows[start : start + BLOCK_ROWS] for start in range(0, len(rows), BLOCK_ROWS))


def add_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """Return the batch with a column appended, or replaced in place when there is one of that name."""
    at = batch.schema.get_field_index(name)
    if at < 0:
        return batch.append_column(name, column)
    return batch.set_column(at, name, column)


def text_hash(text: str | None) -> str:
    """Return the first 128 bits of the sha256 of a text, hex: the key by which training rows are recognised."""
    return hashlib.sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()[:32]


def text_hashes(texts: pa.Array) -> pa.Array:
    """Return the hash of each text (D,), null for those of white space alone."""
    return pa.array([text_hash(t) if t and not t.isspace() else None for t in texts.to_pylist()], pa.string())
