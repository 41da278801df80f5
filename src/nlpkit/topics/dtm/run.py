"""Dynamic topic models: documents with dates in, topics whose words drift over periods out; new documents by their dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.chunks import Periods, cut_periods
from nlpkit.platform.documents.corpora import DocumentStream
from nlpkit.platform.documents.corpus import as_corpus
from nlpkit.platform.documents.date_columns import date_format_of, days_of
from nlpkit.platform.options import Execution, with_settings
from nlpkit.platform.runs.provenance import stopwatch
from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import BoolArray, IntArray, LongArray
from nlpkit.predict.options import TOPIC_COLUMNS, PredictOptions
from nlpkit.text.options import PreprocessOptions, TopicTokenOptions
from nlpkit.text.settings import preprocess_options
from nlpkit.text.tokens import refuse_token_options
from nlpkit.topics.base.corpus import DatedCorpus, read_dated_corpus
from nlpkit.topics.base.mixture import DocumentInference, Inferred
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, with_used_terms
from nlpkit.topics.base.options import CheckpointOptions, TermOptions
from nlpkit.topics.base.run import FittedTopics, fit_corpus, unfinished_work
from nlpkit.topics.base.runs import Additions, TopicCorpus
from nlpkit.topics.dtm.fit import DtmFitter, infer_theta, infer_undated
from nlpkit.topics.dtm.model import DynamicTopics, largest_shifts, top_terms
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.weights.dtm import count_terms, document_frequency

PERIOD = "period"  # column of documents.parquet
SHIFTS = 10  # words that rose, and that fell, of each topic
PERIODS = TableSpec(
    "periods", "A period of a dynamic topic model.",
    Column("period", pa.int32(), "Its number, from 0."),
    Column("start_date", pa.date32(), "Its first day."),
    Column("end_date", pa.date32(), "Its last day."),
    Column("n", pa.int32(), "Documents."),
    Column("n_tokens", pa.int64(), "Their tokens."),
)  # fmt: skip
TERMS_OVER_TIME = TableSpec(
    "topic_terms_over_time", "One of the most probable words of a topic in a period.",
    Column("period", pa.int32(), "Number of the period."),
    Column("start_date", pa.date32(), "Its first day."),
    Column("topic", pa.int32(), "Number of the topic."),
    Column("rank", pa.int32(), "1 for the most probable word."),
    Column("term", pa.string(), "The word."),
    Column("weight", pa.float32(), "Its probability in the topic in this period."),
)  # fmt: skip
TOPIC_CHANGES = TableSpec(
    "topic_changes", "A word whose probability in a topic changed from the first to the last period.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("change", pa.string(), "rose or fell."),
    Column("rank", pa.int32(), "1 for the largest change."),
    Column("term", pa.string(), "The word."),
    Column("first", pa.float32(), "Its probability in the topic in the first period."),
    Column("last", pa.float32(), "The same in the last period."),
)  # fmt: skip


class FittedDynamicTopics(FittedTopics):
    """A dynamic topic model that was fitted or loaded; phi and topics are averaged over time."""

    @cached_property
    def dynamic(self) -> DynamicTopics:
        """The topics period by period. Raises InputError where the run directory is damaged."""
        from nlpkit.platform.runs.runs import Run

        if isinstance(self.run, Run):
            with self.run.intact():
                return DynamicTopics.from_arrays(self.fit.arrays, self.model.n_terms)
        return DynamicTopics.from_arrays(self.fit.arrays, self.model.n_terms)

    @property
    def periods(self) -> Periods:
        """The periods (T,)."""
        return self.dynamic.periods

    @property
    def terms_over_time(self) -> pa.Table:
        """The words of each topic in each period: period, start_date, topic, rank, term, weight."""
        return self.tables()["topic_terms_over_time"]

    @property
    def changes(self) -> pa.Table:
        """The words that rose and fell most in each topic: topic, change, rank, term, first, last."""
        return self.tables()["topic_changes"]

    def phi_of(self, period: int) -> Any:
        """Return the probability of each term in each topic (K, V) in a period."""
        return np.exp(self.dynamic.logits(period))

    def document_inference(
        self, stream: DocumentStream, options: PredictOptions, execution: Execution
    ) -> DocumentInference:
        """Return what gives documents the topics that their words have in the period of their date, or the nearest one."""
        threads, undated, warned = execution.n_threads(), self.inference(execution), set[str]()

        def tell(message: str) -> None:
            if message not in warned:
                warned.add(message)
                reporting.warn(message)

        def infer(batch: pa.RecordBatch, new: BoolArray, offsets: LongArray, ids: IntArray) -> Inferred:
            full = np.diff(offsets) > 0
            if "date" not in batch.schema.names:
                tell(
                    "the documents have no column of dates, so their words use the average over time; name it with "
                    "`date_col`"
                )
                return undated(offsets, ids), full
            days, _ = days_of(pa.chunked_array([batch.column("date")]), format=date_format_of(batch.schema, "date"))
            known = ~np.isnat(days)
            period = np.where(known, self.periods.nearest(days), 0)
            theta = infer_theta(self.dynamic, self.model.alpha, period, offsets, ids, threads=threads)
            if not known.all():
                tell("words of documents without a date use the average over time")
                theta[~known] = undated(offsets, ids)[~known]
            if self.periods.outside(days[known]).any():
                first, last = self.periods.start_dates[0], self.periods.end_dates[-1]
                tell(
                    f"documents of before {first} or after {last} have the topics that their words have in the nearest period"
                )
            return theta, full

        return DocumentInference(infer)

    def scoring_by_part(
        self, rows: pa.Table, execution: Execution, method: str
    ) -> Iterator[tuple[LongArray, MixtureModel, Inference | None]]:
        """Yield the documents of each period with its model, and those without a date with the one averaged over time."""
        period = np.full(rows.num_rows, -1)
        if "date" in rows.column_names:
            days, _ = days_of(rows.column("date"), format=date_format_of(rows.schema, "date"))
            period[~np.isnat(days)] = self.periods.nearest(days[~np.isnat(days)])
        undated = np.flatnonzero(period < 0)
        if len(undated):
            reporting.warn(
                f"words of {wording.counted(len(undated), 'document')} without a date use the average over time"
            )
            yield undated, *self.scoring(execution, method)
        for t in np.unique(period[period >= 0]).tolist():
            log_phi = self.dynamic.logits(t)
            model = MixtureModel(self.model.terms, sparse.csr_array(np.exp(log_phi)), self.model.alpha, 0.0)
            infer = partial(infer_undated, log_phi, self.model.alpha, threads=execution.n_threads())
            yield np.flatnonzero(period == t), model, infer


def fit_dtm(
    data: Any,
    *,
    options: DtmOptions | None = None,
    terms: TermOptions | None = None,
    tokens: TopicTokenOptions | None = None,
    execution: Execution | None = None,
    checkpoints: CheckpointOptions | None = None,
    checkpoint: str | Path | None = None,
    force: bool = False,
    **settings: Any,
) -> FittedDynamicTopics:
    """Fit a dynamic topic model over a column of dates (Blei & Lafferty 2006); the result is the same on any number of threads.

    Args:
        data: a Corpus or a data frame with dates; a column tokens is used, else made. Documents without a date are left out, and listed.
        options, terms, tokens, execution, checkpoints: whole records of options. checkpoint, force: as of `fit_topics`.
        settings: single options, such as k=20, every="year", min_df=2, seed=1.

    Raises:
        UsageError: an option is out of its range; ColumnError: there is no column of dates; InputError: there is nothing to fit, or all
            dates lie in one period.

    Example:
        >>> texts = ["river water fish bank", "money bank loan debt"] * 10
        >>> corpus = nk.Corpus.from_texts(texts, dates=[f"2024-{month:02d}-01" for month in (1, 2, 3, 4, 5)] * 4)
        >>> model = nk.fit_dtm(corpus, k=2, every="month", iterations=3)
        >>> model.topics.num_rows
        2
    """
    options, terms, tokens, execution, checkpoints = with_settings(
        (options, terms, tokens, execution, checkpoints), settings,
        (DtmOptions, TermOptions, TopicTokenOptions, Execution, CheckpointOptions),
    )  # fmt: skip
    token_options = preprocess_options(tokens)
    unfinished = unfinished_work(checkpoint, checkpoints, options, force=force)  # an error before any reading

    def options_for(stream: DocumentStream) -> PreprocessOptions | None:
        if "tokens" in stream.schema.names:
            refuse_token_options(token_options, stream.where)
            return None
        return token_options

    seconds: dict[str, float] = {}
    documents = as_corpus(data)
    with stopwatch(seconds, "read"):
        opened = read_dated_corpus(
            documents, options_for, execution.n_threads(), columns_of_run=(*TOPIC_COLUMNS, PERIOD)
        )  # fmt: skip
    with opened as dated:
        periods = cut_periods(dated.days, options.every)
        period = periods.nearest(dated.days)
        corpus = _of_periods(dated, period)
        _note_periods(periods, period)
        fitter = DtmFitter(options, periods, period)
        run, report = fit_corpus(
            "dtm", corpus, fitter, terms, execution, seconds, unfinished,
            lambda fit: Additions(tables=_tables(fit, corpus, period, terms.top_terms)),
        )  # fmt: skip
    model = FittedDynamicTopics(run, fitter, report.fit, report)
    model.corpus, model.unfinished = documents, unfinished.files(chooses=True)
    return model


def load_dtm(path: Path, execution: Execution) -> FittedDynamicTopics:
    """Return the model of a run of dtm. Raises InputError, SchemaError where there is none, or it is damaged."""
    from nlpkit.topics.base.run import load_topics

    loaded = load_topics(path, execution)
    return FittedDynamicTopics(loaded.run, loaded.fitter, loaded.fit)


def _of_periods(dated: DatedCorpus, period: LongArray) -> TopicCorpus:
    """Return the documents with their periods, and the words that the dated ones have."""
    corpus = dated.corpus
    tokens = with_used_terms(corpus.tokens)
    rows = corpus.rows.append_column(PERIOD, pa.array(period, pa.int32()))
    df = document_frequency(count_terms(tokens))
    return replace(corpus, tokens=tokens, rows=rows, cf=np.bincount(tokens.term_ids, minlength=tokens.n_terms), df=df)


def _note_periods(periods: Periods, period: LongArray) -> None:
    """Say how many periods there are, and that some have no documents."""
    n = np.bincount(period, minlength=periods.n)
    fewest, most = int(n[n > 0].min()), int(n.max())
    reporting.note(
        f"{wording.counted(periods.n, 'period')} from {periods.start_dates[0]} to {periods.end_dates[-1]}, of "
        f"{'' if fewest == most else f'{fewest:,} to '}{wording.counted(most, 'document')}"
    )
    empty = int((n == 0).sum())
    if empty:
        have, words = ("has", "lie") if empty == 1 else ("have", "lie")
        reporting.warn(
            f"{wording.counted(empty, 'period')} {have} no documents: their topics {words} interpolated between "
            "the neighbouring periods"
        )


def _tables(fit: MixtureFit, corpus: TopicCorpus, period: LongArray, n: int) -> dict[str, pa.Table]:
    """Return the tables over time of a run."""
    terms = corpus.tokens.terms
    model = DynamicTopics.from_arrays(fit.arrays, len(terms))
    periods, T = model.periods, model.periods.n
    lengths = np.diff(corpus.tokens.offsets)
    starts = pa.array(periods.start_dates, pa.date32())
    return {
        "periods": PERIODS.table(
            period=range(T),
            start_date=starts,
            end_date=periods.end_dates,
            n=np.bincount(period, minlength=T),
            n_tokens=np.bincount(period, weights=lengths, minlength=T).astype(np.int64),
        ),
        "topic_terms_over_time": pa.concat_tables([_terms_of(model, t, starts[t], terms, n) for t in range(T)]),
        "topic_changes": _changes(model, terms),
    }


def _terms_of(model: DynamicTopics, t: int, start: pa.Scalar, terms: Sequence[str], n: int) -> pa.Table:
    """Return the most probable words of each topic in a period."""
    ids, weights = top_terms(model.logits(t), n)
    K, n = ids.shape
    return TERMS_OVER_TIME.table(
        period=np.full(K * n, t), start_date=[start.as_py()] * (K * n), topic=np.repeat(np.arange(K), n),
        rank=np.tile(np.arange(1, n + 1), K), term=[terms[v] for v in ids.ravel().tolist()], weight=weights.ravel()
    )  # fmt: skip


def _changes(model: DynamicTopics, terms: Sequence[str]) -> pa.Table:
    """Return the words that rose and fell most from the first to the last period."""
    rank: dict[tuple[int, bool], int] = {}
    rows = []
    for shift in largest_shifts(model.logits(0), model.logits(model.periods.n - 1), SHIFTS):
        key = shift.topic, shift.rose
        rank[key] = rank.get(key, 0) + 1
        change, term = "rose" if shift.rose else "fell", terms[shift.term_id]
        values = (shift.topic, change, rank[key], term, shift.first, shift.last)
        rows.append(dict(zip(TOPIC_CHANGES.schema.names, values, strict=True)))
    return TOPIC_CHANGES.rows(rows)
