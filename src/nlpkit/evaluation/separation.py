"""How far the documents of a topic lie from those of others: silhouette and DBCV, on embeddings or tf-idf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlpkit.evaluation.results import TargetResult
from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.dbcv import dbcv
from nlpkit.metrics.score import Score, Uncertainty, mean_score
from nlpkit.metrics.separation import silhouette
from nlpkit.types import IntArray

EMBEDDINGS, TFIDF = "embeddings", "tf-idf"


@dataclass(frozen=True, slots=True)
class DocumentVectors:
    """Documents as rows (D, E), their topics (D,), and what the rows are: embeddings or tf-idf."""

    rows: Any
    topics: IntArray
    kind: str


def add_separation(
    result: TargetResult, points: DocumentVectors, names: Sequence[str], K: int, uncertainty: Uncertainty
) -> None:
    """Add silhouette and DBCV of the K topics of documents."""
    if len(np.unique(points.topics[points.topics >= 0])) < 2:
        for name in names:
            result.add(Score(METRICS[name], None, "documents", 0, why="all documents are of one topic"))
        return
    for name in names:
        parameters = {"on": points.kind, "metric": "cosine", "without_topic": int((points.topics < 0).sum())}
        interval = median = None
        if name == "silhouette":
            separation = silhouette(points.rows, points.topics, metric="cosine", seed=uncertainty.seed)
            assert separation.of_documents is not None
            whole = mean_score(METRICS[name], separation.of_documents, uncertainty, over="documents")
            interval, median = whole.interval, whole.median
        elif points.kind == EMBEDDINGS:
            separation = dbcv(points.rows, points.topics, seed=uncertainty.seed)
            parameters["metric"] = "euclidean"
        else:
            why = "it needs embeddings: `reference=DOCS` with a column embedding (`embed()`)"
            result.add(Score(METRICS[name], None, "documents", 0, why=why))
            continue
        values = np.full(K, np.nan)
        values[: len(separation.of_clusters)] = separation.of_clusters[:K]
        value = separation.score if np.isfinite(separation.score) else None
        why = "" if value is not None else "no topic has enough documents"
        result.add(
            Score(METRICS[name], value, "documents", separation.n_used, parameters, values, median, interval, why=why)
        )
