"""The Arrow types of columns, found from Python values and unified over several inputs.

A `ValueKind` is what JSON values have in common: null, bool, int, float, string, list of a kind, struct of kinds, mixed, or jumbled
(lists or objects in some rows, and something else in others).
Kinds of different rows and sources merge; the merged kind of a column gives its Arrow type. A batch fits a column
when merging its kind changes nothing, so the check and the inference are the same code.

Parts, in this order:
- Python values → Arrow columns: the first rows decide the type, later rows must fit it.
- The columns of several inputs → the one schema of the document table.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from functools import reduce
from itertools import chain
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.errors import EncodingError, InputError, UsageError, missing_column
from nlpkit.platform.documents.arrays import VOCABULARY_KEY
from nlpkit.platform.documents.dates import COPY_KEY, FORMAT_KEY, DateReader, check_format
from nlpkit.platform.values import python_values
from nlpkit.platform.wording import truncated

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
}
TOKENS = pa.list_(pa.dictionary(pa.int32(), pa.string()))

_INT64 = range(-(1 << 63), 1 << 63)
_TRUE, _FALSE = frozenset(("true", "t", "yes", "y", "1")), frozenset(("false", "f", "no", "n", "0"))


@dataclass(frozen=True, slots=True)
class ValueKind:
    """The kind that all values of a column share; `length` is that of all lists, or -1."""

    name: str  # null bool int float string list struct mixed jumbled
    item: ValueKind | None = None
    fields: tuple[tuple[str, ValueKind], ...] = ()
    length: int = -1

    def __str__(self) -> str:
        names = {
            "null": "empty",
            "list": f"a list of {self.item}",
            "struct": "an object",
            "jumbled": "a list or an object, or not",
        }
        return names.get(self.name, self.name)

    @property
    def is_text(self) -> bool:
        """Whether values are stored as text, since they share no other kind."""
        return self.name in ("mixed", "jumbled")


NULL, BOOL, INT, FLOAT, STRING, MIXED, JUMBLED = map(
    ValueKind, ("null", "bool", "int", "float", "string", "mixed", "jumbled")
)
_SCALARS = {bool: BOOL, int: INT, float: FLOAT, str: STRING}


def kind_of(values: Iterable[Any]) -> ValueKind:
    """Return the kind that all values share, nulls apart."""
    values = values if isinstance(values, list) else list(values)
    types = set(map(type, values))
    has_null = NoneType in types
    types.discard(NoneType)
    if not types:
        return NULL
    if types == {int, float}:
        return FLOAT if all(_is_float(value) for value in values if type(value) is int) else MIXED
    if len(types) > 1:
        return MIXED if types.isdisjoint((list, dict)) else JUMBLED
    present = [value for value in values if value is not None] if has_null else values
    match types.pop():
        case t if t is int:
            return INT if min(present) in _INT64 and max(present) in _INT64 else MIXED
        case t if t is list:
            lengths = set(map(len, present))
            return ValueKind(
                "list", kind_of(list(chain.from_iterable(present))), length=lengths.pop() if len(lengths) == 1 else -1
            )
        case t if t is dict:
            names = dict.fromkeys(chain.from_iterable(present))
            fields = tuple((name, kind_of([value.get(name) for value in present])) for name in names)
            return ValueKind("struct", fields=fields)
        case t:
            return _SCALARS.get(t, MIXED)


def _is_float(value: int) -> bool:
    """Return whether a float holds all digits of a whole number."""
    return value in _INT64 and int(float(value)) == value


def merge(a: ValueKind, b: ValueKind) -> ValueKind:
    """Return the narrowest kind that values of both have."""
    if a == b or b.name == "null":
        return a
    if a.name == "null":
        return b
    if {a.name, b.name} == {"int", "float"}:
        return FLOAT
    if a.name != b.name:
        return JUMBLED if any(kind.name in ("list", "struct", "jumbled") for kind in (a, b)) else MIXED
    if a.item is not None and b.item is not None:
        return ValueKind("list", merge(a.item, b.item), length=a.length if a.length == b.length else -1)
    known = dict(a.fields)
    for name, kind in b.fields:
        known[name] = merge(known[name], kind) if name in known else kind
    return replace(a, fields=tuple(known.items()))


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column of the document table as JSON-like rows fill it."""

    name: str
    type: pa.DataType
    kind: ValueKind  # what a value may be
    sampled: ValueKind  # what the first rows held, for messages
    forced: str | None = None  # the type given with `types`


def settle(name: str, sampled: ValueKind, forced: str | None = None) -> TypedColumn:
    """Return the column for values of a kind: nulls as strings, nlpkit's own columns as they are stored."""
    if forced is not None:
        return TypedColumn(name, TYPES[forced], JUMBLED, sampled, forced)
    embedding = (
        name == "embedding"
        and sampled.item is not None
        and sampled.item.name in ("int", "float")
        and sampled.length > 0
    )
    if embedding:
        return TypedColumn(name, pa.list_(pa.float32(), sampled.length), replace(sampled, item=FLOAT), sampled)
    kind = _without_gaps(sampled)
    if name == "tokens" and kind.item == STRING:
        return TypedColumn(name, TOKENS, kind, sampled)
    if name == "topic" and kind == INT:
        return TypedColumn(name, pa.int32(), kind, sampled)
    if name in ("topic_prob", "prediction_prob") and kind.name in ("int", "float"):
        return TypedColumn(name, pa.float32(), FLOAT, sampled)
    return TypedColumn(name, _arrow(kind), kind, sampled)


def _without_gaps(kind: ValueKind) -> ValueKind:
    """Return the kind with string for what the first rows left empty, and lists of any length."""
    if kind.name == "null":
        return STRING
    if kind.name == "struct" and not kind.fields:
        return JUMBLED  # Parquet stores no objects without fields
    fields = tuple((name, _without_gaps(field)) for name, field in kind.fields)
    return ValueKind(kind.name, kind.item and _without_gaps(kind.item), fields)


def _arrow(kind: ValueKind) -> pa.DataType:
    if kind.item is not None:
        return pa.list_(_arrow(kind.item))
    if kind.fields:
        return pa.struct([pa.field(name, _arrow(field)) for name, field in kind.fields])
    return TYPES.get(kind.name, pa.string())


# ---------------------------------------------------------------- values → arrays


def to_array(
    column: TypedColumn, values: Sequence[Any], place: Callable[[int], str], *, replace_broken: bool = False
) -> pa.Array:
    """Return values as an Arrow array of the column's type (tokens still as plain strings, see `encode_tokens`).

    Raises InputError with the place of the first value that does not fit, EncodingError for half a surrogate pair
    unless `replace_broken`.
    """
    if column.forced is not None:
        values = [_forced(column, value, place, row) for row, value in enumerate(values)]
    else:
        _check(column, values, place)
        if _has_mixed(column.kind):
            values = [_shaped(value, column.kind) for value in values]
    plain = pa.list_(pa.string()) if column.type == TOKENS else column.type
    try:
        if column.kind == FLOAT:  # Arrow refuses integers above 2^53 here
            _check_exact(column, values, place)
            values = [value if value is None else float(value) for value in values]
        return pa.array(values, plain)
    except UnicodeEncodeError:
        if replace_broken:
            return pa.array([_mended(value) for value in values], plain)
        row = next(row for row, value in enumerate(values) if _mended(value) != value)
        raise EncodingError(
            f"{place(row)}: column '{column.name}' holds half a surrogate pair (\\ud83d or so), which is not a "
            "character; use `encoding_errors=replace` to read it as U+FFFD"
        ) from None
    except (pa.ArrowInvalid, OverflowError):
        for row, value in enumerate(values):
            try:
                pa.array([value], plain)
            except (pa.ArrowInvalid, OverflowError):
                raise _misfit(column, value, place(row)) from None
        raise


def forced_array(column: TypedColumn, array: pa.Array, place: Callable[[int], str]) -> pa.Array:
    """Return an Arrow array as the type given with `types`; raises InputError where a value has none."""
    values = python_values(array)
    return pa.array([_forced(column, value, place, row) for row, value in enumerate(values)], column.type)


def encode_tokens(lists: pa.Array) -> pa.Array:
    """Return lists of strings as lists of dictionary codes."""
    return lists.cast(TOKENS)


def as_text(value: Any) -> str:
    """Return a value as text: strings as they are, days and times in ISO 8601, everything else as JSON."""
    if isinstance(value, date | time | timedelta):
        return str(value)
    return value if type(value) is str else json.dumps(value, ensure_ascii=False, default=str)


def _check(column: TypedColumn, values: Sequence[Any], place: Callable[[int], str]) -> None:
    if _fits(column.kind, kind_of(values)):
        return
    for row, value in enumerate(values):
        if not _fits(column.kind, kind_of([value])):
            raise _misfit(column, value, place(row))


def _check_exact(column: TypedColumn, values: Sequence[Any], place: Callable[[int], str]) -> None:
    """Raise InputError for a whole number beyond 2^53 that a float does not hold, such as an id."""
    for row, value in enumerate(values):
        if type(value) is int and not _is_float(value):
            raise InputError(
                f"{place(row)}: column '{column.name}' was {column.sampled} in the first rows, but {value} here, "
                f"with more digits than a float can hold; use `types={column.name}=string`"
            )


def _fits(column: ValueKind, kind: ValueKind) -> bool:
    if column.item is not None and column.length < 0:
        kind = _any_length(kind)
    return merge(column, kind) == column


def _any_length(kind: ValueKind) -> ValueKind:
    fields = tuple((name, _any_length(field)) for name, field in kind.fields)
    return ValueKind(kind.name, kind.item and _any_length(kind.item), fields)


def _misfit(column: TypedColumn, value: Any, place: str) -> InputError:
    was = f"{column.sampled} of {column.sampled.length}" if column.kind.length > 0 else str(column.sampled)
    wider = merge(column.sampled, kind_of([value])).name
    suggestion = wider if wider in TYPES else "string"
    return InputError(
        f"{place}: column '{column.name}' was {was} in the first rows, but {_short(value)} here; use "
        f"`types={column.name}={suggestion}`"
    )


def _short(value: Any) -> str:
    return truncated(json.dumps(value, ensure_ascii=False, default=str), 60)


def _forced(column: TypedColumn, value: Any, place: Callable[[int], str], row: int) -> Any:
    if value is None:
        return None
    try:
        return _CONVERT[column.forced or "string"](value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{place(row)}: column '{column.name}' should be {column.forced} (`types`), but is {_short(value)} here"
        ) from None


def _to_int(value: Any) -> int | None:
    if isinstance(value, str) and not value.strip():
        return None
    number = int(value)
    if number not in _INT64 or (isinstance(value, float) and value != number):
        raise ValueError(value)
    return number


def _to_float(value: Any) -> float | None:
    return None if isinstance(value, str) and not value.strip() else float(value)


def _to_bool(value: Any) -> bool | None:
    word = as_text(value).strip().lower()
    if not word:
        return None
    if word not in _TRUE | _FALSE:
        raise ValueError(value)
    return word in _TRUE


def _to_date(value: Any) -> Any:
    """Return a day, one before the year 1 as NumPy has it; None for an empty cell."""
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    text = as_text(value).strip()
    if not text:
        return None
    reader = DateReader()
    moment = None if reader.is_unclear(text) else reader.read([text])[0]
    if moment is None:
        raise ValueError(value)
    return np.datetime64(moment.number, "D") if moment.cycles else moment.day


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "string": as_text,
    "int": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "date": _to_date,
}


def _has_mixed(kind: ValueKind) -> bool:
    if kind.item is not None:
        return _has_mixed(kind.item)
    return kind.is_text or any(_has_mixed(field) for _, field in kind.fields)


def _shaped(value: Any, kind: ValueKind) -> Any:
    """Return a value in which everything of mixed kinds is text."""
    if value is None:
        return None
    if kind.is_text:
        return as_text(value)
    if kind.item is not None:
        return [_shaped(item, kind.item) for item in value]
    if kind.fields:
        return {name: _shaped(value.get(name), field) for name, field in kind.fields}
    return value


def _mended(value: Any) -> Any:
    """Return a value with the halves of surrogate pairs replaced (or joined, where two of them stand together)."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {name: _mended(item) for name, item in value.items()}
    return value


# ------------------------------------------------------------------------------------------------------------------------
# The columns of several inputs → the one schema of the document table.

log = logging.getLogger("nlpkit.io")

ID = pa.field("id", pa.string(), nullable=False)
TEXT = pa.field("text", pa.large_string())


@dataclass(frozen=True, slots=True)
class InputHeader:
    """The columns of one input: final name → name there, and what they hold (a kind of values or an Arrow type)."""

    path: str
    renamed: Mapping[str, str]
    columns: Mapping[str, ValueKind | pa.DataType]
    open_ended: bool = False  # later rows may have further columns (JSON)
    metadata: Mapping[str, Mapping[bytes, bytes]] = field(default_factory=dict)  # of the columns, by name there


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The schema of the document table, and how rows of Python values fill the columns beside id and text."""

    schema: pa.Schema
    columns: Mapping[str, TypedColumn]

    @property
    def others(self) -> list[pa.Field]:
        """The fields beside id and text."""
        return list(self.schema)[2:]


def unify(inputs: Sequence[InputHeader], forced: Mapping[str, str]) -> TableLayout:
    """Return the layout that holds the columns of all inputs; `forced` types are by name, final or in the input.

    Raises InputError for Parquet columns of one name that no type holds, ColumnError for a forced column that no
    input has, UsageError for a forced type of id or text.
    """
    names = dict.fromkeys(name for header in inputs for name in header.renamed if name not in ("id", "text"))
    types = _forced_by_final_name(inputs, forced)
    names |= dict.fromkeys(name for name in types if name not in names)
    fields, columns = [_marked(ID, inputs), TEXT], {}
    _refuse_jumbled("id", _held("id", inputs), inputs)
    for name in names:
        held = _held(name, inputs)
        kinds = [kind for _, kind in held if isinstance(kind, ValueKind)]
        _check_name(name, held)
        if name not in types:
            _refuse_jumbled(name, held, inputs)
            _warn_of_mixed(name, held)
        columns[name] = settle(name, reduce(merge, kinds, NULL), types.get(name))
        carried = [dict(header.metadata.get(header.renamed[name]) or {}) for header in inputs if name in header.renamed]
        alike = carried[0] if carried and all(one == carried[0] for one in carried) else None
        fields.append(_marked(pa.field(name, _common_type(name, held, columns[name]), metadata=alike or None), inputs))
    return TableLayout(pa.schema(fields), columns)


def _held(name: str, inputs: Sequence[InputHeader]) -> list[tuple[str, ValueKind | pa.DataType]]:
    """Return what the inputs that have a column hold in it, made ids apart."""
    columns = [(header, header.renamed[name]) for header in inputs if name in header.renamed]
    return [(header.path, header.columns[source]) for header, source in columns if source in header.columns]


def _marked(field_: pa.Field, inputs: Sequence[InputHeader]) -> pa.Field:
    """Return a field that says of which column it is a copy, where it is one in all inputs."""
    name = field_.name
    sources = {header.renamed.get(name, name) for header in inputs}
    source = sources.pop() if len(sources) == 1 else name
    if source == name or not all(header.renamed.get(source) == source for header in inputs):
        return field_
    return field_.with_metadata({**(field_.metadata or {}), COPY_KEY: source.encode()})


def check_vocabularies(inputs: Sequence[InputHeader]) -> None:
    """Warn when tokens were restricted to different vocabularies, so that none is that of all."""
    held = [header.metadata.get(header.renamed["tokens"], {}) for header in inputs if "tokens" in header.renamed]
    if len({metadata.get(VOCABULARY_KEY) for metadata in held}) > 1:
        log.warning(
            "the tokens of the inputs were restricted to different vocabularies, or some to none: their terms are those of all, in "
            "alphabetical order"
        )


def with_date_format(layout: TableLayout, format: str, path: str) -> TableLayout:
    """Return the layout whose column of dates carries the format that they are written in.

    Raises:
        UsageError: it is no format of dates; ColumnError: there is no such column.
    """
    check_format(format)
    at = layout.schema.get_field_index("date")
    if at < 0:
        raise missing_column(path, "date", layout.schema.names, "date_col")
    field_ = layout.schema.field(at)
    carried = {**(field_.metadata or {}), FORMAT_KEY: format.encode()}
    return TableLayout(layout.schema.set(at, field_.with_metadata(carried)), layout.columns)


def _forced_by_final_name(inputs: Sequence[InputHeader], forced: Mapping[str, str]) -> dict[str, str]:
    types: dict[str, str] = {}
    for name, type_name in forced.items():
        finals = {final for header in inputs for final, column in header.renamed.items() if name in (final, column)}
        if finals & {"id", "text"}:
            if type_name != "string":
                raise UsageError(f"`types={name}={type_name}`: id and text are always strings")
            continue
        if not finals and inputs and not any(header.open_ended for header in inputs):
            known = [column for column in inputs[0].renamed.values() if column not in ("id", "text")]
            raise missing_column(inputs[0].path, name, known, "types")
        types |= dict.fromkeys(finals or {name}, type_name)
    return types


def _common_type(name: str, held: Sequence[tuple[str, ValueKind | pa.DataType]], column: TypedColumn) -> pa.DataType:
    """Return the type that all inputs can be cast to; rows of values count as the type they settle on."""
    if column.forced is not None or all(isinstance(what, ValueKind) for _, what in held):
        return column.type
    first_path, common = "", pa.null()
    for path, what in held:
        input_type = what if not isinstance(what, ValueKind) else pa.null() if what == NULL else column.type
        wider = _wider(name, common, input_type)
        if wider is None:
            raise InputError(
                f"column '{name}' is {common} in {first_path} but {input_type} in {path}; use `types={name}=string`"
            )
        if common != wider:
            first_path, common = path, wider
    return pa.string() if pa.types.is_null(common) else common


def _wider(name: str, a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    if _without_codes(a) == _without_codes(b):
        return TOKENS if name == "tokens" else _without_codes(a)
    try:
        schemas = [pa.schema([("x", type_)]) for type_ in (_without_codes(a), _without_codes(b))]
        return pa.unify_schemas(schemas, promote_options="permissive").field("x").type
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None


def _without_codes(type_: pa.DataType) -> pa.DataType:
    """Return a type with plain strings for dictionary codes and for the other string layouts."""
    if pa.types.is_dictionary(type_):
        return _without_codes(type_.value_type)
    if pa.types.is_list(type_):
        return pa.list_(_without_codes(type_.value_type))
    return pa.string() if pa.types.is_large_string(type_) else type_


def _warn_of_mixed(name: str, held: Sequence[tuple[str, ValueKind | pa.DataType]]) -> None:
    """Warn where the values of a column have a type in each input, and none in all of them."""
    common, first = NULL, ""
    for path, kind in held:
        if not isinstance(kind, ValueKind) or kind.is_text:
            return
        if merge(common, kind).is_text:
            log.warning("column '%s' is %s in %s and %s in %s: it is read as text", name, common, first, kind, path)
            return
        common, first = merge(common, kind), first if common != NULL else path


def _refuse_jumbled(
    name: str, held: Sequence[tuple[str, ValueKind | pa.DataType]], inputs: Sequence[InputHeader]
) -> None:
    """Refuse classes, and warn of other columns, that are lists or objects in some rows and text or numbers in others."""
    kinds = [(path, kind) for path, kind in held if isinstance(kind, ValueKind)]
    if reduce(merge, (kind for _, kind in kinds), NULL) != JUMBLED:
        return
    path = next((path for path, kind in kinds if kind == JUMBLED), kinds[-1][0])
    source = next(header.renamed[name] for header in inputs if name in header.renamed)
    problem = f"{path}: column '{source}' holds lists or objects in some rows and something else in others"
    if name == "label":
        raise InputError(f"{problem}; make all of them lists, or use `types={source}=string` to read each as one class")
    if name == "id":
        raise InputError(f"{problem}; name another column with `id_col`, or number the rows with `id_col=none`")
    log.warning("%s: all are read as text, lists as JSON", problem)


def _check_name(name: str, held: Sequence[tuple[str, ValueKind | pa.DataType]]) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        where = held[0][0] if held else "the input"
        raise EncodingError(
            f"{where}: the column name {name!r} holds half a surrogate pair; rename the column"
        ) from None
