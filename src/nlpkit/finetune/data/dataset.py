"""Documents with labels of any kind (a class, one on a scale, several, a number, one for each word, an answer), each in a split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import (
    DEV,
    TEST,
    TRAIN,
    UNUSED,
    LabelledDataset,
    Labels,
    encode_sets,
    encode_single,
    held_out,
    stratified_folds,
)
from nlpkit.errors import InputError, UsageError
from nlpkit.finetune.data.texts import TextInputs, texts_of
from nlpkit.finetune.options import DatasetOptions
from nlpkit.finetune.tasks import CLASSES, IGNORED, ONE_CLASS, FinetuneTask, TaskKind
from nlpkit.platform import reporting, wording
from nlpkit.platform.types import BoolArray, FloatArray, LongArray

Tags = list[list[str | None] | None]  # of each document the labels of its words: None for none
TASK_NAMES: dict[TaskKind, str] = {
    "single": "classes",
    "multi": "labels",
    "ordinal": "ordinal",
    "regression": "regression",
    "tokens": "words",
    "answer": "answers",
}
KINDS = {name: kind for kind, name in TASK_NAMES.items()}


@dataclass(slots=True)
class FinetuneDataset(LabelledDataset):
    """Documents with labels of any kind, each in a split.

    kind: see `TaskKind`. Of a regression `values` (D,), NaN for none; of words `words` and `tags`
    (D,) lists, and `tag_names`. Of these two `labels` has one class, for documents that have a label at all.
    second (D,): the other text of pairs; context: texts before and after each document. by_total: the sizes of samples are numbers
    of documents in all (`totals`), not of each class (`shots`). crf, longest: see `FinetuneTask`. answers (D, 2): where they stand,
    see `answers.span_of`; overlap: see `TextInputs`.
    """

    kind: TaskKind
    values: FloatArray | None = None
    words: list[list[str]] | None = None
    tags: Tags | None = None
    tag_names: tuple[str, ...] = ()
    second: list[str] | None = None
    context: tuple[list[str], list[str]] | None = None
    by_total: bool = False
    crf: bool = False
    answers: LongArray | None = None
    overlap: int | None = None
    longest: int = 30
    _draws: dict[tuple[int, int], FinetuneDataset] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def label_type(self) -> pa.DataType:
        """The type of a column of labels."""
        texts = pa.list_(pa.string())
        return {"regression": pa.float64(), "tokens": texts, "multi": texts}.get(self.kind, pa.string())

    @property
    def texts(self) -> list[str]:
        """The texts (D,), '' for none."""
        return texts_of(self.table)

    @property
    def text_inputs(self) -> TextInputs:
        """The texts of the documents as a model reads them."""
        return TextInputs(self.texts, self.second, self.context, self.words, self.overlap)

    @property
    def plain(self) -> bool:
        """Whether documents are one text each, with classes."""
        return self.kind in ("single", "multi") and self.second is None and self.context is None

    @property
    def names(self) -> tuple[str, ...]:
        """The classes, or the labels of words."""
        if self.kind == "answer":
            return ("answer", "none") if bool(self._without_answer[self.train].any()) else ("answer",)
        return self.tag_names if self.kind == "tokens" else self.labels.names

    @property
    def _without_answer(self) -> BoolArray:
        return np.array([raw is not None and not raw.strip() for raw in self.raw_labels])

    @property
    def empty(self) -> BoolArray:
        """Documents (D,) without a word."""
        if self.words is not None:
            return np.array([not words for words in self.words])
        return np.array([not text.strip() for text in self.texts])

    @property
    def dev(self) -> LongArray:
        """Rows that decide when training stops."""
        known = self.labels.known if self.labels.multiple or self.kind not in ONE_CLASS else self.labels.codes >= 0  # type: ignore[operator]
        return np.flatnonzero((self.split == DEV) & known) if not self.n_folds else np.zeros(0, np.int64)

    def drawn(self, size: int | None, *, seed: int) -> FinetuneDataset:
        """Return the data set with a sample of the training documents, None for all; each draw is made once.

        Args:
            size: documents of each class, or with `by_total` in all.

        Raises:
            UsageError: the labels are not classes, or there are more classes than documents.
        """
        if size is None:
            return self
        if self.kind not in CLASSES and not self.by_total:
            raise UsageError(
                "`shots` counts documents per class, and numbers and words have no classes; use `totals`",
                parameter="shots",
            )
        if (size, seed) not in self._draws:
            draw = self.with_total if self.by_total else self.with_shots
            self._draws[size, seed] = draw(size, seed=seed)
        return self._draws[size, seed]

    def describe_size(self, size: int | None) -> str:
        """Return how titles and messages name the size of a sample, "" for all documents."""
        if size is None:
            return ""
        return wording.counted(size, "document") if self.by_total else f"{size} shots"

    def task_and_targets(self, train: LongArray) -> tuple[FinetuneTask, Any]:
        """Return the task and the targets of all documents; those of rows that have none are never looked at."""
        if self.kind in ONE_CLASS:
            assert self.labels.codes is not None
            return FinetuneTask(self.kind, self.labels.names), np.maximum(self.labels.codes, 0).astype(np.int64)
        if self.kind == "multi":
            assert self.labels.sets is not None
            return FinetuneTask("multi", self.labels.names), self.labels.sets.astype(np.float32)
        if self.kind == "regression":
            assert self.values is not None
            values = self.values[train]
            mean, scale = float(values.mean()), float(values.std()) or 1.0
            return FinetuneTask("regression", (), mean, scale), np.nan_to_num((self.values - mean) / scale).astype(
                np.float32
            )
        if self.kind == "answer":
            assert self.answers is not None
            return FinetuneTask("answer", self.names, longest=self.longest), self.answers
        assert self.tags is not None
        code = {name: j for j, name in enumerate(self.tag_names)}
        targets = [
            np.array([IGNORED if t is None else code.get(t, IGNORED) for t in tags or ()], np.int64)
            for tags in self.tags
        ]  # the network looks at the first token of a word
        return FinetuneTask("tokens", self.tag_names, crf=self.crf), targets

    def describe_task(self) -> str:
        """Return what the labels were taken for."""
        return {
            "single": wording.counted(len(self.names), "class", "classes"),
            "ordinal": f"{wording.counted(len(self.names), 'class', 'classes')} in an order",
            "multi": f"several of {wording.counted(len(self.names), 'label')} a document",
            "regression": "numbers",
            "answer": "answers to questions",
            "tokens": f"{wording.counted(len(self.names), 'label')} of words",
        }[self.kind]


def encode_labels(
    kind: TaskKind, raw: list[Any], known: BoolArray, train: BoolArray, scale: Sequence[str] = ()
) -> Labels:
    """Return labels as classes, which are those of the documents to learn from. Raises InputError where there are none.

    Args:
        scale: of ordered classes, all labels, the lowest first.
    """
    if kind in ONE_CLASS:
        return encode_single(raw, train, scale)
    if kind == "multi":
        return encode_sets(raw, train)
    if not train.any():
        raise InputError("no training document has a label; name the column with `label_col`")
    return Labels(("value",), known, np.where(known, 0, -1).astype(np.int32))


def tag_names_of(tags: Tags | None, train: BoolArray) -> tuple[str, ...]:
    """Return the labels of the words of some documents in order."""
    if tags is None:
        return ()
    return tuple(
        sorted({t for row, yes in zip(tags, train.tolist(), strict=True) if yes and row for t in row if t is not None})
    )


def leave_empty_out(dataset: FinetuneDataset) -> None:
    """Take training documents without a word out of training. Raises InputError where none is left."""
    empty = dataset.empty & (dataset.split == TRAIN)
    if empty.any():
        dataset.split = np.where(empty, UNUSED, dataset.split).astype(np.int32)
        reporting.warn(f"{wording.counted(int(empty.sum()), 'training document')} without a word: left out")
        if not (dataset.split == TRAIN).any():
            raise InputError("no training document with a label has a word; see `text_col`")


def deal(dataset: FinetuneDataset, options: DatasetOptions, *, seed: int) -> None:
    """Deal training documents into folds, or hold out a share of them as the test, unless there is one.

    Raises:
        InputError: too few documents, or a class of one document.
    """
    rows = np.flatnonzero((dataset.split == TRAIN) & dataset.usable)
    sizes = options.sizes()
    rest = len(sizes) == 1 and sizes[0] is not None  # what a single sample leaves over is the test; several share one
    has_test = (dataset.split == TEST).any() or rest
    if dataset.kind in CLASSES and (options.cv or not has_test):
        if dataset.kind in ONE_CLASS:
            reject_singleton_classes(dataset, rows)
        else:
            rows = warn_singleton_labels(dataset, rows, folds=bool(options.cv))
    strata = dataset.labels.strata(rows)
    if options.cv:
        split = np.full(len(dataset.split), UNUSED, np.int32)
        split[rows] = stratified_folds(strata, options.cv, seed=seed)
        dataset.split = split
    elif not has_test:
        if len(rows) < 2:
            raise InputError(
                f"{wording.counted(len(rows), 'document')} with a label: this is too few to train and test"
            )
        dataset.split[rows[held_out(strata, options.holdout, seed=seed)]] = TEST


def warn_singleton_labels(dataset: FinetuneDataset, rows: LongArray, *, folds: bool) -> LongArray:
    """Return the rows that may be held out, and warn of the others: every label must also occur in another document.

    Args:
        folds: rows are dealt into folds, where all stay.
    """
    single = np.asarray(dataset.labels.sizes(rows) == 1)
    if not single.any():
        return rows
    where = "in one fold there is nothing to learn from" if folds else "learned from, and not tested"
    names = first_names([dataset.labels.names[j] for j in np.flatnonzero(single).tolist()])
    reporting.warn(f"{wording.counted(int(single.sum()), 'label')} with a single document ({names}): {where}")
    if folds:
        return rows
    assert dataset.labels.sets is not None
    held = rows[~dataset.labels.sets[rows][:, single].any(axis=1)]
    return held if len(held) >= 2 else rows


def reject_singleton_classes(dataset: FinetuneDataset, rows: LongArray) -> None:
    """Raise InputError for a class of one document."""
    sizes = dataset.labels.sizes(rows).tolist()
    single = [name for name, n in zip(dataset.labels.names, sizes, strict=True) if n == 1]
    if single:
        noun, has = ("label", "has") if len(single) == 1 else ("labels", "have")
        raise InputError(
            f"{noun} {first_names(single)} {has} one document, which cannot be in both training and test; add "
            "documents, remove the label, or name test documents with `test`"
        )


def first_names(names: Sequence[str]) -> str:
    """Return the first five names, quoted, and whether there are more."""
    return wording.listed([f"'{name}'" for name in names], 5)
