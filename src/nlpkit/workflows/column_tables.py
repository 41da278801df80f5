"""Tables that a run has of the columns its model took: coefficients of a label, topics of authors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nlpkit.topics.supervised.restricted import NameSets
from nlpkit.types import FloatArray


def coefficients_table(coef: FloatArray, names: tuple[str, ...]) -> pa.Table:
    """Return topic, class, coefficient: of a number the change from one topic to another, with class null; of classes log-odds.

    Of two classes only the second is listed, with its log-odds against the first.
    """
    if len(names) == 2:
        coef, names = coef[:, 1:] - coef[:, :1], names[1:]
    K, C = coef.shape
    return pa.table(
        {
            "topic": pa.array(np.repeat(np.arange(K), C), pa.int32()),
            "class": pa.array([*names] * K if names else [None] * K, pa.string()),
            "coefficient": pa.array(coef.ravel()),
        }
    )


def authors_table(authors: NameSets, counts: FloatArray, alpha: float) -> pa.Table:
    """Return author, documents, n_tokens, topic, prob: θ_ak = (n_ak + α) / (n_a + Kα), the most probable topics of an author first.

    All topics of an author are there; an author without tokens is left out.
    """
    K = counts.shape[1]
    tokens = counts.sum(axis=1)
    theta = (counts + alpha) / (tokens + K * alpha)[:, None]
    author, topic = np.nonzero(np.where(tokens[:, None] > 0, theta, 0.0))
    prob = theta[author, topic]
    order = np.lexsort((topic, -prob, author))
    author, topic, prob = author[order], topic[order], prob[order]
    names = pa.array(authors.names, pa.string())
    return pa.table(
        {
            "author": names.take(pa.array(author)),
            "documents": pa.array(authors.documents[author], pa.int32()),
            "n_tokens": pa.array(tokens[author].astype(np.int64)),
            "topic": pa.array(topic, pa.int32()),
            "prob": pa.array(prob, pa.float32()),
        }
    )
