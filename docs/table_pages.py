"""The tables that nlpkit declares (`TableSpec`): their columns for docs/reference/tables.md, and as objects of --json."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.platform.runs.table_spec import Column, TableSpec

SOURCE = Path(__file__).parents[1] / "src"
PAGE = Path(__file__).parent / "reference" / "tables.md"
BEGIN, END = "<!-- by docs/generate.py -->\n", "<!-- end -->\n"


@functools.cache
def declared() -> dict[str, TableSpec]:
    """Return the tables by name; only modules that declare one are imported."""
    files = [file for file in sorted(SOURCE.rglob("*.py")) if "TableSpec(" in file.read_text("utf-8")]
    names = [".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in files]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    tables = {value.name: value for value in values if isinstance(value, TableSpec)}
    return dict(sorted(tables.items()))


def kind_of(type_: pa.DataType) -> str:
    """Return the type of a column as JSON has it."""
    if pa.types.is_list(type_):
        return f"list of {kind_of(type_.value_type)}"
    tests = {"integer": pa.types.is_integer, "number": pa.types.is_floating, "boolean": pa.types.is_boolean}
    return next((kind for kind, is_kind in tests.items() if is_kind(type_)), "text")


def shapes() -> dict[str, dict[str, Any]]:
    """Return a row of each table as an object of --json, such as TopicsOfBertopic for topics_of_bertopic."""
    return {"".join(re.findall(r"[a-z]+", name.title(), re.I)): _shape(table) for name, table in declared().items()}


def _shape(table: TableSpec) -> dict[str, Any]:
    others = {"*": "any: Value of another column."} if table.is_open else {}
    fields = {f"{c.name}{'' if c.always else '?'}": _field(c) for c in table.columns}
    return {"about": table.about, **fields, **others}


def _field(column: Column) -> str:
    return f"{kind_of(column.type)}{' or null' if column.gaps else ''}: {column.about}"


def page() -> str:
    """Return docs/reference/tables.md with the columns of all tables between its marks."""
    begin, rest = PAGE.read_text("utf-8").split(BEGIN)
    return begin + BEGIN + "\n".join(map(_section, declared().values())) + END + rest.split(END)[1]


def _section(table: TableSpec) -> str:
    file, _, variant = table.name.partition("_of_")
    of = f", of {variant}" if variant else ""
    rows = [_row(column) for column in table.columns]
    head = ["| column | type | meaning |", "|---|---|---|"]
    return "\n".join([f"### `{file}`{of}\n", f"{table.about}\n", *head, *rows, ""])


def _row(column: Column) -> str:
    name = f"`{column.name}`" if column.always else f"[`{column.name}`]"
    kind = str(column.type).replace("<item: ", " of ").replace(">", "").replace("[day]", "")
    return f"| {name} | {kind}{' or null' if column.gaps else ''} | {column.about} |"
