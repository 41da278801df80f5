"""The documents that a classifier learns from, and all that it sees of them: words, columns, features, embeddings.

Parts, in this order:
- Columns that a classifier sees: whether documents have them, and what is said of values that are missing or new.
- What it sees beside words: hand-made features, columns of the table, embeddings.
- All of it read: labels, splits, and words or embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.classify.configs import FeatureSources
from nlpkit.classify.dataset import (
    TEST,
    TRAIN,
    UNUSED,
    LabelledDataset,
    Labels,
    encode_numbers,
    encode_sets,
    encode_single,
    label_scale,
    split_column,
    splits_of,
    stratified_folds,
)
from nlpkit.classify.features import CategoryColumn, ColumnCounts, ColumnFeatures, kind_of, tells_labels
from nlpkit.classify.job import ClassificationData, Job, classifier_preprocessing
from nlpkit.classify.labelled import (
    check_coders,
    check_label_column,
    encode_soft,
    note_numbers,
    numeric_labels,
    read_labels,
    read_numbers,
    split_values,
    splits_by_column,
    stacked,
    with_soft_labels,
)
from nlpkit.classify.options import ClassifierOptions, ClassifierTextOptions, SplitOptions
from nlpkit.classify.words import CutWords, TokenizedWords
from nlpkit.embed.embeddings import embedded_by
from nlpkit.errors import ColumnError, InputError, UsageError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.arrays import token_table
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, no_documents
from nlpkit.platform.documents.groups import Groups
from nlpkit.platform.parallel import ahead
from nlpkit.platform.runs.footers import step_parameters, steps_of
from nlpkit.platform.runs.provenance import Provenance
from nlpkit.platform.types import BoolArray, IntArray
from nlpkit.platform.values import is_number
from nlpkit.text.settings import differences, learned_bounds
from nlpkit.text.tokens import refuse_token_options

ROLES = {"id": "is different in every document", "text": "is seen by its words", "tokens": "is seen by its words",
         "label": "is what is predicted", "embedding": "is seen with `on=embedding`"}  # fmt: skip


def check_feature_columns(stream: DocumentStream, columns: Sequence[str], splits: SplitOptions) -> None:
    """Raise where documents lack a column of features, or it cannot be one.

    Raises:
        ColumnError: it is not there, or holds dates, lists or the like; UsageError: it has another role.
    """
    names = stream.schema.names
    for name in columns:
        if name in ROLES:
            raise UsageError(f"`feature_cols={name}`: the column {ROLES[name]}; leave it out", parameter="feature_cols")
        if splits.split is not None and name == split_column(splits.split):
            raise UsageError(
                f"`feature_cols={name}`: the column divides training and test documents; leave it out",
                parameter="feature_cols",
            )
        if name not in names:
            raise missing_column(stream.where, name, names, "`feature_cols`")
        kind_of(name, stream.schema.field(name).type)


def check_predicted_columns(stream: DocumentStream, columns: Sequence[str], model: str) -> None:
    """Raise ColumnError where documents lack a column that a classifier sees."""
    for name in columns:
        if name not in stream.schema.names:
            error = missing_column(stream.where, name, stream.schema.names)
            raise ColumnError(f"{error}; the model in {model} uses the columns {', '.join(columns)}")


def note_missing(missing: Mapping[str, int]) -> None:
    """Say how many documents have no value in columns that the model sees, by column."""
    if missing:
        listed = ", ".join(f"{name} ({wording.counted(n, 'document')})" for name, n in missing.items())
        reporting.note(
            f"without a value: {listed}; numbers are replaced by the training mean, texts get no category, and a "
            "feature marks missing values"
        )


def note_unseen(unseen: Mapping[str, int]) -> None:
    """Say how many documents have a category that no training document has, by column."""
    if unseen:
        listed = ", ".join(f"{name} ({wording.counted(n, 'document')})" for name, n in unseen.items())
        reporting.note(f"with a value that no training document has: {listed}; it belongs to no category")


# ------------------------------------------------------------------------------------------------------------------------
# What a classifier sees of labelled documents beside their words: hand-made features, columns of their table, embeddings.

MANY = 0.5  # categories for a document, from which a column is more like ids


def add_features(job: Job) -> dict[str, Any] | None:
    """Make the hand-made features, columns, matches of rules and embeddings that are wanted; return what made the embeddings."""
    data, options, encoder = job.data, job.options.classifier, job.options.encoder
    names, table = options.hand_feature_names(), data.dataset.table
    if names:
        from nlpkit.classify.features import HAND_FEATURES, hand_features

        places = [list(HAND_FEATURES).index(name) for name in names]
        values = hand_features(table.column("text").combine_chunks())[:, places]
        data.sources = replace(data.sources, hand_names=names, hand=values)
    if options.feature_columns:
        columns = table.select(list(options.feature_columns)).combine_chunks()
        data.sources = replace(data.sources, columns=columns)
        _note_columns(data, columns)
    if job.rules is not None:
        job.rules.check_labels(data.dataset.labels.names)
        data.sources = replace(data.sources, rules=job.rules, matches=job.rules.matches(table))
    # the comparison has models on embeddings, too, where the documents bring them or an encoder is named
    brings = "embedding" in table.column_names or encoder.encoder is not None
    if not (job.sees == "embedding" or (job.sees == "words" and job.auto and brings)):
        return None
    from nlpkit.embed.embeddings import embeddings_of

    vectors, info = embeddings_of(table, data.encoder, encoder, job.execution.n_threads())
    data.sources = replace(data.sources, embeddings=vectors)
    return info


def _note_columns(data: ClassificationData, columns: pa.Table) -> None:
    """Say which columns have missing values or numbers as text, and warn of those that are the labels, or ids."""
    dataset, counts = data.dataset, ColumnCounts()
    train = pa.array(dataset.train)
    fitted = ColumnFeatures.fit(columns.take(train))
    fitted.encode(columns, counts)
    note_missing(counts.missing)
    labels = [None if raw is None else str(raw) for raw in dataset.raw_labels]
    for column in fitted.columns:
        values = columns.column(column.name)
        if tells_labels(values, labels):
            reporting.warn(
                f"each value of '{column.name}' comes with one label only; if the column leaks the label, scores "
                "are too high"
            )
        elif len(column.features) > MANY * len(train):
            reporting.warn(
                f"'{column.name}' has {len(column.features):,} categories in {wording.counted(len(train), 'training document')}: "
                f"is it an id, or a number written as text (`types={column.name}=float`)?"
            )
        elif (
            isinstance(column, CategoryColumn) and len(column.categories) > 2 and all(map(is_number, column.categories))
        ):
            reporting.note(
                f"'{column.name}' is text, and each of its {len(column.categories)} numbers a category; "
                f"`types={column.name}=float` makes it a number"
            )


# ------------------------------------------------------------------------------------------------------------------------
# Documents that a classifier learns from: labels, splits, and the words or embeddings that it sees.


def read_classification_data(job: Job, corpus: Corpus, test: Corpus | None) -> ClassificationData:
    """Return the documents with their labels and splits, and their words when they are wanted.

    Args:
        test: documents to test on, None where `splits` names a column, or there are folds, or nothing is tested.

    Raises:
        ColumnError, InputError, UsageError: no labels, a column that is not there, splits that cannot be made.
    """
    options, splits, tokens = job.options.classifier, job.options.splits, job.options.tokens
    words, folds, threads = job.sees == "words", job.folds, job.execution.n_threads()
    streams, coders = [corpus.open()], options.coders()
    if test is not None:
        streams.append(test.open())
    try:
        check_coders(streams, coders)
        for stream, one in zip(streams, (corpus, test), strict=False):
            if not coders:
                check_label_column(stream, corpus.options.label_col if one is None else one.options.label_col)
            check_feature_columns(stream, options.feature_columns, splits)
        _check_columns(streams[0], splits)
        encoder = _embedded_by(streams)
        there = _have_tokens(streams, tokens)
        if words and there:
            _check_token_settings(streams)
        cut: CutWords | None = None
        if words and not there:
            cut = CutWords(classifier_preprocessing(tokens), adapt=tokens.adapts, threads=threads)
            tables = _cut(streams, cut, splits.split)
        else:
            tables = [stream.read_all() for stream in streams]
        for table, stream in zip(tables, streams, strict=True):
            if not table.num_rows:
                raise no_documents(stream)
    finally:
        for stream in streams:
            stream.close()
    if options.task == "regression":
        tables = [numeric_labels(one) for one in tables]  # 3 and 3.5 are of different types
    shares: list[dict[str, float]] = []
    if coders:
        tables, shares = with_soft_labels(tables, coders, options.annotators_by)
    table = stacked(tables)
    if options.task == "regression":
        _refuse_several(splits)
        values = read_numbers(table)
        raw_labels: list[Any] = [None if np.isnan(value) else value for value in values.tolist()]
    else:
        raw_labels = read_labels(table.column("label"), splits.label_sep)
    split = _splits(table, tables[0].num_rows, raw_labels, splits, tested=test is not None)
    learn = np.asarray(split == TRAIN)
    if coders:
        labels = encode_soft(raw_labels, shares, learn)
    else:
        labels = encode_numbers(values, learn) if options.task == "regression" else _encode(raw_labels, learn, options)
    if folds:
        if splits.groups is not None:
            labels = replace(labels, groups=_groups(table, splits.groups))
        split = _folds(split, labels, folds, splits, job.execution.seed)
    dataset = LabelledDataset(table, raw_labels, labels, split, folds)
    tokenized = TokenizedWords(token_table(table.column("tokens")), threads=threads) if words and there else None
    sources = FeatureSources(table.num_rows, cut or tokenized)
    return ClassificationData(dataset, Provenance.of_streams(streams), sources, encoder)


def _check_columns(stream: DocumentStream, splits: SplitOptions) -> None:
    """Raise ColumnError for a column that an option names and the documents lack."""
    names = stream.schema.names
    split = None if splits.split is None else split_column(splits.split)
    groups = splits.groups
    if groups is not None and groups not in names:
        groups = groups.partition(":")[0]  # a part of a date
    for column, parameter in ((split, "split"), (groups, "groups")):
        if column is not None and column not in names:
            raise missing_column(stream.where, column, names, f"`{parameter}`")


def _cut(streams: Sequence[DocumentStream], cut: CutWords, split: str | None) -> list[pa.Table]:
    """Read the streams as one, cutting texts on the way; return a table of each."""

    def learn(batch: pa.RecordBatch) -> BoolArray:
        assert split is not None
        return np.asarray(splits_of(split_values(batch, split), split, dev=False) == TRAIN)

    sizes = [0] * len(streams)

    def counted(number: int) -> Iterator[pa.RecordBatch]:
        for batch in streams[number]:
            sizes[number] += batch.num_rows
            yield batch

    first, *others = (ahead(counted(number)) for number in range(len(streams)))
    batches: list[pa.RecordBatch] = []
    with reporting.progress("words", None) as update:
        rows = 0
        for batch in cut.cut(first, chain.from_iterable(others), learn=None if split is None else learn):
            batches.append(batch)
            rows += batch.num_rows
            update(rows)
    tables, start = [], 0
    for stream, size in zip(streams, sizes, strict=True):
        of_stream: list[pa.RecordBatch] = []
        while sum(batch.num_rows for batch in of_stream) < size:
            of_stream.append(batches[start])
            start += 1
        tables.append(pa.Table.from_batches(of_stream, stream.schema))
    return tables


def _have_tokens(streams: Sequence[DocumentStream], tokens: ClassifierTextOptions) -> bool:
    """Return whether the documents have tokens. Raises InputError where only some have, UsageError for options without effect."""
    there = ["tokens" in stream.schema.names for stream in streams]
    if any(there) and not all(there):
        have, lack = streams[there.index(True)].where, streams[there.index(False)].where
        raise InputError(
            f"{have} has a column 'tokens' and {lack} has none; tokenise both in the same way with "
            "`preprocess()`, or give both as texts"
        )
    if there[0] and tokens != ClassifierTextOptions():
        usual = classifier_preprocessing(ClassifierTextOptions())
        refuse_token_options(classifier_preprocessing(tokens), streams[0].where, usual)
    return there[0]


def _check_token_settings(streams: Sequence[DocumentStream]) -> None:
    """Warn of tokens that were chosen by looking at all documents, also those to test on.

    Raises:
        InputError: the tokens of training and test documents were made in different ways.
    """
    by_input = [[step_parameters(steps_of([block]), "preprocess") for block in stream.blocks] for stream in streams]
    known = [[one for one in settings if one is not None] for settings in by_input]
    apart = [d for settings in known for one in settings for d in differences(known[0][0], one)] if known[0] else []
    where = [stream.where for stream in streams]
    if apart:
        listed = ("; ".join(dict.fromkeys(apart))).replace("the model's", "the training documents'")
        raise InputError(
            f"the tokens of {' and '.join(where)} were made with different options ({listed}); tokenise all with "
            "the same options of `preprocess()`, or give them as texts"
        )
    bounds = list(dict.fromkeys(name for one in known[0] for name in learned_bounds(one)))
    together = len(streams) == 1 or bool(_sources(streams[0]) & _sources(streams[1]))
    if bounds and together:
        reporting.warn(
            f"the words of {where[0]} were chosen by {', '.join(bounds)} in all documents, including the test "
            "documents, so scores may be too high; give the texts, and classify will choose words in the training "
            "documents only"
        )


def _sources(stream: DocumentStream) -> set[str]:
    """Return the hashes of the files that tokens were made from."""
    return {
        one["sha256"]
        for step in steps_of(stream.blocks)
        if step.get("command") == "preprocess"
        for one in step.get("inputs") or ()
    }


def _embedded_by(streams: Sequence[DocumentStream]) -> dict[str, Any] | None:
    """Return what made the embeddings of all streams. Raises ColumnError when that differs, or one has none."""
    there = ["embedding" in stream.schema.names for stream in streams]
    if not all(there):
        if any(there):
            raise ColumnError(
                "only one of the training and test files has a column 'embedding'; embed both, or neither"
            )
        return None
    return embedded_by(Provenance.of_streams(streams))


def _splits(
    table: pa.Table, n_first: int, raw_labels: Sequence[Any], splits: SplitOptions, *, tested: bool
) -> IntArray:
    """Return the split of each document: by its file, by a column, or training where it has a label."""
    if tested:
        return np.where(np.arange(table.num_rows) < n_first, TRAIN, TEST).astype(np.int32)
    if splits.split is not None:
        return splits_by_column(table, splits.split, dev=False)[0]
    return np.array([UNUSED if v is None else TRAIN for v in raw_labels], np.int32)


def _encode(raw_labels: list[Any], learn: BoolArray, options: ClassifierOptions) -> Labels:
    """Return the labels as classes, and say so where they look like numbers."""
    if any(isinstance(v, list) for v in raw_labels):
        if options.task == "ordinal":
            _refuse_several(None)
        return encode_sets(raw_labels, learn)
    if options.task == "ordinal":
        return encode_single(raw_labels, learn, label_scale(raw_labels, options.labels_in_order))
    labels = encode_single(raw_labels, learn)
    if options.task == "auto" and options.rules is None:
        note_numbers(labels.names)
    return labels


def _refuse_several(splits: SplitOptions | None) -> None:
    """Raise UsageError for several labels a document, where a task needs one."""
    if splits is None or splits.label_sep is not None:
        raise UsageError(
            "several labels per document cannot be ordered or numbers; leave `label_sep` out, or use `task=classes`",
            parameter="task",
        )


def _groups(table: pa.Table, by: str) -> IntArray:
    """Return the group (D,) of each document."""
    column = _groups_column(table, by)
    if column.null_count:
        missing = wording.counted(column.null_count, "document")
        reporting.warn(f"{missing} without a value in '{by}': together they form one group")
    codes = pc.dictionary_encode(column, null_encoding="encode")
    codes = codes.chunk(0) if isinstance(codes, pa.ChunkedArray) else codes
    groups: IntArray = codes.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return groups


def _folds(split: IntArray, labels: Labels, n_folds: int, splits: SplitOptions, seed: int) -> IntArray:
    """Deal the training documents into folds."""
    rows = np.flatnonzero(split == TRAIN)
    together = None if labels.groups is None else labels.groups[rows]
    if splits.cv is None and len(rows) < n_folds:
        raise InputError(f"{wording.counted(len(rows), 'document')} with a label: this is too few to train and test")
    folds = split.copy()
    folds[rows] = stratified_folds(labels.strata(rows), n_folds, seed=seed, together=together)
    return folds


def _groups_column(table: pa.Table, by: str) -> pa.Array:
    """Return the values of a column whose documents stay together, or parts of its dates as strings, null where there is none."""
    if by in table.column_names:
        return table.column(by).combine_chunks()
    groups = Groups(by, table.schema, "the documents", parameter="groups")
    numbers = np.concatenate([groups.assign(batch) for batch in table.to_batches()])
    names, places = groups.finish()
    order = places[numbers]
    return pa.array(names, pa.string()).take(pa.array(order, mask=order < 0))
