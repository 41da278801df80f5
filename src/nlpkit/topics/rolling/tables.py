"""A rolling model as tables of a run directory, and back: tables for readers, and the state to which chunks are added later.

chunks.parquet, topic_shares.parquet, changes.parquet     one row a chunk, a topic in a chunk, a test of a topic in a chunk
model/rolling_documents    the documents by day: their row in documents.parquet, day, tokens
model/rolling_tokens       their tokens: row in vocab.parquet, and the topic under the number that the chain has for it
model/rolling_last         documents of the last chunk with all their words: it is sampled again when others join it
model/rolling_texts        beginnings of the texts that may be shown as typical of a topic, now or after an update
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.platform.documents.arrays import token_table, tokens_column
from nlpkit.platform.documents.chunks import Chunk, parse_init, parse_span
from nlpkit.platform.options import Execution, in_force
from nlpkit.platform.runs.runs import REPRESENTATIVE_CHARS, Run
from nlpkit.platform.runs.table_spec import Column, TableSpec, numbers, strings
from nlpkit.platform.types import CsrMatrix, FloatArray, LongArray, narrow
from nlpkit.topics.base.model import with_used_terms
from nlpkit.topics.base.tables import MIXTURE_TOPICS
from nlpkit.topics.base.topic_words import REPRESENTATIVES, typical_documents
from nlpkit.topics.rolling.changes import Change, Changes
from nlpkit.topics.rolling.options import ChangeOptions, RollingOptions
from nlpkit.topics.rolling.plan import RollingState

CHUNKS = TableSpec(
    "chunks", "A chunk of time of a rolling model; chunk 0 is the initial period.",
    Column("chunk", pa.int32(), "Its number."),
    Column("start_date", pa.date32(), "First day of the period."),
    Column("end_date", pa.date32(), "Last day of the period."),
    Column("first_date", pa.date32(), "Day of its first document.", gaps=True),
    Column("last_date", pa.date32(), "Day of its last document.", gaps=True),
    Column("memory", pa.date32(), "First day of the documents that it remembers.", gaps=True),
    Column("n", pa.int32(), "Documents."),
    Column("n_discarded", pa.int32(), "Documents without a known word."),
    Column("n_memory", pa.int32(), "Documents that it remembers.", gaps=True),
    Column("n_vocab", pa.int32(), "Terms of the vocabulary after it."),
    Column("n_tokens", pa.int64(), "Tokens of its documents."),
)  # fmt: skip
ROLLING_TOPICS = MIXTURE_TOPICS.plus(
    "topics_of_rolling", "A topic of a rolling model.",
    Column("chain_topic", pa.int32(), "A number that stays the same from update to update."),
)  # fmt: skip
SHARES = TableSpec(
    "topic_shares", "A topic in a chunk.",
    Column("chunk", pa.int32(), "Number of the chunk."),
    Column("start_date", pa.date32(), "Its first day."),
    Column("topic", pa.int32(), "Number of the topic."),
    Column("share", pa.float64(), "Its share of the tokens of the chunk.", gaps=True),
    Column("mean_theta", pa.float64(), "Mean probability of the topic in the documents of the chunk.", gaps=True),
    Column("similarity_previous", pa.float64(), "Cosine of its words with those of the chunk before.", gaps=True),
    Column("similarity_past", pa.float64(), "Cosine of its words with those of all chunks before.", gaps=True),
)  # fmt: skip
CHANGES = TableSpec(
    "changes", "A topic in a chunk that was tested for a change.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("chunk", pa.int32(), "Number of the chunk."),
    Column("start_date", pa.date32(), "Its first day."),
    Column("similarity", pa.float64(), "Cosine of its words with those of the chunks before."),
    Column("threshold", pa.float64(), "Similarity below which there is a change."),
    Column("changed", pa.bool_(), "Whether there is one."),
    Column("uncertain", pa.bool_(), "Whether other samples could decide otherwise."),
    Column("span", pa.int32(), "Chunks before that it was compared with."),
    Column("words", pa.list_(pa.string()), "Words that drove the change, none without one."),
    Column("impacts", pa.list_(pa.float64()), "Impact of each."),
    Column("rose", pa.list_(pa.bool_()), "Whether the topic has more of each than before."),
)  # fmt: skip
ROLLING_DOCUMENTS = TableSpec(
    "model/rolling_documents", "A document, by day.",
    Column("document", pa.int32(), "Row of the document in documents."),
    Column("date", pa.date32(), "Its day."),
    Column("n_tokens", pa.int32(), "Its tokens.", least=0),
)  # fmt: skip
ROLLING_TOKENS = TableSpec(
    "model/rolling_tokens", "A token of these documents.",
    Column("term_id", pa.int32(), "Row of its term in vocab.", least=0, below="V"),
    Column("chain_topic", pa.int32(), "Its topic under the number that the chain has for it.", least=0, below="K"),
)  # fmt: skip
ROLLING_LAST = TableSpec(
    "model/rolling_last", "A document of the last chunk, which is sampled again when others join it.",
    Column("tokens", pa.list_(pa.string()), "All its words."),
)  # fmt: skip
ROLLING_TEXTS = TableSpec(
    "model/rolling_texts", "A document that may be shown as typical of a topic, now or after an update.",
    Column("document", pa.int32(), "Row of the document in documents.", least=0),
    Column("text", pa.string(), "Beginning of its text."),
)  # fmt: skip


def chunks_table(chunks: Sequence[Chunk]) -> pa.Table:
    """Return the chunk table; chunk 0 is the initial period (see `Chunk`)."""
    return CHUNKS.rows([{"chunk": chunk.chunk_id, **asdict(chunk)} for chunk in chunks])


def shares_table(
    chunks: Sequence[Chunk],
    tokens: FloatArray,
    documents: FloatArray,
    previous: FloatArray,
    past: FloatArray,
    order: LongArray,
) -> pa.Table:
    """Return one row for each topic in each chunk: its share of the tokens, its mean theta, its similarity to its past.

    Args:
        chunks: C of them.
        tokens, documents, previous, past: (C, K), nan where there is nothing to tell (`token_shares`, `document_shares`,
            `similarity_to_past`), under the numbers of the chain.
        order: (K,) number in the chain of each topic of the run.
    """
    C, K = tokens.shape
    return SHARES.table(
        chunk=np.repeat([chunk.chunk_id for chunk in chunks], K),
        start_date=[chunk.start_date for chunk in chunks for _ in range(K)], topic=np.tile(np.arange(K), C),
        share=tokens[:, order].ravel(), mean_theta=documents[:, order].ravel(),
        similarity_previous=previous[:, order].ravel(), similarity_past=past[:, order].ravel()
    )  # fmt: skip


def changes_table(
    chunks: Sequence[Chunk], changes: Changes, counts: Sequence[CsrMatrix], terms: Sequence[str], order: LongArray
) -> pa.Table:
    """Return one row for each topic in each chunk that was tested; uncertain: other samples could decide the test otherwise.

    Where a change was found: the words that drove it, their impacts, and whether the topic has more of them than before.

    Args:
        counts: (K, V) of each chunk, from which the changes were found, topics under the numbers of the chain.
        order: (K,) number in the chain of each topic of the run.
    """
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    words = {(c.chunk, int(numbers[c.topic])): c for c in changes.events}
    rows, topics = np.nonzero(changes.span[:, order] > 0)
    at = (rows, order[topics])
    drove = [words.get(key) for key in zip(rows.tolist(), topics.tolist(), strict=True)]
    tested = [chunks[t] for t in rows.tolist()]
    return CHANGES.table(
        topic=topics, chunk=[chunk.chunk_id for chunk in tested], start_date=[chunk.start_date for chunk in tested],
        **{name: getattr(changes, name)[at] for name in ("similarity", "threshold", "changed", "uncertain", "span")},
        words=[[terms[v] for v in c.term_ids] if c else [] for c in drove],
        impacts=[list(c.impacts) if c else [] for c in drove], rose=[_rose(counts, c) if c else [] for c in drove]
    )  # fmt: skip


def _rose(counts: Sequence[CsrMatrix], change: Change) -> list[bool]:
    """Return whether the share of each word of a change in its topic is larger than in the chunks it was compared with."""
    before = [t for t in range(change.chunk) if counts[t].nnz][-change.span :]
    now = counts[change.chunk][[change.topic]].toarray()[0]
    past = sum(counts[t][[change.topic]].toarray()[0] for t in before)
    words = list(change.term_ids)
    return [bool(rose) for rose in now[words] * past.sum() > past[words] * now.sum()]


def state_tables(state: RollingState, places: LongArray, texts: Mapping[int, str]) -> dict[str, pa.Table]:
    """Return the tables of model/ from which `read_state` makes the state again.

    Args:
        places: (M,) row in the state of each document of documents.parquet.
        texts: of `text_candidates`, by row of documents.parquet; more of them do no harm.
    """
    document = np.empty(len(places), np.int32)
    document[places] = np.arange(len(places), dtype=np.int32)
    shown, lengths = sorted(texts), narrow(np.diff(state.offsets), "tokens of one document")
    last = tokens_column(state.last.offsets, state.last.term_ids, pa.array(state.last.terms, pa.string()))
    beginnings = [texts[d][:REPRESENTATIVE_CHARS] for d in shown]
    return {
        "rolling_documents": ROLLING_DOCUMENTS.table(document=document, date=state.dates, n_tokens=lengths),
        "rolling_tokens": ROLLING_TOKENS.table(term_id=state.term_ids, chain_topic=state.z),
        "rolling_last": ROLLING_LAST.table(tokens=last),
        "rolling_texts": ROLLING_TEXTS.table(document=shown, text=beginnings),
    }


def text_candidates(state: RollingState, places: LongArray, doc_topic: CsrMatrix, alpha: FloatArray) -> list[int]:
    """Return the documents that are, or can become, typical of a topic, by row of documents.parquet, ascending.

    Topics of documents of closed chunks do not change any more: the most typical ones among them stay so. Those of the last
    chunk may be drawn again: all of its documents are candidates.

    Args:
        places: (M,) row in the state of each document.
        doc_topic: n_dk (M, K), rows as in documents.parquet.
        alpha: (K,).
    """
    begin, _ = state.rows(state.chunks[-1])
    closed = places < begin
    counts = np.where(np.repeat(closed, np.diff(doc_topic.indptr)), doc_topic.data, 0)
    of_closed = sparse.csr_array((counts, doc_topic.indices.copy(), doc_topic.indptr.copy()), shape=doc_topic.shape)
    of_closed.eliminate_zeros()
    best = typical_documents(of_closed, alpha, REPRESENTATIVES)
    return sorted({*best[best >= 0].tolist(), *np.flatnonzero(~closed).tolist()})


def read_texts(run: Run) -> dict[int, str]:
    """Return the beginnings of texts of `state_tables`, by row of documents.parquet."""
    table = run.table("model/rolling_texts")
    with run.intact():
        texts = table.column("text").to_pylist()
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("texts that are none")
        return dict(zip(ROLLING_TEXTS.arrays(table, "document")[0].tolist(), texts, strict=True))


_CONFIG = (
    "n_topics", "init", "chunks", "memory", "memory_fallback", "vocab_abs", "vocab_rel", "vocab_fallback", "doc_abs", "alpha",
    "eta", "sweeps", "shards",
)  # fmt: skip


def rolling_config(state: RollingState, changes: ChangeOptions) -> dict[str, Any]:
    """Return the settings of a rolling model for model/config.json."""
    options = {name: getattr(state.options, name) for name in _CONFIG}
    return {
        "rolling": True,
        "rolling_options": {**options, "seed": state.seed},
        "change_options": in_force(changes),
    }


def read_rolling_config(config: Mapping[str, Any]) -> tuple[RollingOptions, int, ChangeOptions]:
    """Return the options of `rolling_config`, the seed, and the settings of change detection.

    Raises:
        UsageError, KeyError, TypeError, ValueError: one is missing or cannot be meant.
    """
    values = dict(config["rolling_options"])
    seed = Execution(int(values.pop("seed"))).seed
    options = RollingOptions(k=values.pop("n_topics"), **values)
    for role in ("chunks", "memory"):
        parse_span(str(values[role]), role)
    parse_init(str(values["init"]))
    return options, seed, ChangeOptions.from_config(config["change_options"])


def read_state(run: Run, options: RollingOptions, seed: int) -> RollingState:
    """Return the state of a rolling run.

    Raises:
        InputError: a table is missing, or they do not fit together.
    """
    documents, tokens = run.table("model/rolling_documents"), run.table("model/rolling_tokens")
    last, stored_chunks, vocab = run.table("model/rolling_last"), run.table("chunks"), run.table("vocab", ["term"])
    names = run.table("documents", ["id"])
    with run.intact():
        (lengths,) = ROLLING_DOCUMENTS.arrays(documents, "n_tokens")
        lengths = lengths.astype(np.int64)
        if not stored_chunks.schema.equals(CHUNKS.schema):
            raise ValueError("columns of the chunks")
        chunks = tuple(Chunk(**_as_chunk(row)) for row in stored_chunks.to_pylist())
        terms, ids = tuple(strings(vocab, "term")), strings(names, "id")
        at, dates = numbers(documents, "document"), documents.column("date")
        if not all(pa.types.is_integer(tokens.column(name).type) for name in ("chain_topic", "term_id")):
            raise ValueError("topics and terms of tokens that are not whole numbers")
        term_ids, z = ROLLING_TOKENS.arrays(tokens, K=options.n_topics, V=len(terms))
        fits = (
            len(chunks) > 1
            and lengths.sum() == len(term_ids)
            and np.array_equal(np.sort(at), np.arange(len(ids)))
            and len(terms) == chunks[-1].n_vocab
            and last.num_rows == chunks[-1].n + chunks[-1].n_discarded
            and dates.type == pa.date32()
            and not dates.null_count
            and _follow_each_other(chunks, dates.to_numpy().astype("datetime64[D]"))
        )
        if not fits:
            raise ValueError("tables of the rolling model")
        return RollingState(
            options,
            seed,
            terms=terms,
            ids=tuple(ids[d] for d in at),
            dates=dates.to_numpy().astype("datetime64[D]"),
            offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
            term_ids=term_ids,
            z=z,
            chunks=chunks,
            last=with_used_terms(token_table(last.column("tokens"))),
        )


def _follow_each_other(chunks: Sequence[Chunk], dates: np.ndarray) -> bool:
    """Return whether chunks are numbered, one period after the other, and hold all dates, which ascend."""
    days = [day for chunk in chunks for day in (chunk.start_date, chunk.end_date)]
    numbers_of = [number for chunk in chunks for number in (chunk.n, chunk.n_discarded, chunk.n_vocab, chunk.n_tokens)]
    if (
        None in days
        or None in numbers_of
        or min(numbers_of) < 0
        or [chunk.chunk_id for chunk in chunks] != list(range(len(chunks)))
    ):
        return False
    ascending = all(a <= b for a, b in pairwise(days)) and all(a.end_date < b.start_date for a, b in pairwise(chunks))
    first, last = np.datetime64(days[0]), np.datetime64(days[-1])
    inside = not len(dates) or bool(dates[0] >= first and dates[-1] <= last)
    return ascending and inside and bool((np.diff(dates) >= np.timedelta64(0)).all())


def plain_columns(table: pa.Table) -> pa.Table:
    """Return a table without traces of the file it comes from: the names that the values of lists have there.

    A column that was read from a run is then written as it was the first time, byte by byte.
    """
    return pa.table(
        {name: table.column(name).cast(_plain_type(table.schema.field(name).type)) for name in table.column_names}
    )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([(field.name, _plain_type(field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(_plain_type(kind.value_type), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(_plain_type(kind.value_type))
    return pa.list_(_plain_type(kind.value_type)) if types.is_list(kind) else kind


def _as_chunk(row: Mapping[str, Any]) -> dict[str, Any]:
    values = {"chunk_id": row["chunk"], **row}
    return {field.name: values[field.name] for field in fields(Chunk)}
