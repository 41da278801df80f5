"""Documents that several coders labelled: the shares of their labels, the one label that these come to, and how far coders disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.soft_labels import dawid_skene_shares, entropy, is_tie, most_probable, vote_shares
from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.evaluation.options import DAWID_SKENE
from nlpkit.io.corpora import DocumentStream
from nlpkit.workflows.labelled import read_labels

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
    alphabet. label_entropy: see `nlpkit.classify.soft_labels.entropy`, null without labels by coders.

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
