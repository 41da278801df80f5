"""Topics guided by what is known of documents: the rows that are clustered in place of the embeddings."""

from __future__ import annotations

import numpy as np

from nlpkit.classify.logistic import fit_logistic
from nlpkit.topics.neighbours import unit_rows
from nlpkit.types import Float32Array, IntArray

BLOCK_ROWS = 8192
INVERSE_PENALTY = 10.0


def with_classes(embeddings: Float32Array, labels: IntArray, *, threads: int = 1) -> Float32Array:
    """Return embeddings with the probability of each class appended, scaled to unit length (D, E + J).

    Documents of one class come closer together and those of others move apart, as far as the embeddings tell classes apart: where
    a logistic regression on the labelled documents is unsure, the probabilities are flat and change nothing. A document with a
    label has probability 1 for it. Groups inside a class, and documents unlike all labelled ones, stay groups. Seeds of k-means
    (Basu, Banerjee & Mooney 2002) act on its centers alone, and with few labels hardly at all.

    Args:
        embeddings: (D, E) rows of unit length.
        labels: (D,) class of each document, 0 … J - 1, each there and J at least 2; -1 for none.
        threads: at work at a time; bytes do not depend on it.
    """
    known = np.flatnonzero(labels >= 0)
    J = int(labels.max()) + 1
    model = fit_logistic(
        embeddings[known].astype(np.float64), labels[known], J, C=INVERSE_PENALTY, threads=threads
    )  # fmt: skip
    rows = np.empty((len(embeddings), embeddings.shape[1] + J), np.float32)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        probabilities = model.probabilities(embeddings[block])
        assert probabilities is not None
        labelled = np.flatnonzero(labels[block] >= 0)
        probabilities[labelled] = np.eye(J)[labels[block][labelled]]
        rows[block] = unit_rows(np.hstack([embeddings[block], probabilities]))
    return rows
