"""Columns that a classifier sees as a table of its run, a row for each feature, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from nlpkit.classify.columns import CategoryColumn, ColumnFeatures, NumberColumn
from nlpkit.io.table_spec import Column, TableSpec

FEATURES = TableSpec(
    "model/feature_columns", "A feature that is made of a column of the documents.",
    Column("column", pa.string(), "The column."),
    Column("kind", pa.string(), "number, category, none for a column without a category, or missing."),
    Column("value", pa.string(), "The category.", gaps=True),
    Column("mean", pa.float64(), "Mean of the number in the training documents.", gaps=True),
    Column("deviation", pa.float64(), "Its standard deviation.", gaps=True),
)  # fmt: skip


def columns_table(features: ColumnFeatures) -> pa.Table:
    """Return column, kind (number, category, none for a column without a category, missing), value, mean and deviation."""
    rows: list[dict[str, Any]] = []
    for column in features.columns:
        if isinstance(column, NumberColumn):
            rows.append({"column": column.name, "kind": "number", "mean": column.mean, "deviation": column.deviation})
        else:
            rows += [{"column": column.name, "kind": "category", "value": value} for value in column.categories]
            rows += [] if column.categories else [{"column": column.name, "kind": "none"}]
        rows += [{"column": column.name, "kind": "missing"}] if column.indicator else []
    return FEATURES.rows(rows)


def columns_from(table: pa.Table) -> ColumnFeatures:
    """Return the features of a table that `columns_table` made. Raises KeyError, TypeError, ValueError when it is damaged."""
    by_column: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        by_column.setdefault(str(row["column"]), []).append(row)
    return ColumnFeatures(tuple(_column(name, rows) for name, rows in by_column.items()))


def _column(name: str, rows: list[dict[str, Any]]) -> NumberColumn | CategoryColumn:
    kinds = [row["kind"] for row in rows]
    if not set(kinds) <= {"number", "category", "none", "missing"} or kinds.count("missing") > 1:
        raise ValueError(f"features of the column '{name}' of kinds {', '.join(map(str, kinds))}")
    indicator = "missing" in kinds
    if "number" not in kinds:
        categories = tuple(str(row["value"]) for row in rows if row["kind"] == "category")
        return CategoryColumn(name, categories, indicator)
    number = rows[kinds.index("number")]
    return NumberColumn(name, float(number["mean"]), float(number["deviation"]), indicator)
