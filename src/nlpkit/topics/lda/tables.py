"""The tables of an LDA prototype in its run directory: S-CLOP, matches and agreement of the chains."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nlpkit.platform.runs.table_spec import Column, TableSpec
from nlpkit.platform.types import LongArray
from nlpkit.topics.base.runs import Additions
from nlpkit.topics.lda.chain import ComparedChains

MAX_STORED = 5000  # topics of all chains whose similarities are written out: 100 MB
CHAINS = TableSpec(
    "prototype", "A chain of --prototype.",
    Column("run", pa.int32(), "Number of the chain."),
    Column("seed", pa.int64(), "Its random seed."),
    Column("mean_sclop", pa.float64(), "Its mean S-CLOP with the others."),
    Column("log_likelihood", pa.float64(), "Its log-likelihood."),
    Column("prototype", pa.bool_(), "Whether it became the run."),
    Column("sclop", pa.list_(pa.float64()), "S-CLOP with each chain, null with itself."),
)  # fmt: skip
MATCHED_TOPICS = TableSpec(
    "matched_topics", "A topic and another chain of --prototype; the mean of its similarities is agreement in topics.",
    Column("topic", pa.int32(), "Number of the topic."),
    Column("run", pa.int32(), "The other chain."),
    Column("matched", pa.int32(), "Its topic that is most alike, by its number in that chain; -1 for none."),
    Column("similarity", pa.float32(), "Similarity of the two."),
)  # fmt: skip
TOPIC_SIMILARITY = TableSpec(
    "topic_similarity", "A topic of a chain of --prototype.",
    Column("run", pa.int32(), "The chain."),
    Column("topic", pa.int32(), "Number in the chain; chain_topics in the manifest has those of the topics of the run."),
    Column("similarity", pa.list_(pa.float32()), "Similarity with all topics, in the order of the rows."),
)  # fmt: skip


def prototype_additions(compared: ComparedChains, order: LongArray) -> Additions:
    """Return S-CLOP, matches and agreement of the chains, for a run whose topics are those of the prototype.

    Args:
        order: (K,) number in the chain of each topic of the run.
    """
    prototype, R = compared.prototype, len(compared.runs.seeds)
    numbers = np.arange(R)
    is_prototype = numbers == prototype.run
    tables = {
        "prototype": CHAINS.table(
            run=numbers,
            seed=compared.runs.seeds,
            mean_sclop=prototype.mean_sclop,
            log_likelihood=compared.runs.log_likelihood,
            prototype=is_prototype,
            sclop=[[None if np.isnan(v) else float(v) for v in row] for row in prototype.sclop],
        )
    }
    topics, others = np.repeat(np.arange(len(order)), R - 1), np.tile(numbers[~is_prototype], len(order))
    matched, similarity = (
        values[order][:, ~is_prototype].ravel() for values in (prototype.matches, prototype.match_similarity)
    )
    tables["matched_topics"] = MATCHED_TOPICS.table(topic=topics, run=others, matched=matched, similarity=similarity)
    if len(prototype.similarity) <= MAX_STORED:
        sizes = np.diff(prototype.offsets)
        flat = pa.array(prototype.similarity.ravel(), pa.float32())
        tables["topic_similarity"] = TOPIC_SIMILARITY.table(
            run=np.repeat(numbers, sizes), topic=np.concatenate([np.arange(n) for n in sizes]),
            similarity=pa.FixedSizeListArray.from_arrays(flat, len(prototype.similarity))
        )  # fmt: skip
    return Additions(
        tables,
        topic_columns={"agreement": pa.array(prototype.agreement[order], pa.float32())},
        results={
            "prototype_run": prototype.run,
            "mean_sclop": round(float(prototype.mean_sclop[prototype.run]), 6),
            "mean_sclop_of_runs": round(float(prototype.mean_sclop.mean()), 6),
            "agreement": round(float(prototype.agreement.mean()), 6),
            "chain_topics": [int(k) for k in order],
        },
        parameters={"prototype": R, "similarity": compared.measure},
    )
