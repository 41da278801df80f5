"""Topics by partition: k-means of embeddings that are averaged with their neighbours; every document has a topic."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.topics.clustering import Clustering, Points
from nlpkit.topics.evidence import choose_number
from nlpkit.topics.kmeans import KMeansFits, plain_view, smoothed


def kmeans_clusters(points: Points) -> Clustering:
    """Return k-means clusters: as many as asked for, or as the evidence for the numbers in the range says.

    Raises:
        InputError: more topics are asked for than there are different documents, or the range has no number to compare.
    """
    wanted, execution = points.options.number_of_topics(), points.execution
    points.progress("topics", 0.0)
    candidates = []
    if wanted.exactly is None:
        candidates = choose_number(
            points.embeddings,
            points.counts,
            wanted=wanted.within,
            n_neighbors=points.options.n_neighbors,
            execution=execution,
        )
        points.clock.lap("evidence")
    k = wanted.exactly or next(c.k for c in candidates if c.chosen)
    if k > points.n:
        raise InputError(f"cannot make {k} topics from {points.n} different documents; give `k={points.n}` or less")
    with threadpool_limits(1, user_api="blas"):
        view = plain_view(smoothed(points.embeddings, points.neighbours))
        labels, _ = KMeansFits(view, seed=execution.seed).fit(k)
    return Clustering(labels, tuple(candidates))
