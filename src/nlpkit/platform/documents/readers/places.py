"""Columns that are named by a place inside others: body.text, paragraphs[].text, and texts of several columns: title,text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa

from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.platform.documents.readers.blocks import RowBlock
from nlpkit.platform.documents.readers.roles import NUMBERED, Roles, text_columns
from nlpkit.platform.documents.readers.value_types import MIXED, NULL, STRING, ValueKind, as_text
from nlpkit.platform.documents.sources import Source, split_suffix
from nlpkit.platform.values import python_values
from nlpkit.platform.wording import counted

BETWEEN = "\n\n"  # the texts that are joined


_EACH = "[]"


Kind: TypeAlias = Any  # ValueKind or pa.DataType


@dataclass(frozen=True, slots=True)
class Place:
    """A value inside a column: steps are keys of objects, and '[]' for each item of a list."""

    column: str
    steps: tuple[str, ...]

    def values(self, value: Any) -> Iterator[Any]:
        """Yield what stands there in a value of the column; nothing where there is no such place."""
        values: list[Any] = [value]
        for step in self.steps:
            if step == _EACH:
                values = list(chain.from_iterable(v for v in values if isinstance(v, list)))
            else:
                values = [v[step] for v in values if isinstance(v, dict) and step in v]
        yield from values


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """A column that is put together from places in columns of the input."""

    places: tuple[Place, ...]
    kind: Kind
    joined: bool  # a text of all that stands there; else the one value, or a list of them

    @property
    def columns(self) -> list[str]:
        """The columns that are looked into."""
        return list(dict.fromkeys(place.column for place in self.places))

    def values(self, columns: Mapping[str, Sequence[Any]], n_rows: int) -> list[Any]:
        """Return the value of each row."""
        nothing = [None] * n_rows
        inside = [(place, columns.get(place.column, nothing)) for place in self.places]
        return [self._value([list(place.values(values[row])) for place, values in inside]) for row in range(n_rows)]

    def _value(self, values: list[list[Any]]) -> Any:
        if self.joined:
            return _joined(list(chain.from_iterable(values)))
        several = any(_EACH in place.steps for place in self.places)
        return values[0] if several else next(iter(values[0]), None)


def _joined(values: list[Any]) -> Any:
    """Return the texts joined by blank lines, None where there is none; a list or an object, which is no text, as it is."""
    texts = [value for value in values if value is not None and value != "" and value == value]
    if any(isinstance(value, list | dict) for value in texts):
        return next(value for value in texts if isinstance(value, list | dict))
    return BETWEEN.join(map(as_text, texts)) if texts else next((v for v in values if v == ""), None)


def derived_columns(roles: Roles, columns: Mapping[str, Kind], path: str) -> dict[str, DerivedColumn]:
    """Return the columns named for a role that are no columns of the input but places in them, or several for the text.

    A column that has the whole name comes first.

    Raises:
        ColumnError: of several columns of the text some are not there; UsageError: an id or a date would be several values.
    """
    derived: dict[str, DerivedColumn] = {}
    for role, name in roles.items():
        if name in columns or (role == "id" and name == NUMBERED):
            continue
        parts = text_columns(name) if role == "text" else [name]
        places = {part: _place(part, columns) for part in parts}
        missing = [part for part, place in places.items() if place is None]
        if len(parts) > 1 and missing:
            raise _missing(path, missing, columns)
        known = tuple(place for place in places.values() if place is not None)
        if not known:
            if "." in name or _EACH in name:
                raise missing_column(path, name, _paths(columns), f"{role}_col")
            continue
        if role in ("id", "date") and any(_EACH in place.steps for place in known):
            raise UsageError(f"`{role}_col={name}` gives several values per document, but one is needed")
        kind = STRING if role == "text" else _kind(known[0], columns)
        derived[name] = DerivedColumn(known, kind, role == "text")
    return derived


def with_derived(block: RowBlock, derived: Mapping[str, DerivedColumn]) -> RowBlock:
    """Return a block with the columns that are put together."""
    if not derived:
        return block
    n_rows = len(block.numbers)
    columns = {name: column.values(block.columns, n_rows) for name, column in derived.items()}
    return RowBlock({**block.columns, **columns}, block.numbers, block.size, block.lines, block.unit, block.reasons)


def batch_with_derived(batch: pa.RecordBatch, derived: Mapping[str, DerivedColumn]) -> pa.RecordBatch:
    """Return a batch with the columns that are put together."""
    for name, column in derived.items():
        inside = {part: python_values(batch.column(part)) for part in column.columns}
        type_ = pa.large_string() if isinstance(column.kind, ValueKind) else column.kind
        batch = batch.append_column(name, pa.array(column.values(inside, batch.num_rows), type_))
    return batch


def _place(name: str, columns: Mapping[str, Kind]) -> Place | None:
    """Return the place of that name; its column has the longest name that it begins with."""
    if name in columns:
        return Place(name, ())
    names = name.replace(_EACH, f".{_EACH}").split(".")
    for n in range(len(names) - 1, 0, -1):
        column, steps = ".".join(names[:n]), tuple(names[n:])
        if column in columns:
            place = Place(column, steps)
            return place if _kind(place, columns) is not None else None
    return None


def _kind(place: Place, columns: Mapping[str, Kind]) -> Kind:
    """Return what stands at a place, a list of it where there are several; None where there is no such place."""
    kind = columns[place.column]
    for step in place.steps:
        kind = _inside(kind, step)
        if kind is None:
            return None
    if _EACH not in place.steps:
        return kind
    return ValueKind("list", kind) if isinstance(kind, ValueKind) else pa.list_(kind)


def _inside(kind: Kind, step: str) -> Kind:
    if isinstance(kind, ValueKind):
        if kind.is_text or kind == NULL:  # it may be there in some rows
            return MIXED
        return kind.item if step == _EACH else dict(kind.fields).get(step)
    if step == _EACH:
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        return kind.value_type if is_list else None
    at = kind.get_field_index(step) if pa.types.is_struct(kind) else -1
    return None if at < 0 else kind.field(at).type


def _paths(columns: Mapping[str, Kind]) -> list[str]:
    """Return the names of columns, of objects those of the places in them."""
    return list(chain.from_iterable(_below(name, kind) for name, kind in columns.items()))


def _below(name: str, kind: Kind) -> Iterator[str]:
    item = _inside(kind, _EACH)
    fields = {key: _inside(kind, key) for key in _keys(kind)}
    if item is not None and _keys(item):
        yield from _below(f"{name}{_EACH}", item)
    elif fields:
        for field, below in fields.items():
            yield from _below(f"{name}.{field}", below)
    else:
        yield name


def _keys(kind: Kind) -> list[str]:
    """Return the keys of objects."""
    if isinstance(kind, ValueKind):
        return [key for key, _ in kind.fields]
    return [field.name for field in kind] if pa.types.is_struct(kind) else []


def _missing(path: str, missing: Sequence[str], columns: Mapping[str, Kind]) -> ColumnError:
    if len(missing) == 1:
        return missing_column(path, missing[0], _paths(columns), "text_col")
    names = " and ".join(f"'{name}'" for name in missing)
    return ColumnError(f"{path} has no columns {names} (found: {', '.join(_paths(columns))})", parameter="text_col")


PATH = "path"  # the column with the path itself


_NAME = re.compile(r"\{([^{}/]+)\}|([^\W\d_]+\d*)")


_SHOWN = 3


class PathColumns:
    """A pattern of the end of paths: folders parted by /, last the name of the file without its suffix.

    Words are the names of columns, and what stands between them stands so in the path. A name with other characters than letters
    stands in braces: {birth_date}.

    Raises:
        UsageError: the pattern has no name, or one twice.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.names = [braced or word for braced, word in _NAME.findall(pattern)]
        twice = len(set(self.names)) < len(self.names)
        if not self.names or twice or PATH in self.names or "" in pattern.split("/"):
            raise UsageError(
                f"`path_cols={pattern}` takes names of columns as they follow each other in paths, such as party/year_speaker",
                parameter="path_cols",
            )
        parts = []
        for part in pattern.split("/"):
            literals = re.split(_NAME.pattern.replace("(", "(?:"), part)
            n_names = len(_NAME.findall(part))
            named = ["(.+?)"] * (n_names - 1) + ["(.+)"] * bool(n_names)
            parts.append("".join(re.escape(text) + name for text, name in zip(literals, [*named, ""], strict=True)))
        self._form = re.compile("(?:.*/)?" + "/".join(parts), re.DOTALL)

    def values(self, path: str) -> dict[str, str | None] | None:
        """Return the columns of a path, None where it is not like the pattern."""
        folder, slash, name = path.rpartition("/")
        match = self._form.fullmatch(f"{folder}{slash}{split_suffix(name)[0]}")
        return None if match is None else dict(zip([*self.names, PATH], [*match.groups(), path], strict=True))

    def check(self, sources: Sequence[Source]) -> None:
        """Raise InputError where paths are not like the pattern."""
        unlike = [source.relative for source in sources if self.values(source.relative) is None]
        if unlike:
            shown = ", ".join(unlike[:_SHOWN]) + (" …" if len(unlike) > _SHOWN else "")
            raise InputError(
                f"{counted(len(unlike), 'path')} of {len(sources):,} "
                f"{'is' if len(unlike) == 1 else 'are'} not like `path_cols={self.pattern}`: {shown}",
                parameter="path_cols",
            )
