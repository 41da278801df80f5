"""The columns of several inputs → the one schema of the document table."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyarrow as pa

from nlpkit.errors import EncodingError, InputError, UsageError, missing_column
from nlpkit.io.dates import FORMAT_KEY, check_format
from nlpkit.io.documents import VOCABULARY_KEY
from nlpkit.io.readers.columns import JUMBLED, NULL, TOKENS, TypedColumn, ValueKind, merge, settle
from nlpkit.text.dates import COPY_KEY

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
