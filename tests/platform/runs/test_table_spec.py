"""Tables that are declared: what they make, and that every declared limit is kept where a table is read."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
import table_pages

from nlpkit.platform.runs.table_spec import Column, TableSpec

SIZES = dict(zip("KVDB", range(3, 7), strict=True))
TABLES = table_pages.declared()
LIMITED = [(table.name, column.name) for table in TABLES.values() for column in table.columns if column.is_limited]
SPEC = TableSpec(
    "parts", "A part.",
    Column("n", pa.int32(), "Its number.", least=0, below="K"),
    Column("x", pa.float64(), "Its size.", gaps=True),
    Column("note", pa.string(), "A note.", always=False),
)  # fmt: skip


def a_row(table: TableSpec) -> pa.Table:
    """A row that a table may have."""
    value = {pa.bool_(): True, pa.string(): "x"}
    values = {c.name: [[] if pa.types.is_list(c.type) else value.get(c.type, 0)] for c in table.columns}
    values |= {c.name: [max(c.least, 0)] for c in table.columns if c.is_limited}
    return table.table(**values)


def test_a_table_has_the_columns_in_their_order() -> None:
    table = SPEC.table(x=[0.5, math.nan], n=range(2))
    assert table.to_pylist() == [{"n": 0, "x": 0.5}, {"n": 1, "x": None}]
    assert table.schema == SPEC.schema == pa.schema([("n", pa.int32()), ("x", pa.float64())])
    assert SPEC.table(n=[0], x=[1], note=["a"]).column_names == ["n", "x", "note"]
    assert SPEC.rows([{"n": 1}]).to_pylist() == [{"n": 1, "x": None}]
    assert SPEC.plus("more", "More.", Column("y", pa.int8(), "Y.")).schema.names == ["n", "x", "y"]
    with pytest.raises(TypeError, match="parts has no column z"):
        SPEC.table(n=[0], x=[1], z=[2])
    with pytest.raises(KeyError):
        SPEC.table(n=[0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n": [0]}, "parts has no column 'x'"),
        ({"n": ["a"], "x": [1.0]}, "column 'n' of parts holds string, where int32 was needed"),
        ({"n": pa.array([None], pa.int32()), "x": [1.0]}, "column 'n' of parts has gaps"),
        ({"n": [3], "x": [1.0]}, "column 'n' of parts has values from 3 to 3, where 0 to 2 was needed"),
    ],
)
def test_other_tables_are_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SPEC.check(pa.table(columns), None, SIZES)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_says_what_its_columns_hold(name: str) -> None:
    table = TABLES[name]
    assert all(text.endswith(".") for text in (table.about, *(column.about for column in table.columns)))
    assert len({column.name for column in table.columns}) == len(table.columns)
    table.check(a_row(table), None, SIZES)


@pytest.mark.parametrize(("name", "column"), LIMITED)
def test_values_beyond_a_limit_are_refused(name: str, column: str) -> None:
    table, row = TABLES[name], a_row(TABLES[name])
    declared = next(c for c in table.columns if c.name == column)
    least, most = declared.limits(SIZES)
    at, kind = row.column_names.index(column), declared.type
    beyond = [x for x in (least - 1, most + 1) if math.isfinite(x)]
    for value in [*beyond, *([math.nan] if pa.types.is_floating(kind) else [])]:
        forged = row.set_column(at, column, pa.array([value], kind))
        with pytest.raises(ValueError, match=f"column '{column}'"):
            table.check(forged, [column], SIZES)
        with pytest.raises(ValueError, match=f"column '{column}'"):
            table.arrays(forged, column, **SIZES)
