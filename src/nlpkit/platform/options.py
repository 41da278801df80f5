"""Options as plain data: a record's fields carry their help and limits, and the command line unfolds them into its options.

An option record is a class marked `@options`, whose fields are annotated `Annotated[type, Param("A sentence.", min=1)]`. It lives
in the package that it configures, and its defaults are stated nowhere else. Whatever a field declares is
checked when a record is made: its type, limits and choices, what it needs or excludes. Messages name a parameter between backticks, as
Python writes it (`min_df`, `min_df=5`, `lower=False`); the command line shows it as the option it is there (--min-df 5, --no-lower).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, dataclass_transform, get_args, get_origin, get_type_hints

from nlpkit.errors import ROLES, UsageError, unknown_value
from nlpkit.platform.foreign_names import native_parameter, parameter_hint
from nlpkit.platform.wording import truncated

MOST = 2**31 - 1  # of whole numbers
_Record = TypeVar("_Record")
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Files:
    """The use of the files that a parameter names. A parameter of type Path is read unless it says otherwise.

    written: they are not read but written: a table, whose suffix says the format, a folder, or another file. several: files
    stand in a list with commas, among other things. named: a name and = may stand before a file. but: values that are no files.
    """

    written: Literal["", "table", "folder", "file"] = ""
    several: bool = False
    named: bool = False
    but: tuple[str, ...] = ()

    def names(self, value: Any) -> list[str]:
        """Return the files that a value of the parameter names."""
        values = [str(v) for v in (value if isinstance(value, list) else [value]) if v is not None]
        if self.several:
            parts = [part.strip() for v in values for part in v.split(",")]
            parts += [part.partition("=")[2].strip() for part in parts if self.named]
            return [part for part in parts if Path(part).is_file()]
        return [v for v in values if v not in self.but]


READ, READ_LIST = Files(), Files(several=True)
WRITTEN, TABLE_WRITTEN, FOLDER_WRITTEN = Files("file"), Files("table"), Files("folder")


def names_in(value: str | Collection[str] | None) -> list[str]:
    """Return the names of a parameter that takes them as text with commas or one by one."""
    parts = value.split(",") if isinstance(value, str) else value or ()
    return [part.strip() for part in parts if part.strip()]


@dataclass(frozen=True, slots=True)
class Param:
    """Help and limits of one parameter.

    help: a sentence that stands alone. names: how the command line calls it where that is not the name of the field, the first
    being the one that is shown, and a single letter a short option. off: the name that switches a bool off where that is not
    `no_<name>`; "" where there is none, as for a bool that is False by default. metavar: how its value is shown. min, max: the
    least and the greatest number; above, below: bounds that the number itself must not reach. choices: the texts that it takes.
    filled: whether a text must not be empty. needs: fields of the record without one of which it has no effect, each as `name` or
    `name=value`. excludes: fields that do not go together with it. panel: the heading of the help under which it stands; default:
    that of its record (PANEL). log: whether runs record it (`in_force`). command_line: whether it is an option there.
    """

    help: str
    names: tuple[str, ...] = ()
    off: str | None = None
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    panel: str = ""
    above: float | None = None
    below: float | None = None
    choices: Collection[str] | None = None
    filled: bool = False
    needs: Collection[str] = ()
    excludes: Collection[str] = ()
    log: bool = True
    command_line: bool = True


@dataclass_transform(frozen_default=True)
def options(kind: type[_Record]) -> type[_Record]:
    """Make a class a record of options: a frozen dataclass that refuses values which its fields do not take.

    A field takes the types of its annotation: a path also as text, several values also as a list, numbers also as those of NumPy.
    A record's `__post_init__` comes after that, so that it sees nothing else.

    Raises:
        UsageError: when a record is made: a value is of another type, not a finite number, outside the limits, or no choice, or
            it needs another field or excludes it.
    """
    inherited = getattr(kind, "__post_init__", None)
    further = getattr(inherited, "further", inherited)

    def check(self: Any) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not field.default:
                taken = _taken(type(self), field, value)
                if taken is not value:
                    object.__setattr__(self, field.name, taken)
        _check_together(self)
        if further is not None:
            further(self)

    check.further = further  # type: ignore[attr-defined]
    kind.__post_init__ = check  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True)(kind)


@options
class Execution:
    """Settings of execution; the result of a computation depends on the seed alone."""

    seed: Annotated[int, Param("Random seed.", ("seed", "random_state"), min=0)] = 42
    threads: Annotated[int, Param("Number of threads; 0 = all cores. The result does not depend on it.", min=0)] = 0
    verify: Annotated[bool, Param("Refuse a run whose files were changed after it was written.")] = True

    def n_threads(self) -> int:
        """Return the number of workers, at least 1."""
        if self.threads:
            return self.threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def with_settings(
    records: Sequence[Any], settings: Mapping[str, Any], kinds: Sequence[Callable[[], Any]] = ()
) -> tuple[Any, ...]:
    """Return records of options with single options set, each in the record that has it; a record in a field counts, too.

    An option may have the name that the command line or another program has for it, such as n_topics for k.

    Args:
        kinds: of the records, which make those that are None.

    Raises:
        TypeError: a name is none of the options (the nearest one is named), or an option is there under two names.
        UsageError: a record is of another type, or a value is no number where one is needed, or outside its limits.
    """
    of_kinds = kinds or [object] * len(records)
    records = [_record(record, kind) for record, kind in zip(records, of_kinds, strict=True)]
    left = _with_native_names(settings, records)
    filled = tuple(_filled(record, left) for record in records)
    if left:
        name = next(iter(left))
        known = [field.name for record in records for field in fields(record)]
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f" (known: {', '.join(sorted(known))})"
        instead = parameter_hint(name)
        hint = hint if instead is None else f"; use {instead}"
        if name in ROLES:
            role = name.removesuffix("_col")
            hint = f"; columns are named as documents are read: read_corpus(FILE, {name}=…) or Corpus.from_frame(data, {role}=…)"
        raise TypeError(f"'{name}' is not an option here{hint}")
    return filled


def in_force(record: Any) -> dict[str, Any]:
    """Return the options that a run records: those of the command line but for `log=False`.

    A record that has others, or in another order, says so with `recorded`: names, each with the field or property of its value.
    """
    kind: type = type(record)
    params = {name: param for name, (_, param) in _declared(kind).items()}
    names = {name: name for name, param in params.items() if param is not None and param.log and param.command_line}
    return {name: getattr(record, value) for name, value in getattr(record, "recorded", names).items()}


def takes(*records: type) -> Callable[[_Function], _Function]:
    """Mark a function whose settings are fields of records beside those of its parameters; of none at all without records."""

    def mark(function: _Function) -> _Function:
        function.takes = records  # type: ignore[attr-defined]
        return function

    return mark


def hands_on(other: Callable[..., Any], *, without: Sequence[str] = ()) -> Callable[[_Function], _Function]:
    """Mark a function that hands its settings on to another. without: keywords of the other that it does not take."""

    def mark(function: _Function) -> _Function:
        function.hands_on_to, function.without = other, tuple(without)  # type: ignore[attr-defined]
        return function

    return mark


def _record(record: Any, kind: Callable[[], Any]) -> Any:
    """Return a record of options, that of the defaults for None. Raises UsageError where it is none, or of another kind."""
    if record is None:
        return kind()
    if is_dataclass(record) and (not isinstance(kind, type) or isinstance(record, kind)):
        return record
    needed = f"{kind.__name__}(…)" if isinstance(kind, type) and is_dataclass(kind) else "a record of options"
    raise UsageError(
        f"an argument takes {needed}, got {truncated(repr(record), 60)}; pass single options by name, such as `seed=1`"
    )


def _filled(record: Any, left: dict[str, Any]) -> Any:
    """Return a record with the settings that it has, which are taken out of `left`."""
    changes: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if one.name in left and not (is_dataclass(value) and not is_dataclass(left[one.name])):
            changes[one.name] = left.pop(one.name)
        elif is_dataclass(value):
            inner = _filled(value, left)
            changes |= {} if inner is value else {one.name: inner}
    return replace(record, **changes) if changes else record


def _with_native_names(settings: Mapping[str, Any], records: Sequence[Any]) -> dict[str, Any]:
    """Return settings by the names of the fields of records. Raises TypeError where two names mean one field."""
    if not settings:
        return {}
    names = _names_of_fields(records)
    known = set(names.values())
    native: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for name, value in settings.items():
        field = name if name in known else names.get(name) or native_parameter(name, known) or name
        if field in native:
            raise TypeError(f"'{spelled[field]}' and '{name}' are the same option; give one of them")
        native[field], spelled[field] = value, name
    return native


def _names_of_fields(records: Sequence[Any]) -> dict[str, str]:
    """Return the names of the fields of records and of the records in them, as Python and the command line have them."""
    names: dict[str, str] = {}
    for record in records:
        kind: type = type(record)
        params = {name: param for name, (_, param) in _declared(kind).items()}
        for field in fields(record):
            value, param = getattr(record, field.name), params.get(field.name)
            names |= _names_of_fields([value]) if is_dataclass(value) else {}
            names |= dict.fromkeys((field.name, *(param.names if param is not None else ())), field.name)
    return names


@cache
def _declared(record: type) -> dict[str, tuple[frozenset[Any], Param | None]]:
    """Return the types that each field of a record takes, and its Param where it has one."""
    declared = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        marks = getattr(hint, "__metadata__", ())
        declared[name] = (_kinds(hint), next((mark for mark in marks if isinstance(mark, Param)), None))
    return declared


def _kinds(hint: Any) -> frozenset[Any]:
    """Return the types of an annotation, those of a union one by one."""
    if get_origin(hint) is Annotated:
        return _kinds(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return frozenset().union(*map(_kinds, get_args(hint)))
    return frozenset((hint,))


def _taken(record: type, field: Field[Any], value: Any) -> Any:
    """Return the value of a field as its record keeps it. Raises UsageError where the field does not take it."""
    kinds, param = _declared(record)[field.name]
    kept = _as_kind(field.name, kinds, value)
    for one in kept if isinstance(kept, tuple) else (kept,):
        if isinstance(one, int | float) and not isinstance(one, bool):
            _check_number(field.name, one, param)
        elif isinstance(one, str) and param is not None and param.choices is not None and one not in param.choices:
            raise unknown_value(field.name, one, param.choices)
        elif one == "" and param is not None and param.filled:
            raise UsageError(f"`{field.name}` is empty; give a text, or leave it out", parameter=field.name)
    return kept


def _check_together(record: Any) -> None:
    """Raise UsageError for a field that is set and needs another that is not, or excludes one that is."""
    usual = {field.name: field.default for field in fields(record)}
    kind: type = type(record)
    for name, param in _related(kind):
        if not _is_set(getattr(record, name), usual[name]):
            continue
        if param.needs and not any(_is_met(record, need) for need in param.needs):
            needed = " or ".join(f"`{need}`" for need in param.needs)
            shown = f"{name}=False" if getattr(record, name) is False else name
            raise UsageError(f"`{shown}` needs {needed}; add it, or leave `{shown}` out", parameter=name)
        for other in param.excludes:
            if _is_set(getattr(record, other), usual[other]):
                raise UsageError(f"`{other}` and `{name}` do not go together; give one of them", parameter=name)


@cache
def _related(record: type) -> list[tuple[str, Param]]:
    """Return the fields of a record that need others or exclude them."""
    params = [(name, param) for name, (_, param) in _declared(record).items() if param is not None]
    return [(name, param) for name, param in params if param.needs or param.excludes]


def _is_met(record: Any, need: str) -> bool:
    """Return whether a record has what one of its fields needs, such as `llm` or `method=hdbscan`."""
    name, _, value = need.partition("=")
    actual = getattr(record, name)
    return str(actual) == value if value else not any(actual is nothing for nothing in (None, False, "", (), 0))


def _is_set(value: Any, usual: Any) -> bool:
    """Return whether a value is another than the default; what is passed for None may be a table, which compares by its cells."""
    return value is not None if usual is None else bool(value != usual)


def _as_kind(name: str, kinds: frozenset[Any], value: Any) -> Any:
    """Return a value as one of the types that a parameter takes, itself where a type is none of the plain ones.

    Raises:
        UsageError: it is of another type.
    """
    if value is None and NoneType in kinds:
        return None
    several = next((kind for kind in kinds if get_origin(kind) is tuple), None)
    if type(value).__name__ in ("bool", "bool_"):  # that of NumPy, too
        if bool in kinds:
            return bool(value)
    elif isinstance(value, Integral) and not kinds.isdisjoint((int, float)):
        return int(value)
    elif isinstance(value, Real) and float in kinds:
        return float(value)
    elif isinstance(value, str) and not kinds.isdisjoint((str, Path)):
        return value if str in kinds else Path(value)
    elif isinstance(value, os.PathLike) and not kinds.isdisjoint((str, Path)):
        return value if Path in kinds else os.fspath(value)
    elif isinstance(value, list | tuple) and several is not None:
        return _as_tuple(name, get_args(several), value)
    if several is not None and value is not None and kinds == {several}:
        return _as_tuple(name, get_args(several), (value,))
    others = [get_origin(kind) or kind for kind in kinds if kind not in _PLAIN and kind is not several]
    if any(kind is Any or not isinstance(kind, type) or isinstance(value, kind) for kind in others):
        return value
    raise UsageError(f"`{name}` takes {_needed(kinds)}, got {truncated(repr(value), 60)}", parameter=name)


_PLAIN = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    NoneType: "None",
}


def _needed(kinds: Collection[Any]) -> str:
    """Return in words what types a parameter takes."""
    words = [word for kind, word in _PLAIN.items() if kind in kinds and not (kind is int and float in kinds)]
    words += ["several of them"] * any(get_origin(kind) is tuple for kind in kinds)
    words += sorted(kind.__name__ for kind in kinds if isinstance(kind, type) and kind not in _PLAIN)
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _as_tuple(name: str, items: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return several values as a tuple; where all are of one type, as that type. Raises UsageError where one is not."""
    if items[-1] is not ... or get_origin(items[0]) is tuple:  # pairs, which the record itself reads
        return tuple(values)
    return tuple(_as_kind(name, _kinds(items[0]), value) for value in values)


def _check_number(name: str, value: float, param: Param | None) -> None:
    """Raise UsageError for a number that is not finite or outside of its limits; a seed may be as large as it likes."""
    if not math.isfinite(value):
        raise UsageError(f"`{name}` takes a finite number, got {value}", parameter=name)
    limits = param or Param("")
    most = MOST if limits.max is None and isinstance(value, int) and name != "seed" else limits.max
    refused = {
        "at least": (limits.min, limits.min is not None and value < limits.min),
        "above": (limits.above, limits.above is not None and value <= limits.above),
        "at most": (most, most is not None and value > most),
        "below": (limits.below, limits.below is not None and value >= limits.below),
    }
    for words, (bound, is_refused) in refused.items():
        if is_refused:
            shown = f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
            raise UsageError(f"`{name}` must be {words} {shown}, got {value}", parameter=name)
