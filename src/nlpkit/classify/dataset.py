"""Documents with labels, each in a split: what classifiers and fine-tuned models are trained and scored on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from nlpkit.classify.labels import Labels
from nlpkit.classify.splits import TEST, TRAIN, UNUSED, stratified_sizes
from nlpkit.types import BoolArray, IntArray, LongArray


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
