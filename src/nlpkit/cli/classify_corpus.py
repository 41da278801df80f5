"""The documents of `nlpkit classify`: read, labels encoded, roles given out, and every form of them that a model may want."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit import reporting, wording
from nlpkit.cells import as_label
from nlpkit.classify.classifier import Material
from nlpkit.classify.dataset import LabelledDataset
from nlpkit.classify.labels import Labels, encode_sets, encode_single
from nlpkit.classify.splits import TEST, TRAIN, UNUSED, check_splits, split_column, splits_of, stratified_folds
from nlpkit.classify.words import CutWords, GivenWords
from nlpkit.cli.classify_flags import ClassifyTextFlags, DataFlags
from nlpkit.errors import ColumnError, InputError, missing_column
from nlpkit.io.corpora import DocumentStream, open_documents
from nlpkit.io.documents import token_table
from nlpkit.io.footers import step_parameters, steps_of
from nlpkit.parallel import ahead
from nlpkit.text.token_settings import differences, learned_bounds
from nlpkit.types import BoolArray, IntArray
from nlpkit.workflows.corpus import no_documents
from nlpkit.workflows.embeddings import embedded_by
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.labelled import Provenance, check_label_column, read_labels, stacked
from nlpkit.workflows.tokens import refuse_token_options

if TYPE_CHECKING:
    from nlpkit.io.read_options import ReadOptions

DEFAULT_FOLDS = 5


@dataclass(slots=True)
class LabelledDocuments(LabelledDataset):
    """Documents in every form that a model may want, with where they come from and what made their embeddings."""

    provenance: Provenance
    material: Material
    made_by: dict[str, Any] | None


def read_labelled_documents(
    inputs: Sequence[str],
    data: DataFlags,
    tokens: ClassifyTextFlags,
    read: ReadOptions,
    *,
    words: bool,
    seed: int,
    threads: int,
) -> LabelledDocuments:
    """Return the documents with their labels and roles, and their words when they are wanted.

    Raises:
        ColumnError, InputError, UsageError: no labels, a column that is not there, roles that cannot be given out.
    """
    options = read
    streams = [open_documents(list(inputs), options)]
    if data.test is not None:
        streams.append(open_documents([str(data.test)], replace(options, limit=None)))
    names = [", ".join(inputs), str(data.test)]
    try:
        for stream in streams:
            check_label_column(stream, read.label_col)
        split = None if data.split is None else split_column(data.split)
        for column, option in ((split, "--split"), (data.groups, "--groups")):
            if column is not None and option == "--groups":
                column = column if column in streams[0].schema.names else column.partition(":")[0]
            if column is not None and column not in streams[0].schema.names:
                raise missing_column(names[0], column, streams[0].schema.names, option)
        made_by = _embedded_by(streams)
        there = _have_tokens(streams, names, tokens)
        if words and there:
            _check_making(streams, names)
        cut: CutWords | None = None
        tables = []
        if words and not there:
            cut = CutWords(tokens.options(), adapt=tokens.adapts, threads=threads)
            tables = _cut(streams, cut, data.split)
        else:
            tables = [stream.read_all() for stream in streams]
        for table, stream in zip(tables, streams, strict=False):
            if not table.num_rows:
                raise no_documents(stream)
    finally:
        for stream in streams:
            stream.close()
    table = stacked(tables)
    first = tables[0].num_rows
    own = read_labels(table.column("label"), data.label_sep)
    part, n_folds = _parts(table, first, own, data)
    labels = _encode(own, part, n_folds)
    if n_folds:
        part = _folds(part, labels, n_folds, table, data, seed)
    given = None
    if words and there:
        given = GivenWords(token_table(table.column("tokens")), threads=threads)
    return LabelledDocuments(
        table, own, labels, part, n_folds, Provenance.of_streams(streams), Material(table.num_rows, cut or given), made_by,
    )  # fmt: skip


def _cut(streams: Sequence[DocumentStream], cut: CutWords, split: str | None) -> list[pa.Table]:
    """Read the streams as one, cutting texts on the way; a table of each."""

    def learn(batch: pa.RecordBatch) -> BoolArray:
        assert split is not None
        values = [as_label(v) for v in batch.column(split_column(split)).to_pylist()]
        return np.asarray(splits_of(values, split, dev=False) == TRAIN)

    sizes = [0] * len(streams)

    def counted(number: int) -> Iterator[pa.RecordBatch]:
        for batch in streams[number]:
            sizes[number] += batch.num_rows
            yield batch

    first, *others = (ahead(counted(number)) for number in range(len(streams)))
    found: list[pa.RecordBatch] = []
    with reporting.progress("words", None) as update:
        rows = 0
        for batch in cut.cut(first, chain.from_iterable(others), learn=None if split is None else learn):
            found.append(batch)
            rows += batch.num_rows
            update(rows)
    tables, start = [], 0
    for stream, size in zip(streams, sizes, strict=True):
        own: list[pa.RecordBatch] = []
        while sum(batch.num_rows for batch in own) < size:
            own.append(found[start])
            start += 1
        tables.append(pa.Table.from_batches(own, stream.schema))
    return tables


def _have_tokens(streams: Sequence[DocumentStream], names: Sequence[str], tokens: ClassifyTextFlags) -> bool:
    there = ["tokens" in stream.schema.names for stream in streams]
    if any(there) and not all(there):
        raise InputError(
            f"{names[there.index(True)]} has a column 'tokens' and {names[there.index(False)]} has none; "
            "cut both alike with nlpkit preprocess, or give both as texts"
        )
    if there[0] and tokens != ClassifyTextFlags():
        refuse_token_options(tokens.options(), names[0], ClassifyTextFlags().options())
    return there[0]


def _check_making(streams: Sequence[DocumentStream], names: Sequence[str]) -> None:
    """Warn of tokens that were chosen by looking at all documents, also those to test on.

    Raises:
        InputError: the tokens of training and test documents were made in different ways.
    """
    made = [[step_parameters(steps_of([block]), "preprocess") for block in stream.blocks] for stream in streams]
    known = [[one for one in settings if one is not None] for settings in made]
    apart = [d for settings in known for one in settings for d in differences(known[0][0], one)] if known[0] else []
    if apart:
        said = ("; ".join(dict.fromkeys(apart))).replace("the model's", "the training documents'")
        raise InputError(
            f"the tokens of {' and '.join(names[: len(streams)])} are not made alike ({said}); cut all with the same options of "
            "nlpkit preprocess, or give them as texts"
        )
    bounds = list(dict.fromkeys(name for one in known[0] for name in learned_bounds(one)))
    together = len(streams) == 1 or bool(_sources(streams[0]) & _sources(streams[1]))
    if bounds and together:
        reporting.warn(
            f"the words of {names[0]} were chosen by {', '.join(bounds)} in all documents, also in those to test on: scores may be "
            "too good; give the texts, and classify chooses words in the training documents alone"
        )


def _sources(stream: DocumentStream) -> set[str]:
    """Return the hashes of the files that tokens were made from."""
    return {
        one["sha256"]
        for step in steps_of(stream.blocks)
        if step.get("command") == "preprocess"
        for one in step.get("inputs") or ()
    }


class _Both:
    def __init__(self, blocks: list[dict[str, Any] | None]) -> None:
        self.blocks = blocks


def _embedded_by(streams: Sequence[DocumentStream]) -> dict[str, Any] | None:
    """Return what made the embeddings of all streams. Raises ColumnError when that differs, or one has none."""
    there = ["embedding" in stream.schema.names for stream in streams]
    if not all(there):
        if any(there):
            raise ColumnError(
                "training and test documents: one has a column 'embedding', the other has not; embed both, or neither"
            )
        return None
    return embedded_by(_Both([b for s in streams for b in s.blocks]))  # type: ignore[arg-type]


def _parts(table: pa.Table, first: int, own: Sequence[Any], data: DataFlags) -> tuple[IntArray, int]:
    """Return the part of each document and the number of folds, 0 with a test set; in folds all with a label are 0 for now."""
    D = table.num_rows
    part = np.full(D, UNUSED, np.int32)
    labelled = np.fromiter((v is not None for v in own), bool, D)
    if data.test is not None:
        part[:first] = TRAIN
        part[first:] = TEST
        return part, 0
    if data.split is None:
        part[labelled] = TRAIN
        return part, data.cv or DEFAULT_FOLDS
    values = [as_label(v) for v in table.column(split_column(data.split)).to_pylist()]
    part = splits_of(values, data.split, dev=False)
    check_splits(part, values, data.split)
    return part, 0


def _encode(own: list[Any], part: IntArray, n_folds: int) -> Labels:
    learn = np.asarray(part == 0)
    if any(isinstance(v, list) for v in own):
        return encode_sets(own, learn)
    return encode_single(own, learn)


def _groups_column(table: pa.Table, by: str) -> pa.Array:
    """Return the values of a column whose documents stay together, or parts of its dates as strings, null where there is none."""
    if by in table.column_names:
        return table.column(by).combine_chunks()
    groups = Groups(by, table.schema, "the documents")
    numbers = np.concatenate([groups.of(batch) for batch in table.to_batches()])
    names, places = groups.finish()
    order = places[numbers]
    return pa.array(names, pa.string()).take(pa.array(order, mask=order < 0))


def _folds(part: IntArray, labels: Labels, n_folds: int, table: pa.Table, data: DataFlags, seed: int) -> IntArray:
    rows = np.flatnonzero(part == 0)
    together = None
    if data.groups is not None:
        column = _groups_column(table, data.groups)
        if column.null_count:
            missing = wording.counted(column.null_count, "document")
            reporting.warn(f"{missing} without a value in '{data.groups}': together they are one group")
        codes = pc.dictionary_encode(column, null_encoding="encode")
        codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
        together = codes.indices.to_numpy(zero_copy_only=False)[rows].astype(np.int32)
    if data.cv is None and len(rows) < n_folds:
        raise InputError(f"{wording.counted(len(rows), 'document')} with a label: too few to train and test on")
    dealt = part.copy()
    dealt[rows] = stratified_folds(labels.strata(rows), n_folds, seed=seed, together=together)
    return dealt
