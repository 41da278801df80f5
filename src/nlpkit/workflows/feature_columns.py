"""Columns that a classifier sees: whether documents have them, and what is said of values that are missing or new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nlpkit import reporting, wording
from nlpkit.classify.columns import kind_of
from nlpkit.classify.splits import split_column
from nlpkit.errors import ColumnError, UsageError, missing_column

if TYPE_CHECKING:
    from nlpkit.classify.options import SplitOptions
    from nlpkit.io.corpora import DocumentStream

ROLES = {"id": "is different in every document", "text": "is seen by its words", "tokens": "is seen by its words",
         "label": "is what is predicted", "embedding": "is seen with `on=embedding`"}  # fmt: skip


def check_feature_columns(stream: DocumentStream, columns: Sequence[str], splits: SplitOptions) -> None:
    """Raise where documents lack a column of features, or it cannot be one.

    Raises:
        ColumnError: it is not there, or holds dates, lists or the like; UsageError: it has another role.
    """
    names = stream.schema.names
    for name in columns:
        if name in ROLES:
            raise UsageError(f"`feature_cols={name}`: the column {ROLES[name]}; leave it out", parameter="feature_cols")
        if splits.split is not None and name == split_column(splits.split):
            raise UsageError(
                f"`feature_cols={name}`: the column divides training and test documents; leave it out",
                parameter="feature_cols",
            )
        if name not in names:
            raise missing_column(stream.where, name, names, "`feature_cols`")
        kind_of(name, stream.schema.field(name).type)


def check_predicted_columns(stream: DocumentStream, columns: Sequence[str], model: str) -> None:
    """Raise ColumnError where documents lack a column that a classifier sees."""
    for name in columns:
        if name not in stream.schema.names:
            error = missing_column(stream.where, name, stream.schema.names)
            raise ColumnError(f"{error}; the model in {model} uses the columns {', '.join(columns)}")


def note_missing(missing: Mapping[str, int]) -> None:
    """Say how many documents have no value in columns that the model sees, by column."""
    if missing:
        listed = ", ".join(f"{name} ({wording.counted(n, 'document')})" for name, n in missing.items())
        reporting.note(
            f"without a value: {listed}; numbers are replaced by the training mean, texts get no category, and a "
            "feature marks missing values"
        )


def note_unseen(unseen: Mapping[str, int]) -> None:
    """Say how many documents have a category that no training document has, by column."""
    if unseen:
        listed = ", ".join(f"{name} ({wording.counted(n, 'document')})" for name, n in unseen.items())
        reporting.note(f"with a value that no training document has: {listed}; it belongs to no category")
