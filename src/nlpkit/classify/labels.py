"""Labels of documents: one class each, a set of classes, a class on a scale, or a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.cells import is_number
from nlpkit.classify.splits import stratified_folds
from nlpkit.errors import InputError, UsageError
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray

COMMA_NUMBER = re.compile(r"[-+]?\d+,\d+")
STRATA = 10  # parts of equal size that numbers are put into, so that every fold has its share of each


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of D documents. names (J,) of the classes; known (D,) bool: the document has a label.

    codes (D,) int32, -1 for none, of documents with one label; sets (D, J) bool of those with several; numbers (D,) float64, NaN
    for none, of a regression, which has no classes; two of the three are None. scale: all labels of ordered classes, the lowest
    first, of which `names` are those of training; empty where classes have no order. groups (D,) int32: documents of one group
    stay in one fold; None for no groups. shares (D, J) float64: of soft labels, how many of its coders gave a document each label, rows
    summing to 1; None where a document simply has the label of its code.
    """

    names: tuple[str, ...]
    known: BoolArray
    codes: IntArray | None
    sets: BoolArray | None = None
    numbers: FloatArray | None = None
    scale: tuple[str, ...] = ()
    groups: IntArray | None = None
    shares: FloatArray | None = None

    @property
    def multiple(self) -> bool:
        """Whether a document may have several labels."""
        return self.sets is not None

    def targets(self, rows: LongArray) -> Any:
        """Return the labels of some documents: (n,) int32, (n, J) bool, or (n,) float64."""
        if self.numbers is not None:
            return self.numbers[rows]
        if self.sets is not None:
            return self.sets[rows]
        assert self.codes is not None
        return self.codes[rows]

    def strata(self, rows: LongArray) -> IntArray:
        """Return the class by which documents are dealt into folds: of several labels, the rarest; of numbers, the tenth of all."""
        if self.numbers is not None:
            values = self.numbers[rows]
            edges = np.quantile(values, np.arange(1, STRATA) / STRATA)
            return np.searchsorted(edges, values, side="right").astype(np.int32)
        if self.sets is None:
            return np.asarray(self.targets(rows), np.int32)
        sizes = self.sets.sum(axis=0)
        order = np.argsort(sizes, kind="stable")  # rarest first
        sets = self.sets[rows][:, order]
        rarest = order[sets.argmax(axis=1)].astype(np.int32)
        return np.where(sets.any(axis=1), rarest, np.int32(len(self.names)))

    def folds(self, rows: LongArray, n_folds: int, *, seed: int) -> IntArray:
        """Return the fold (n,) of each of some training documents, for a choice among them: groups stay together.

        There are as many folds as documents, or groups, where these are fewer than `n_folds`.

        Raises:
            InputError: all documents are of one group, so that none can be held out.
        """
        together = None if self.groups is None else self.groups[rows]
        units = len(rows) if together is None else len(np.unique(together))
        if together is not None and units < 2:
            raise InputError(
                "the training documents of a fold are all of one group of `groups`, so none can be held out to "
                "choose a value or a threshold; leave `groups` out, or set the value"
            )
        return stratified_folds(self.strata(rows), min(n_folds, units), seed=seed, together=together)

    def sizes(self, rows: LongArray) -> LongArray:
        """Return the documents of each class (J,) among some rows."""
        if self.sets is not None:
            return np.asarray(self.sets[rows].sum(axis=0), np.int64)
        if self.numbers is not None:
            return np.zeros(0, np.int64)
        codes = self.targets(rows)
        return np.bincount(codes[codes >= 0], minlength=len(self.names)).astype(np.int64)


def encode_single(values: Sequence[str | None], learn: BoolArray, scale: Sequence[str] = ()) -> Labels:
    """Return the classes of documents with one label each; names are those of the rows that may be learned from, in order.

    Numbers are ordered as numbers. A label that only other rows have is known and is none of the classes: code -1.

    Args:
        values: (D,) labels, None for none. learn: (D,) rows whose labels are classes. scale: of ordered classes, all labels.

    Raises:
        InputError: fewer than two classes.
    """
    learned = {v for v, yes in zip(values, learn.tolist(), strict=True) if yes and v is not None}
    names = tuple(name for name in scale if name in learned) if scale else tuple(sorted(learned, key=_order))
    _check_classes(names)
    code = {name: j for j, name in enumerate(names)}
    codes = np.fromiter((code.get(v, -1) if v is not None else -1 for v in values), np.int32, len(values))
    return Labels(names, np.fromiter((v is not None for v in values), bool, len(values)), codes, scale=tuple(scale))


def encode_numbers(values: FloatArray, learn: BoolArray) -> Labels:
    """Return numbers (D,) as labels, NaN for none. learn: (D,) rows that may be learned from.

    Raises:
        InputError: these have fewer than two different numbers.
    """
    known = np.isfinite(values)
    learned = np.unique(values[known & learn])
    if len(learned) < 2:
        if not len(learned):
            raise no_labels()
        raise InputError(
            f"`task=regression`: every training document has the number {learned[0]:g}, and at least two different "
            "numbers are needed; name the column with `label_col`"
        )
    return Labels((), known, None, numbers=values)


def label_scale(values: Sequence[str | None], order: Sequence[str]) -> tuple[str, ...]:
    """Return all labels of ordered classes, the lowest first: those of `order`, or else the numbers there are.

    Args:
        values: (D,) labels, None for none. order: may hold labels that no document has; empty for numbers.

    Raises:
        UsageError: labels most of which are no numbers without an order, or that it does not name, or a label that it names twice.
        InputError: without an order, a number with a decimal comma or a label that is none where most are numbers.
    """
    all_names = sorted({v for v in values if v is not None}, key=_order)
    if not order:
        names = [v for v in all_names if not is_number(v)]
        if names and with_point(names[0]):
            raise InputError(
                f"the label '{names[0]}' is not a number; `task=ordinal` needs numbers{with_point(names[0])}"
            )
        if names and len(names) <= len(all_names) / 2:
            raise InputError(
                f"the label '{names[0]}' is not a number, as most labels are; leave that cell empty where there is "
                "no label, or name all labels with `order`, the lowest first"
            )
        if names:
            raise UsageError(
                f"`task=ordinal`: the label '{names[0]}' is not a number; give the order of the labels, lowest "
                f"first: `order={','.join(all_names[:5])}{',…' if len(all_names) > 5 else ''}`",
                parameter="order",
            )
        return tuple(all_names)
    twice = next((name for i, name in enumerate(order) if name in order[:i]), None)
    if twice is not None:
        raise UsageError(f"`order` names '{twice}' twice; name each label once, the lowest first", parameter="order")
    for name in all_names:
        if name not in order:
            raise UsageError(
                f"`order={','.join(order)}` leaves out the label '{name}'; it must name every label, the lowest first",
                parameter="order",
            )
    return tuple(order)


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


def no_labels() -> InputError:
    """Return the error for training documents of which none has a label."""
    return InputError("no training document has a label; name the column with `label_col`")


def with_point(label: object) -> str:
    """Return a number with a decimal comma as a hint how to write it, nothing for any other label."""
    return f", such as {label.replace(',', '.')}" if isinstance(label, str) and COMMA_NUMBER.fullmatch(label) else ""


def _check_classes(names: Sequence[str], least: int = 2) -> None:
    if len(names) >= least:
        return
    if not names:
        raise no_labels()
    raise InputError(
        f"all labelled training documents have the label '{names[0]}'; a classifier needs documents of two classes"
    )


def _order(name: str) -> tuple[int, float, str]:
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)
