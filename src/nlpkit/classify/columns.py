"""Columns of the user's table as features: numbers with mean 0 and standard deviation 1, texts as categories, 0 or 1 each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.cells import as_label
from nlpkit.errors import ColumnError
from nlpkit.types import BoolArray, CsrMatrix, FloatArray, IntArray
from nlpkit.values import python_values

Column: TypeAlias = pa.Array | pa.ChunkedArray
CONSTANT = 1e-12  # a standard deviation that is rounding


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of numbers, with its mean and standard deviation over the training documents that have a value.

    indicator: whether a second feature says where the value is missing; a missing value itself is the mean.
    """

    name: str
    mean: float
    deviation: float
    indicator: bool

    @classmethod
    def fit(cls, name: str, column: Column) -> NumberColumn:
        """Return the scaling of training values (n,); the mean of no value is 0."""
        values = read_numbers(name, column)
        present = values[~np.isnan(values)]
        if not len(present):
            return cls(name, 0.0, 0.0, indicator=False)
        return cls(name, float(present.mean()), float(present.std()), indicator=len(present) < len(values))

    @property
    def features(self) -> list[str]:
        """The names of its features (F,)."""
        return [self.name, f"{self.name} is missing"] if self.indicator else [self.name]

    def encode(self, column: Column) -> EncodedColumn:
        """Return the features of values (D,): (x - mean) / deviation, 0 where it is missing or never varied."""
        values = read_numbers(self.name, column)
        missing = np.isnan(values)
        scale = self.deviation if self.deviation > CONSTANT else np.inf
        parts = [np.where(missing, 0.0, (values - self.mean) / scale)]
        if self.indicator:
            parts.append(missing.astype(np.float64))
        return EncodedColumn(sparse.csr_array(np.stack(parts, axis=1)), missing, np.zeros(len(values), bool))


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A column of texts, with the different ones of the training documents, ascending.

    indicator: whether a feature says where the value is missing. A text that no training document has is none of the categories.
    """

    name: str
    categories: tuple[str, ...]
    indicator: bool

    @classmethod
    def fit(cls, name: str, column: Column) -> CategoryColumn:
        """Return the categories of training values (n,)."""
        values = read_texts(column)
        return cls(name, tuple(sorted({v for v in values if v is not None})), indicator=None in values)

    @property
    def features(self) -> list[str]:
        """The names of its features (F,)."""
        named = [f"{self.name}={category}" for category in self.categories]
        return [*named, f"{self.name} is missing"] if self.indicator else named

    def encode(self, column: Column) -> EncodedColumn:
        """Return the features of values (D,): 1 for the category of a document, 0 for the others."""
        values = read_texts(column)
        places = {category: i for i, category in enumerate(self.categories)}
        missing = np.fromiter((v is None for v in values), bool, len(values))
        place: IntArray = np.fromiter((-1 if v is None else places.get(v, -1) for v in values), np.int32, len(values))
        unseen = (place < 0) & ~missing
        if self.indicator:
            place[missing] = len(self.categories)
        rows = np.flatnonzero(place >= 0).astype(np.int32)  # LIBLINEAR reads no indices of 64 bits
        shape = (len(values), len(self.features))
        return EncodedColumn(
            sparse.csr_array((np.ones(len(rows)), (rows, place[rows])), shape=shape), missing, np.asarray(unseen)
        )


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """matrix (D, F) float64 CSR; missing, unseen (D,) bool: rows without a value, and with one that no training document has."""

    matrix: CsrMatrix
    missing: BoolArray
    unseen: BoolArray


@dataclass(frozen=True, slots=True)
class ColumnFeatures:
    """Columns as features, fitted to training documents and to no others."""

    columns: tuple[NumberColumn | CategoryColumn, ...]

    @classmethod
    def fit(cls, table: pa.Table) -> ColumnFeatures:
        """Return the features of a table of training documents (n rows): a column of numbers or of true and false is scaled, a
        column of texts gives a feature for each different one.

        Raises:
            ColumnError: a column of dates, lists or the like.
        """
        fitted: list[NumberColumn | CategoryColumn] = []
        for name in table.column_names:
            kind = NumberColumn if kind_of(name, table.schema.field(name).type) == "number" else CategoryColumn
            fitted.append(kind.fit(name, table.column(name)))
        return cls(tuple(fitted))

    @property
    def column_names(self) -> list[str]:
        """The columns, in order."""
        return [column.name for column in self.columns]

    @property
    def names(self) -> list[str]:
        """The features (F,) by name."""
        return [feature for column in self.columns for feature in column.features]

    def encode(self, table: pa.Table | pa.RecordBatch, counts: ColumnCounts | None = None) -> CsrMatrix:
        """Return the features (D, F) float64 CSR of the columns of any documents.

        counts: where missing and unseen values are counted.

        Raises:
            ColumnError: a value of a column of numbers that is none.
        """
        parts = []
        for column in self.columns:
            encoded = column.encode(table.column(column.name))
            parts.append(encoded.matrix)
            if counts is not None:
                counts.add(column.name, encoded)
        return sparse.csr_array(sparse.hstack(parts, format="csr"))


@dataclass(slots=True)
class ColumnCounts:
    """Documents without a value of a column, and those with one that no training document has, by column; those of none are left out."""

    missing: dict[str, int] = field(default_factory=dict)
    unseen: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, encoded: EncodedColumn) -> None:
        """Count the rows of a column."""
        for counts, rows in ((self.missing, encoded.missing), (self.unseen, encoded.unseen)):
            n = int(rows.sum())
            if n:
                counts[name] = counts.get(name, 0) + n


def kind_of(name: str, kind: pa.DataType) -> str:
    """Return number or category. Raises ColumnError for a column of another type."""
    types = pa.types
    if types.is_dictionary(kind):
        return kind_of(name, kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind):
        return "category"
    raise ColumnError(
        f"column '{name}' holds {kind}. A feature column needs numbers, true and false, or texts; convert it, or "
        f"read it as text with `types={name}=string`"
    )


def read_numbers(name: str, column: Column) -> FloatArray:
    """Return values (D,) float64, NaN for a missing or infinite one; texts are read as numbers.

    Raises:
        ColumnError: a text that is no number.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if kind_of(name, array.type) == "category":
        array = _parsed(name, array.cast(pa.large_string()))
    values: FloatArray = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _parsed(name: str, texts: pa.Array) -> pa.Array:
    """Return texts as numbers, empty ones as null."""
    trimmed = pc.utf8_trim_whitespace(texts)
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
    try:
        return trimmed.cast(pa.float64())
    except pa.ArrowInvalid:
        wrong = next(text for text in trimmed.to_pylist() if text is not None and not _is_number(text))
        raise ColumnError(
            f"column '{name}' held numbers in the training documents and holds '{wrong}' here; write it as a number, or leave it empty"
        ) from None


def _is_number(text: str) -> bool:
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def read_texts(column: Column) -> list[str | None]:
    """Return values (D,) as texts, None for a missing or empty one; 1.0 is 1."""
    return [as_label(value) for value in python_values(column)]


def tells_labels(column: Column, labels: Sequence[str | None]) -> bool:
    """Return whether each value of a column (D,) comes with one label only, as a copy of the labels does, or what they were made of.

    Values that hardly repeat (more than one for two documents, as ids) tell nothing.
    """
    pairs = {
        (value, label) for value, label in zip(read_texts(column), labels, strict=True) if None not in (value, label)
    }
    values = {value for value, _ in pairs}
    n_labels = len({label for _, label in pairs})
    return n_labels > 1 and len(pairs) == len(values) and 2 * len(values) <= _known(labels)


def _known(labels: Iterable[str | None]) -> int:
    return sum(label is not None for label in labels)
