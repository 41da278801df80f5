"""The documents of runs and tables as points: what silhouette and DBCV are computed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from nlpkit.cells import as_label
from nlpkit.errors import InputError
from nlpkit.evaluation.labels import NO_TOPIC
from nlpkit.evaluation.results import TargetResult
from nlpkit.evaluation.separation import EMBEDDINGS, TFIDF, DocumentVectors, add_separation
from nlpkit.io.documents import embedding_matrix
from nlpkit.io.runs import Run
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.score import Score
from nlpkit.types import IntArray
from nlpkit.weighting.dtm import count_terms
from nlpkit.weighting.schemes import Scheme
from nlpkit.weighting.tfidf import CorpusStats, weighting
from nlpkit.workflows.evaluation_targets import TableTarget
from nlpkit.workflows.reference import EvaluationSettings, TopicTarget, need_reference, reference_of, token_table


def add_run_separation(
    result: TargetResult, target: TopicTarget, names: Sequence[str], settings: EvaluationSettings
) -> None:
    """Add silhouette and DBCV of the topics of the documents of a run.

    Raises:
        UsageError: there is no corpus; InputError: its documents are others.
    """
    if target.run is None:
        for name in names if settings.only else ():
            result.add(
                Score(METRICS[name], None, "documents", 0, why="it is of documents with topics: a run, or a table")
            )
        return
    points = _points(target, target.run, settings)
    add_separation(result, points, names, len(target.topics), settings.uncertainty)


def add_table_separation(
    result: TargetResult, target: TableTarget, names: Sequence[str], settings: EvaluationSettings
) -> None:
    """Add silhouette and DBCV of the topics of a table with embeddings. Raises ColumnError for embeddings that are none."""
    table = target.table()
    labels = [as_label(value) for value in table.column(settings.options.topic_col).to_pylist()]
    codes = {name: k for k, name in enumerate(sorted({v for v in labels if v is not None and v not in NO_TOPIC}))}
    topics = np.array([codes.get(value, -1) if value is not None else -1 for value in labels], np.int32)
    points = DocumentVectors(embedding_matrix(table.column("embedding")), topics, EMBEDDINGS)
    add_separation(result, points, names, len(codes), settings.uncertainty)


def _points(target: TopicTarget, run: Run, settings: EvaluationSettings) -> DocumentVectors:
    stored = _stored(run)
    if stored is not None and settings.reference is None:
        return stored
    reference = reference_of(target, settings.reference, settings.read)
    if reference is None:
        raise need_reference(target, "silhouette")
    table = run.table("documents", ["id", "topic"])
    topic_of = dict(zip(table.column("id").to_pylist(), table.column("topic").to_pylist(), strict=True))
    with reference.corpus.open() as stream:
        if "embedding" in stream.schema.names:
            ids, rows = [], []
            for batch in stream:
                names = batch.column("id").to_pylist()
                known = np.array([name in topic_of for name in names], bool)
                rows.append(embedding_matrix(pa.chunked_array([batch.column("embedding")]))[known])
                ids += names
            kept, topics = _matched(target, ids, topic_of)
            return DocumentVectors(np.concatenate(rows), topics, EMBEDDINGS)
    if stored is not None:
        return stored
    documents, tokens, _ = token_table(reference, settings.threads)
    kept, topics = _matched(target, documents.column("id").to_pylist(), topic_of)
    counts = count_terms(tokens)
    cf = np.asarray(counts.sum(axis=0), np.int64).ravel()
    df = np.bincount(counts.indices, minlength=tokens.n_terms)
    weights = weighting(CorpusStats(tokens.n_docs, tokens.terms, cf, df), Scheme()).weigh(counts)
    return DocumentVectors(weights[kept], topics, TFIDF)


def _stored(run: Run) -> DocumentVectors | None:
    """Return the embeddings that a run was fitted to, a row for each different text, None of a run without any."""
    if run.manifest["kind"] != "bertopic":  # what lda-gibbs knows of its training documents has no embeddings
        return None
    table = run.table("model/training", ["topic", "embedding"])
    topics = table.column("topic").to_numpy().astype(np.int32)
    return DocumentVectors(embedding_matrix(table.column("embedding")), topics, EMBEDDINGS)


def _matched(target: TopicTarget, ids: Sequence[str], topic_of: Mapping[str, int]) -> tuple[Any, IntArray]:
    kept = np.array([i for i, name in enumerate(ids) if name in topic_of], np.int64)
    if not len(kept):
        raise InputError(
            f"none of the {len(ids):,} documents of the reference is one of {target.name}, such as '{ids[0] if ids else ''}'; "
            "silhouette and DBCV need the documents of the fit"
        )
    return kept, np.array([topic_of[ids[i]] for i in kept], np.int32)
