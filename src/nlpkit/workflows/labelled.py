"""Labelled documents from several inputs as one table: columns of labels, tables below each other, where the rows come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting
from nlpkit.cells import LARGEST, as_label, is_number
from nlpkit.classify.labels import with_point
from nlpkit.classify.splits import check_splits, split_column, splits_of
from nlpkit.errors import ColumnError, InputError, missing_column
from nlpkit.io.corpora import DocumentStream
from nlpkit.types import FloatArray, IntArray
from nlpkit.values import python_values
from nlpkit.workflows.corpus import no_documents


def check_label_column(stream: DocumentStream, label_col: str) -> None:
    """Raise ColumnError for documents without a column of labels, InputError where there are none."""
    if "label" in stream.schema.names:
        return
    if not stream.has_documents():
        raise no_documents(stream)
    raise missing_column(stream.where, label_col, stream.schema.names, "`label_col`")


def read_labels(column: pa.ChunkedArray, separator: str | None) -> list[Any]:
    """Return labels as text, or as lists of texts where documents may have several; None for none.

    Raises:
        ColumnError: cells that are neither text, numbers nor lists.
    """
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [None if v is None else _different(v) for v in python_values(column)]
    if pa.types.is_nested(kind):
        raise ColumnError(f"labels are {kind}; text, numbers or lists of text were needed: name another `label_col`")
    texts = list(map(cache(as_label), python_values(column)))  # few labels, many documents
    if separator is None:
        return texts
    return [None if t is None else _different(t.split(separator)) for t in texts]


def note_numbers(names: Sequence[str]) -> None:
    """Say that three or more labels, all of them numbers, are taken for classes."""
    if len(names) > 2 and all(map(is_number, names)):
        reporting.note(
            f"the labels are numbers and treated as {len(names):,} unordered classes. `task=regression` predicts "
            "numbers, `task=ordinal` ordered classes, and `task=classes` turns this note off"
        )


def read_numbers(table: pa.Table) -> FloatArray:
    """Return the labels (D,) as numbers, NaN for none. Raises InputError for a label that is no number, or beyond ±`LARGEST`."""
    ids, labels = table.column("id").to_pylist(), table.column("label").to_pylist()
    values = np.full(len(labels), np.nan)
    for d, value in enumerate(labels):
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        try:
            values[d] = float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"document {ids[d]}: the label '{value}' is not a number; `task=regression` needs "
                f"numbers{with_point(value)}"
            ) from None
        if abs(values[d]) > LARGEST:
            raise InputError(
                f"document {ids[d]}: the label is {value}; `task=regression` needs numbers from -{LARGEST:g} to {LARGEST:g}"
            )
    return values


def _different(values: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(t for v in values if (t := as_label(v)) is not None))


def splits_by_column(table: pa.Table, spec: str, *, dev: bool) -> tuple[IntArray, list[str | None]]:
    """Return the split of each document by a column or COLUMN=VALUE, and its values. Raises UsageError where nothing is to learn from."""
    values = split_values(table, spec)
    split = splits_of(values, spec, dev=dev)
    check_splits(split, values, spec)
    return split, values


def split_values(table: pa.Table | pa.RecordBatch, spec: str) -> list[str | None]:
    """Return the values of the column of splits."""
    return [as_label(v) for v in python_values(table.column(split_column(spec)))]


def read_streams(streams: Sequence[DocumentStream], check: Callable[[DocumentStream], None]) -> list[pa.Table]:
    """Return the documents of each stream, which is checked first and closed in the end. Raises InputError where one has none."""
    tables = []
    with ExitStack() as stack:
        for stream in streams:
            stack.enter_context(stream)
        for stream in streams:
            check(stream)
            tables.append(stream.read_all())
            if not tables[-1].num_rows:
                raise no_documents(stream)
    return tables


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables below each other; columns that do not fit together become text, or go.

    Raises:
        ColumnError: labels or embeddings of different types.
    """
    whole = tables[0]
    for table in tables[1:]:
        whole = _stacked(whole, table)
    return whole


def _stacked(first: pa.Table, second: pa.Table) -> pa.Table:
    labels = [t.schema.field("label").type for t in (first, second)]
    for name in [n for n in first.column_names if n in second.column_names]:
        if first.schema.field(name).type != second.schema.field(name).type:
            convert = _as_numbers if name != "label" and _hold_numbers(first, second, name) else _as_text
            first, second = (convert(t, name) for t in (first, second))
    if first.schema.field("label").type != second.schema.field("label").type:
        raise ColumnError(
            f"labels are {labels[0]} in the training documents and {labels[1]} in the test documents; use one format"
        )
    common = [n for n in first.column_names if n in second.column_names]
    apart = [n for n in common if first.schema.field(n).type != second.schema.field(n).type]
    if "embedding" in apart:
        raise ColumnError("training and test documents have embeddings of different types; embed both with one model")
    if apart:
        reporting.warn(f"columns of other types in the test documents are left out: {', '.join(apart)}")
        common = [n for n in common if n not in apart]
    return pa.concat_tables([first.select(common), second.select(common)])


def _hold_numbers(first: pa.Table, second: pa.Table, name: str) -> bool:
    kinds = [table.schema.field(name).type for table in (first, second)]
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)


def numeric_labels(table: pa.Table) -> pa.Table:
    """Return a table whose labels are float64 where they are numbers of another type."""
    kind = table.schema.field("label").type
    return _as_numbers(table, "label") if pa.types.is_integer(kind) or pa.types.is_floating(kind) else table


def _as_numbers(table: pa.Table, name: str) -> pa.Table:
    column = table.column(name).cast(pa.float64(), safe=False)
    return table.set_column(table.column_names.index(name), name, column)


def _as_text(table: pa.Table, name: str) -> pa.Table:
    column = table.column(name)
    if pa.types.is_nested(column.type):
        return table
    text = pa.array([as_label(v) for v in python_values(column)], pa.string())
    return table.set_column(table.column_names.index(name), name, text)
