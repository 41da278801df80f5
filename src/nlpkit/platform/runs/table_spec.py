"""A table, declared once: from its columns follow the Arrow table, its checks where it is read, and its documentation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name, type: of the column. about: what it holds, a sentence.
        least, most, below: limits of its numbers; below names a size of the run, such as K topics.
        gaps: whether a row may have no value; NaN is none.
        always: whether every such table has it.
    """

    name: str
    type: pa.DataType
    about: str
    least: float = -math.inf
    most: float = math.inf
    below: str = ""
    gaps: bool = False
    always: bool = True

    @property
    def is_limited(self) -> bool:
        """Whether there are numbers of its type that it must not hold."""
        return self.least > -math.inf or self.most < math.inf or bool(self.below)

    def limits(self, sizes: Mapping[str, int]) -> tuple[float, float]:
        """Return the least and the largest value; sizes: of the run, by letter."""
        return self.least, sizes[self.below] - 1 if self.below else self.most


class TableSpec:
    """The columns of a table, in their order.

    Attributes:
        name: file stem of the table in a run, or kind of the table of a command. A table that has further columns in runs of one
            kind is named after both, such as topics_of_bertopic.
        about: what a row is.
        is_open: whether columns of the user follow.
    """

    def __init__(self, name: str, about: str, *columns: Column, is_open: bool = False) -> None:
        """Declare a table."""
        self.name, self.about, self.columns, self.is_open = name, about, columns, is_open

    def plus(self, name: str, about: str, *columns: Column) -> TableSpec:
        """Return the same table with further columns."""
        return TableSpec(name, about, *self.columns, *columns, is_open=self.is_open)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns that are always there."""
        return pa.schema([(column.name, column.type) for column in self.columns if column.always])

    def table(self, **values: Any) -> pa.Table:
        """Return a table of arrays or lists by column; a column that is not always there may be left out.

        What is an Arrow array keeps its type.
        """
        columns = {c.name: _as_array(values.pop(c.name), c) for c in self.columns if c.always or c.name in values}
        if values:
            raise TypeError(f"{self.name} has no column {next(iter(values))}")
        return pa.table(columns)

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Return a table of rows."""
        return pa.Table.from_pylist(rows, schema=self.schema)

    def check(self, table: pa.Table, columns: Sequence[str] | None, sizes: Mapping[str, int]) -> None:
        """Refuse a table whose columns are other than they were written.

        Args:
            columns: that are read, None for all; sizes: of the run, which are only looked at where they are a limit.

        Raises:
            ValueError: a column is missing, of another type, has gaps, or values beyond its limits.
        """
        for declared in self.columns:
            if not declared.always or (columns is not None and declared.name not in columns):
                continue
            if declared.name not in table.column_names:
                raise ValueError(f"{self.name} has no column '{declared.name}'")
            column, what = table.column(declared.name), f"column '{declared.name}' of {self.name}"
            if not _alike(column.type, declared.type):
                raise ValueError(f"{what} holds {column.type}, where {declared.type} was needed")
            if column.null_count and not declared.gaps:
                raise ValueError(f"{what} has gaps")
            if declared.is_limited:
                _check_range(what, column, *declared.limits(sizes))

    def arrays(self, table: pa.Table, *names: str, **sizes: int) -> list[Any]:
        """Return columns, all where none is named: numbers as arrays and texts as lists, without gaps and within their limits.

        Raises:
            ValueError: see `numbers` and `strings`.
        """
        values = []
        for column in (c for c in self.columns if c.name in (names or self.schema.names)):
            least, most = column.limits(sizes)
            is_text = pa.types.is_string(column.type)
            values.append(
                strings(table, column.name) if is_text else numbers(table, column.name, least=least, most=most)
            )
        return values


def numbers(table: pa.Table, name: str, *, least: float = -math.inf, most: float = math.inf) -> np.ndarray:
    """Return a column of a model: numbers without gaps. Raises ValueError, which `Run.intact` reports."""
    column = table.column(name)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)) or column.null_count:
        raise ValueError(f"column '{name}' holds {column.type} with gaps or other than numbers")
    values: np.ndarray = column.to_numpy()
    if not np.all((values >= least) & (values <= most) & (np.abs(values) < math.inf)):
        raise ValueError(f"column '{name}' has a value that is not a number from {least:,g} to {most:,g}")
    return values


def strings(table: pa.Table, name: str) -> list[str]:
    """Return a column of a model: strings, none twice and none missing. Raises ValueError, which `Run.intact` reports."""
    values: list[str] = table.column(name).to_pylist()
    if not all(isinstance(value, str) for value in values) or len(set(values)) < len(values):
        raise ValueError(f"column '{name}' has other than strings, or one twice")
    return values


def array_table(values: np.ndarray) -> pa.Table:
    """Return numbers (n,) or (n, m) as a table with the column value, a list in each row of the latter."""
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.table({"value": flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1])})


def _as_array(values: Any, column: Column) -> pa.Array:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    return pa.array(values, column.type, from_pandas=column.gaps)


def _check_range(what: str, values: pa.ChunkedArray, least: float, most: float) -> None:
    if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
        raise ValueError(f"{what} has a value that is not a number")
    bounds = pc.min_max(values).as_py()
    if bounds["min"] is not None and not least <= bounds["min"] <= bounds["max"] <= most:
        raise ValueError(
            f"{what} has values from {bounds['min']} to {bounds['max']}, where {least} to {most} was needed"
        )


def _alike(kind: pa.DataType, needed: pa.DataType) -> bool:
    """Whether two types are both whole numbers, numbers, texts or lists of such."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_list(needed):
        are_lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        return any(is_list(kind) for is_list in are_lists) and _alike(kind.value_type, needed.value_type)
    if pa.types.is_string(needed):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    if pa.types.is_floating(needed):
        return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
    return bool(pa.types.is_integer(kind)) if pa.types.is_integer(needed) else bool(kind == needed)
