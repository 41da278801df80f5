"""Topics guided by what is known before: labels of documents, names of topics, words of topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.classify.logistic import fit_logistic
from nlpkit.errors import InputError, UsageError
from nlpkit.topics.clustering import Clustering, Points
from nlpkit.topics.kmeans import smoothed
from nlpkit.topics.neighbours import nearest_neighbours, unit_rows
from nlpkit.topics.options import Range
from nlpkit.topics.stability import Repeat
from nlpkit.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray

BLOCK_ROWS = 8192
INVERSE_PENALTY = 10.0
NAME_SIMILARITY = 0.2
WORD_SIMILARITY = 0.4
FEWEST_OTHERS = 10


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


@dataclass(frozen=True, slots=True)
class PredefinedTopics:
    """Topics that are there before a fit: names (J,), directions (J, E) of unit length, or 0 for one that no document can be near to.

    A document belongs to the topic whose direction has the greatest cosine with its embedding, averaged with its neighbours and
    seen from the mean of all documents, if that is at least `least`.
    """

    names: tuple[str, ...]
    directions: Float32Array
    least: float


def directions_of_names(vectors: FloatArray, reference: Float32Array) -> Float32Array:
    """Return where names point to (J, E), seen from the mean of all names and a text about nothing (1, E).

    Texts that name a topic are alike, whatever they name, and unlike documents; what is left tells the names apart.
    """
    return unit_rows(vectors - np.vstack([vectors, reference]).mean(axis=0))


def directions_of_words(embeddings: Float32Array, dtm: CsrMatrix, seeds: Sequence[Sequence[int]]) -> Float32Array:
    """Return where the documents that hold seed words lie (J, E), seen from the mean of all; 0 for a topic without any.

    A document counts by the square of Σ_w ln(D / df_w) over the seed words in it: two seed words count more than twice one.

    Args:
        dtm: (D, V) counts; seeds: term ids of each topic.
    """
    present = dtm.astype(bool).astype(np.float64)
    idf = np.log(dtm.shape[0] / np.maximum(np.asarray(present.sum(axis=0)).ravel(), 1.0))
    mean = embeddings.mean(axis=0, dtype=np.float64)
    directions = np.zeros((len(seeds), embeddings.shape[1]))
    for j, terms in enumerate(seeds):
        weights = (present[:, list(terms)] @ idf[list(terms)]) ** 2
        if weights.any():
            directions[j] = weights @ embeddings / weights.sum() - mean
    return unit_rows(directions)


def with_predefined_topics(
    points: Points, predefined: PredefinedTopics, cluster: Callable[[Points], Clustering]
) -> Clustering:
    """Return a clustering whose first topics are those given, and whose others are found among the documents near to none of them.

    `k` counts all topics. As many as are predefined: every document belongs to the nearest of these. With fewer than ten documents
    left, none are found among them.

    Raises:
        UsageError: fewer topics are asked for than are given; InputError: no document is near to any, or too few are left.
    """
    J, wanted = len(predefined.names), points.options.number_of_topics()
    most = wanted.exactly or wanted.within.high
    if most is not None and most < J:
        raise UsageError(f"`k={points.options.k}`: {J} topics are given; give `k={J}` or more, or auto", parameter="k")
    nearest, cosine = _nearest_direction(points, predefined.directions)
    near = np.ones(points.n, bool) if most == J else cosine >= predefined.least
    labels = np.where(near, nearest, -1).astype(np.int32)
    rest = np.flatnonzero(~near)
    if len(rest) == points.n:
        raise InputError(
            f"no document is near to any of the {J} topics given (the largest cosine is {cosine.max():.2f}); give other ones, or a "
            f"`least_similarity` below {predefined.least:g}",
            parameter="least_similarity",
        )
    others_wanted = wanted.exactly - J if wanted.exactly else None
    if most == J or (others_wanted is None and len(rest) < FEWEST_OTHERS):
        return Clustering(labels, names=predefined.names)
    if others_wanted is not None and len(rest) < others_wanted:
        raise InputError(
            f"{len(rest)} different documents are near to none of the {J} topics given, too few for {others_wanted} more; "
            f"give `k={J + len(rest)}` or less, or a `least_similarity` above {predefined.least:g}",
            parameter="k",
        )
    others = cluster(_part(points, rest, J))
    labels[rest] = others.labels + J

    def repeats(k: int) -> list[Repeat]:
        return [Repeat(rest[r.rows], r.topics) for r in (others.repeats(k - J) if k > J else ())]

    return Clustering(labels, others.candidates, repeats=repeats, names=predefined.names)


def _nearest_direction(points: Points, directions: Float32Array) -> tuple[IntArray, Float32Array]:
    """Return the direction of greatest cosine of each point (U,), and the cosine."""
    X = points.embeddings
    seen = unit_rows(smoothed(X, points.neighbours) - X.mean(axis=0, dtype=np.float64))
    with threadpool_limits(1, user_api="blas"):
        cosine = seen @ directions.T
    cosine[:, ~directions.any(axis=1)] = -1.0
    return cosine.argmax(axis=1).astype(np.int32), cosine.max(axis=1)


def _part(points: Points, rows: LongArray, n_predefined: int) -> Points:
    """Return some of the points, among which as many topics are to be found as are left after those given."""
    options, wanted = points.options, points.options.number_of_topics()
    k: int | str = options.k
    if wanted.exactly:
        k = wanted.exactly - n_predefined
    elif wanted.within != Range():
        low, high, step = wanted.within.low, wanted.within.high, wanted.within.step
        assert high is not None
        k = ":".join(str(n) for n in (max(low - n_predefined, 1), high - n_predefined, step) if n is not None)
    X = points.embeddings[rows]
    near = nearest_neighbours(X, k=options.n_neighbors - 1, threads=points.execution.n_threads())
    return replace(points, embeddings=X, neighbours=near, counts=points.counts[rows], options=replace(options, k=k))
