"""Options as plain data: a record's fields carry their help and limits, and the command line unfolds them into its options.

An option record is a frozen dataclass whose fields are annotated `Annotated[type, Param("A sentence.", min=1)]`. It lives in the
package that it configures, and its defaults are stated nowhere else. Messages name a parameter between backticks, as Python
writes it (`min_df`, `min_df=5`, `lower=False`); the command line shows it as the option it is there (--min-df 5, --no-lower).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from nlpkit.errors import ROLES, UsageError
from nlpkit.wording import truncated

MOST = 2**31 - 1  # of whole numbers


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
    `no_<name>`; "" where there is none, as for a bool that is False by default. metavar: how its value is shown. panel: the
    heading of the help under which it stands; default: that of its record (PANEL).
    """

    help: str
    names: tuple[str, ...] = ()
    off: str | None = None
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    panel: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """Settings of execution; the result of a computation depends on the seed alone."""

    seed: Annotated[int, Param("Random seed.", ("seed", "random_state"), min=0)] = 42
    threads: Annotated[int, Param("Number of threads, 0 for all cores; the result does not depend on it.", min=0)] = 0
    verify: Annotated[bool, Param("Refuse a run whose files were changed since it was written.")] = True

    def n_threads(self) -> int:
        """Return the number of workers, at least 1."""
        if self.threads:
            return self.threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def with_settings(
    records: Sequence[Any], settings: Mapping[str, Any], kinds: Sequence[Callable[[], Any]] = ()
) -> tuple[Any, ...]:
    """Return records of options with single options set, each in the record that has it; a record in a field counts, too.

    Args:
        kinds: of the records, which make those that are None.

    Raises:
        TypeError: a name is none of the options; the nearest one is named.
        UsageError: a record is of another type, or a value is no number where one is needed, or outside its limits.
    """
    of_kinds = kinds or [object] * len(records)
    records = [_record(record, kind) for record, kind in zip(records, of_kinds, strict=True)]
    left = dict(settings)
    filled = tuple(_filled(record, left) for record in records)
    if left:
        name = next(iter(left))
        known = [field.name for record in records for field in fields(record)]
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f" (known: {', '.join(sorted(known))})"
        if name in ROLES:
            role = name.removesuffix("_col")
            hint = f"; columns are named as documents are read: read_corpus(FILE, {name}=…) or Corpus.from_frame(data, {role}=…)"
        raise TypeError(f"'{name}' is no option here{hint}")
    return filled


def _record(record: Any, kind: Callable[[], Any]) -> Any:
    """Return a record of options, that of the defaults for None. Raises UsageError where it is none, or of another kind."""
    if record is None:
        return kind()
    if is_dataclass(record) and (not isinstance(kind, type) or isinstance(record, kind)):
        return record
    needed = f"{kind.__name__}(…)" if isinstance(kind, type) and is_dataclass(kind) else "a record of options"
    raise UsageError(
        f"an argument takes {needed}, got {truncated(repr(record), 60)}; single options go by their names, such as `seed=1`"
    )


def _filled(record: Any, left: dict[str, Any]) -> Any:
    """Return a record with the settings that it has, which are taken out of `left`."""
    changes: dict[str, Any] = {}
    for one in fields(record):
        value = getattr(record, one.name)
        if one.name in left and not (is_dataclass(value) and not is_dataclass(left[one.name])):
            changes[one.name] = _checked(type(record), one.name, left.pop(one.name))
        elif is_dataclass(value):
            inner = _filled(value, left)
            changes |= {} if inner is value else {one.name: inner}
    return replace(record, **changes) if changes else record


@cache
def _hints(record: type) -> dict[str, Any]:
    """Return the annotations of a record's fields."""
    return get_type_hints(record, include_extras=True)


def _checked(record: type, name: str, value: Any) -> Any:
    """Return the value of a field, unless its Param refuses it, as the command line refuses it: several as a tuple, files as paths.

    Raises:
        UsageError: it is no number where one is needed, or outside its limits.
    """
    hint = _hints(record)[name]
    param = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Param)), None)
    if param is None:
        return value
    kind = get_args(hint)[0]
    if get_origin(kind) is tuple and get_args(kind)[-1] is ...:
        several = tuple(value) if isinstance(value, list | tuple) else (value,)
        return tuple(map(Path, several)) if get_args(kind)[0] is Path else several
    kinds = set(get_args(kind) or (kind,))
    if isinstance(value, str) and kinds <= {Path, NoneType}:
        return Path(value)
    if not kinds <= {int, float, NoneType} or (value is None and NoneType in kinds):
        return value
    needed, noun = (Real, "number") if float in kinds else (Integral, "whole number")
    is_number: bool = isinstance(value, needed)
    if not is_number or value is True or value is False:
        raise UsageError(f"`{name}` takes a {noun}, got {value!r}", parameter=name)
    if param.min is not None and value < param.min:
        raise UsageError(f"`{name}` must be at least {param.min:g}, got {value}", parameter=name)
    if param.max is not None and value > param.max:
        raise UsageError(f"`{name}` must be at most {param.max:g}, got {value}", parameter=name)
    return value
