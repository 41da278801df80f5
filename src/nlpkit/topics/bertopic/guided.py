"""Topics guided by what is known before: labels of documents, names of topics, words of topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.classify.models.logistic import fit_logistic
from nlpkit.cluster.assign import topic_centroids
from nlpkit.cluster.hierarchy import Repeat, smoothed
from nlpkit.cluster.neighbours import Neighbours, nearest_neighbours, unit_rows
from nlpkit.cluster.options import Range
from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray
from nlpkit.topics.bertopic.clustering import Clustering, Points
from nlpkit.topics.bertopic.density import finer_divisions, halved, merged, topic_tree
from nlpkit.topics.bertopic.engine import Engine
from nlpkit.topics.bertopic.evidence import Sample, samples

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
    """Topics that are there before a fit: names (J,) and where they lie.

    directions: gives, for embeddings (n, E) and counts of words (n, V) of some documents, unit vectors (J, E), or 0 for a topic that
    no document can be near to. A document belongs to the topic whose direction has the greatest cosine with its embedding, averaged
    with its neighbours and seen from the mean of all documents, if that is at least `least`.
    """

    names: tuple[str, ...]
    directions: Callable[[Float32Array, CsrMatrix], Float32Array]
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
    left, none are found among them. Coarser layers merge topics, given ones as well; a finer one divides them by a clustering of all
    documents into twice as many. A second fit is one to the other half of the documents.

    Raises:
        UsageError: fewer topics are asked for than are given; InputError: no document is near to any, or too few are left.
    """
    J, wanted = len(predefined.names), points.options.number_of_topics()
    most = wanted.exactly or wanted.within.high
    if most is not None and most < J:
        raise UsageError(f"`k={points.options.k}`: {J} topics are given; use `k={J}` or more, or auto", parameter="k")
    X = points.embeddings
    nearest, cosine = _nearest_direction(X, points.neighbours, X, predefined.directions(X, points.counts))
    least = -np.inf if most == J else predefined.least
    near = cosine >= least
    labels = np.where(near, nearest, -1).astype(np.int32)
    rest = np.flatnonzero(~near)
    if len(rest) == points.n:
        raise InputError(
            f"no document is close to any of the {J} given topics (the largest cosine is {cosine.max():.2f}); give "
            f"other topics, or a `least_similarity` below {predefined.least:g}",
            parameter="least_similarity",
        )
    others_wanted = wanted.exactly - J if wanted.exactly else None
    if others_wanted is not None and len(rest) < others_wanted:
        raise InputError(
            f"{len(rest)} different documents are close to none of the {J} given topics, which is too few for "
            f"{others_wanted} more; give `k={J + len(rest)}` or less, or a `least_similarity` above "
            f"{predefined.least:g}",
            parameter="k",
        )
    others = None
    if len(rest) and (others_wanted or (others_wanted is None and len(rest) >= FEWEST_OTHERS)):
        others = cluster(_part(points, rest, J))
        labels[rest] = others.labels + J
    K = max(int(labels.max()) + 1, J)
    sample = samples(X, Engine(points.options, points.execution))[0]

    @cache
    def second_fits() -> list[Repeat]:
        again = _by_other_half(points, replace(predefined, least=least), sample)
        return [again] if others is None else [_with_others(again, labels, J, rest, r) for r in others.repeats(K - J)]

    def repeats(k: int) -> list[Repeat]:
        if k > K:
            return sample.repeats(k)
        fits = second_fits()
        trees = [topic_tree(topic_centroids(X[fit.rows], fit.topics, K)) for fit in fits]
        return [replace(fit, topics=merged(fit.topics, tree, k)) for fit, tree in zip(fits, trees, strict=True)]

    return Clustering(
        labels, others.candidates if others else (), coarser=tuple(halved(K)), divisions=finer_divisions(points, K),
        repeats=repeats, names=predefined.names,
    )  # fmt: skip


def _nearest_direction(
    X: Float32Array, neighbours: Neighbours, fitted: Float32Array, directions: Float32Array
) -> tuple[IntArray, Float32Array]:
    """Return the direction of greatest cosine of each row of X (n,), seen from the mean of the fitted ones, and the cosine."""
    seen = unit_rows(smoothed(X, neighbours) - fitted.mean(axis=0, dtype=np.float64))
    with threadpool_limits(1, user_api="blas"):
        cosine = seen @ directions.T
    cosine[:, ~directions.any(axis=1)] = -1.0
    return cosine.argmax(axis=1).astype(np.int32), cosine.max(axis=1)


def _by_other_half(points: Points, predefined: PredefinedTopics, sample: Sample) -> Repeat:
    """Return the given topic that each row of a sample has by the half of the sample in which it is not, -1 for none.

    That half tells where the mean lies, and the seed words.
    """
    X, counts = sample.embeddings, points.counts[sample.rows]
    topics = np.empty(len(X), np.int32)
    parts = sample.split(0).parts
    for part, other in zip(parts, parts[::-1], strict=True):
        directions = predefined.directions(X[other], counts[other])
        nearest, cosine = _nearest_direction(X[part], sample.engine.neighbours(X[part]), X[other], directions)
        topics[part] = np.where(cosine >= predefined.least, nearest, -1)
    return Repeat(sample.rows, topics)


def _with_others(predefined: Repeat, labels: IntArray, J: int, rest: LongArray, others: Repeat) -> Repeat:
    """Return a second fit of all topics from one of those given and one of the others, which knows some of the `rest`.

    A document has the given topic of the one, else the topic of the other. Those that have one of the other topics (labels), of which
    the second fit knows nothing, are left out.
    """
    topics = np.full(len(labels), -1, np.int32)
    topics[rest[others.rows]] = others.topics + J
    known = labels < J
    known[rest[others.rows]] = True
    rows = known[predefined.rows]
    both = np.where(predefined.topics >= 0, predefined.topics, topics[predefined.rows])
    return Repeat(predefined.rows[rows], both[rows])


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
