"""What the tables of a topic model tell of one topic: its number, its words, its documents and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nlpkit.errors import InputError
from nlpkit.platform import reporting, wording
from nlpkit.platform.documents.options import ReadOptions
from nlpkit.platform.runs.reading import open_run_documents
from nlpkit.platform.runs.runs import Run
from nlpkit.platform.runs.table_spec import numbers
from nlpkit.platform.types import FloatArray, LongArray

BESIDE = ("title", "date", "label", "source")  # columns that are shown beside a document


def number_of(topic: str | int, labels: Sequence[str], where: str, parameter: str) -> int:
    """Return the number of a topic that a person gives by number or name. Raises InputError when there is no such topic."""
    wanted = str(topic).strip()
    if wanted.isdecimal() and int(wanted) < len(labels):
        return int(wanted)
    same = [k for k, label in enumerate(labels) if label.casefold() == wanted.casefold()]
    if len(same) != 1:
        known = wording.listed([f"{k} {label}" for k, label in enumerate(labels)], 5, between="; ")
        raise InputError(
            f"`{parameter}={wanted}`: {where} has {'no topic' if not same else f'{len(same)} topics'} of this number or name "
            f"(there are: {known})",
            parameter=parameter,
        )
    return same[0]


def ranked_documents(
    documents: pa.Table, doc_topics: pa.Table | None, k: int, top: int
) -> tuple[LongArray, FloatArray]:
    """Return the rows of the documents that have most of a topic and how much, most first, ties in order.

    Args:
        doc_topics: the probabilities of topics in documents, for a mixture; None: each document has one topic, and its margin decides
            between equal probabilities.
    """
    if doc_topics is not None:
        listed = doc_topics.filter(pc.field("topic") == k)
        place = pc.index_in(listed.column("id"), value_set=documents.column("id").combine_chunks())
        rows, prob = place.to_numpy().astype(np.int64), numbers(listed, "prob")
        order = np.lexsort((rows, -prob))[:top]
    else:
        rows = np.flatnonzero(numbers(documents, "topic") == k)
        prob, margin = numbers(documents, "topic_prob")[rows], numbers(documents, "margin")[rows]
        order = np.lexsort((rows, -margin, -prob))[:top]
    return rows[order], np.asarray(prob[order], np.float64)


def texts_of_run(run: Run, ids: pa.ChunkedArray) -> pa.Array:
    """Return the texts of documents of a run, null where nlpkit cannot read the corpus of the run any more, with a warning."""
    try:
        with open_run_documents(run, ReadOptions()) as stream:
            return texts_of(stream, ids)
    except InputError as error:
        reporting.warn(f"no texts are shown: {error}")
        return pa.nulls(len(ids), pa.large_string())


def texts_of(batches: Iterable[pa.RecordBatch], ids: pa.ChunkedArray) -> pa.Array:
    """Return the texts of some documents, null for those that the batches do not have."""
    texts: dict[str, str] = {}
    wanted = ids.combine_chunks().unique()
    for batch in batches:
        kept = batch.filter(pc.is_in(batch.column("id"), value_set=wanted))
        texts |= dict(zip(kept.column("id").to_pylist(), kept.column("text").to_pylist(), strict=True))
        if len(texts) == len(wanted):
            break
    return pa.array([texts.get(name) for name in ids.to_pylist()], pa.large_string())
