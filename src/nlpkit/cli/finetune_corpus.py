"""The documents of `nlpkit finetune`: read, labels of four kinds encoded, parts given out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.labels import Labels, encode_sets, encode_single
from nlpkit.classify.splits import (
    DEV,
    TEST,
    TRAIN,
    UNUSED,
    check_splits,
    held_out,
    split_column,
    splits_of,
    stratified_folds,
)
from nlpkit.cli.finetune_checks import check_labels, check_parts, keep_lonely, refuse_lonely
from nlpkit.cli.finetune_flags import TuneDataFlags
from nlpkit.cli.finetune_labels import Tags, kind_of, labels_of, tag_names_of
from nlpkit.errors import InputError, UsageError, missing_column
from nlpkit.io.corpora import DocumentStream, DroppedRow, open_documents
from nlpkit.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.workflows.corpus import no_documents
from nlpkit.workflows.labelled import Provenance, check_label_column, stacked

if TYPE_CHECKING:
    from nlpkit.io.read_options import ReadOptions


@dataclass(slots=True)
class TuneDocuments(LabelledDataset):
    """Documents with labels of any kind, each in a split.

    kind: "single", "multi", "regression" or "tokens". Of a regression `values` (D,), NaN for none; of words `words` and `tags`
    (D,) lists, and `tag_names`. Of these two `labels` has one class, for documents that have a label at all.
    second (D,): the other text of pairs; context: texts before and after each document.
    """

    provenance: Provenance
    kind: str
    values: FloatArray | None
    words: list[list[str]] | None
    tags: Tags | None
    tag_names: tuple[str, ...]
    second: list[str] | None
    context: tuple[list[str], list[str]] | None

    @property
    def label_type(self) -> pa.DataType:
        """The type of a column of labels."""
        texts = pa.list_(pa.string())
        return {"regression": pa.float64(), "tokens": texts, "multi": texts}.get(self.kind, pa.string())

    @property
    def texts(self) -> list[str]:
        """The texts (D,), '' for none."""
        return [t or "" for t in self.table.column("text").to_pylist()]

    @property
    def empty(self) -> BoolArray:
        """Documents (D,) without a word."""
        if self.words is not None:
            return np.array([not own for own in self.words])
        return np.array([not (t or "").strip() for t in self.table.column("text").to_pylist()])

    @property
    def dev(self) -> LongArray:
        """Rows that tell when to stop."""
        known = self.labels.known if self.labels.multiple or self.kind != "single" else self.labels.codes >= 0  # type: ignore[operator]
        return np.flatnonzero((self.split == DEV) & known) if not self.n_folds else np.zeros(0, np.int64)


def read_tuning_documents(inputs: Sequence[str], data: TuneDataFlags, read: ReadOptions, *, seed: int) -> TuneDocuments:
    """Return the documents with their labels and roles.

    Raises:
        ColumnError, InputError, UsageError: no labels, a column that is not there, labels or roles that cannot be used.
    """
    options = replace(read, words_col=data.words_col)
    named = [(list(inputs), options, TRAIN)]
    for path, number in ((data.dev, DEV), (data.test, TEST)):
        if path is not None:
            named.append(([str(path)], replace(options, limit=None), number))
    streams = [open_documents(names, own) for names, own, _ in named]
    tables = []
    try:
        for stream, (names, _, _) in zip(streams, named, strict=True):
            _check_columns(stream, names, data, read)
            tables.append(stream.read_all())
            if not tables[-1].num_rows:
                raise no_documents(stream)
    finally:
        for stream in streams:
            stream.close()
    kind = kind_of(tables[0], data)
    table = stacked(tables)
    role: IntArray = np.concatenate(
        [np.full(t.num_rows, r, np.int32) for t, (_, _, r) in zip(tables, named, strict=True)]
    )
    own, words, tags, values = labels_of(table, kind, data)
    known = np.array([v is not None for v in own], bool)
    learn = role == TRAIN
    if not known[learn].any():
        raise InputError(
            f"none of {wording.counted(int(learn.sum()), 'document')} has a label; name the column with --label-col"
        )
    part, n_folds = _parts(table, role, known, data)
    labels = _encode(kind, own, known, (part == TRAIN) & known)
    documents = TuneDocuments(
        table, own, labels, part, n_folds, Provenance.of_streams(streams), kind, values, words, tags,
        tag_names_of(tags, part == TRAIN), _second(table, data), _context(table, _files(streams), data),
    )  # fmt: skip
    _leave_empty_out(documents)
    _deal(documents, data, seed)
    _list_unused(documents, known, data)
    without = 0 if documents.second is None else sum(not text.strip() for text in documents.second)
    if without:
        reporting.warn(f"{wording.counted(without, 'pair')} without a second text: read as if it were empty")
    learn = documents.split == TRAIN
    if not n_folds and learn.any():  # what only held-out documents have is no class of the model
        documents.labels, documents.tag_names = _encode(kind, own, known, learn & known), tag_names_of(tags, learn)
    check_labels(documents, data)
    for shots in data.sizes():
        check_parts(with_shots(documents, shots, seed=seed), shots, data)
    return documents


def with_shots(documents: TuneDocuments, shots: int | None, *, seed: int) -> TuneDocuments:
    """Return the documents with `shots` training documents of each class, None for all; see `LabelledDataset.with_shots`."""
    if shots is None:
        return documents
    if documents.kind not in ("single", "multi"):
        raise UsageError("--shots counts documents of classes; of numbers and of words there are none: use --limit")
    return documents.with_shots(shots, seed=seed)


def _check_columns(stream: Any, names: Sequence[str], data: TuneDataFlags, read: ReadOptions) -> None:
    check_label_column(stream, read.label_col)
    have, shown = stream.schema.names, ", ".join(names)
    words = None if data.words_col == TuneDataFlags().words_col else data.words_col
    split = None if data.split is None else split_column(data.split)
    wanted = {"--split": split, "--pair-col": data.pair_col, "--context-by": data.context_by, "--words-col": words}
    for option, column in wanted.items():
        if column is not None and column not in have:
            raise missing_column(shown, column, have, option)


def _encode(kind: str, own: list[Any], known: BoolArray, learn: BoolArray) -> Labels:
    if kind == "single":
        return encode_single(own, learn)
    if kind == "multi":
        return encode_sets(own, learn)
    if not learn.any():
        raise InputError("no training document has a label; name the column with --label-col")
    return Labels(("value",), known, np.where(known, 0, -1).astype(np.int32))


def _parts(table: pa.Table, role: IntArray, known: BoolArray, data: TuneDataFlags) -> tuple[IntArray, int]:
    part = role.copy()
    if data.split is not None:
        values = [as_label(v) for v in table.column(split_column(data.split)).to_pylist()]
        part = splits_of(values, data.split, dev=True)
        check_splits(part, values, data.split)
    part[(part == TRAIN) & ~known] = UNUSED
    return part, data.cv or 0


def _second(table: pa.Table, data: TuneDataFlags) -> list[str] | None:
    if data.pair_col is None:
        return None
    return ["" if v is None else str(v) for v in table.column(data.pair_col).to_pylist()]


def _files(streams: Sequence[DocumentStream]) -> LongArray:
    """Return the number (D,) of the file that each document is of."""
    kept = [n for stream in streams for n in stream.kept]
    return np.repeat(np.arange(len(kept)), kept)


def _context(table: pa.Table, files: LongArray, data: TuneDataFlags) -> tuple[list[str], list[str]] | None:
    """Return the texts before and after each document in the same file."""
    if not data.context:
        return None
    texts = [t or "" for t in table.column("text").to_pylist()]
    groups = [None] * len(texts) if data.context_by is None else table.column(data.context_by).to_pylist()
    return neighbours(texts, list(zip(files.tolist(), groups, strict=True)), data.context)


def neighbours(texts: Sequence[str], groups: Sequence[Any], n: int) -> tuple[list[str], list[str]]:
    """Return the n texts before, and after, each text that are in one row with it in its group, joined by spaces."""
    before, after = [], []
    start = 0
    for d in range(len(texts)):
        if d and groups[d] != groups[d - 1]:
            start = d
        before.append(" ".join(texts[max(start, d - n) : d]))
        end = d + 1
        while end < len(texts) and end - d <= n and groups[end] == groups[d]:
            end += 1
        after.append(" ".join(texts[d + 1 : end]))
    return before, after


def _leave_empty_out(documents: TuneDocuments) -> None:
    left = documents.empty & (documents.split == TRAIN)
    if left.any():
        documents.split = np.where(left, UNUSED, documents.split).astype(np.int32)
        reporting.warn(f"{wording.counted(int(left.sum()), 'training document')} without a word: left out")
        if not (documents.split == TRAIN).any():
            raise InputError("no training document with a label has a word; see --text-col")


def _list_unused(documents: TuneDocuments, known: BoolArray, data: TuneDataFlags) -> None:
    """Add the documents that are neither learned from nor scored to the dropped ones, with why; count those of other parts."""
    rows = np.flatnonzero(documents.split == UNUSED).tolist()
    ids, empty = documents.table.column("id").to_pylist(), documents.empty
    values, named = [], None
    if data.split is not None:
        column = split_column(data.split)
        values = [as_label(v) for v in documents.table.column(column).to_pylist()]
        named = splits_of(values, data.split, dev=True)
    others: Counter[str] = Counter()
    for d in rows:
        reason = "no label" if not known[d] else "no word"
        if named is not None and named[d] == UNUSED:
            reason = f"{column} is '{values[d]}'" if values[d] is not None else f"no value in {column}"
            others[reason] += 1
        elif known[d] and not empty[d]:
            continue
        documents.provenance.dropped.append(DroppedRow(ids[d], "parts", reason))
    if others:
        listed = ", ".join(f"{reason} ({n:,})" for reason, n in others.most_common(5)) + (
            " …" if len(others) > 5 else ""
        )
        reporting.warn(f"{wording.counted(others.total(), 'row')} neither train, dev nor test: {listed}; left out")


def _deal(documents: TuneDocuments, data: TuneDataFlags, seed: int) -> None:
    """Deal training documents into folds, or hold out a share of them as the test."""
    rows = np.flatnonzero((documents.split == TRAIN) & documents.usable)
    strata = documents.labels.strata(rows)
    sizes = data.sizes()
    rest = len(sizes) == 1 and sizes[0] is not None  # what a single --shots leaves over is the test; several share one
    if documents.kind in ("single", "multi") and (data.cv or not ((documents.split == TEST).any() or rest)):
        rows = refuse_lonely(documents, rows) if documents.kind == "single" else keep_lonely(documents, rows, data)
        strata = documents.labels.strata(rows)
    if data.cv:
        part = np.full(len(documents.split), UNUSED, np.int32)
        part[rows] = stratified_folds(strata, data.cv, seed=seed)
        documents.split = part
    elif not (documents.split == TEST).any() and not rest:
        if len(rows) < 2:
            raise InputError(f"{wording.counted(len(rows), 'document')} with a label: too few to train and test on")
        documents.split[rows[held_out(strata, data.holdout, seed=seed)]] = TEST
