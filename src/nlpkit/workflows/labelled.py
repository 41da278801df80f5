"""Labelled documents from several inputs as one table: columns of labels, tables below each other, where the rows come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from nlpkit import reporting
from nlpkit.cells import as_label
from nlpkit.errors import ColumnError, missing_column
from nlpkit.io.corpora import DocumentStream, DroppedRow, InputInfo
from nlpkit.workflows.corpus import no_documents


@dataclass(slots=True)
class Provenance:
    """Where documents come from: the inputs, the rows that could not be used, the blocks of the footers."""

    inputs: list[InputInfo] = field(default_factory=list)
    dropped: list[DroppedRow] = field(default_factory=list)
    blocks: list[dict[str, Any] | None] = field(default_factory=list)

    @classmethod
    def of_streams(cls, streams: Sequence[DocumentStream]) -> Provenance:
        """Return that of streams that were read to their end."""
        return cls(
            [i for s in streams for i in s.inputs],
            [d for s in streams for d in s.dropped],
            [b for s in streams for b in s.blocks],
        )


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
        return [None if v is None else _different(v) for v in column.to_pylist()]
    if pa.types.is_nested(kind):
        raise ColumnError(f"labels are {kind}; text, numbers or lists of text were needed: name another `label_col`")
    texts = [as_label(v) for v in column.to_pylist()]
    if separator is None:
        return texts
    return [None if t is None else _different(t.split(separator)) for t in texts]


def _different(values: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(t for v in values if (t := as_label(v)) is not None))


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
            first, second = (_as_text(t, name) for t in (first, second))
    if first.schema.field("label").type != second.schema.field("label").type:
        raise ColumnError(
            f"labels are {labels[0]} in the training documents and {labels[1]} in the test documents; write them alike"
        )
    common = [n for n in first.column_names if n in second.column_names]
    apart = [n for n in common if first.schema.field(n).type != second.schema.field(n).type]
    if "embedding" in apart:
        raise ColumnError("training and test documents have embeddings of different types; embed both with one model")
    if apart:
        reporting.warn(f"columns of other types in the test documents are left out: {', '.join(apart)}")
        common = [n for n in common if n not in apart]
    return pa.concat_tables([first.select(common), second.select(common)])


def _as_text(table: pa.Table, name: str) -> pa.Table:
    column = table.column(name)
    if pa.types.is_nested(column.type):
        return table
    text = pa.array([as_label(v) for v in column.to_pylist()], pa.string())
    return table.set_column(table.column_names.index(name), name, text)
