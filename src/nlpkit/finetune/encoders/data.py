"""The training data of sentence encoders: texts, pairs or triplets from several inputs, each row in a split.

Parts, in this order:
- The rows that an encoder is trained on: texts, pairs or triplets, with labels or scores, each in a split.
- The reading of these rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import DEV, TEST, TRAIN, UNUSED, split_column
from nlpkit.classify.labelled import read_streams, splits_by_column, stacked
from nlpkit.errors import InputError, missing_column
from nlpkit.finetune.data.checks import with_counts
from nlpkit.finetune.data.read import corpora_of
from nlpkit.finetune.data.texts import check_columns
from nlpkit.finetune.encoders.encoders import EncoderData
from nlpkit.finetune.options import HeldOutOptions
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus
from nlpkit.platform.runs.provenance import Provenance
from nlpkit.platform.types import IntArray, LongArray
from nlpkit.platform.values import as_label


@dataclass(slots=True)
class PairDataset:
    """Rows with their splits (D,) int32, and how an objective reads them.

    objective: its name. second, negative: columns of the other texts, None where the objective reads none.
    """

    table: pa.Table
    split: IntArray
    objective: str
    second: str | None = None
    negative: str | None = None

    def rows(self, split: int) -> LongArray:
        """Return the rows of a split."""
        return np.flatnonzero(self.split == split)

    def texts(self, column: str, rows: LongArray) -> list[str]:
        """Return a column as texts, '' for none."""
        return ["" if v is None else str(v) for v in self.table.column(column).take(pa.array(rows)).to_pylist()]

    def pairs(self, rows: LongArray, bounds: tuple[float, float]) -> EncoderData:
        """Return some rows as the objective learns from them.

        Args:
            bounds: the scores that become 0 and 1; of a test there are also some beyond: their order counts.

        Raises:
            InputError: a row without the class or the score that the objective needs.
        """
        assert self.second is not None
        negatives = None if self.negative is None else self.texts(self.negative, rows)
        classes, scores = None, None
        if self.objective == "sbert-softmax":
            classes = self.classes(rows)
        if self.objective == "cosine":
            low, high = bounds
            scores = ((self.scores(rows) - low) / (high - low)).astype(np.float32)
        return EncoderData(self.texts("text", rows), self.texts(self.second, rows), negatives, classes, scores)

    def classes(self, rows: LongArray) -> list[str]:
        """Return the class of each pair. Raises InputError for one without."""
        return [self._class(value, d) for d, value in self._labels(rows)]

    def scores(self, rows: LongArray) -> Any:
        """Return the score of each pair (n,) float64. Raises InputError for one without."""
        return np.array([self._score(value, d) for d, value in self._labels(rows)])

    def score_bounds(self) -> tuple[float, float]:
        """Return (low, high) for rescaling scores to [0, 1]; (0, 1) if all training scores already lie in it.

        Raises:
            InputError: all scores are the same.
        """
        if self.objective != "cosine":
            return 0.0, 1.0
        scores = self.scores(self.rows(TRAIN))
        low, high = float(scores.min()), float(scores.max())
        if low == high:
            raise InputError(f"all training pairs have the score {low:g}; there is nothing to learn")
        if low >= 0 and high <= 1:
            return 0.0, 1.0
        reporting.note(f"scores from {low:g} to {high:g}: trained towards cosines from 0 to 1")
        return low, high

    def _labels(self, rows: LongArray) -> list[tuple[int, Any]]:
        return list(zip(rows.tolist(), self.table.column("label").take(pa.array(rows)).to_pylist(), strict=True))

    def _class(self, value: Any, row: int) -> str:
        label = None if isinstance(value, list | dict) else as_label(value)
        if label is None:
            has = "a list as its" if isinstance(value, list) else "a record as its" if isinstance(value, dict) else "no"
            raise InputError(
                f"row {self._id(row)} has {has} label; `objective=sbert-softmax` needs one class of each pair",
                parameter="label_col",
            )
        return label

    def _score(self, value: Any, row: int) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not np.isfinite(number):
            has = "no score" if value is None or value == "" else f"the score '{value}'"
            raise InputError(
                f"row {self._id(row)} has {has}; `objective=cosine` needs a number of each pair", parameter="label_col"
            )
        return number

    def _id(self, row: int) -> str:
        return str(self.table.column("id")[row].as_py())


def hold_out(dataset: PairDataset, share: float, *, seed: int) -> None:
    """Make a random share of the training rows the test; of sbert-softmax of every class, which keeps one row or more to learn from.

    Raises:
        InputError: every class has one row.
    """
    rows = dataset.rows(TRAIN)
    n = max(1, round(share * len(rows)))
    order = np.random.default_rng([seed, 5]).permutation(rows)
    if dataset.objective == "sbert-softmax" and len(rows) > 1:
        codes = np.unique(dataset.classes(order), return_inverse=True)[1]
        sizes = np.bincount(codes)
        place = np.empty(len(order), np.int64)  # of a row among those of its class
        place[np.argsort(codes, kind="stable")] = np.concatenate([np.arange(size) for size in sizes])
        in_class = (place + 0.5) / sizes[codes]
        last = np.argsort(-in_class, kind="stable")  # the last share of every class, rounded
        order = order[last[place[last] > 0]]
        if not len(order):
            raise InputError(
                f"each of {len(rows):,} labels has one row, which cannot be in both training and test; add rows, or "
                "name test rows with `test`"
            )
    dataset.split[order[:n]] = TEST


def leave_out_equal(dataset: PairDataset) -> None:
    """Leave out the rows whose second and third text are the same, from which no preference can be learned.

    Raises:
        InputError: all rows are such.
    """
    assert dataset.second is not None
    assert dataset.negative is not None
    rows = np.flatnonzero(dataset.split != UNUSED)
    pairs = zip(dataset.texts(dataset.second, rows), dataset.texts(dataset.negative, rows), strict=True)
    equal = rows[np.array([a == b for a, b in pairs], bool)]
    if len(equal) and len(equal) == len(rows):
        raise InputError(
            f"'{dataset.second}' and '{dataset.negative}' are the same in every row; name the columns of the better and the worse answer",
            parameter="rejected_col",
        )
    if len(equal):
        reporting.warn(
            f"{wording.counted(len(equal), 'row')} with the same chosen and rejected answer, first row "
            f"{dataset._id(int(equal[0]))}: left out"
        )
        dataset.split[equal] = UNUSED


def check_classes(dataset: PairDataset, options: HeldOutOptions) -> None:
    """Refuse rows without a class and classes of dev that training does not have; warn of those of the test.

    Raises:
        InputError: see above.
    """
    known = set(dataset.classes(dataset.rows(TRAIN)))
    for number, name in ((TEST, "test"), (DEV, "dev")):
        unseen = Counter(label for label in dataset.classes(dataset.rows(number)) if label not in known)
        if not unseen:
            continue
        labels = with_counts(unseen.most_common())
        if number == DEV:
            raise InputError(
                f"{options.name_of(name)}: labels that no training row has: {labels}; use the same spelling, or add "
                "such rows to training"
            )
        reporting.warn(f"labels of test rows that no training row has: {labels}; these are always counted as wrong")


# ------------------------------------------------------------------------------------------------------------------------
# Texts, pairs and triplets for the training of encoders: read from several inputs, each row put into a split.


def read_pairs(
    corpus: Corpus, options: HeldOutOptions, columns: Mapping[str, str | None], objective: str, *, seed: int
) -> tuple[PairDataset, Provenance]:
    """Return the rows that an objective learns from and is scored on, and where they come from.

    Args:
        columns: with a second text and a third, by the parameters that name them, as `TrainEncoderOptions.columns` gives them.

    Raises:
        ColumnError, InputError: a column is not there, or nothing is left to learn from or to score on.
    """
    corpora = corpora_of(corpus, options)
    column = None if options.split is None else split_column(options.split)
    needed = {**columns, "split": column}
    label = "label" if objective in ("sbert-softmax", "cosine") else None
    streams = [c.open() for c, _ in corpora]

    def check(stream: DocumentStream) -> None:
        check_columns(stream.schema.names, needed, stream.where)
        if label is not None and label not in stream.schema.names:
            raise missing_column(stream.where, corpus.options.label_col, stream.schema.names, "`label_col`")

    tables = read_streams(streams, check)
    second, third = ([*columns.values(), None, None])[:2]
    texts = ["text", *(c for c in (second, third) if c is not None)]
    table = _stacked(tables, texts, [c for c in ("id", label, column) if c is not None])
    split: IntArray = np.concatenate(
        [np.full(t.num_rows, role, np.int32) for t, (_, role) in zip(tables, corpora, strict=True)]
    )
    if options.split is not None:
        split, _ = splits_by_column(table, options.split, dev=True)
    split = _without_empty(table, texts, split, options)
    dataset = PairDataset(table, split, objective, second, third)
    if objective == "dpo":
        leave_out_equal(dataset)
    if not (split == TEST).any():
        hold_out(dataset, options.holdout, seed=seed)
    if not (split == TRAIN).any():
        few = "one row is too few to learn from and to test on; add rows, or give the test with `test`"
        raise InputError(
            few if (split == TEST).sum() == 1 else "there is no row to learn from; see `text_col` and `split`"
        )
    _warn_of_overlap(dataset, texts)
    return dataset, Provenance.of_streams(streams)


def _warn_of_overlap(dataset: PairDataset, columns: Sequence[str]) -> None:
    """Warn of test rows whose texts are those of a training row."""
    known, asked = (
        list(zip(*(dataset.texts(column, dataset.rows(split)) for column in columns), strict=True))
        for split in (TRAIN, TEST)
    )
    n = sum(map(set(known).__contains__, asked))
    if n:
        are = "is a training row" if n == 1 else "are training rows"
        reporting.warn(
            f"{n:,} of {wording.counted(len(asked), 'test row')} {are}, too, so the scores after training are too high"
        )


def _without_empty(table: pa.Table, texts: Sequence[str], split: IntArray, options: HeldOutOptions) -> IntArray:
    """Return the splits, UNUSED for rows with an empty text. Raises InputError where no row of dev or test has its texts."""
    empty = np.zeros(table.num_rows, bool)
    for column in texts:
        empty |= np.array([not str(v or "").strip() for v in table.column(column).to_pylist()])
    if not empty.any():
        return split
    reporting.warn(f"{wording.counted(int(empty.sum()), 'row')} with an empty text: left out")
    for number, name in ((TEST, "test"), (DEV, "dev")):
        if (split == number).any() and empty[split == number].all():
            raise InputError(
                f"{options.name_of(name)}: no row has a text in {' and '.join(texts)}; nothing can be scored"
            )
    return np.where(empty, UNUSED, split).astype(np.int32)


def _stacked(tables: Sequence[pa.Table], texts: Sequence[str], others: Sequence[str]) -> pa.Table:
    """Return the columns that are needed of all tables below each other, texts as such: files may differ in the rest, and in types."""
    chosen = []
    for table in tables:
        part = table.select(list(dict.fromkeys([*others, *texts])))
        for column in texts:
            if part.schema.field(column).type != pa.string():
                cells = [None if v is None else str(v) for v in part.column(column).to_pylist()]
                part = part.set_column(part.column_names.index(column), column, pa.array(cells, pa.string()))
        chosen.append(part)
    return stacked(chosen) if "label" in others else pa.concat_tables(chosen, promote_options="default")
