"""Labelled documents from several inputs as one table, with one label each or the labels of several coders.

Parts, in this order:
- Labelled documents from several inputs as one table: columns of labels, tables below each other, where the rows come
  from.
- Soft labels: the labels that several coders gave a document, as a distribution over the classes.
- Documents that several coders labelled: the shares of their labels, the one label that these come to, and how far
  coders disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import Labels, check_splits, encode_single, split_column, splits_of, with_point
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.metrics.agreement import EQUAL, dawid_skene
from nlpkit.metrics.options import DAWID_SKENE
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import no_documents
from nlpkit.platform.types import BoolArray, FloatArray, IntArray
from nlpkit.platform.values import LARGEST, as_label, is_number, python_values


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


# ------------------------------------------------------------------------------------------------------------------------
# Soft labels: the labels that several coders gave a document, as a distribution over the classes.

Votes = Sequence[str | None]  # the label by each coder, None where there is none
Shares = Mapping[str, float]  # of labels, summing to 1; of a document that nobody labelled, empty


def vote_shares(votes: Votes) -> dict[str, float]:
    """Return the shares of the labels that coders gave."""
    counts = Counter(vote for vote in votes if vote is not None)
    return {name: n / counts.total() for name, n in counts.items()}


def dawid_skene_shares(votes: Sequence[Votes]) -> tuple[list[dict[str, float]], FloatArray]:
    """Return the probabilities of the true label of each document, and the accuracy (C,) of each coder; see `dawid_skene`.

    Args:
        votes: (D, C), of each document the labels by the same coders.
    """
    names = sorted({vote for row in votes for vote in row if vote is not None})
    place = {name: j for j, name in enumerate(names)} | {None: -1}
    model = dawid_skene(np.array([[place[vote] for vote in row] for row in votes], np.int64), len(names))
    p = np.where(
        model.probabilities > EQUAL, model.probabilities, 0.0
    )  # no class of a label that is as good as excluded
    rows = np.divide(p, p.sum(axis=1, keepdims=True), out=p, where=p > 0).tolist()
    return [{name: share for name, share in zip(names, row, strict=True) if share} for row in rows], model.accuracy


def most_probable(shares: Shares) -> str | None:
    """Return the label with the largest share, of several the first in the order of the alphabet; None for no shares."""
    return min(_largest(shares), default=None)


def is_tie(shares: Shares) -> bool:
    """Return whether two labels have the largest share."""
    return len(_largest(shares)) > 1


def _largest(shares: Shares) -> list[str]:
    most = max(shares.values(), default=0.0)
    return [name for name, share in shares.items() if share >= most - EQUAL]


def entropy(shares: Shares) -> float:
    """Return -Σ_j q_j ln q_j of the shares q, in nats: 0 where coders agree; NaN for no shares."""
    if not shares:
        return float("nan")
    q = np.array(sorted(shares.values()))
    return float(max(-(q * np.log(q)).sum(), 0.0))


def encode_soft(values: Sequence[str | None], shares: Sequence[Shares], learn: BoolArray) -> Labels:
    """Return labels (D,) with their shares: classes are all labels of the rows that may be learned from, and all that have a share there.

    Args:
        values: (D,) the one label of each document, which it is scored by; None for none. shares: (D,) of its labels. A document
            without any has the share 1 in its label.

    Raises:
        InputError: fewer than two classes.
    """
    of_shares = [(name, yes) for row, yes in zip(shares, learn.tolist(), strict=True) for name in row]
    both = [*values, *(name for name, _ in of_shares)]
    labels = encode_single(both, np.concatenate((learn, np.array([yes for _, yes in of_shares], bool))))
    assert labels.codes is not None
    n, place = len(values), {name: j for j, name in enumerate(labels.names)}
    codes = labels.codes[:n]
    matrix: FloatArray = np.zeros((n, len(labels.names)))
    for d, row in enumerate(shares):
        if row:
            for name, share in row.items():
                if name in place:
                    matrix[d, place[name]] = share
        elif codes[d] >= 0:
            matrix[d, codes[d]] = 1.0
    return replace(labels, known=labels.known[:n], codes=codes, shares=matrix)


# ------------------------------------------------------------------------------------------------------------------------
# Documents that several coders labelled: the shares of their labels, the one label that these come to, and how far coders disagree.

ENTROPY = "label_entropy"


def check_coders(streams: Sequence[DocumentStream], coders: Sequence[str]) -> None:
    """Raise ColumnError for a column of a coder that the training documents lack, UsageError for one that is named twice.

    Test documents may have a column of labels instead.
    """
    twice = next((name for i, name in enumerate(coders) if name in coders[:i]), None)
    if twice is not None:
        raise UsageError(f"`annotators` names '{twice}' twice; name each column once", parameter="annotators")
    for number, stream in enumerate(streams):
        names = stream.schema.names
        for name in coders:
            if name not in names and not (number and "label" in names):
                raise missing_column(stream.where, name, names, "`annotators`")


def with_soft_labels(
    tables: Sequence[pa.Table], coders: Sequence[str], by: str
) -> tuple[list[pa.Table], list[dict[str, float]]]:
    """Return tables with the columns label and label_entropy, and the shares (D,) of the labels of all their documents.

    label is that of the column, where there is one; else the label with the largest share, of a tie the first in the order of the
    alphabet. label_entropy: see `nlpkit.classify.labelled.entropy`, null without labels by coders.

    Args:
        by: "votes", or "dawid-skene": probabilities of the true label by the judgements of all documents.

    Raises:
        InputError: lists of labels.
    """
    votes: list[tuple[str | None, ...]] = []
    for table in tables:
        nothing = [None] * table.num_rows
        votes += zip(*(_labels_of(table, n) if n in table.column_names else nothing for n in coders), strict=True)
    accuracy = ""
    if by == DAWID_SKENE:
        shares, rates = dawid_skene_shares(votes)
        each = zip(coders, rates.tolist(), strict=True)
        accuracy = f"; accuracy by Dawid & Skene: {', '.join(f'{name} {rate:.2f}' for name, rate in each)}"
    else:
        shares = [vote_shares(row) for row in votes]
    whole, start, n_ties = [], 0, 0
    for table in tables:
        of_table = shares[start : start + table.num_rows]
        start += table.num_rows
        labels = _labels_of(table, "label") if "label" in table.column_names else [None] * table.num_rows
        n_ties += sum(label is None and is_tie(row) for label, row in zip(labels, of_table, strict=True))
        values = [most_probable(row) if label is None else label for label, row in zip(labels, of_table, strict=True)]
        table = table.drop_columns([name for name in ("label", ENTROPY) if name in table.column_names])
        table = table.append_column("label", pa.array(values, pa.string()))
        table = table.append_column(
            ENTROPY, pa.array([entropy(row) for row in of_table], pa.float64(), from_pandas=True)
        )
        whole.append(table)
    n_divided = sum(len({vote for vote in row if vote is not None}) > 1 for row in votes)
    ties = f"; {wording.counted(n_ties, 'tie')} scored by the label that is first in the alphabet" if n_ties else ""
    reporting.note(
        f"soft labels by {wording.counted(len(coders), 'coder')}, who disagree on {n_divided:,} of "
        f"{wording.counted(len(votes), 'document')}{ties}{accuracy}"
    )
    return whole, shares


def _labels_of(table: pa.Table, name: str) -> list[Any]:
    values = read_labels(table.column(name), None)
    if any(isinstance(value, list) for value in values):
        raise InputError(f"column '{name}' holds lists of labels; soft labels need one label per coder and document")
    return values
