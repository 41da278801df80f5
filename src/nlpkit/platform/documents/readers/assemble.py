"""The document table assembled from what readers give: ids are made, texts checked, columns typed.

Parts, in this order:
- Ids of documents: given ones as strings, made ones from stem and row number, and no id twice.
- Blocks of rows and Parquet batches → batches of the document table: ids made, texts checked, columns typed.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import EncodingError, InputError
from nlpkit.platform.documents.readers.blocks import ArrowBlock, RowBlock
from nlpkit.platform.documents.readers.places import DerivedColumn, batch_with_derived, with_derived
from nlpkit.platform.documents.readers.value_types import (
    STRING,
    TOKENS,
    TableLayout,
    TypedColumn,
    as_text,
    encode_tokens,
    forced_array,
    to_array,
)
from nlpkit.platform.values import python_values


def make_ids(values: Sequence[Any] | None, stem: str, numbers: Sequence[int]) -> list[str]:
    """Return one id a row: its value as a string, `<stem>:<row number>` where there is none."""
    if values is None:
        return [f"{stem}:{number}" for number in numbers]
    if set(map(type, values)) == {str} and all(values):
        return list(values)
    return [
        f"{stem}:{number}" if _is_missing(value) else as_text(value)
        for value, number in zip(values, numbers, strict=True)
    ]


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


class UniqueIds:
    """Notices an id that was there before, in 24 bytes a document: hashes instead of strings.

    Two different ids share a 64-bit hash in one of 10^7 corpora of a million documents.
    """

    def __init__(self) -> None:
        self._sorted: list[npt.NDArray[np.int64]] = []  # runs that at least halve in size
        self._seen: list[tuple[str, npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []  # path, row numbers, hashes

    def add(self, ids: Sequence[str], path: str, numbers: Sequence[int]) -> None:
        """Note the ids of some rows; raises InputError naming both places of one that is not new."""
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        run = np.sort(hashes)
        self._seen.append((path, np.asarray(numbers, np.int64), hashes))
        if (run[1:] == run[:-1]).any() or any(_share(old, run) for old in self._sorted):
            raise self._twice(ids)
        while self._sorted and self._sorted[-1].size <= 2 * run.size:
            run = np.concatenate((self._sorted.pop(), run))
            run.sort(kind="stable")
        self._sorted.append(run)

    def _twice(self, ids: Sequence[str]) -> InputError:
        first: dict[int, str] = {}
        wanted = set(self._seen[-1][2].tolist())
        last = len(self._seen) - 1
        for block, (path, numbers, hashes) in enumerate(self._seen):
            for row, value in enumerate(hashes.tolist()):
                if value not in wanted:
                    continue
                place = f"{path} row {numbers[row]}"
                if block == last and value in first:
                    return InputError(
                        f"the id {ids[row]!r} occurs twice, in {first[value]} and in {place}, and ids must be "
                        "unique; name another column with `id_col`, or number the rows with `id_col=none`"
                    )
                first.setdefault(value, place)
        raise AssertionError("an id was found twice, but not again")


def _share(old: npt.NDArray[np.int64], run: npt.NDArray[np.int64]) -> bool:
    """Return whether two sorted arrays have a value in common."""
    places = np.searchsorted(old, run)
    places[places == old.size] = 0
    return bool((old[places] == run).any())


# ------------------------------------------------------------------------------------------------------------------------
# Blocks of rows and Parquet batches → batches of the document table: ids made, texts checked, columns typed.

_ID = TypedColumn("id", pa.string(), STRING, STRING)
_TEXT = TypedColumn("text", pa.large_string(), STRING, STRING)
_PLAIN_TOKENS = pa.list_(pa.string())
_BATCH_CHARS = 64 << 20  # of long documents fewer go into a batch
_NULL_TEXT = "text is null"

log = logging.getLogger("nlpkit.io")


class Taken(NamedTuple):
    """The outcome of some rows: the documents; row, id and reason of those that are none, in order; and how many rows were used."""

    batch: pa.RecordBatch
    dropped: list[tuple[int, str, str]]
    rows: int

    def first(self, n_documents: int) -> Taken:
        """Return the outcome of the rows up to a document."""
        rows = n_documents
        for row, _, _ in self.dropped:
            if row >= rows:
                break
            rows += 1
        return Taken(self.batch.slice(0, n_documents), [one for one in self.dropped if one[0] < rows], rows)


@dataclass(slots=True)
class Assembler:
    """Turns the rows of one input into batches of the layout; `take` leaves tokens as plain strings (see `Batches`)."""

    path: str
    stem: str
    renamed: Mapping[str, str]
    layout: TableLayout
    unique: UniqueIds | None  # None: all ids are made, so they differ
    replace_broken: bool
    known: frozenset[str]  # columns of the first rows
    wanted: frozenset[str] | None  # columns to keep, None for all
    worded: bool = False  # the texts are lists of words, to be joined by spaces
    late: set[str] = field(default_factory=set)
    derived: Mapping[str, DerivedColumn] = field(default_factory=dict)

    def take(self, block: RowBlock, room: int | None) -> Taken:
        """Return the first rows of a block, at most `room` documents; raises InputError where a value does not fit."""
        block = with_derived(block, self.derived)
        texts = _values(block, self.renamed["text"]) if "text" in self.renamed else [""] * len(block.numbers)
        if self.worded:
            texts = [_sentence(text) for text in texts]
        why = {**_unusable(texts), **block.reasons}
        used = len(texts)
        if room is not None and used - len(why) > room:
            used = next(row for row, kept in _counted(used, why) if kept == room) + 1
        kept: Sequence[int] = [row for row in range(used) if row not in why] if why else range(used)
        id_column = self.renamed.get("id")
        ids = make_ids(None if id_column is None else _values(block, id_column)[:used], self.stem, block.numbers[:used])

        def array(column: TypedColumn, values: Sequence[Any]) -> pa.Array:
            if why or used < len(values):
                values = [values[row] for row in kept]
            if column is _TEXT:
                values = [text if type(text) is str else as_text(text) for text in values]
            place = lambda row: block.place(self.path, kept[row])  # noqa: E731
            return to_array(column, values, place, replace_broken=self.replace_broken)

        arrays = [array(_ID, ids), array(_TEXT, texts)]
        for name, column in self.layout.columns.items():
            source = self.renamed.get(name, name if column.forced else None)
            type_ = _plain_token_type(self.layout.schema.field(name).type)
            if source is None or source not in block.columns:
                arrays.append(pa.nulls(len(kept), type_))
            else:
                arrays.append(self._cast(array(column, block.columns[source]), type_, name))
        self._note_late(block)
        self._check_unique(arrays[0], [block.numbers[row] for row in kept])
        batch = pa.RecordBatch.from_arrays(arrays, schema=plain_schema(self.layout.schema))
        return Taken(batch, [(row, ids[row], why[row]) for row in sorted(why) if row < used], used)

    def take_arrow(self, block: ArrowBlock, room: int | None) -> Taken:
        """Return the first rows of a batch of Arrow, at most `room` documents."""
        batch = batch_with_derived(block.batch, self.derived)
        source_of_text = self.renamed.get("text")
        raw_texts = pa.array([""] * batch.num_rows) if source_of_text is None else batch.column(source_of_text)
        if self.worded:
            raw_texts = pa.array([_sentence(text) for text in raw_texts.to_pylist()])
        texts, reason = _text_array(raw_texts, self.path)
        valid = texts.is_valid().to_numpy(zero_copy_only=False)
        kept = np.flatnonzero(valid)
        used = batch.num_rows
        if room is not None and len(kept) > room:
            kept = kept[:room]
            used = int(kept[-1]) + 1
        id_column = self.renamed.get("id")
        numbers = block.numbers[:used]
        ids = _id_array(None if id_column is None else batch.column(id_column).slice(0, used), self.stem, numbers)
        rows = pa.array(kept)

        def pick(array: pa.Array) -> pa.Array:
            return array.slice(0, used) if len(kept) == used else array.take(rows)

        arrays = [pick(ids), pick(texts)]
        for field_ in self.layout.others:
            column = self.layout.columns[field_.name]
            source = self.renamed.get(field_.name)
            if source is None:
                arrays.append(pa.nulls(len(kept), field_.type))
                continue
            array = pick(batch.column(source))
            if column.forced is not None:
                array = forced_array(column, array, lambda row: block.place(self.path, int(kept[row])))
            arrays.append(self._cast(array, field_.type, field_.name))
        self._check_unique(arrays[0], numbers if len(kept) == used else [numbers[row] for row in kept])
        missing = np.flatnonzero(~valid[:used]).tolist()
        dropped = [(row, ids[row].as_py(), reason) for row in missing]
        return Taken(pa.RecordBatch.from_arrays(arrays, schema=self.layout.schema), dropped, used)

    def _cast(self, array: pa.Array, type_: pa.DataType, name: str) -> pa.Array:
        if array.type == type_:
            return array
        try:
            return array.cast(type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(
                f"{self.path}: column '{name}' is {array.type}, not {type_} as elsewhere: {reason}"
            ) from None

    def _note_late(self, block: RowBlock) -> None:
        for name in block.columns:
            if name in self.known or name in self.late or (self.wanted is not None and name not in self.wanted):
                continue
            if name not in self.layout.columns:
                row = next(
                    i for i, value in enumerate(block.columns[name]) if value is not None or i + 1 == len(block.numbers)
                )
                log.warning(
                    "%s: column '%s' is not in the first rows and is left out; keep it with `types=%s=string`",
                    block.place(self.path, row),
                    name,
                    name,
                )
            self.late.add(name)

    def _check_unique(self, ids: pa.Array, numbers: Sequence[int]) -> None:
        if self.unique is not None and len(ids):
            self.unique.add(ids.to_pylist(), self.path, numbers)


class Batches:
    """Collects the rows of blocks, over inputs too, into batches of the size that was asked for."""

    def __init__(self, layout: TableLayout, batch_rows: int) -> None:
        self._layout = layout
        self._plain_schema = plain_schema(layout.schema)
        self._batch_rows = batch_rows
        self._parts: list[pa.RecordBatch] = []
        self._rows = self._chars = 0

    def add(self, batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
        """Take the rows of a block of `size` characters; yield the batches that are full now."""
        while batch.num_rows:
            part = batch.slice(0, self._batch_rows - self._rows)
            batch = batch.slice(part.num_rows)
            self._parts.append(part)
            self._rows += part.num_rows
            self._chars += 0 if batch.num_rows else size
            if self._rows == self._batch_rows or self._chars >= _BATCH_CHARS:
                yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield the remaining rows."""
        if not self._rows:
            return
        table = pa.Table.from_batches(self._parts, self._plain_schema).combine_chunks()
        self._parts, self._rows, self._chars = [], 0, 0
        schema = self._layout.schema
        for batch in table.to_batches():
            pairs = zip(batch.columns, schema, strict=True)
            arrays = [encode_tokens(array) if field_.type == TOKENS else array for array, field_ in pairs]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with tokens as plain strings: the parts of a batch have no common dictionary."""
    return pa.schema([field_.with_type(_plain_token_type(field_.type)) for field_ in schema])


def _plain_token_type(type_: pa.DataType) -> pa.DataType:
    return _PLAIN_TOKENS if type_ == TOKENS else type_


# ---------------------------------------------------------------- texts and ids


def _values(block: RowBlock, name: str) -> Sequence[Any]:
    values = block.columns.get(name)
    return [None] * len(block.numbers) if values is None else values


def _sentence(words: Any) -> Any:
    return " ".join(str(word) for word in words if word is not None) if isinstance(words, list) else words


def _unusable(texts: Sequence[Any]) -> dict[int, str]:
    """Return the rows whose text is none, with the reason."""
    if set(map(type, texts)) <= {str}:
        return {}
    reasons = {row: _reason(text) for row, text in enumerate(texts)}
    return {row: reason for row, reason in reasons.items() if reason is not None}


def _reason(text: Any) -> str | None:
    if text is None or (isinstance(text, float) and math.isnan(text)):
        return _NULL_TEXT
    if isinstance(text, (list, dict)):
        return "text is a list" if isinstance(text, list) else "text is an object"
    return None


def _counted(rows: int, why: Mapping[int, str]) -> Iterator[tuple[int, int]]:
    kept = 0
    for row in range(rows):
        kept += row not in why
        yield row, kept


def _text_array(array: pa.Array, path: str) -> tuple[pa.Array, str]:
    """Return the texts of a Parquet column, null where there is none, and why there is none."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_nested(array.type):
        is_list = (
            pa.types.is_list(array.type)
            or pa.types.is_large_list(array.type)
            or pa.types.is_fixed_size_list(array.type)
        )
        return pa.nulls(len(array), pa.large_string()), "text is a list" if is_list else "text is an object"
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)
    try:
        return array.cast(pa.large_string()), _NULL_TEXT
    except pa.ArrowInvalid as error:
        reason = str(error).split("\n")[0]
        raise EncodingError(f"{path}: the text column is {array.type} and not UTF-8: {reason}") from None


def _id_array(array: pa.Array | None, stem: str, numbers: Sequence[int]) -> pa.Array:
    if array is None:
        return pa.array(make_ids(None, stem, numbers), pa.string())
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pa.types.is_integer(array.type) or pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = pa.array([None if value is None else str(value) for value in python_values(array)], pa.string())
    ids = array.cast(pa.string())
    if ids.null_count or pc.any(pc.equal(ids, "")).as_py():
        ids = pa.array(make_ids(ids.to_pylist(), stem, numbers), pa.string())
    return ids
