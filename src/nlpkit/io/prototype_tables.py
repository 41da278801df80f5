"""The tables of an LDA prototype in its run directory: S-CLOP, matches and agreement of the chains."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nlpkit.io.mixture_runs import Additions
from nlpkit.topics.lda.chains import ComparedChains
from nlpkit.types import LongArray

MAX_STORED = 5000  # topics of all chains whose similarities are written out: 100 MB


def prototype_additions(compared: ComparedChains, order: LongArray) -> Additions:
    """Return S-CLOP, matches and agreement of the chains, for a run whose topics are those of the prototype.

    Args:
        order: (K,) number in the chain of each topic of the run.
    """
    prototype, R = compared.prototype, len(compared.runs.seeds)
    numbers = np.arange(R)
    is_prototype = numbers == prototype.run
    tables = {
        "prototype": pa.table(
            {
                "run": pa.array(numbers, pa.int32()),
                "seed": pa.array(compared.runs.seeds, pa.int64()),
                "mean_sclop": pa.array(prototype.mean_sclop),
                "log_likelihood": pa.array(compared.runs.log_likelihood),
                "prototype": pa.array(is_prototype),
                "sclop": pa.array([[None if np.isnan(v) else float(v) for v in row] for row in prototype.sclop]),
            }
        )
    }
    topics, others = np.repeat(np.arange(len(order)), R - 1), np.tile(numbers[~is_prototype], len(order))
    tables["matched_topics"] = pa.table(
        {
            "topic": pa.array(topics, pa.int32()),
            "run": pa.array(others, pa.int32()),
            "matched": pa.array(prototype.matches[order][:, ~is_prototype].ravel(), pa.int32()),
            "similarity": pa.array(prototype.match_similarity[order][:, ~is_prototype].ravel(), pa.float32()),
        }
    )
    if len(prototype.similarity) <= MAX_STORED:
        sizes = np.diff(prototype.offsets)
        tables["topic_similarity"] = pa.table(
            {
                "run": pa.array(np.repeat(numbers, sizes), pa.int32()),
                "topic": pa.array(np.concatenate([np.arange(n) for n in sizes]), pa.int32()),
                "similarity": pa.FixedSizeListArray.from_arrays(
                    pa.array(prototype.similarity.ravel(), pa.float32()), len(prototype.similarity)
                ),
            }
        )
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
