"""theta and phi of a run as long tables, batch by batch, of which nothing above 0 is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from scipy import sparse

from nlpkit.io.memberships import read_theta
from nlpkit.io.mixture_tables import read_model
from nlpkit.io.runs import Run
from nlpkit.io.topic_words import read_topic_words
from nlpkit.topics.mixtures.model import CELLS, MixtureModel
from nlpkit.types import FloatArray, LongArray


def theta_rows(run: Run, names: Sequence[str], *, first: int = 0) -> pa.RecordBatchReader:
    """Return document, topic and probability: theta of a mixture model as it was fitted, of bertopic the shares of votes.

    Args:
        names: of the three columns. first: number of the first topic.
    """
    schema = pa.schema(list(zip(names, (pa.string(), pa.int32(), pa.float64()), strict=True)))
    return pa.RecordBatchReader.from_batches(schema, _theta_batches(run, schema, first))


def _theta_batches(run: Run, schema: pa.Schema, first: int) -> Iterator[pa.RecordBatch]:
    if not run.is_mixture:
        listed = run.table("doc_topics")
        topic = pa.array(listed.column("topic").to_numpy() + first)
        votes = pa.table([listed.column("id"), topic, listed.column("prob")], names=schema.names)
        yield from votes.cast(schema).to_batches()
        return
    theta, ids = read_theta(run), run.table("documents", ["id"]).column("id").combine_chunks()
    step = max(1, CELLS // run.table("topics", ["topic"]).num_rows)
    for start in range(0, len(ids), step):
        block = theta(slice(start, start + step))
        document, topic = np.nonzero(block)
        columns = [
            ids.take(pa.array(start + document)),
            pa.array(topic + first, pa.int32()),
            pa.array(block[document, topic]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def phi_rows(run: Run, names: Sequence[str], *, first: int = 0) -> pa.RecordBatchReader:
    """Return topic, term and weight, the heaviest first: phi of a mixture model, of bertopic the c-tf-idf of the words it stores."""
    schema = pa.schema(list(zip(names, (pa.int32(), pa.string(), pa.float64()), strict=True)))
    return pa.RecordBatchReader.from_batches(schema, _phi_batches(run, schema, first))


def _phi_batches(run: Run, schema: pa.Schema, first: int) -> Iterator[pa.RecordBatch]:
    for k, (terms, term_ids, weights) in enumerate(_words(run)):
        order = np.lexsort((term_ids, -weights))
        topic = pa.array(np.full(len(order), k + first, np.int32))
        columns = [topic, terms.take(pa.array(term_ids[order])), pa.array(weights[order])]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _words(run: Run) -> Iterator[tuple[pa.Array, LongArray, FloatArray]]:
    """Yield all terms, and the ids and weights of those of each topic that have any weight."""
    if run.is_mixture:
        model = read_model(run)
        terms = pa.array(model.terms, pa.string())
        for k in range(model.n_topics):
            phi = MixtureModel(model.terms, sparse.csr_array(model.topic_term[[k]]), model.alpha[[k]], model.eta).phi[0]
            held = np.flatnonzero(phi)
            yield terms, held, phi[held]
        return
    stored = read_topic_words(run)
    terms, weights = pa.array(stored.terms, pa.string()), stored.weights
    for k in range(weights.shape[0]):
        row = slice(weights.indptr[k], weights.indptr[k + 1])
        yield terms, weights.indices[row].astype(np.int64), weights.data[row]
