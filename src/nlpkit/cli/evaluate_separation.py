"""How far the documents of a topic lie from those of others: silhouette and DBCV, on embeddings or tf-idf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cells import as_label
from nlpkit.cli.evaluate_reference import need_reference, reference_of
from nlpkit.cli.evaluate_reference import token_table as reference_tokens
from nlpkit.cli.evaluate_targets import TableTarget, TopicTarget
from nlpkit.errors import InputError
from nlpkit.evaluation.labels import NO_TOPIC
from nlpkit.evaluation.results import TargetResult
from nlpkit.io.corpora import open_documents
from nlpkit.io.documents import embedding_matrix
from nlpkit.io.plain_tables import arrow_table
from nlpkit.io.read_options import ReadOptions
from nlpkit.io.runs import Run
from nlpkit.metrics.dbcv import dbcv
from nlpkit.metrics.score import METRICS, Score, Uncertainty, mean_score
from nlpkit.metrics.separation import silhouette
from nlpkit.types import IntArray
from nlpkit.weighting.dtm import count_terms
from nlpkit.weighting.schemes import Scheme
from nlpkit.weighting.tfidf import CorpusStats, weighting


@dataclass(frozen=True, slots=True)
class _Points:
    """Documents as rows, their topics (D,), and what the rows are."""

    rows: Any
    topics: IntArray
    what: str


def add_separation(
    result: TargetResult,
    target: TopicTarget,
    names: Sequence[str],
    given: Sequence[str] | None,
    read: ReadOptions,
    how: Uncertainty,
    *,
    threads: int,
    asked: bool,
) -> None:
    """Add silhouette and DBCV of the topics of the documents of a run.

    Raises:
        UsageError: there is no corpus; InputError: its documents are others.
    """
    if target.run is None:
        for name in names if asked else ():
            result.add(
                Score(METRICS[name], None, "documents", 0, why="it is of documents with topics: a run, or a table")
            )
        return
    _add(result, _points(target, given, read, threads), names, len(target.topics), how)


def add_table_separation(
    result: TargetResult, target: TableTarget, topic_col: str, names: Sequence[str], how: Uncertainty
) -> None:
    """Add silhouette and DBCV of the topics of a table with embeddings. Raises ColumnError for embeddings that are none."""
    table = arrow_table(target.path)
    found = [as_label(value) for value in table.column(topic_col).to_pylist()]
    codes = {name: k for k, name in enumerate(sorted({v for v in found if v is not None and v not in NO_TOPIC}))}
    topics = np.array([codes.get(value, -1) if value is not None else -1 for value in found], np.int32)
    _add(result, _Points(embedding_matrix(table.column("embedding")), topics, "embeddings"), names, len(codes), how)


def _add(result: TargetResult, points: _Points, names: Sequence[str], K: int, how: Uncertainty) -> None:
    if len(np.unique(points.topics[points.topics >= 0])) < 2:
        for name in names:
            result.add(Score(METRICS[name], None, "documents", 0, why="all documents are of one topic"))
        return
    for name in names:
        parameters = {"on": points.what, "metric": "cosine", "without_topic": int((points.topics < 0).sum())}
        interval = median = None
        if name == "silhouette":
            found = silhouette(points.rows, points.topics, metric="cosine", seed=how.seed)
            assert found.of_documents is not None
            whole = mean_score(METRICS[name], found.of_documents, how, over="documents")
            interval, median = whole.interval, whole.median
        elif points.what == "embeddings":
            found = dbcv(points.rows, points.topics, seed=how.seed)
            parameters["metric"] = "euclidean"
        else:
            why = "it needs embeddings: --reference DOCS with a column embedding (nlpkit sbert-embed)"
            result.add(Score(METRICS[name], None, "documents", 0, why=why))
            continue
        values = np.full(K, np.nan)
        values[: len(found.of_clusters)] = found.of_clusters[:K]
        value = found.score if np.isfinite(found.score) else None
        why = "" if value is not None else "no topic has enough documents"
        result.add(
            Score(METRICS[name], value, "documents", found.n_used, parameters, values, median, interval, why=why)
        )


def _points(target: TopicTarget, given: Sequence[str] | None, read: ReadOptions, threads: int) -> _Points:
    assert target.run is not None
    stored = _stored(target.run)
    if stored is not None and given is None:
        return stored
    reference = reference_of(target, given)
    if reference is None:
        raise need_reference(target, "silhouette")
    table = target.run.table("documents", ["id", "topic"])
    topic_of = dict(zip(table.column("id").to_pylist(), table.column("topic").to_pylist(), strict=True))
    with open_documents(list(reference.inputs), read) as stream:
        if "embedding" in stream.schema.names:
            ids, rows = [], []
            for batch in stream:
                names = batch.column("id").to_pylist()
                known = np.array([name in topic_of for name in names], bool)
                rows.append(embedding_matrix(pa.chunked_array([batch.column("embedding")]))[known])
                ids += names
            kept, topics = _matched(target, ids, topic_of)
            return _Points(np.concatenate(rows), topics, "embeddings")
    if stored is not None:
        return stored
    ids, tokens, _ = reference_tokens(reference, read, threads)
    kept, topics = _matched(target, ids.column("id").to_pylist(), topic_of)
    counts = count_terms(tokens)
    cf = np.asarray(counts.sum(axis=0), np.int64).ravel()
    df = np.bincount(counts.indices, minlength=tokens.n_terms)
    weights = weighting(CorpusStats(tokens.n_docs, tokens.terms, cf, df), Scheme()).weigh(counts)
    return _Points(weights[kept], topics, "tf-idf")


def _stored(run: Run) -> _Points | None:
    """Return the embeddings that a run was fitted to, a row for each different text, None of a run without any."""
    if run.manifest["kind"] != "bertopic":  # what lda-gibbs knows of its training documents has no embeddings
        return None
    table = run.table("model/training", ["topic", "embedding"])
    topics = table.column("topic").to_numpy().astype(np.int32)
    return _Points(embedding_matrix(table.column("embedding")), topics, "embeddings")


def _matched(target: TopicTarget, ids: Sequence[str], topic_of: dict[str, int]) -> tuple[Any, IntArray]:
    kept = np.array([i for i, name in enumerate(ids) if name in topic_of], np.int64)
    if not len(kept):
        raise InputError(
            f"none of the {len(ids):,} documents of the reference is one of {target.name}, such as '{ids[0] if ids else ''}'; "
            "silhouette and DBCV need the documents of the fit"
        )
    return kept, np.array([topic_of[ids[i]] for i in kept], np.int32)
