"""What a fine-tuned model reads of new documents, and how its predictions are scored where these have labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from nlpkit.cli.finetune_corpus import neighbours
from nlpkit.cli.finetune_flags import TuneDataFlags
from nlpkit.errors import ColumnError, UsageError, missing_column
from nlpkit.finetune.fit import Reading
from nlpkit.finetune.tasks import TaskKind
from nlpkit.io.corpora import DocumentStream
from nlpkit.plain import shell_line
from nlpkit.types import LongArray


def pieces(stream: DocumentStream, columns: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Yield the documents batch by batch; at once where the model reads the texts before and after each."""
    if not columns.get("context"):
        yield from stream
        return
    yield from stream.read_all().combine_chunks().to_batches()


def columns_read(
    folder: Path, own: Mapping[str, Any], data: TuneDataFlags, *, kind: TaskKind, pairs: bool
) -> dict[str, Any]:
    """Return what a model reads beside the text, with the columns named now. Raises UsageError for one that it does not read.

    Args:
        own: what it was trained with. pairs: it may have been trained on pairs, which a folder of another program does not say.
    """
    words = None if data.words_col == TuneDataFlags().words_col else data.words_col
    reads = {
        "--pair-col": ("pair", data.pair_col, own.get("pair") is not None or pairs),
        "--context-by": ("context_by", data.context_by, bool(own.get("context"))),
        "--words-col": ("words", words, kind == "tokens"),
    }
    for option, (_, column, read) in reads.items():
        if column is not None and not read:
            raise UsageError(f"{folder} was trained without {option}; leave it out")
    return {**own, **{key: column for key, column, _ in reads.values() if column is not None}}


def check_columns(names: Sequence[str], columns: Mapping[str, Any], inputs: str) -> None:
    """Raise ColumnError when a column that the model reads is not among those of the new documents."""
    own = columns.get("words") if columns.get("task") == "tokens" else None
    wanted = {"--pair-col": columns.get("pair"), "--context-by": columns.get("context_by")}
    wanted["--words-col"] = None if own == TuneDataFlags().words_col else own
    for option, column in wanted.items():
        if column is not None and column not in names:
            raise missing_column(inputs, column, names, option)


def reading_of(table: pa.RecordBatch, columns: Mapping[str, Any], files: LongArray) -> Reading:
    """Return what the model reads of a batch. Raises ColumnError when words are no lists.

    Args:
        files: (n,) the file each document is of; looked at where the model reads the texts before and after.
    """
    texts = [t or "" for t in table.column("text").to_pylist()]
    second = words = context = None
    if columns.get("pair") is not None:
        second = ["" if v is None else str(v) for v in table.column(columns["pair"]).to_pylist()]
    elif columns.get("context"):
        by = columns.get("context_by")
        groups = [None] * len(texts) if by is None else table.column(by).to_pylist()
        context = neighbours(texts, list(zip(files.tolist(), groups, strict=True)), int(columns["context"]))
    if columns.get("task") == "tokens":
        own = columns.get("words", "words")
        words = [text.split() for text in texts]
        if own in table.schema.names:
            given = table.column(own).to_pylist()
            if any(v is not None and not isinstance(v, list) for v in given):
                raise ColumnError(f"column '{own}' has to hold lists of words")
            words = [[str(w) for w in v or ()] for v in given]
    return Reading(texts, second, context, words)


def next_command(target: str, schema: pa.Schema, column: str, kind: TaskKind) -> str | None:
    """Return how the predictions are scored where the new documents have labels, None where they have none that are of the kind."""
    if column not in schema.names:
        return None
    lists = pa.types.is_list(schema.field(column).type) or pa.types.is_large_list(schema.field(column).type)
    if kind == "multi" and not lists:
        return None  # what stands between labels is not known here
    more = [] if column == "label" else ["--label-col", column]
    more += ["--label-sep", " "] if kind == "tokens" and not lists else []
    return shell_line("nlpkit", "evaluate", target, *more)
