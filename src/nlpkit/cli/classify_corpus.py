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
from nlpkit.classify.classifier import Material
from nlpkit.classify.labels import Labels, encode_sets, encode_single, stratified_folds
from nlpkit.classify.words import CutWords, GivenWords
from nlpkit.cli.classify_flags import ClassifyTextFlags, DataFlags
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.io.corpora import DocumentStream, DroppedRow, InputInfo, open_documents
from nlpkit.io.documents import token_table
from nlpkit.io.footers import step_parameters, steps_of
from nlpkit.io.plain_tables import as_label
from nlpkit.parallel import ahead
from nlpkit.text.token_settings import differences, learned_bounds
from nlpkit.types import BoolArray, IntArray, LongArray
from nlpkit.workflows.corpus import no_documents
from nlpkit.workflows.embeddings import embedded_by
from nlpkit.workflows.groups import Groups
from nlpkit.workflows.tokens import refuse_token_options

if TYPE_CHECKING:
    from nlpkit.io.read_options import ReadOptions

TRAIN_NAMES = ("train", "training")
TEST_NAMES = ("test", "testing", "eval")
DEFAULT_FOLDS = 5
UNUSED = -1


@dataclass(slots=True)
class LabelledDocuments:
    """Documents of the training inputs, then those of --test. own: labels as given, (D,) text or lists, None for none.

    part (D,) int32: with a test set 0 training, 1 test; in cross-validation the fold; -1: neither, such as rows without a label.
    """

    table: pa.Table
    own: list[Any]
    labels: Labels
    part: IntArray
    n_folds: int  # 0 with a test set
    inputs: list[InputInfo]
    dropped: list[DroppedRow]
    blocks: list[dict[str, Any] | None]
    material: Material
    made_by: dict[str, Any] | None

    @property
    def label_type(self) -> pa.DataType:
        """The type of a column of labels."""
        return pa.list_(pa.string()) if self.labels.multiple else pa.string()

    @property
    def rounds(self) -> list[tuple[LongArray, LongArray]]:
        """Training and test rows of each round; test rows may have no label."""
        if not self.n_folds:
            return [(np.flatnonzero((self.part == 0) & self.usable), np.flatnonzero(self.part == 1))]
        return [
            (np.flatnonzero((self.part >= 0) & (self.part != fold)), np.flatnonzero(self.part == fold))
            for fold in range(self.n_folds)
        ]

    @property
    def least_train(self) -> int:
        """Documents of the smallest training set."""
        return min(len(train) for train, _ in self.rounds)

    @property
    def usable(self) -> BoolArray:
        """Documents (D,) that can train: those with a label that is one of the classes."""
        if self.labels.codes is not None:
            return np.asarray(self.labels.codes >= 0)
        return self.labels.known

    @property
    def learn(self) -> LongArray:
        """Rows of the final model: the training set, or in cross-validation all with a label."""
        return self.rounds[0][0] if not self.n_folds else np.flatnonzero(self.part >= 0)


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
        for stream, name in zip(streams, names, strict=False):
            if "label" not in stream.schema.names:
                if not stream.has_documents():
                    raise no_documents(stream)
                raise missing_column(name, read.label_col, stream.schema.names, "--label-col")
        split = None if data.split is None else _column(data.split)
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
    table = joined(tables)
    first = tables[0].num_rows
    own = label_values(table.column("label"), data.label_sep)
    part, n_folds = _parts(table, first, own, data)
    labels = _encode(own, part, n_folds)
    if n_folds:
        part = _folds(part, labels, n_folds, table, data, seed)
    given = None
    if words and there:
        given = GivenWords(token_table(table.column("tokens")), threads=threads)
    return LabelledDocuments(
        table, own, labels, part, n_folds, [i for s in streams for i in s.inputs], [d for s in streams for d in s.dropped],
        [b for s in streams for b in s.blocks], Material(table.num_rows, cut or given), made_by,
    )  # fmt: skip


def _cut(streams: Sequence[DocumentStream], cut: CutWords, split: str | None) -> list[pa.Table]:
    """Read the streams as one, cutting texts on the way; a table of each."""

    def learn(batch: pa.RecordBatch) -> BoolArray:
        assert split is not None
        return np.asarray(_split_parts(batch.column(_column(split)).to_pylist(), split) == 0)

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


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the tables below each other; columns that do not fit together are those of both under the first's type, or go."""
    if len(tables) == 1:
        return tables[0]
    first, second = tables
    for name in [n for n in first.column_names if n in second.column_names]:
        kind, other = first.schema.field(name).type, second.schema.field(name).type
        if kind != other:
            first, second = (_as_text(t, name) for t in (first, second))
    if first.schema.field("label").type != second.schema.field("label").type:
        raise ColumnError(
            f"labels are {tables[0].schema.field('label').type} in the training documents and "
            f"{tables[1].schema.field('label').type} in the test documents; write them alike"
        )
    common = [n for n in first.column_names if n in second.column_names]
    apart = [n for n in common if first.schema.field(n).type != second.schema.field(n).type]
    if "embedding" in apart:
        raise ColumnError("training and test documents have embeddings of different types; embed both with one model")
    if apart:
        reporting.warn(f"columns of other types in the test documents are left out: {', '.join(apart)}")
        common = [n for n in common if n not in apart]
    return pa.concat_tables([first.select(common), second.select(common)])


def _as_text(table: pa.Table, name: str) -> pa.Table:
    column = table.column(name)
    if pa.types.is_nested(column.type):
        return table
    text = pa.array([as_label(v) for v in column.to_pylist()], pa.string())
    return table.set_column(table.column_names.index(name), name, text)


def label_values(column: pa.ChunkedArray, separator: str | None) -> list[Any]:
    """Return labels as text, or as lists of texts where documents may have several."""
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [None if v is None else _set(v) for v in column.to_pylist()]
    if pa.types.is_nested(kind):
        raise ColumnError(f"labels are {kind}; text, numbers or lists of text were needed: name another --label-col")
    texts = [as_label(v) for v in column.to_pylist()]
    if separator is None:
        return texts
    return [None if t is None else _set(t.split(separator)) for t in texts]


def _set(values: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(t for v in values if (t := as_label(v)) is not None))


def _column(split: str) -> str:
    return split.partition("=")[0]


def _parts(table: pa.Table, first: int, own: Sequence[Any], data: DataFlags) -> tuple[IntArray, int]:
    """Return the part of each document and the number of folds, 0 with a test set; in folds all with a label are 0 for now."""
    D = table.num_rows
    part = np.full(D, UNUSED, np.int32)
    labelled = np.fromiter((v is not None for v in own), bool, D)
    if data.test is not None:
        part[:first] = 0
        part[first:] = 1
        return part, 0
    if data.split is None:
        part[labelled] = 0
        return part, data.cv or DEFAULT_FOLDS
    name = _column(data.split)
    values = [as_label(v) for v in table.column(name).to_pylist()]
    part = _split_parts(values, data.split)
    for number, what in ((0, "train"), (1, "test")):
        if not (part == number).any():
            found = sorted({v for v in values if v is not None})
            shown = ", ".join(found[:10]) + (" …" if len(found) > 10 else "")
            raise UsageError(
                f"--split {data.split}: no row is {what} (values found: {shown or 'none'}); "
                f"rows of one value are the test with --split {name}=VALUE"
            )
    return part, 0


def _split_parts(values: Sequence[Any], split: str) -> IntArray:
    """Return the part of each document by its value in the column of --split."""
    _, equals, value = split.partition("=")
    texts = [as_label(v) for v in values]
    if equals:
        return np.array([1 if t == value else 0 for t in texts], np.int32)
    known = {**dict.fromkeys(TRAIN_NAMES, 0), **dict.fromkeys(TEST_NAMES, 1)}
    return np.array([known.get((t or "").lower(), UNUSED) for t in texts], np.int32)


def _encode(own: list[Any], part: IntArray, n_folds: int) -> Labels:
    learn = np.asarray(part == 0)
    if any(isinstance(v, list) for v in own):
        return encode_sets(own, learn)
    return encode_single(own, learn)


def _groups_column(table: pa.Table, by: str) -> pa.Array:
    """Return the values of a column whose documents stay together, or parts of its dates as strings, null where there is none."""
    if by in table.column_names:
        return table.column(by).combine_chunks()
    groups = Groups(by, table.schema, ["the documents"])
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
