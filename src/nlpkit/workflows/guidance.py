"""Prior knowledge for topics on embeddings: read from the columns of documents before anything is encoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.errors import ColumnError, InputError, missing_column
from nlpkit.topics.guided import with_classes
from nlpkit.topics.guided_options import GuidedOptions

if TYPE_CHECKING:
    from nlpkit.types import BoolArray, Float32Array, IntArray


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of D documents before a fit: labels (D,), -1 for none, or None where they are not to count."""

    labels: IntArray | None = None

    def rows(self, embeddings: Float32Array, *, threads: int) -> Float32Array | None:
        """Return the rows (D, F) that are clustered in place of the embeddings (D, E), None for these."""
        return None if self.labels is None else with_classes(embeddings, self.labels, threads=threads)


def knowledge_of(table: pa.Table, guide: GuidedOptions, usable: BoolArray, *, where: str, label_col: str) -> Knowledge:
    """Return what is known of documents, and say how many labels there are.

    Args:
        usable: (D,) whether a document has text. where: name of the inputs; label_col: name of the labels there.

    Raises:
        ColumnError, InputError: a column is not there or says nothing.
    """
    if not guide.semi_supervised:
        return Knowledge()
    labels = codes_of(table, "label", usable, shown=label_col, parameter="label_col", where=where)
    reporting.note(
        f"semi-supervised: the labels of {(labels >= 0).sum():,} of {wording.counted(len(labels), 'document')} pull topics "
        f"towards {labels.max() + 1} classes; scores against '{label_col}' are fair for the other documents alone"
    )
    return Knowledge(labels)


def codes_of(table: pa.Table, column: str, usable: BoolArray, *, shown: str, parameter: str, where: str) -> IntArray:
    """Return which of the different values of a column, in their order, each usable document has (D,), -1 for none.

    Args:
        shown: name of the column in the input; parameter: the option that names it.

    Raises:
        ColumnError: there is no such column, or it holds lists; InputError: usable documents have fewer than two values.
    """
    if column not in table.column_names:
        raise missing_column(where, shown, table.column_names, parameter)
    if pa.types.is_nested(table.schema.field(column).type):
        raise ColumnError(f"column '{shown}' holds lists; one value a document was needed", parameter=parameter)
    cells = zip(table.column(column).to_pylist(), usable, strict=True)
    values = [as_label(cell) if used else None for cell, used in cells]
    names = sorted({value for value in values if value is not None})
    if len(names) < 2:
        only = f"has only '{names[0]}'" if names else "is empty"
        raise InputError(
            f"column '{shown}' {only} in documents with text; two different values were needed, so name another with "
            f"`{parameter}`",
            parameter=parameter,
        )
    number = {name: i for i, name in enumerate(names)} | {None: -1}
    return np.array([number[value] for value in values], np.int32)
