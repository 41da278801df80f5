"""Topics by partition (k-means, agglomerative clustering, Gaussian mixtures): every document has a topic."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.topics.clustering import Clustering, Points
from nlpkit.topics.consensus import consensus, fits_to_parts
from nlpkit.topics.engine import Engine
from nlpkit.topics.evidence import POINTS_PER_TOPIC, choose_number, coarser, finer, samples
from nlpkit.topics.layers import halved
from nlpkit.types import IntArray


def partition(points: Points) -> Clustering:
    """Return clusters: as many as asked for, or as the evidence for the numbers in the range says.

    Raises:
        InputError: more topics are asked for than there are different documents, or the range has no number to compare.
    """
    options = points.options
    wanted, engine = options.number_of_topics(), Engine(options, points.execution)
    drawn = samples(points.embeddings, engine)
    sample = drawn[0]
    candidates = []
    if wanted.exactly is None:
        candidates = choose_number(
            drawn, points.counts, wanted.within, grain=options.grain,
            progress=lambda share: points.progress("evidence", share),
        )  # fmt: skip
        points.clock.lap("evidence")
    k = wanted.exactly or next(c.k for c in candidates if c.chosen)
    if k > points.n:
        raise InputError(f"cannot make {k} topics from {points.n} different documents; give `k={points.n}` or less")
    points.progress("topics", 0.0)
    with threadpool_limits(1, user_api="blas"):
        whole = len(sample.rows) == points.n
        fits = sample.fits if whole else engine.fits(engine.view(points.embeddings, points.neighbours))
        if options.ensemble > 1 and k > 1:
            members = fits_to_parts(engine, fits.points.astype(np.float32), k, options.ensemble)
            labels = consensus(members, k, seed=points.execution.seed)
        else:
            labels, _ = fits.fit(k)
        points.clock.lap("clusters")
        n_topics = len(set(labels.tolist()))
        if n_topics < k:
            raise InputError(
                f"`cluster={options.cluster}` finds documents for {n_topics} of {k} topics; give `k={n_topics}` or another `cluster`"
            )
        numbers = coarser(candidates, k), finer(candidates, k)
        if not candidates:
            numbers = halved(k), _doubled(k, points.n)
        divisions = tuple(fits.fit(n)[0] for n in numbers[1])
        points.clock.lap("layers")
    return Clustering(labels, tuple(candidates), coarser=tuple(numbers[0]), divisions=divisions, repeats=sample.repeats)


def finer_divisions(points: Points, k: int) -> tuple[IntArray, ...]:
    """Return a clustering of all points into twice as many as k, none where they are too few."""
    if not _doubled(k, points.n):
        return ()
    engine = Engine(points.options, points.execution)
    with threadpool_limits(1, user_api="blas"):
        fits = engine.fits(engine.view(points.embeddings, points.neighbours))
        return tuple(fits.fit(number)[0] for number in _doubled(k, points.n))


def _doubled(k: int, n: int) -> list[int]:
    """Return twice the number of topics of n points where enough points are there: a layer that no evidence speaks for."""
    return [2 * k] if 2 * k <= n // POINTS_PER_TOPIC else []
