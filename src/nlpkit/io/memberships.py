"""The topics of the documents of a run: the main one of each, or their mixture as doc_topics.parquet has it."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from scipy import sparse

from nlpkit.io.run_reading import numbers
from nlpkit.io.runs import MIXTURES, Run
from nlpkit.topics.prevalence import Membership, one_topic_each

TOPIC_RUNS = ("bertopic", *MIXTURES)


def read_membership(run: Run, *, mixed: bool) -> Membership:
    """Return which topics the documents (D,) of a run have, in their order.

    Args:
        mixed: all topics by their probability; what doc_topics.parquet leaves out is spread over the others by their alpha, evenly where a
            run has none.

    Raises:
        InputError: the run is damaged.
    """
    names = run.table("documents", ["id", "topic"])
    K = run.table("topics", ["topic"]).num_rows
    with run.intact():
        topics = numbers(names, "topic", least=-1, most=K - 1).astype(np.int32)
        if not mixed:
            return one_topic_each(topics, K)
        listed = run.table("doc_topics", ["id", "topic", "prob"])
        stored = run.table("topics")
        rows = pc.index_in(listed.column("id"), value_set=names.column("id").combine_chunks())
        if rows.null_count:
            raise ValueError("documents of doc_topics.parquet that are not in documents.parquet")
        of_topic, prob = numbers(listed, "topic", least=0, most=K - 1), numbers(listed, "prob", least=0, most=1.0001)
        prior = numbers(stored, "alpha", least=0).astype(np.float64) if "alpha" in stored.column_names else np.ones(K)
        shape = (len(topics), K)
        weights = sparse.coo_array((prob.astype(np.float64), (rows.to_numpy(), of_topic)), shape=shape).tocsr()
        none = np.diff(weights.indptr) == 0
    return Membership(weights, none, prior if prior.any() else np.ones(K))
