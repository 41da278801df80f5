"""Texts, pairs and triplets for the training of encoders: read from several inputs, each row put into a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.classify.splits import DEV, TEST, TRAIN, UNUSED, split_column
from nlpkit.errors import InputError, missing_column
from nlpkit.finetune.options import HeldOutOptions
from nlpkit.finetune.pair_dataset import PairDataset, hold_out, leave_out_equal
from nlpkit.finetune.text_inputs import check_columns
from nlpkit.io.corpora import DocumentStream
from nlpkit.io.provenance import Provenance
from nlpkit.types import IntArray
from nlpkit.workflows.corpus import Corpus
from nlpkit.workflows.finetune_data import corpora_of
from nlpkit.workflows.labelled import read_streams, splits_by_column, stacked


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
