"""Documents for fine-tuning: read, their labels taken for one of six kinds, each document put into a split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.classify.dataset import COMMA_NUMBER, DEV, NAMES, TEST, TRAIN, UNUSED, Labels, label_scale, split_column
from nlpkit.classify.labelled import (
    check_coders,
    check_label_column,
    encode_soft,
    note_numbers,
    read_labels,
    read_numbers,
    read_streams,
    splits_by_column,
    stacked,
    with_soft_labels,
)
from nlpkit.errors import InputError, MissingFileError, UsageError
from nlpkit.finetune.data.answers import MISSING, NONE, span_of
from nlpkit.finetune.data.checks import check_dataset
from nlpkit.finetune.data.dataset import (
    KINDS,
    FinetuneDataset,
    Tags,
    deal,
    encode_labels,
    leave_empty_out,
    tag_names_of,
)
from nlpkit.finetune.data.texts import TextInputs, check_columns, context_of, texts_of, words_of
from nlpkit.finetune.options import DEFAULT_OVERLAP, DEFAULT_WORDS, DatasetOptions, HeldOutOptions
from nlpkit.finetune.tasks import ONE_CLASS, TaskKind
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, as_corpus, read_corpus
from nlpkit.platform.documents.inputs import DroppedRow, InputInfo
from nlpkit.platform.documents.sources import missing_path
from nlpkit.platform.runs.provenance import Provenance
from nlpkit.platform.types import BoolArray, FloatArray, IntArray, LongArray
from nlpkit.platform.values import as_label


def check_held_out_files(options: HeldOutOptions) -> None:
    """Raise InputError for a test or dev file that is not there."""
    for name in ("test", "dev"):
        source = getattr(options, name)
        if isinstance(source, str | Path) and not Path(source).exists():
            raise MissingFileError(f"`{name}` {missing_path(Path(source))}", parameter=name)


def corpora_of(corpus: Corpus, options: HeldOutOptions) -> list[tuple[Corpus, int]]:
    """Return the corpora of training, dev and test with their splits; files are read as the training documents are, but all."""
    corpora = [(corpus, TRAIN)]
    for source, split in ((options.dev, DEV), (options.test, TEST)):
        if isinstance(source, str | Path):
            source = read_corpus(source, options=replace(corpus.options, limit=None, sample=None))
        if source is not None:
            corpora.append((as_corpus(source), split))
    return corpora


def read_unlabelled(corpus: Corpus, options: DatasetOptions) -> tuple[TextInputs, list[InputInfo]]:
    """Return the texts of `unlabelled` that have a word, and the files that they are from; labels are not looked at.

    Raises:
        InputError: there is no such text. ColumnError: a column is not there.
    """
    source = options.unlabelled
    if isinstance(source, str | Path):
        if not Path(source).exists():
            raise MissingFileError(f"`unlabelled` {missing_path(Path(source))}", parameter="unlabelled")
        source = read_corpus(source, options=replace(corpus.options, limit=None, sample=None))
    with as_corpus(source).with_options(label_col="label").open() as stream:
        check_columns(stream.schema.names, {"pair_col": options.pair_col}, stream.where)
        table = stream.read_all()
    texts = texts_of(table)
    second = None if options.pair_col is None else texts_of(table, options.pair_col)
    rows = np.array([d for d, text in enumerate(texts) if text.strip()], np.int64)
    if not len(rows):
        raise InputError(
            f"`unlabelled`: none of {wording.counted(len(texts), 'document')} has a word; see `text_col`",
            parameter="unlabelled",
        )
    if len(rows) < len(texts):
        reporting.note(f"{wording.counted(len(texts) - len(rows), 'unlabelled document')} without a word: left out")
    return TextInputs(texts, second).take(rows), stream.inputs


def read_dataset(corpus: Corpus, options: DatasetOptions, *, seed: int) -> tuple[FinetuneDataset, Provenance]:
    """Return documents with their labels and splits, and where they come from.

    Raises:
        ColumnError, InputError, UsageError: no labels, a column that is not there, labels or splits that cannot be used.
    """
    words = None if options.words_col == DEFAULT_WORDS else options.words_col
    needed = {"split": options.split and split_column(options.split), "pair_col": options.pair_col,
              "context_by": options.context_by, "words_col": words, "answer_start_col": options.answer_start_col}  # fmt: skip
    corpora = [(c.with_options(words_col=options.words_col), split) for c, split in corpora_of(corpus, options)]
    streams = [c.open() for c, _ in corpora]

    def check(stream: DocumentStream) -> None:
        if not options.coders:
            check_label_column(stream, corpus.options.label_col)
        check_columns(stream.schema.names, needed, stream.where)

    shares: list[dict[str, float]] = []
    tables = read_streams(streams, check)
    provenance = Provenance.of_streams(streams)
    if options.coders:
        check_coders(streams, options.coders)
        tables, shares = with_soft_labels(tables, options.coders, options.annotators_by)
    kind = "single" if shares else task_kind(tables[0], options)
    table = stacked(tables)
    role: IntArray = np.concatenate(
        [np.full(t.num_rows, split, np.int32) for t, (_, split) in zip(tables, corpora, strict=True)]
    )
    raw, word_lists, tags, values = _labels(table, kind, options)
    known = np.array([v is not None for v in raw], bool)
    if not known[role == TRAIN].any():
        raise InputError(
            f"none of {wording.counted(int((role == TRAIN).sum()), 'document')} has a label; name the column with `label_col`"
        )
    scale = label_scale(raw, options.labels_in_order) if kind == "ordinal" else ()
    split, names = role.copy(), None
    if options.split is not None:
        split, names = splits_by_column(table, options.split, dev=True)
    split[(split == TRAIN) & ~known] = UNUSED

    def encoded(learn: BoolArray) -> Labels:
        return encode_soft(raw, shares, learn) if shares else encode_labels(kind, raw, known, learn, scale)

    dataset = FinetuneDataset(
        table, raw, encoded((split == TRAIN) & known), split, options.cv or 0, kind, values, word_lists,
        tags, tag_names_of(tags, split == TRAIN), None if options.pair_col is None else texts_of(table, options.pair_col),
        context_of(table, _files(streams), options.context, options.context_by) if options.context else None, options.by_total,
    )  # fmt: skip
    if kind in ("answer", "tokens"):
        dataset.overlap = options.overlap
    elif options.overlap != DEFAULT_OVERLAP:
        raise UsageError(
            "`overlap` needs texts read in windows; leave it out, or set `task=answers` or `task=words`",
            parameter="overlap",
        )
    if kind == "answer":
        dataset.answers, dataset.longest = _answers(dataset, options), options.answer_tokens
    leave_empty_out(dataset)
    deal(dataset, options, seed=seed)
    provenance.dropped += _unused(dataset, known, options.split, names)
    without = 0 if dataset.second is None else sum(not text.strip() for text in dataset.second)
    if without:
        reporting.warn(f"{wording.counted(without, 'pair')} without a second text: read as if it were empty")
    train = dataset.split == TRAIN
    if not dataset.n_folds and train.any():  # what only held-out documents have is no class of the model
        dataset.labels, dataset.tag_names = encoded(train & known), tag_names_of(tags, train)
    if kind == "single" and options.task == "auto":
        note_numbers(dataset.labels.names)
    check_dataset(dataset, options, seed=seed)
    return dataset, provenance


def _files(streams: Sequence[DocumentStream]) -> LongArray:
    """Return the number (D,) of the file that each document is of."""
    kept = [n for stream in streams for n in stream.kept]
    return np.repeat(np.arange(len(kept)), kept)


def _unused(
    dataset: FinetuneDataset, known: BoolArray, split: str | None, names: Sequence[str | None] | None
) -> list[DroppedRow]:
    """Return the documents that are neither learned from nor scored, with why; warn of those of other splits."""
    ids, empty = dataset.table.column("id").to_pylist(), dataset.empty
    dropped = []
    others: Counter[str] = Counter()
    for d in np.flatnonzero(dataset.split == UNUSED).tolist():
        reason = "no label" if not known[d] else "no word"
        if names is not None and "=" not in (split or "") and (names[d] or "").lower() not in NAMES:
            reason = f"{split} is '{names[d]}'" if names[d] is not None else f"no value in {split}"
            others[reason] += 1
        elif known[d] and not empty[d]:
            continue
        dropped.append(DroppedRow(ids[d], "parts", reason))
    if others:
        reasons = wording.listed([f"{reason} ({n:,})" for reason, n in others.most_common()], 5)
        reporting.warn(f"{wording.counted(others.total(), 'row')} neither train, dev nor test ({reasons}): left out")
    return dropped


def task_kind(table: pa.Table, options: DatasetOptions) -> TaskKind:
    """Return the kind of the task, by the labels of the training documents. Raises UsageError where these say too little."""
    if options.task != "auto":
        return KINDS[options.task]
    column = table.column("label")
    if _are_lists(column):
        words = options.words_col in table.column_names and _are_lists(table.column(options.words_col))
        if words and options.label_sep is None:
            return "tokens"
        if any(labels is not None and len(set(labels)) < len(labels) for labels in column.to_pylist()):
            raise UsageError(
                "a list of labels has a label twice. For labels of words, set `task=words` and name the words with "
                "`words_col`; for several labels per document, set `task=labels`",
                parameter="task",
            )
        return "multi"
    if options.label_sep is not None:
        return "multi"
    _refuse_commas(column)
    return "regression" if _have_fractions(column) else "single"


def _refuse_commas(column: pa.ChunkedArray) -> None:
    """Raise UsageError for labels that are all numbers, some with a comma where a point is needed."""
    labels = [str(v).strip() for v in column.to_pylist() if v is not None and str(v).strip()]
    odd = next((v for v in labels if COMMA_NUMBER.fullmatch(v)), None)
    if odd is not None and all(COMMA_NUMBER.fullmatch(v) or v.isdecimal() for v in labels):
        raise UsageError(
            f"labels such as '{odd}' look like numbers with a comma; write them with a point ({odd.replace(',', '.')}), or give "
            "`task=classes` if they are names",
            parameter="task",
        )


def _have_fractions(column: pa.ChunkedArray) -> bool:
    """Whether labels are numbers and not all of them whole; in CSV they come as text."""
    try:
        numbers = np.array([float(v) for v in column.to_pylist() if v is not None and v != ""])
    except (TypeError, ValueError):
        return False
    numbers = numbers[~np.isnan(numbers)]
    return bool(np.isfinite(numbers).all() and (numbers != np.round(numbers)).any())


def _are_lists(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_list(column.type) or pa.types.is_large_list(column.type))


def _labels(
    table: pa.Table, kind: TaskKind, options: DatasetOptions
) -> tuple[list[Any], list[list[str]] | None, Tags | None, FloatArray | None]:
    """Return the labels of each document, and of words and numbers the encoded form."""
    column = table.column("label")
    if kind == "tokens":
        words, tags = _tagged_words(table, options)
        return tags, words, tags, None
    if kind == "regression":
        values = read_numbers(table)
        return [None if np.isnan(v) else v for v in values], None, None, values
    if kind == "answer":
        if _are_lists(column) or pa.types.is_nested(column.type):
            raise InputError("`task=answers` needs one answer per document as text, but the column has lists")
        return [None if v is None else str(v) for v in column.to_pylist()], None, None, None
    raw = read_labels(column, options.label_sep)
    if kind in ONE_CLASS and any(isinstance(v, list) for v in raw):
        raise UsageError(
            f"`task={options.task}` needs one label per document, but the column has lists; see `task=labels`",
            parameter="task",
        )
    if kind == "multi" and not any(isinstance(v, list) for v in raw):
        raw = [None if v is None else [v] for v in raw]
    return raw, None, None, None


def _answers(dataset: FinetuneDataset, options: DatasetOptions) -> LongArray:
    """Return where the answers stand in their texts (D, 2), and warn of those of the test that their texts do not have.

    Raises:
        InputError: a document of training has such an answer.
    """
    table, D = dataset.table, len(dataset.raw_labels)
    column = options.answer_start_col
    starts: list[Any] = [None] * D if column is None else table.column(column).to_pylist()
    texts, ids, spans, often = dataset.texts, table.column("id").to_pylist(), np.full((D, 2), NONE, np.int64), 0
    for d, answer in enumerate(dataset.raw_labels):
        if answer is None:
            continue
        start = starts[d]
        if start is not None and (isinstance(start, bool) or not isinstance(start, int)):
            raise InputError(
                f"document {ids[d]}: `answer_start_col` holds {start!r:.40}; a whole number of characters was needed",
                parameter="answer_start_col",
            )
        spans[d] = span_of(texts[d], answer, start)
        often += start is None and bool(answer.strip()) and texts[d].count(answer) > 1
        if spans[d, 0] == MISSING[0] and dataset.split[d] == TRAIN:
            where = (
                "does not occur in its text" if start is None else f"does not stand at character {start:,} of its text"
            )
            raise InputError(
                f"document {ids[d]}: the answer '{wording.truncated(answer, 40)}' {where}; an answer must be a "
                "literal part of the text, or empty"
            )
    strange = [d for d in np.flatnonzero(spans[:, 0] == MISSING[0]).tolist() if dataset.split[d] != UNUSED]
    if strange:
        d = strange[0]
        reporting.warn(
            f"{wording.counted(len(strange), 'answer')} of test documents do not occur literally in the text, so no "
            f"prediction can be right; the first is '{wording.truncated(dataset.raw_labels[d], 40)}' of document "
            f"{ids[d]}"
        )
    if often:
        reporting.note(
            f"{wording.counted(often, 'answer')} occur more than once in the text: the first position is used; "
            "see `answer_start_col`"
        )
    return spans


def _tagged_words(table: pa.Table, options: DatasetOptions) -> tuple[list[list[str]], Tags]:
    words, lists = words_of(table, options.words_col), _are_lists(table.column("label"))
    tags: Tags = []
    for d, label in enumerate(table.column("label").to_pylist()):
        labels = str(label).split() if label is not None and not lists else label
        row = [as_label(v) for v in labels or ()]
        tags.append(row if any(t is not None for t in row) else None)
        if labels is not None and len(labels) != len(words[d]):
            raise InputError(
                f"document {table.column('id')[d].as_py()} has {wording.counted(len(words[d]), 'word')} and "
                f"{wording.counted(len(labels), 'label')}; `task=words` needs one label for each word"
            )
    without = sum(t is None for row in tags if row is not None for t in row)
    if without:
        reporting.note(f"{wording.counted(without, 'word')} without a label: not used for training or scoring")
    return words, tags
