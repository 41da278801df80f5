"""Labels of documents as classes: one a document, or a set of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.errors import InputError
from nlpkit.types import BoolArray, IntArray, LongArray


@dataclass(frozen=True, slots=True)
class Labels:
    """Classes of D documents. names (J,); known (D,) bool: the document has a label.

    codes (D,) int32, -1 for none, of documents with one label; sets (D, J) bool of those with several; one of the two is None.
    """

    names: tuple[str, ...]
    known: BoolArray
    codes: IntArray | None
    sets: BoolArray | None = None

    @property
    def multiple(self) -> bool:
        """Whether a document may have several labels."""
        return self.sets is not None

    def targets(self, rows: LongArray) -> Any:
        """Return the classes of some documents: (n,) int32 or (n, J) bool."""
        if self.sets is not None:
            return self.sets[rows]
        assert self.codes is not None
        return self.codes[rows]

    def strata(self, rows: LongArray) -> IntArray:
        """Return the class by which documents are dealt into folds: of several labels, the rarest."""
        if self.sets is None:
            return np.asarray(self.targets(rows), np.int32)
        sizes = self.sets.sum(axis=0)
        order = np.argsort(sizes, kind="stable")  # rarest first
        sets = self.sets[rows][:, order]
        rarest = order[sets.argmax(axis=1)].astype(np.int32)
        return np.where(sets.any(axis=1), rarest, np.int32(len(self.names)))

    def sizes(self, rows: LongArray) -> LongArray:
        """Return the documents of each class (J,) among some rows."""
        if self.sets is not None:
            return np.asarray(self.sets[rows].sum(axis=0), np.int64)
        codes = self.targets(rows)
        return np.bincount(codes[codes >= 0], minlength=len(self.names)).astype(np.int64)


def encode_single(values: Sequence[str | None], learn: BoolArray) -> Labels:
    """Return the classes of documents with one label each; names are those of the rows that may be learned from, in order.

    Numbers are ordered as numbers. A label that only other rows have is known and is none of the classes: code -1.

    Args:
        values: (D,) labels, None for none. learn: (D,) rows whose labels are classes.

    Raises:
        InputError: fewer than two classes.
    """
    learned = {v for v, yes in zip(values, learn.tolist(), strict=True) if yes and v is not None}
    names = tuple(sorted(learned, key=_order))
    _check_classes(names)
    code = {name: j for j, name in enumerate(names)}
    codes = np.fromiter((code.get(v, -1) if v is not None else -1 for v in values), np.int32, len(values))
    return Labels(names, np.fromiter((v is not None for v in values), bool, len(values)), codes)


def encode_sets(values: Sequence[Sequence[str] | None], learn: BoolArray) -> Labels:
    """Return the classes of documents with sets of labels; see `encode_single`. An empty set is known: no label applies."""
    learned = {v for names, yes in zip(values, learn.tolist(), strict=True) if yes and names for v in names}
    names = tuple(sorted(learned, key=_order))
    _check_classes(names, least=1)
    code = {name: j for j, name in enumerate(names)}
    sets = np.zeros((len(values), len(names)), bool)
    for d, labels in enumerate(values):
        for name in labels or ():
            if name in code:
                sets[d, code[name]] = True
    known = np.fromiter((labels is not None for labels in values), bool, len(values))
    return Labels(names, known, None, sets)


def _check_classes(names: Sequence[str], least: int = 2) -> None:
    if len(names) >= least:
        return
    if not names:
        raise InputError("no training document has a label; name the column with `label_col`")
    raise InputError(
        f"all labelled training documents have the label '{names[0]}'; a classifier needs documents of two classes"
    )


def _order(name: str) -> tuple[int, float, str]:
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)
