"""The corpus that a topic model is fitted to, and the number of topics chosen for it.

Parts, in this order:
- Documents for LDA: their tokens, the columns that a run keeps, the beginnings of their texts; for rolling models their
  days.
- How many topics a mixture model gets: numbers of topics compared; the scores are kept until the run is written.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cluster.options import Range
from nlpkit.errors import InputError, missing_column
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import Corpus, no_documents, no_words, warn_dropped
from nlpkit.platform.documents.date_columns import check_years, date_format_of, days_of
from nlpkit.platform.documents.inputs import DroppedRow
from nlpkit.platform.interrupts import report_checkpoint_on_interrupt
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import rounded, to_json
from nlpkit.platform.runs.runs import REPRESENTATIVE_CHARS
from nlpkit.platform.types import Days, TokenTable
from nlpkit.predict.options import TOPIC_COLUMNS
from nlpkit.text.options import PreprocessOptions
from nlpkit.text.tokens import note_tokens, token_info
from nlpkit.topics.base.choose import SEEDS, TopicChoice, choose_topics
from nlpkit.topics.base.model import select_documents
from nlpkit.topics.base.resume import UnfinishedWork, append_score, read_scores
from nlpkit.topics.base.runs import Additions, TopicCorpus
from nlpkit.topics.base.scores import Fitter, Scores
from nlpkit.weights.counts import CountedCorpus, count_corpus

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
    from nlpkit.embed.embeddings import embedded_by

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
            note_tokens(words.report, cut_by=options)
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
    check_years(days, column)
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


# ------------------------------------------------------------------------------------------------------------------------
# How many topics a mixture model gets: numbers of topics compared; the scores are kept until the run is written.


def compare_numbers(
    tokens: TokenTable, fitter: Fitter, within: Range, execution: Execution, unfinished: UnfinishedWork, identity: Mapping[str, Any],
    seeds: int = SEEDS, **further: Any,
) -> TopicChoice:  # fmt: skip
    """Compare numbers of topics, say what each scored as soon as its fits are made, and which is chosen.

    Args:
        tokens, fitter, within, execution: what is fitted, and how; seeds, further: of `choose_topics`.
        unfinished: where the scores of the fits are kept, so that a comparison that was interrupted can be continued.
        identity: what must be the same for that.

    Raises:
        InputError: the scores that are there are of another comparison.
    """
    path, resume = unfinished.scores, unfinished.options.resume
    identity = json.loads(to_json(dict(identity)))
    known: dict[tuple[int, int], Scores] = {}
    if path is not None and resume:
        known = read_scores(path, identity)
        if known:
            reporting.note(f"{len(known)} fits were loaded from {path}")
        else:
            reporting.warn(f"there are no scores {path}: starting from the beginning", always=True)
    elif path is not None:
        path.unlink(missing_ok=True)

    fits = 0
    finished: defaultdict[int, list[Scores]] = defaultdict(list)
    for (n_topics, _), scores in known.items():
        finished[n_topics].append(scores)
    with reporting.progress("fits", None) as update, report_checkpoint_on_interrupt("list of scores", path):

        def done(n_topics: int, seed: int, scores: Scores) -> None:
            nonlocal fits
            fits += 1
            if path is not None:
                append_score(path, identity, n_topics, seed, scores)
            update(fits, f"fits (k = {n_topics})")
            finished[n_topics].append(scores)
            if len(finished[n_topics]) == seeds:
                reporting.note(
                    f"k = {n_topics}: perplexity {_perplexity(finished[n_topics]):,.1f} of held-out documents"
                )

        choice = choose_topics(tokens, fitter, within, execution, seeds=seeds, known=known, done=done, **further)
    note_choice(choice)
    return choice


def _perplexity(fits: Sequence[Scores]) -> float:
    """Return the perplexity of fits of one number of topics, from their mean log-likelihood."""
    return math.exp(-sum(sum(fit.log_likelihood) for fit in fits) / sum(sum(fit.n_tokens) for fit in fits))


def note_choice(choice: TopicChoice) -> None:
    """Say why a number of topics was chosen, and what else is worth a look."""
    reporting.note(choice.reason)
    for k, why in choice.runner_ups:
        reporting.note(f"also consider {k} topics, {why}")
    if choice.note:
        reporting.note(choice.note)
    reporting.note("no number of topics is right by itself; read the topics of two or three of these before you decide")


def choice_additions(choice: TopicChoice) -> Additions:
    """Return what the manifest says of a choice."""
    return Additions(
        results={
            "choice_of_k": choice.reason,
            "runner_ups": [[k, why] for k, why in choice.runner_ups],
            "evidence": [rounded(row.as_dict()) for row in choice.rows],
        }
    )
