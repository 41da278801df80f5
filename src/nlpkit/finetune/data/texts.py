"""Documents as a model reads them: their texts, and beside them a second text, the neighbours in the corpus, or lists of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nlpkit.errors import ColumnError, missing_column
from nlpkit.finetune.options import DEFAULT_OVERLAP, DEFAULT_WORDS
from nlpkit.platform.types import LongArray

if TYPE_CHECKING:
    from nlpkit.finetune.data.inputs import Inputs
    from nlpkit.finetune.training.network import Network


@dataclass(frozen=True, slots=True)
class TextInputs:
    """D documents as a model reads them: texts, and beside them the second of pairs, the texts before and after, or lists of words.

    overlap: texts with questions, their second texts, and words are read in windows that have so many tokens in common.
    """

    texts: Sequence[str]
    second: Sequence[str] | None = None
    context: tuple[Sequence[str], Sequence[str]] | None = None
    words: Sequence[Sequence[str]] | None = None
    overlap: int | None = None

    @property
    def plain(self) -> bool:
        """Whether it is one text a document, and nothing else."""
        return self.second is None and self.context is None and self.words is None

    @property
    def n_empty(self) -> int:
        """Number of documents without a word."""
        return (
            sum(not text.strip() for text in self.texts)
            if self.words is None
            else sum(not words for words in self.words)
        )

    @property
    def n_single(self) -> int:
        """Number of pairs without a second text."""
        return sum(not text.strip() for text in self.second or ())

    def take(self, rows: LongArray) -> TextInputs:
        """Return what is read of some documents, in the order of their rows (n,)."""
        chosen = rows.tolist()

        def those(column: Sequence[Any]) -> list[Any]:
            return [column[d] for d in chosen]

        return TextInputs(
            those(self.texts),
            None if self.second is None else those(self.second),
            None if self.context is None else (those(self.context[0]), those(self.context[1])),
            None if self.words is None else those(self.words),
            self.overlap,
        )

    def inputs(self, network: Network) -> Inputs:
        """Return the token ids of all documents."""
        from nlpkit.finetune.data.inputs import encode, encode_answers, encode_context, encode_words

        tokenizer, frame, most = network.tokenizer, network.frame, network.max_tokens
        if self.words is not None:
            return encode_words(tokenizer, frame, self.words, max_tokens=most, overlap=self.overlap or 0)
        if self.overlap is not None:
            assert self.second is not None
            return encode_answers(tokenizer, frame, self.second, self.texts, max_tokens=most, overlap=self.overlap)
        if self.context is not None:
            return encode_context(tokenizer, frame, self.texts, *self.context, max_tokens=most)
        return encode(tokenizer, frame, self.texts, self.second, max_tokens=most)


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


def texts_of(table: pa.Table | pa.RecordBatch, column: str = "text") -> list[str]:
    """Return a column as texts, '' for none."""
    return ["" if v is None else str(v) for v in table.column(column).to_pylist()]


def context_of(
    table: pa.Table | pa.RecordBatch, files: LongArray, n: int, by: str | None
) -> tuple[list[str], list[str]]:
    """Return the n texts before and after each document that are in the same file and have the same value in a column.

    Args:
        files: (D,) the file that each document is of.
    """
    texts = texts_of(table)
    groups = [None] * len(texts) if by is None else table.column(by).to_pylist()
    return neighbours(texts, list(zip(files.tolist(), groups, strict=True)), n)


def words_of(table: pa.Table | pa.RecordBatch, column: str) -> list[list[str]]:
    """Return the words of each document: those of the column, or where there is none those of the text between spaces.

    Raises:
        ColumnError: the column does not hold lists.
    """
    if column not in table.schema.names:
        return [text.split() for text in texts_of(table)]
    values = table.column(column).to_pylist()
    if any(v is not None and not isinstance(v, list) for v in values):
        raise ColumnError(
            f"column '{column}' must hold lists of words; name another column with `words_col`", parameter="words_col"
        )
    return [[str(w) for w in words or ()] for words in values]


def read_inputs(table: pa.RecordBatch, columns: Mapping[str, Any], files: LongArray) -> TextInputs:
    """Return what a model reads of a batch of new documents.

    Args:
        columns: what it reads beside the text, as `TunedConfig.columns` has it.
        files: (n,) the file each document is of; looked at where the model reads the texts before and after.

    Raises:
        ColumnError: words are no lists.
    """
    second = words = context = None
    if columns.get("pair") is not None:
        second = texts_of(table, columns["pair"])
    elif columns.get("context"):
        context = context_of(table, files, int(columns["context"]), columns.get("context_by"))
    if columns.get("task") == "tokens":
        words = words_of(table, columns.get("words", DEFAULT_WORDS))
    in_windows = columns.get("task") in ("answer", "tokens")
    overlap = int(columns.get("overlap", DEFAULT_OVERLAP)) if in_windows else None
    return TextInputs(texts_of(table), second, context, words, overlap)


def check_columns(names: Sequence[str], columns: Mapping[str, Any], where: str) -> None:
    """Raise ColumnError when a column that a model reads is not among those of the documents.

    Args:
        columns: of the model, by parameter: pair_col, negative_col, context_by, words_col, split.
    """
    for parameter, column in columns.items():
        if column is not None and column not in names:
            raise missing_column(where, column, names, f"`{parameter}`")
