"""Documents for LDA: their tokens, the columns that a run keeps, the beginnings of their texts; for rolling models their days."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit import reporting, wording
from nlpkit.errors import InputError, missing_column
from nlpkit.io.corpora import DocumentStream, DroppedRow
from nlpkit.io.dates import date_format_of, days_of
from nlpkit.io.mixture_runs import TopicCorpus
from nlpkit.io.runs import REPRESENTATIVE_CHARS
from nlpkit.io.topic_tables import TOPIC_COLUMNS
from nlpkit.text.options import PreprocessOptions
from nlpkit.topics.mixtures.token_tables import select_documents
from nlpkit.types import Days, TokenTable
from nlpkit.workflows.corpus import Corpus, no_documents, no_words, warn_dropped
from nlpkit.workflows.counts import CountedCorpus, count_corpus
from nlpkit.workflows.tokens import note_tokens, token_info

CHUNK = "chunk"  # column of documents.parquet
ROLLING_COLUMNS = (*TOPIC_COLUMNS, CHUNK)
STAGE = "date"  # at which documents without a day are dropped


@contextmanager
def read_topic_corpus(
    corpus: Corpus, options: PreprocessOptions, threads: int, *, with_embeddings: bool = False
) -> Iterator[TopicCorpus]:
    """Read documents and their tokens, which are made with the options where there are none.

    Args:
        with_embeddings: whether rows keep the column embedding, and whole texts can be had, to be encoded.

    Raises:
        InputError: there is nothing to fit.
    """
    with corpus.open() as stream, _words(stream, options, threads, with_embeddings=with_embeddings) as words:
        tokens = _with_words(words.tokens())
        warn_dropped(stream, None)
        earlier = stream.steps
        yield TopicCorpus(
            tokens=tokens,
            rows=words.rows(["text"]),
            cf=words.cf,
            df=words.df,
            token_info=token_info(options, words.report, earlier),
            inputs=stream.inputs,
            dropped=stream.dropped,
            steps=earlier,
            texts=lambda rows: {row: text or "" for row, text in words.values("text", rows).items()},
            left_out=None if words.report is None else words.left_out,
            embedded_by=_embedded_by(stream) if with_embeddings else None,
        )


def _embedded_by(stream: DocumentStream) -> dict[str, Any] | None:
    from nlpkit.workflows.embeddings import embedded_by

    return embedded_by(stream)


@contextmanager
def _words(
    stream: DocumentStream,
    options: PreprocessOptions,
    threads: int,
    columns_of_run: Sequence[str] = TOPIC_COLUMNS,
    *,
    own_tokens: bool = True,
    with_embeddings: bool = False,
) -> Iterator[CountedCorpus]:
    """Yield the words of documents, with the beginnings of texts and the user's columns.

    Args:
        columns_of_run: columns that the run makes itself; those of the input are left out with a warning.
        own_tokens: see `count_corpus`. with_embeddings: whether whole texts and the column embedding are kept, too.
    """
    for name in columns_of_run:
        if name in stream.schema.names:
            reporting.warn(f"the column '{name}' of the input is dropped, because the run has a column with this name")
    unused = ("tokens", *(() if with_embeddings else ("embedding",)), *columns_of_run)
    columns = [n for n in stream.schema.names if n not in unused]
    with count_corpus(
        stream,
        options,
        columns=columns,
        text_chars=None if with_embeddings else REPRESENTATIVE_CHARS,
        hashed=True,
        threads=threads,
        own_tokens=own_tokens,
    ) as words:
        if words.report is not None:
            note_tokens(words.report)
        yield words


def _with_words(tokens: TokenTable) -> TokenTable:
    """Return the tokens. Raises InputError where there are none."""
    if not len(tokens.term_ids):
        raise no_words(tokens.n_docs, ", so there is nothing to find topics in")
    return tokens


def warn_of_one_text(tokens: TokenTable) -> None:
    """Warn of a corpus in which all documents have the same words: its topics are made of chance."""
    different: set[bytes] = set()
    for begin, end in pairwise(tokens.offsets.tolist()):
        if end > begin:
            different.add(tokens.term_ids[begin:end].tobytes())
        if len(different) == 2:
            return
    reporting.warn(
        f"there is only one different text among {wording.counted(tokens.n_docs, 'document')}: its topics and "
        "scores are random, because topics are distinguished by their documents"
    )


@dataclass(frozen=True, slots=True)
class DatedCorpus:
    """Documents with all of their words, in the order given, and the day of each (D,)."""

    corpus: TopicCorpus
    days: Days

    @property
    def ids(self) -> list[str]:
        """Ids of the documents (D,)."""
        return list(self.corpus.ids.to_pylist())


@contextmanager
def read_dated_corpus(
    corpus: Corpus,
    options_for: Callable[[DocumentStream], PreprocessOptions | None],
    threads: int,
    *,
    columns_of_run: Sequence[str] = ROLLING_COLUMNS,
) -> Iterator[DatedCorpus]:
    """Read documents, their tokens and their days; those without a day that can be read are listed as dropped.

    Args:
        options_for: returns how tokens are made, None where those of the documents are taken.
        columns_of_run: columns that the run makes itself.

    Raises:
        ColumnError: there is no column of dates, or it holds something else.
        InputError: there are no documents, none has a date, or no words are left.
    """
    column = corpus.options.date_col
    with corpus.open() as stream:
        if "date" not in stream.schema.names:
            if next(iter(stream), None) is None:
                raise no_documents(stream)
            raise missing_column(stream.where, column, stream.schema.names, "date_col")
        asked = options_for(stream)
        options = asked or PreprocessOptions()
        with _words(stream, options, threads, columns_of_run, own_tokens=asked is None) as words:
            dated = _dated(words, stream, options, column)
            warn_dropped(dated.corpus, None)
            yield dated


def _dated(words: CountedCorpus, stream: DocumentStream, options: PreprocessOptions, column: str) -> DatedCorpus:
    everything = words.rows(["text"])
    days, lost = days_of(everything.column("date"), column, format=date_format_of(stream.schema, "date"), strict=True)
    kept = np.flatnonzero(~np.isnat(days))
    if not len(kept):
        raise _no_dates(list(lost.values()), column, stream.where)
    tokens = _with_words(select_documents(words.tokens(), kept))
    ids = everything.column("id")
    gone = [DroppedRow(ids[row].as_py(), STAGE, reason) for row, reason in lost.items()]
    earlier = stream.steps
    info = token_info(options, words.report, earlier)
    if info is not None and words.report is not None:
        # without the shares of languages: those of an update would be of other documents than those of one run
        info["languages"] = [[share.code] for share in words.report.languages]

    def texts(rows: Sequence[int]) -> dict[int, str]:
        values = words.values("text", kept[list(rows)].tolist())
        return {row: values[int(kept[row])] or "" for row in rows}

    return DatedCorpus(
        TopicCorpus(
            tokens=tokens,
            rows=everything.take(pa.array(kept)),
            cf=words.cf,
            df=words.df,
            token_info=info,
            inputs=stream.inputs,
            dropped=[*stream.dropped, *gone],
            steps=earlier,
            texts=texts,
        ),
        days[kept],
    )


def _no_dates(reasons: list[str], column: str, where: str) -> InputError:
    unread = [reason for reason in reasons if "missing" not in reason]
    why = f"the first: {unread[0]}" if unread else "all are missing"
    return InputError(
        f"no date can be read in column '{column}' of the {wording.counted(len(reasons), 'document')} of {where} ({why}); "
        "name another column with `date_col`",
        parameter="date_col",
    )
