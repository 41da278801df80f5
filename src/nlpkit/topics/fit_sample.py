"""Fits to a sample of a large corpus: which points are fitted, and how the others get what was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlpkit.errors import InputError
from nlpkit.topics.assign import rule, vote
from nlpkit.topics.clustering import Clustering, Points
from nlpkit.topics.neighbours import Neighbours, nearest_neighbours, row_digests
from nlpkit.topics.options import FIT_ALL_UP_TO, FIT_SAMPLE, FITTED_PER_TOPIC, BertopicOptions
from nlpkit.types import NO_TOPIC, Float32Array, IntArray, LongArray

BLOCK_ROWS = 65_536


def sample_size(options: BertopicOptions, n: int) -> int:
    """Return how many of n points a fit takes: `all`, a number, or `auto`.

    `auto` is all up to FIT_ALL_UP_TO, else FIT_SAMPLE, or FITTED_PER_TOPIC for each topic that is asked for where that is more.

    Raises:
        InputError: more topics are asked for than points are fitted.
    """
    wanted, number = options.fit_sample, options.number_of_topics()
    k = number.exactly or number.within.high or 1
    if wanted == "auto":
        return n if n <= FIT_ALL_UP_TO else min(max(FIT_SAMPLE, FITTED_PER_TOPIC * k), n)
    size = n if wanted == "all" else min(int(wanted), n)
    if size < n and (number.exactly or 0) > size:
        raise InputError(
            f"`fit_sample={size}`: {k} topics cannot be made of so many documents; give `fit_sample={FITTED_PER_TOPIC * k}`, auto or "
            f"all, or `k={size}` or less",
            parameter="fit_sample",
        )
    return size


def sampling_order(rows: Float32Array, *, seed: int) -> LongArray:
    """Return the points (U,) in the order in which samples take them: that of a hash of their embeddings and the seed.

    Whether a document is in a sample depends on itself, the seed and how many others come before, not on its place in the corpus.
    """
    digests = row_digests(rows, 8, key=seed.to_bytes(16, "little", signed=True))
    return np.argsort(digests.view("<u8"), kind="stable")


def neighbours_among(rows: Float32Array, fitted: LongArray, *, k: int, threads: int) -> Neighbours:
    """Return the k nearest of the fitted rows for each row (U, k), itself left out.

    Args:
        rows: (U, E) L2-normalised; fitted: (F,) rows, ascending.
    """
    points = rows if len(fitted) == len(rows) else rows[fitted]
    near = nearest_neighbours(points, k=k, threads=threads)
    if len(fitted) == len(rows):
        return near
    index = np.empty((len(rows), near.index.shape[1]), np.int32)
    similarity = np.empty(index.shape, np.float32)
    index[fitted], similarity[fitted] = fitted[near.index], near.similarity
    others = np.setdiff1d(np.arange(len(rows)), fitted, assume_unique=True)
    for start in range(0, len(others), BLOCK_ROWS):
        some = others[start : start + BLOCK_ROWS]
        near = nearest_neighbours(rows[some], points, k=index.shape[1], threads=threads)
        index[some], similarity[some] = fitted[near.index], near.similarity
    return Neighbours(index, similarity)


def by_neighbours(points: Points, labels: IntArray) -> IntArray:
    """Return the labels (U,) of all points: those of the fitted (F,) as they are, of the others by the rule for new text.

    Args:
        labels: (F,), -1 for none.
    """
    if len(points.fitted) == points.n:
        return labels
    every = np.full(points.n, NO_TOPIC, np.int32)
    every[points.fitted] = labels
    labelled, _ = rule(vote(points.neighbours, every))
    labelled[points.fitted] = labels
    return labelled


def for_all(clustering: Clustering, points: Points) -> Clustering:
    """Return a clustering of the fitted points (F,) as one of all points (U,)."""
    return replace(
        clustering,
        labels=by_neighbours(points, clustering.labels),
        divisions=tuple(by_neighbours(points, z) for z in clustering.divisions),
        repeats=lambda k: [replace(r, rows=points.fitted[r.rows]) for r in clustering.repeats(k)],
    )
