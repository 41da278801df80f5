"""The map in the report of a topic run: vectors of the documents that the run holds, and their places."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit import reporting
from nlpkit.io.documents import embedding_matrix
from nlpkit.io.table_spec import numbers
from nlpkit.parameters import Execution
from nlpkit.report.colours import spread_colours
from nlpkit.topics.map import document_map, share_vectors
from nlpkit.types import Float32Array, IntArray
from nlpkit.values import python_values
from nlpkit.workflows.report_topics import TopicRunContent


def map_vectors(content: TopicRunContent) -> Float32Array | None:
    """Return the vectors (n, E) of the documents in the file, by which the map is made; None where the run holds none."""
    run, K = content.run, content.n_topics
    if not run.is_mixture:
        with run.intact():
            return _embedding_rows(content)
    table = run.table("doc_topics")
    with run.intact():
        ids = content.documents.column("id").take(pa.array(content.rows))
        rows = pc.index_in(table.column("id"), value_set=ids)
        there = rows.is_valid().to_numpy()
        return share_vectors(
            rows.drop_null().to_numpy().astype(np.int32),
            table.column("topic").to_numpy()[there],
            table.column("prob").to_numpy()[there].astype(np.float64),
            (len(content.rows), K),
        )


def _embedding_rows(content: TopicRunContent) -> Float32Array | None:
    """Return the embeddings of the documents in the file (n, E), zeros for those that were not used.

    The model holds one for each different text, with the document that had it first and what the text was given; further documents
    are joined to it by these numbers. Runs of before 2026-12 do not say which was first: all are joined so, in the order of both.
    """
    training = content.run.table("model/training")
    columns = ("topic", "topic_prob", "nearest_topic", "margin")
    queues: dict[tuple[Any, ...], deque[int]] = {}
    for row, key in enumerate(zip(*(python_values(training.column(name)) for name in columns), strict=True)):
        queues.setdefault(key, deque()).append(row)
    places = np.full(content.documents.num_rows, -1, np.int64)
    others: IntArray = np.arange(len(places), dtype=np.int32)
    if "row" in training.column_names:
        with content.run.intact():
            places[numbers(training, "row", least=0)] = np.arange(training.num_rows)
        others = content.rows[places[content.rows] < 0]
    keys = zip(*(python_values(content.documents.column(name).take(pa.array(others))) for name in columns), strict=True)
    for document, key in zip(others, keys, strict=True):
        queue = queues.get(key)
        if queue:
            places[document] = queue.popleft() if len(queue) > 1 else queue[0]
    places = places[content.rows]
    if (places < 0).mean() > 0.5:
        return None
    vectors = embedding_matrix(training.column("embedding"))
    chosen: Float32Array = np.where(places[:, None] >= 0, vectors[places], np.float32(0))
    return chosen


def topic_colours(content: TopicRunContent, relations: Mapping[str, Any]) -> list[str]:
    """Return a colour for each topic, the same in all pictures: no two are equal, and those of near topics differ most."""
    sizes = content.topics.column("size").to_numpy()
    return spread_colours(np.asarray(relations["places"], np.float64), sizes.astype(np.float64))


def map_arrays(content: TopicRunContent, execution: Execution) -> dict[str, np.ndarray]:
    """Return x, y of the documents in the file (n,) uint16, or nothing where the run holds no vectors."""
    vectors = map_vectors(content)
    if vectors is None:
        reporting.warn("the run does not store the vectors of its documents, so the report has no map", always=True)
        return {}
    with reporting.progress("map", 100, percent=True) as update:
        places = document_map(
            vectors, seed=execution.seed, threads=execution.n_threads(), progress=lambda share: update(int(100 * share))
        )
    steps = np.round(np.clip(places, 0, 1) * 65535).astype(np.uint16)
    return {"x": steps[:, 0], "y": steps[:, 1]}
