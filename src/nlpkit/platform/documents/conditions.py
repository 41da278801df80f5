"""The conditions that select rows by their columns: label == 'pos' and rating >= 7.

Parts, in this order:
- Texts of a column as moments, batch by batch, for conditions that compare them.
- Conditions on the columns of a batch, as `filters` parses them, evaluated with Arrow.
- The parser: from the text of a condition to a filter.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import ColumnError, UsageError, missing_column
from nlpkit.platform.documents.dates import COPY_KEY, FORMAT_KEY, DateReader, Moment, unclear_dates
from nlpkit.platform.documents.regex import compile_regex, regex_mask

_DAY = 86_400_000_000  # microseconds
_BEFORE = re.compile(r"-\d{4,5}(?:-\d\d){0,2}", re.ASCII)
DATE = "date"  # the column in the role of the date

log = logging.getLogger("nlpkit.text")


def is_date_column(schema: pa.Schema, name: str) -> bool:
    """Whether a column is the date of the documents, or the one that it is a copy of."""
    at = schema.get_field_index(DATE)
    copied = None if at < 0 else (schema.field(at).metadata or {}).get(COPY_KEY)
    return name == DATE or (copied is not None and copied.decode() == name)


def date_format(schema: pa.Schema, name: str) -> str | None:
    """Return the format that the dates of a column are written in, None where it is not told."""
    at = schema.get_field_index(DATE if is_date_column(schema, name) else name)
    stored = None if at < 0 else (schema.field(at).metadata or {}).get(FORMAT_KEY)
    return None if stored is None else stored.decode("utf-8", "replace")


def iso_moment(text: str) -> datetime | None:
    """Return the first moment of 2020, 2020-05 or any longer ISO form, None for another text."""
    months = re.fullmatch(r"(\d{4})(?:-(\d\d))?", text.strip(), re.ASCII)
    try:
        if months:
            return datetime(int(months[1]), int(months[2] or 1), 1)
        is_iso = re.match(r"\d{4}\D|\d{8}(?!\d)", text.strip(), re.ASCII)
        return datetime.fromisoformat(text.strip()) if is_iso else None
    except ValueError:
        return None


def _before_year_1(text: str) -> int | None:
    """Return the day, since 1970, of -0043 or -0043-03-15; None for another text."""
    moment = DateReader().read([text])[0] if _BEFORE.fullmatch(text.strip()) else None
    return None if moment is None else moment.number


def is_date(text: str, format: str | None) -> bool:
    """Whether a text is a date, though maybe in no ISO form."""
    reader = DateReader(format=format)
    return reader.is_unclear(text) or reader.read([text]) != [None]


class DateValues:
    """The texts of some columns as the reader of dates of all commands has them; what is known of a column holds for its next batches."""

    def __init__(self) -> None:
        self._readers: dict[str, DateReader] = {}
        self._read = Counter[str]()
        self._unread: dict[str, Counter[str]] = {}
        self._are_dates: dict[str, bool] = {}

    def moments(self, name: str, texts: pa.Array, format: str | None, *, is_date_column: bool) -> pa.Array:
        """Return texts (D,) as moments, null where there is none or none can be read, which is logged.

        Raises:
            ColumnError: a date may begin with the day or the month; or over a fifth of the texts are no dates.
        """
        codes = texts.dictionary_encode()
        distinct = [text or "" for text in codes.dictionary.to_pylist()]
        reader = self._readers.setdefault(name, DateReader(name, format))
        moments = reader.read(distinct)
        counts = np.bincount(codes.indices.drop_null().to_numpy(), minlength=len(distinct)).tolist()
        self._tally(reader, distinct, moments, counts, is_date_column=is_date_column)
        values = [None if one is None else one.number * _DAY + one.time // timedelta(microseconds=1) for one in moments]
        return pa.array(values, pa.timestamp("us")).take(codes.indices)

    def _tally(
        self,
        reader: DateReader,
        texts: Sequence[str],
        moments: Sequence[Moment | None],
        counts: Sequence[int],
        *,
        is_date_column: bool,
    ) -> None:
        """Count what was read; raise where a text may be two dates, or too many are none; log the first that is none."""
        unread = self._unread.setdefault(reader.name, Counter())
        is_first = not unread
        for text, moment, n in zip(texts, moments, counts, strict=True):
            if moment is not None:
                self._read[reader.name] += n
            elif reader.is_unclear(text):
                raise unclear_dates(reader.name, text)
            elif text.strip():
                unread[text] += n
        try:
            reader.check(self._read[reader.name], unread)
        except ColumnError as error:
            what = (
                ""
                if is_date_column
                else f"; `date_format` is of the column that `date_col` names, such as `date_col={reader.name}`"
            )
            raise ColumnError(f"{error}{what}") from None
        if unread and is_first:
            log.warning(
                "column '%s': %s; no comparison holds for it and others like it",
                reader.name,
                reader.reason(next(iter(unread))),
            )

    def are_dates(self, name: str, texts: pa.Array, format: str | None) -> bool:
        """Whether texts are dates: all of the first ones that are there, or of the column's batch before."""
        if name not in self._are_dates:
            there = [text for text in texts.unique().to_pylist() if text and text.strip()]
            if not there:
                return False
            self._are_dates[name] = all(is_date(text, format) for text in there)
        return self._are_dates[name]


# ------------------------------------------------------------------------------------------------------------------------
# Conditions on the columns of a batch, as `filters` parses them, evaluated with Arrow.
#
# `evaluate` gives true, false or null for each row (Kleene's logic, as SQL has it): null where a value that is needed is
# missing. NaN is a missing value.

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
        if iso_moment(value) is not None or _before_year_1(value) is not None:
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
        moment, zone, before = iso_moment(text), self.array.type.tz, _before_year_1(text)
        if before is not None:
            return pa.scalar(before * _DAY, pa.timestamp("us", zone))
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


# ------------------------------------------------------------------------------------------------------------------------
# Rows to keep by a condition on their columns: label == 'pos' and rating >= 7.
#
# or    := and {"or" and}          and := not {"and" not}          not := "not" not | test
# test  := "(" or ")" | value {("==" | "!=" | "<" | "<=" | ">" | ">=") value} | column
# | column ["not"] ("in" list | ("contains" | "matches" | "startswith" | "endswith") text) | column "is" ["not"] "null"
# value := column | number | text | "true" | "false"               list := "[" value {"," value} "]", or with ( and )
#
# A column is a word, or anything in backticks; a text stands in single or double quotes, doubled inside it ('it''s'). Words of
# the language may be written in capitals; = and <> do for == and !=. Nothing is ever evaluated as Python.

__all__ = ["Filter", "parse_filter", "regex_mask"]

_TOKEN = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|'(?P<single>(?:[^']|'')*)'|\"(?P<double>(?:[^\"]|\"\")*)\""
    r"|`(?P<quoted>(?:[^`]|``)+)`|(?P<sign>==|!=|<>|<=|>=|[=<>()\[\],])|(?P<word>[^\W\d]\w*(?:\.\w+)*)"
)
_SPACE = re.compile(r"\s*")
_BARE_DATE = re.compile(r"(?<![\w'\"`])\d{4}-\d\d(?:-\d\d)?(?![\w'\"`])")
_SIGNS = {"=": "==", "<>": "!="}
_KEYWORDS = frozenset(
    ("and", "or", "not", "in", "contains", "matches", "startswith", "endswith", "is", "null", "none", "true", "false")
)
_TESTS = ("in", "contains", "matches", "startswith", "endswith")
_MOST_DIGITS = 25  # no column holds whole numbers of more
_CLOSING = {"[": "]", "(": ")"}
EXAMPLE = "label == 'pos' and rating >= 7"


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on the columns of a row."""

    text: str
    condition: Condition

    @property
    def columns(self) -> frozenset[str]:
        """The columns it looks at."""
        return self.condition.columns()

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Return which rows (D,) satisfy the condition; never null: a missing value satisfies no comparison, nor its opposite.

        Numbers are compared as such, texts by code point, dates and times with ISO 8601 texts ('2020-05' is its first
        moment; without an offset in the time zone of the column). A list contains a value; NaN is a missing value. Texts that are
        compared by order (<) with an ISO 8601 text, and those of the column of the date, are read as dates (`DateReader`).

        Raises:
            ColumnError: a column is not there.
            UsageError: the type of a column does not go with what it is compared with.
            ColumnError: texts that are compared with a date are none, or may be two.
        """
        return pc.fill_null(self.condition.evaluate(batch), False)

    def check(self, schema: pa.Schema) -> None:
        """Raise the errors that `mask` would raise for a batch with these columns, before the first is read."""
        self.mask(pa.RecordBatch.from_pylist([], schema))


def parse_filter(text: str, *, option: str = "`keep_if`") -> Filter:
    """Read a condition; the grammar is at the head of the module.

    Raises:
        UsageError: it is not one; the message names what was expected, and where.
    """
    try:
        return Filter(text, _Parser(text, option).whole())
    except RecursionError:
        raise UsageError(f"{option}: the condition has too many brackets or 'not' inside each other") from None


@dataclass(frozen=True, slots=True)
class _Token:
    """kind: number, text, column, sign, keyword or end; at: its place in the condition, from 0."""

    kind: str
    text: str
    at: int


class _Parser:
    """Recursive descent, a method per rule of the grammar."""

    def __init__(self, text: str, option: str) -> None:
        self._text, self._option = text, option
        self._tokens = self._cut()
        self._next = 0

    def _cut(self) -> list[_Token]:
        tokens: list[_Token] = []
        at = len(self._text) - len(self._text.lstrip())
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._wrong("a column, a value or a sign", _Token("", self._text[at], at))
            kind, text = str(match.lastgroup), str(match[str(match.lastgroup)])
            if kind in ("single", "double"):
                kind, text = "text", text.replace("''" if kind == "single" else '""', "'" if kind == "single" else '"')
                text = unicodedata.normalize("NFC", text)
            elif kind == "quoted":
                kind, text = "column", text.replace("``", "`")
            elif kind == "word":
                keyword = text.lower() in _KEYWORDS
                kind, text = ("keyword", text.lower()) if keyword else ("column", text)
            elif kind == "sign":
                text = _SIGNS.get(text, text)
            tokens.append(_Token(kind, text, at))
            at = _SPACE.match(self._text, match.end()).end()  # type: ignore[union-attr]  # it matches anything
        return [*tokens, _Token("end", "", at)]

    def _wrong(self, expected: str, token: _Token) -> UsageError:
        culprit = "the end" if token.kind == "end" else f"'{token.text}' at position {token.at + 1}"
        date = _BARE_DATE.search(self._text)
        if date is not None and date.start() <= token.at < date.end():
            culprit += f" (a date stands in quotes: '{date[0]}')"
        return UsageError(
            f"{self._option} {self._text!r}: expected {expected}, found {culprit}; write it as in {EXAMPLE!r}"
        )

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, kind: str, *texts: str) -> _Token | None:
        """Return the next token and go on, if it is one of these."""
        token = self._token
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self._next += 1
        return token

    def whole(self) -> Condition:
        condition = self._or()
        if self._token.kind != "end":
            raise self._wrong("'and', 'or' or the end", self._token)
        return condition

    def _or(self) -> Condition:
        parts = [self._and()]
        while self._take("keyword", "or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Join("or", tuple(parts))

    def _and(self) -> Condition:
        parts = [self._not()]
        while self._take("keyword", "and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def _not(self) -> Condition:
        return Not(self._not()) if self._take("keyword", "not") else self._test()

    def _test(self) -> Condition:
        if self._take("sign", "("):
            condition = self._or()
            if not self._take("sign", ")"):
                raise self._wrong("')'", self._token)
            return condition
        first = self._token
        value = self._value("a column")
        if self._token.kind == "sign" and self._token.text in FLIPPED:
            return self._comparisons(value, first)
        if not isinstance(value, Column):
            raise self._wrong("a column", first)
        if self._take("keyword", "is"):
            negated = self._take("keyword", "not")
            if not self._take("keyword", "null", "none"):
                raise self._wrong("'null' or 'not null'", self._token)
            return Not(IsNull(value)) if negated else IsNull(value)
        negated = self._take("keyword", "not")
        test = self._take("keyword", *_TESTS)
        if test:
            condition = self._membership(value, test.text)
            return Not(condition) if negated else condition
        if negated:
            raise self._wrong("'in', 'contains', 'matches', 'startswith' or 'endswith'", self._token)
        return Alone(value)

    def _comparisons(self, value: Value | Column, first: _Token) -> Condition:
        """Read == 3, and the rest of 3 <= rating <= 7."""
        parts: list[Condition] = []
        while self._token.kind == "sign" and self._token.text in FLIPPED:
            sign = self._token.text
            self._next += 1
            following = self._value("a value or a column")
            if isinstance(value, Column):
                parts.append(Compare(value, sign, following))
            elif isinstance(following, Column):
                parts.append(Compare(following, FLIPPED[sign], value))
            else:
                as_column = (
                    f" (in backticks where its name is a number: `{first.text}`)" if first.kind == "number" else ""
                )
                raise self._wrong(f"a column on one side of the sign{as_column}", first)
            value = following
        return parts[0] if len(parts) == 1 else Join("and", tuple(parts))

    def _membership(self, column: Column, test: str) -> Condition:
        if test == "in":
            return In(column, self._list())
        token = self._token
        value = self._value("a text in quotes")
        if isinstance(value, Column) or (test != "contains" and not isinstance(value, str)):
            raise self._wrong("a text in quotes", token)
        if test == "matches":
            compile_regex(str(value), f"{self._option}: matches")
            return Matches(column, str(value))
        return TextTest(column, test, value)

    def _list(self) -> tuple[Value, ...]:
        opening = self._take("sign", *_CLOSING)
        if not opening:
            raise self._wrong("a list such as ['a', 'b']", self._token)
        values: list[Value] = []
        while True:
            token = self._token
            value = self._value("a value")
            if isinstance(value, Column):
                raise self._wrong("a value (texts stand in quotes)", token)
            values.append(value)
            if not self._take("sign", ","):
                break
        if not self._take("sign", _CLOSING[opening.text]):
            raise self._wrong(f"',' or '{_CLOSING[opening.text]}'", self._token)
        return tuple(values)

    def _value(self, expected: str) -> Value | Column:
        token = self._token
        self._next += token.kind != "end"
        if token.kind == "column":
            return Column(token.text)
        if token.kind == "text":
            return token.text
        if token.kind == "number":
            whole = token.text.lstrip("+-").isdecimal() and len(token.text) < _MOST_DIGITS
            return int(token.text) if whole else float(token.text)
        if token.kind == "keyword" and token.text in ("true", "false"):
            return token.text == "true"
        if token.kind == "keyword" and token.text in ("null", "none"):
            raise self._wrong(f"{expected} (write: is null, or: is not null)", token)
        raise self._wrong(expected, token)
