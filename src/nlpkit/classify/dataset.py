"""The data set of a classifier: documents with labels, each in a split.

This is the one place where the splits have their numbers and names. Every draw depends on the seed alone.

Parts, in this order:
- The split of each document: training, test, dev, or a fold of cross-validation; and how documents are dealt into them.
- Labels of documents: one class each, a set of classes, a class on a scale, or a number.
- Both together: what classifiers and fine-tuned models are trained and scored on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.platform.values import is_number

TRAIN, TEST, DEV, UNUSED = 0, 1, 2, -1
NAMES = {
    "train": TRAIN, "training": TRAIN, "test": TEST, "testing": TEST, "eval": TEST, "dev": DEV, "valid": DEV, "validation": DEV,
    "val": DEV,
}  # fmt: skip


def split_column(spec: str) -> str:
    """Return the column of `COL` or `COL=VALUE`."""
    return spec.partition("=")[0]


def splits_of(values: Sequence[str | None], spec: str, *, dev: bool) -> IntArray:
    """Return the split of each row (D,) by its value in a column; UNUSED where it names none.

    Args:
        values: (D,) of the column. spec: `COL`, whose values are train, test and dev in one of their spellings; or `COL=VALUE`:
            rows of that value are the test, all others are training.
        dev: whether there are dev rows; they are UNUSED otherwise.
    """
    _, equals, value = spec.partition("=")
    if equals:
        return np.array([TEST if v == value else TRAIN for v in values], np.int32)
    split = np.array([NAMES.get((v or "").lower(), UNUSED) for v in values], np.int32)
    return split if dev else np.where(split == DEV, np.int32(UNUSED), split)


def check_splits(split: IntArray, values: Sequence[str | None], spec: str) -> None:
    """Raise UsageError where no row is training, or none is the test."""
    for number, name in ((TRAIN, "train"), (TEST, "test")):
        if not (split == number).any():
            different = sorted({v for v in values if v is not None})
            shown = ", ".join(different[:10]) + (" …" if len(different) > 10 else "")
            raise UsageError(
                f"`split={spec}`: no row is {name} (values found: {shown or 'none'}); to use one value as the test: "
                f"`split={split_column(spec)}=VALUE`",
                parameter="split",
            )


def stratified_folds(strata: IntArray, n_folds: int, *, seed: int, together: IntArray | None = None) -> IntArray:
    """Return the fold of each document (D,) int32: of every class each fold gets the same number, give or take one.

    Documents of a class are put in random order and dealt out in turn, going on where the class before ended.

    Args:
        strata: (D,) class of each document.
        together: (D,) documents of one group stay in one fold: the largest groups first, each into the fold that then comes
            nearest to its share of the classes (as scikit-learn's StratifiedGroupKFold).

    Raises:
        UsageError: more folds than documents or groups.
    """
    D = len(strata)
    units = D if together is None else len(np.unique(together))
    noun = "documents" if together is None else "groups"
    if n_folds > units:
        raise UsageError(f"`cv={n_folds}`: only {units:,} {noun} have a label; use fewer folds", parameter="cv")
    rng = np.random.default_rng(seed)
    if together is not None:
        return _grouped_folds(strata, n_folds, together, rng)
    folds = np.empty(D, np.int32)
    folds[_in_turn(strata, rng)] = np.arange(D) % n_folds
    return folds


def held_out(strata: IntArray, share: float, *, seed: int) -> LongArray:
    """Return the places (n,) of a share of the documents, the same share of every class give or take one.

    A share of one half, third, fourth … is the first of so many folds.

    Args:
        strata: (D,) class of each document, at least two documents. share: above 0, below 1.
    """
    D = len(strata)
    n_folds = max(2, round(1 / share)) if share <= 0.5 else 0
    if n_folds and abs(1 / n_folds - share) < 1e-9:
        return np.flatnonzero(stratified_folds(strata, min(n_folds, D), seed=seed) == 0)
    in_turn = _in_turn(strata, np.random.default_rng([seed, 5]))
    place = (np.arange(D) + 0.5) * share
    return np.sort(in_turn[np.floor(place) != np.floor(place - share)])


def stratified_sizes(sizes: LongArray, n: int, rng: np.random.Generator) -> LongArray:
    """Return how many of n documents each class (J,) gives: n sizes / Σ sizes, rounded so that their sum is n, at least one each.

    Of classes that are as near to the next number, chance takes one.

    Raises:
        UsageError: n is smaller than J.
    """
    if n < len(sizes):
        raise UsageError(
            f"`totals={n}`: {len(sizes)} classes need at least one document each; give a larger number",
            parameter="totals",
        )
    quota = n * sizes / sizes.sum()
    take = np.maximum(1, np.floor(quota)).astype(np.int64)
    ties = 1e-9 * rng.random(len(sizes))
    while take.sum() != n:
        step = 1 if take.sum() < n else -1
        wanted = np.where(take + step >= 1, step * (quota - take) + ties, -np.inf)
        take[wanted.argmax()] += step
    return np.asarray(take)


def _in_turn(strata: IntArray, rng: np.random.Generator) -> LongArray:
    """Return the places of documents in random order, class after class."""
    order = rng.permutation(len(strata))
    return order[np.argsort(strata[order], kind="stable")]


def _grouped_folds(strata: IntArray, n_folds: int, together: IntArray, rng: np.random.Generator) -> IntArray:
    classes, codes = np.unique(strata, return_inverse=True)
    groups, number = np.unique(together, return_inverse=True)
    table = np.zeros((len(groups), len(classes)))
    np.add.at(table, (number, codes), 1)
    sizes = table.sum(axis=0)
    held = np.zeros((n_folds, len(classes)))
    fold_of = np.empty(len(groups), np.int32)
    order = rng.permutation(len(groups))
    for g in order[np.argsort(-table[order].sum(axis=1), kind="stable")]:
        shares = held / sizes
        spread = np.empty(n_folds)
        for f in range(n_folds):
            tried = shares.copy()
            tried[f] += table[g] / sizes
            spread[f] = tried.std(axis=0).mean()
        lowest = np.flatnonzero(spread <= spread.min() + 1e-12)
        best = lowest[np.argmin(held[lowest].sum(axis=1))]
        held[best] += table[g]
        fold_of[g] = best
    return fold_of[number]


# ------------------------------------------------------------------------------------------------------------------------
# Labels of documents: one class each, a set of classes, a class on a scale, or a number.

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


# ------------------------------------------------------------------------------------------------------------------------
# Documents with labels, each in a split: what classifiers and fine-tuned models are trained and scored on.


@dataclass(slots=True)
class LabelledDataset:
    """D documents in order, those of a test file after the others.

    table: id, text, label and all other columns. raw_labels (D,): labels as they stand, text, lists of text or numbers, None for none.
    labels: the same as classes, which are those of training documents. split (D,) int32: TRAIN, TEST, DEV or UNUSED of `splits`;
    in cross-validation the fold, UNUSED for rows without a label. n_folds: 0 where there is a test set.
    """

    table: pa.Table
    raw_labels: list[Any]
    labels: Labels
    split: IntArray
    n_folds: int

    @property
    def label_type(self) -> pa.DataType:
        """The type of a column of labels."""
        if self.labels.numbers is not None:
            return pa.float64()
        return pa.list_(pa.string()) if self.labels.multiple else pa.string()

    @property
    def usable(self) -> BoolArray:
        """Documents (D,) that can train: those with a label that is one of the classes."""
        if self.labels.codes is not None:
            return np.asarray(self.labels.codes >= 0)
        return self.labels.known

    @property
    def rounds(self) -> list[tuple[LongArray, LongArray]]:
        """Training and test rows of each round; test rows may have no label."""
        if not self.n_folds:
            return [(np.flatnonzero((self.split == TRAIN) & self.usable), np.flatnonzero(self.split == TEST))]
        return [
            (np.flatnonzero((self.split >= 0) & (self.split != fold)), np.flatnonzero(self.split == fold))
            for fold in range(self.n_folds)
        ]

    @property
    def train(self) -> LongArray:
        """Rows of the final model: the training set, or in cross-validation all with a label."""
        return self.rounds[0][0] if not self.n_folds else np.flatnonzero(self.split >= 0)

    @property
    def least_train(self) -> int:
        """Number of documents of the smallest training set."""
        return min(len(train) for train, _ in self.rounds)

    def tested(self) -> LongArray:
        """Return the test rows of all rounds, ascending."""
        return np.sort(np.concatenate([test for _, test in self.rounds]))

    def labelled(self, rows: LongArray) -> LongArray:
        """Return those of some rows that have a label."""
        return np.array([d for d in rows.tolist() if self.raw_labels[d] is not None], np.int64)

    def unseen_labels(self, known: Sequence[str] = ()) -> dict[str, int]:
        """Return the labels that test documents have and no training document, with how often.

        Args:
            known: the labels of training, where they are not the classes (of words).
        """
        if self.labels.numbers is not None:
            return {}
        names = set(known or self.labels.names)
        unseen: dict[str, int] = {}
        for _, test in self.rounds:
            for d in test:
                raw = self.raw_labels[d]
                for label in raw if isinstance(raw, list) else [raw]:
                    if label is not None and label not in names:
                        unseen[label] = unseen.get(label, 0) + 1
        return unseen

    def with_shots(self, shots: int, *, seed: int) -> Self:
        """Return the data set with `shots` training documents of each class; what is left over is the test, unless there is one.

        Of several labels each gets as many documents as there are, those of rarer labels first; a document counts for all it has.
        """
        rng = np.random.default_rng([seed, 7])
        train = np.flatnonzero((self.split == TRAIN) & self.usable)
        order = train[rng.permutation(len(train))]
        chosen: set[int] = set()
        labels = self.labels
        for j in np.argsort(labels.sizes(train), kind="stable").tolist():
            has = labels.codes == j if labels.sets is None else labels.sets[:, j]
            of_class = order[np.asarray(has)[order]].tolist()
            taken = sum(d in chosen for d in of_class)
            chosen.update([d for d in of_class if d not in chosen][: max(0, shots - taken)])
        return self._with_train(train, np.array(sorted(chosen), np.int64))

    def with_total(self, n: int, *, seed: int) -> Self:
        """Return the data set with n training documents in all; what is left over is the test, unless there is one.

        Of one label each the sample is stratified: every class has its share of n, give or take one, and at least one document.
        Fewer documents than n are all taken.

        Raises:
            UsageError: n is smaller than the number of classes.
        """
        rng = np.random.default_rng([seed, 9])
        train = np.flatnonzero((self.split == TRAIN) & self.usable)
        order = train[rng.permutation(len(train))]
        if self.labels.sets is not None or n >= len(train):
            return self._with_train(train, order[:n])
        strata = self.labels.strata(order)
        classes, sizes = np.unique(strata, return_counts=True)
        take = stratified_sizes(sizes, n, rng)
        chosen = [order[strata == j][:k] for j, k in zip(classes.tolist(), take.tolist(), strict=True)]
        return self._with_train(train, np.concatenate(chosen))

    def _with_train(self, train: LongArray, chosen: LongArray) -> Self:
        """Return the data set with some of the training documents; the rest is the test, unless there is one."""
        split = self.split.copy()
        split[np.setdiff1d(train, chosen)] = UNUSED if (split == TEST).any() else TEST
        return replace(self, split=split)
