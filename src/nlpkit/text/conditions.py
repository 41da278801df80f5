"""Conditions on the columns of a batch, as `filters` parses them, evaluated with Arrow.

`evaluate` gives true, false or null for each row (Kleene's logic, as SQL has it): null where a value that is needed is
missing. NaN is a missing value.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import UsageError, missing_column
from nlpkit.text.date_values import DateValues, date_format, is_date, is_date_column, iso_moment
from nlpkit.text.regex import regex_mask

_FUNCTIONS = {
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
}  # fmt: skip
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TEXT_TESTS = {"contains": "match_substring", "startswith": "starts_with", "endswith": "ends_with"}
_KINDS = {"text": "text", "number": "numbers", "truth": "true and false", "date": "dates", "list": "lists"}

Value: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name, or a field of the objects in one: meta.section."""

    name: str


class Condition(ABC):
    """A condition that is true, false or null for a row."""

    __slots__ = ()

    @abstractmethod
    def columns(self) -> frozenset[str]:
        """Return the names of the columns that are looked at."""

    @abstractmethod
    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return true, false or null for each row.

        Raises:
            ColumnError: a column is not there.
            UsageError: its type does not go with the condition.
        """


@dataclass(frozen=True, slots=True)
class Compare(Condition):
    """A column against a value or another column; sign is one of == != < <= > >=."""

    column: Column
    sign: str
    value: Value | Column
    dates: DateValues = field(default_factory=DateValues, compare=False, repr=False)

    def columns(self) -> frozenset[str]:
        return frozenset(c.name for c in (self.column, self.value) if isinstance(c, Column))

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        values = _load(batch, self.column)
        if not isinstance(self.value, Column):
            return values.as_dates_with(self.value, self.sign, self.dates).compare(self.sign, self.value)
        other = _load(batch, self.value)
        by_order = self.sign not in ("==", "!=") and values.kind == other.kind == "text"
        if by_order and values.are_dates(self.dates) and other.are_dates(self.dates):
            values, other = values.as_dates(self.dates), other.as_dates(self.dates)
        return values.against(self.sign, other)


@dataclass(frozen=True, slots=True)
class In(Condition):
    """A column that equals one of some values."""

    column: Column
    values: tuple[Value, ...]
    dates: DateValues = field(default_factory=DateValues, compare=False, repr=False)

    def columns(self) -> frozenset[str]:
        return frozenset([self.column.name])

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        held = _load(batch, self.column)
        return reduce(
            pc.or_kleene,
            (held.as_dates_with(value, "==", self.dates).compare("==", value) for value in self.values),
        )


@dataclass(frozen=True, slots=True)
class TextTest(Condition):
    """A text that contains, startswith or endswith a piece, case counting; or a list that contains a value."""

    column: Column
    test: str
    value: Value

    def columns(self) -> frozenset[str]:
        return frozenset([self.column.name])

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        values = _load(batch, self.column)
        if values.kind == "list" and self.test == "contains":
            return values.contain(self.value)
        if not isinstance(self.value, str):
            raise UsageError(f"'{self.test}' needs a text in quotes, found {_display(self.value)}")
        return pc.call_function(
            _TEXT_TESTS[self.test], [values.text(f"'{self.test}'")], pc.MatchSubstringOptions(self.value)
        )


@dataclass(frozen=True, slots=True)
class Matches(Condition):
    """A text in which a regular expression is found."""

    column: Column
    pattern: str

    def columns(self) -> frozenset[str]:
        return frozenset([self.column.name])

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        texts = _load(batch, self.column).text("'matches'")
        return pc.if_else(texts.is_valid(), regex_mask(texts, self.pattern), None)


@dataclass(frozen=True, slots=True)
class IsNull(Condition):
    """A column without a value. An empty text is none, too: of a CSV file, an empty cell is read so."""

    column: Column

    def columns(self) -> frozenset[str]:
        return frozenset([self.column.name])

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        values = _load(batch, self.column)
        missing = values.array.is_null()
        if values.kind != "text":
            return missing
        return pc.or_(missing, pc.fill_null(pc.equal(values.array, pa.scalar("", values.array.type)), True))


@dataclass(frozen=True, slots=True)
class Alone(Condition):
    """A column of true and false by itself."""

    column: Column

    def columns(self) -> frozenset[str]:
        return frozenset([self.column.name])

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        values = _load(batch, self.column)
        if values.kind not in ("truth", "nothing"):
            raise UsageError(f"{values} and is not compared with anything; write for example {_example(values)}")
        return values.array.cast(pa.bool_())


@dataclass(frozen=True, slots=True)
class Not(Condition):
    """The opposite."""

    inner: Condition

    def columns(self) -> frozenset[str]:
        return self.inner.columns()

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        return pc.invert(self.inner.evaluate(batch))


@dataclass(frozen=True, slots=True)
class Join(Condition):
    """All of some conditions (word "and"), or at least one (word "or")."""

    word: str
    parts: tuple[Condition, ...]

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(part.columns() for part in self.parts))

    def evaluate(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        join = pc.and_kleene if self.word == "and" else pc.or_kleene
        return reduce(join, (part.evaluate(batch) for part in self.parts))


@dataclass(frozen=True, slots=True)
class _Values:
    """A column ready to be compared: kind is text, number, truth, date, list, nothing (all null) or other.

    is_date_column: it is the date of the documents. date_format: how its dates are written, None where that is not told.
    """

    name: str
    type: pa.DataType
    kind: str
    array: pa.Array
    is_date_column: bool = False
    date_format: str | None = None

    def __str__(self) -> str:
        return f"column '{self.name}' holds {_KINDS.get(self.kind, 'values')} ({self.type})"

    def as_dates_with(self, value: Value, sign: str, dates: DateValues) -> _Values:
        """Return texts as dates where they are compared with one: by order, or in the column of the date, with an ISO text.

        Raises:
            UsageError: they are compared by order with a date in another form; ColumnError: they are no dates.
        """
        if self.kind != "text" or not isinstance(value, str):
            return self
        by_order = sign not in ("==", "!=")
        if iso_moment(value) is not None:
            return self.as_dates(dates) if by_order or self.is_date_column else self
        if by_order and (self.is_date_column or is_date(value, self.date_format)):
            raise UsageError(
                f"{self} that {'are' if self.is_date_column else 'may be'} dates; {_iso_needed(value, self)}"
            )
        return self

    def as_dates(self, dates: DateValues) -> _Values:
        """Return texts as dates. Raises ColumnError where they are none."""
        array = dates.moments(self.name, self.array, self.date_format, is_date_column=self.is_date_column)
        return replace(self, kind="date", array=array)

    def are_dates(self, dates: DateValues) -> bool:
        """Whether texts are dates."""
        return self.is_date_column or dates.are_dates(self.name, self.array, self.date_format)

    def compare(self, sign: str, value: Value) -> pa.BooleanArray:
        """Compare each value with one."""
        function = _FUNCTIONS[sign]
        if self.kind == "nothing":
            return pa.nulls(len(self.array), pa.bool_())
        if self.kind == "text" and isinstance(value, str):
            return pc.call_function(function, [self.array, pa.scalar(value, self.array.type)])
        if self.kind == "truth" and isinstance(value, bool) and sign in ("==", "!="):
            return pc.call_function(function, [self.array, pa.scalar(value)])
        if self.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
            return self._compare_number(sign, value)
        if self.kind == "date" and isinstance(value, str):
            return pc.call_function(function, [self.array, self._moment(value)])
        as_number = self.kind == "text" and not isinstance(value, str | bool)
        read_so = f", or read it as numbers with `types={self.name}=float`" if as_number else ""
        raise UsageError(
            f"{self} and is compared ({sign}) with {_display(value)}; write it as in {_example(self)}{read_so}"
        )

    def _compare_number(self, sign: str, value: float) -> pa.BooleanArray:
        kind = self.array.type
        if pa.types.is_integer(kind) and isinstance(value, int):
            try:
                scalar = pa.scalar(value, kind)
            except (
                OverflowError,
                pa.ArrowInvalid,
            ):  # beyond all that the column can hold: the answer is the same everywhere
                always = sign == "!=" or (sign in ("<", "<=") if value > 0 else sign in (">", ">="))
                return pc.if_else(self.array.is_valid(), always, None)
        else:
            # in the precision of the column: what was stored as 0.1 equals 0.1
            scalar = pa.scalar(float(value), kind if pa.types.is_floating(kind) else pa.float64())
        return pc.call_function(_FUNCTIONS[sign], [self.array, scalar])

    def _moment(self, text: str) -> pa.Scalar:
        """Return the first moment of a date or time in ISO form; without an offset in the time zone of the column."""
        moment, zone = iso_moment(text), self.array.type.tz
        if moment is None:
            raise UsageError(f"{self}; {_iso_needed(text, self)}")
        if moment.tzinfo is None:
            plain = pa.scalar(moment, pa.timestamp("us"))
            return (
                plain if zone is None else pc.assume_timezone(plain, zone, ambiguous="earliest", nonexistent="earliest")
            )
        if zone is None:
            raise UsageError(f"{self} without a time zone; leave the offset of '{text}' out")
        return pa.scalar(moment.astimezone(UTC), pa.timestamp("us", "UTC"))

    def against(self, sign: str, other: _Values) -> pa.BooleanArray:
        """Compare with another column, row by row."""
        if "nothing" in (self.kind, other.kind):
            return pa.nulls(len(self.array), pa.bool_())
        ordered = self.kind in ("text", "number", "date") or sign in ("==", "!=")
        zones = [values.array.type.tz is not None for values in (self, other) if values.kind == "date"]
        if self.kind != other.kind or self.kind in ("list", "other") or not ordered or len(set(zones)) > 1:
            raise UsageError(f"{self}, {other}: they cannot be compared ({sign})")
        return pc.call_function(_FUNCTIONS[sign], [self.array, other.array])

    def contain(self, value: Value) -> pa.BooleanArray:
        """Return which lists hold a value."""
        values = _Values(self.name, self.type, *_kind_of(self.array.flatten()))
        if values.kind == "list":
            raise UsageError(f"{self} of lists; 'contains' looks into lists of texts or numbers")
        inside = pc.fill_null(values.compare("==", value), False).to_numpy(zero_copy_only=False)
        rows = pc.list_parent_indices(self.array).to_numpy()
        contains = np.zeros(len(self.array), bool)
        contains[rows[inside]] = True
        return pc.if_else(self.array.is_valid(), pa.array(contains), None)

    def text(self, needed_by: str) -> pa.Array:
        """Return the texts.

        Raises:
            UsageError: the column holds something else.
        """
        if self.kind == "nothing":
            return self.array.cast(pa.large_string())
        if self.kind != "text":
            raise UsageError(f"{self}; {needed_by} needs text, such as {_example(self)}")
        return self.array


def _load(batch: pa.RecordBatch, column: Column) -> _Values:
    array = _inside(batch, column.name)
    if array is None:
        raise missing_column("the input", column.name, batch.schema.names)
    role, written = is_date_column(batch.schema, column.name), date_format(batch.schema, column.name)
    return _Values(column.name, array.type, *_kind_of(array), role, written)


def _inside(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    """Return a column, or with meta.section the field of the objects in a column; the longest name of a column comes first."""
    names = name.split(".")
    for n in range(len(names), 0, -1):
        column = ".".join(names[:n])
        if column not in batch.schema.names:
            continue
        array = batch.column(column)
        for key in names[n:]:
            if not pa.types.is_struct(array.type) or array.type.get_field_index(key) < 0:
                return None
            array = pc.struct_field(array, key)
        return array
    return None


def _composed(texts: pa.Array) -> pa.Array:
    """Return texts with letters and accents composed (Unicode NFC), as the values of a condition are."""
    plain = pc.all(pc.string_is_ascii(texts)).as_py()
    return texts if plain in (True, None) else pc.utf8_normalize(texts, "NFC")


def _kind_of(array: pa.Array) -> tuple[str, pa.Array]:
    """Return the kind of an array and its values in a form that can be compared."""
    types = pa.types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if types.is_null(kind):
        return "nothing", array
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text", _composed(array.cast(pa.large_string()) if types.is_string_view(kind) else array)
    if types.is_boolean(kind):
        return "truth", array
    if types.is_floating(kind):
        array = array.cast(pa.float32()) if types.is_float16(kind) else array
        return "number", pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if types.is_integer(kind) or types.is_decimal(kind):
        return "number", array
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date", array.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "list", array
    return "other", array


def _iso_needed(text: str, values: _Values) -> str:
    example = _example(replace(values, kind="date"))
    return f"'{text}' is none: give 2020, 2020-05, 2020-05-31 or 2020-05-31T14:30 (ISO 8601), such as {example}"


def _display(value: Value) -> str:
    if isinstance(value, str):
        return f"the text '{value}'"
    return f"the number {value}" if not isinstance(value, bool) else str(value).lower()


def _example(values: _Values) -> str:
    name = values.name if re.fullmatch(r"[^\W\d]\w*", values.name) else f"`{values.name}`"
    examples = {
        "text": f"{name} == 'word'", "number": f"{name} >= 7", "truth": f"{name} == true", "date": f"{name} >= '2020-05-31'",
        "list": f"{name} contains 'word'",
    }  # fmt: skip
    return examples.get(values.kind, f"{name} is not null")
