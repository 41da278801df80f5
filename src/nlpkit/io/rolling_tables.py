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

from nlpkit.io.documents import token_table, tokens_column
from nlpkit.io.run_reading import numbers, strings
from nlpkit.io.runs import REPRESENTATIVE_CHARS, Run
from nlpkit.parameters import Execution, in_force
from nlpkit.topics.lda.changes import Change, Changes
from nlpkit.topics.lda.chunks import Chunk, parse_init, parse_span
from nlpkit.topics.lda.rolling_options import ChangeOptions, RollingOptions
from nlpkit.topics.lda.rolling_plan import RollingState
from nlpkit.topics.mixtures.describe import REPRESENTATIVES, typical_documents
from nlpkit.topics.mixtures.token_tables import with_used_terms
from nlpkit.types import CsrMatrix, FloatArray, LongArray
from nlpkit.widths import narrow

CHUNKS_SCHEMA = pa.schema(
    [
        ("chunk", pa.int32()),
        ("start_date", pa.date32()),
        ("end_date", pa.date32()),
        ("first_date", pa.date32()),
        ("last_date", pa.date32()),
        ("memory", pa.date32()),
        ("n", pa.int32()),
        ("n_discarded", pa.int32()),
        ("n_memory", pa.int32()),
        ("n_vocab", pa.int32()),
        ("n_tokens", pa.int64()),
    ]
)


def chunks_table(chunks: Sequence[Chunk]) -> pa.Table:
    """Return the chunk table; chunk 0 is the initial period (see `Chunk`)."""
    rows = [{"chunk": chunk.chunk_id, **asdict(chunk)} for chunk in chunks]
    return pa.Table.from_pylist(rows, schema=CHUNKS_SCHEMA)


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
    columns = {
        "chunk": _of_chunks([chunk.chunk_id for chunk in chunks], pa.int32(), K),
        "start_date": _of_chunks([chunk.start_date for chunk in chunks], pa.date32(), K),
        "topic": pa.array(np.tile(np.arange(K, dtype=np.int32), C)),
    }
    for name, values in {
        "share": tokens, "mean_theta": documents, "similarity_previous": previous, "similarity_past": past,
    }.items():  # fmt: skip
        flat = values[:, order].ravel()
        columns[name] = pa.array(flat, pa.float64(), mask=np.isnan(flat))
    return pa.table(columns)


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
    return pa.table(
        {
            "topic": pa.array(topics, pa.int32()),
            "chunk": pa.array([chunk.chunk_id for chunk in tested], pa.int32()),
            "start_date": pa.array([chunk.start_date for chunk in tested], pa.date32()),
            "similarity": pa.array(changes.similarity[at]),
            "threshold": pa.array(changes.threshold[at]),
            "changed": pa.array(changes.changed[at]),
            "uncertain": pa.array(changes.uncertain[at]),
            "span": pa.array(changes.span[at], pa.int32()),
            "words": pa.array([[terms[v] for v in c.term_ids] if c else [] for c in drove], pa.list_(pa.string())),
            "impacts": pa.array([list(c.impacts) if c else [] for c in drove], pa.list_(pa.float64())),
            "rose": pa.array([_rose(counts, c) if c else [] for c in drove], pa.list_(pa.bool_())),
        }
    )


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
    shown = sorted(texts)
    terms = pa.array(state.last.terms, pa.string())
    return {
        "rolling_documents": pa.table(
            {
                "document": pa.array(document),
                "date": pa.array(state.dates, pa.date32()),
                "n_tokens": pa.array(narrow(np.diff(state.offsets), "tokens of one document")),
            }
        ),
        "rolling_tokens": pa.table({"term_id": pa.array(state.term_ids), "chain_topic": pa.array(state.z, pa.int32())}),
        "rolling_last": pa.table({"tokens": tokens_column(state.last.offsets, state.last.term_ids, terms)}),
        "rolling_texts": pa.table(
            {
                "document": pa.array(shown, pa.int32()),
                "text": pa.array([texts[d][:REPRESENTATIVE_CHARS] for d in shown], pa.string()),
            }
        ),
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
        return dict(zip(numbers(table, "document", least=0).tolist(), texts, strict=True))


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
        lengths = numbers(documents, "n_tokens", least=0).astype(np.int64)
        if not stored_chunks.schema.equals(CHUNKS_SCHEMA):
            raise ValueError("columns of the chunks")
        chunks = tuple(Chunk(**_as_chunk(row)) for row in stored_chunks.to_pylist())
        terms, ids = tuple(strings(vocab, "term")), strings(names, "id")
        at, dates = numbers(documents, "document"), documents.column("date")
        if not all(pa.types.is_integer(tokens.column(name).type) for name in ("chain_topic", "term_id")):
            raise ValueError("topics and terms of tokens that are not whole numbers")
        z = numbers(tokens, "chain_topic", least=0, most=options.n_topics - 1)
        term_ids = numbers(tokens, "term_id", least=0, most=len(terms) - 1)
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


def _of_chunks(values: Sequence[Any], kind: pa.DataType, K: int) -> pa.Array:
    """Each value K times."""
    return pa.array(values, kind).take(pa.array(np.repeat(np.arange(len(values)), K)))
