"""Topics that come back: the topics of many runs of a corpus, clustered by their words and by their documents.

Wilkerson & Casas (2017, section 4) fit LDA with many numbers of topics, cluster all of their topics by the cosine of their words,
and report how much of the corpus each cluster is, with the spread over the models. Here topics are compared by their documents, too,
and a cluster is robust where it came back in enough of the runs.

Further parts, in this order:
- The robust topics as a mixture model: what documents and words have of them, over the runs that have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from nlpkit.platform.types import NO_TOPIC, BoolArray, CsrMatrix, FloatArray, IntArray, LongArray
from nlpkit.topics.base.model import MixtureFit, MixtureModel, expected_counts, main_topics
from nlpkit.topics.base.prototype import cosine

NEIGHBOUR_QUANTILE = 0.9
LEAST_THRESHOLD, MOST_THRESHOLD = 0.3, 0.5
ROWS = 2048  # documents whose topics are dense at a time
REST = "not robust"  # name of the topic of all that did not come back


@dataclass(frozen=True, slots=True)
class RunTopics:
    """The topics of one run, over the terms and the documents of a corpus.

    words (K, V) CSR: how often a topic has a term. documents (D, K) CSR: share of a topic in a document; a row sums to 1, or is empty.
    present (D,): documents that the run has. segment: number of the segment that the run was fitted to, 0 where there is one.
    """

    words: CsrMatrix
    documents: CsrMatrix
    present: BoolArray
    segment: int = 0

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.words.shape[0])

    def probabilities(self) -> CsrMatrix:
        """Return the share of each term in each topic (K, V)."""
        totals = np.asarray(self.words.sum(axis=1), np.float64).ravel()
        scale = np.divide(1.0, totals, out=np.zeros(len(totals)), where=totals > 0)
        return sparse.csr_array(sparse.diags_array(scale) @ self.words)


@dataclass(frozen=True, slots=True)
class Clusters:
    """The topics of all runs, N in all, runs one after the other, as clusters.

    run (N,): of each topic. cluster (N,): its cluster. topic (N,): the robust topic that it is, -1 for none. similarity (N,): its mean
    similarity to the other topics of its cluster, NaN where it is alone. thresholds: in force, by segment; the last one of segments.
    """

    run: IntArray
    cluster: IntArray
    topic: IntArray
    similarity: FloatArray
    thresholds: tuple[float, ...]

    @property
    def n_topics(self) -> int:
        """M, the number of robust topics."""
        return int(self.topic.max(initial=-1)) + 1

    def renumbered(self, order: LongArray) -> Clusters:
        """Return the clusters with robust topic order[m] as topic m."""
        place = np.full(len(order) + 1, NO_TOPIC, np.int32)
        place[order] = np.arange(len(order))
        return Clusters(self.run, self.cluster, place[self.topic], self.similarity, self.thresholds)


def topic_similarity(runs: Sequence[RunTopics], df: LongArray, *, match: str = "both") -> FloatArray:
    """Return how similar the N topics of all runs are (N, N), in [0, 1].

        words      cosine of n_kv ln(D / df_v), so that terms of nearly all documents hardly count
        documents  cosine of θ_dk over the documents that both runs have
        both       the mean of the two; of words alone for two runs without a document in common

    Args:
        runs: R runs. df (V,): documents with each term. match: words, documents or both.
    """
    counts = sparse.csr_array(sparse.vstack([run.words for run in runs]), dtype=np.float64)
    counts.data *= np.log(len(runs[0].present) / np.maximum(df, 1))[counts.indices]
    words = cosine(counts)
    if match == "words":
        return words
    documents, comparable = similarity_of_documents(runs)
    return documents if match == "documents" else np.where(comparable, (words + documents) / 2, words)


def similarity_of_documents(runs: Sequence[RunTopics]) -> tuple[FloatArray, BoolArray]:
    """Return the cosine of θ_dk over the documents of both runs (N, N), and whether they have one in common (N, N)."""
    from threadpoolctl import threadpool_limits

    theta = sparse.csr_array(sparse.hstack([run.documents for run in runs], format="csr"))
    of_run = run_of_topics(runs)
    present = np.column_stack([run.present for run in runs]).astype(np.float64)
    dot = np.zeros((theta.shape[1],) * 2)
    with threadpool_limits(1):  # sums do not depend on the number of threads
        for first in range(0, theta.shape[0], ROWS):
            block = theta[first : first + ROWS].toarray()
            dot += block.T @ block
    squares = (theta.multiply(theta).T @ present)[:, of_run]  # of topic i over the documents of the run of topic j
    norms = np.sqrt(squares * squares.T)
    similarity = np.minimum(np.divide(dot, norms, out=np.zeros_like(dot), where=norms > 0), 1.0)
    np.fill_diagonal(similarity, 1.0)
    return similarity, (present.T @ present > 0)[np.ix_(of_run, of_run)]


def run_of_topics(runs: Sequence[RunTopics]) -> IntArray:
    """Return the run of each topic (N,)."""
    return np.repeat(np.arange(len(runs), dtype=np.int32), [run.n_topics for run in runs])


def usual_threshold(similarity: FloatArray, run: IntArray) -> float:
    """Return the similarity from which on topics are one, as few topics of one run, which are different, are as similar.

    It is the 90 % quantile, over all topics, of the similarity to the most similar other topic of the same run, held to [0.3, 0.5].

    Args:
        similarity: (N, N). run (N,): of each topic.
    """
    others = np.where((run[:, None] == run) & ~np.eye(len(run), dtype=bool), similarity, 0.0)
    return float(np.clip(np.quantile(others.max(axis=1), NEIGHBOUR_QUANTILE), LEAST_THRESHOLD, MOST_THRESHOLD))


def cluster_topics(similarity: FloatArray, threshold: float) -> IntArray:
    """Return the cluster of each topic (N,) by average linkage, numbered by their first topics.

    Two clusters are joined while the mean similarity of their topics reaches the threshold.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    if len(similarity) == 1:
        return np.zeros(1, np.int32)
    symmetric = np.clip((similarity + similarity.T) / 2, 0.0, 1.0)
    labels = fcluster(linkage(squareform(1.0 - symmetric, checks=False), "average"), 1.0 - threshold, "distance")
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes].astype(np.int32)


def robust_clusters(
    runs: Sequence[RunTopics],
    df: LongArray,
    *,
    match: str = "both",
    threshold: float | None = None,
    min_runs: float = 0.5,
) -> Clusters:
    """Cluster the topics of runs, and return which clusters come back in at least `min_runs` of the runs, and in two of several.

    Runs of several segments are clustered segment by segment. Then the robust topics of the segments are matched by their words: each
    robust topic of a segment is one of all segments, shared by several or particular to one.

    Args:
        threshold: mean similarity from which topics are one; None: `usual_threshold`.
    """
    run = run_of_topics(runs)
    cluster, topic = np.full(len(run), NO_TOPIC, np.int32), np.full(len(run), NO_TOPIC, np.int32)
    alike = np.full(len(run), np.nan)
    thresholds: list[float] = []
    parts: list[int] = []
    segments = np.array([one.segment for one in runs])
    for segment in np.unique(segments):
        rows = np.flatnonzero(segments[run] == segment)
        some = [one for one in runs if one.segment == segment]
        similarity = topic_similarity(some, df, match=match)
        least = usual_threshold(similarity, run[rows]) if threshold is None else threshold
        groups = cluster_topics(similarity, least)
        pairs = np.unique(np.column_stack([groups, run[rows]]), axis=0)
        least_runs = max(min_runs * len(some) - 1e-9, min(2, len(some)))  # what is in one run has not come back
        robust = np.bincount(pairs[:, 0]) >= least_runs
        numbers = np.where(robust, np.cumsum(robust) - 1 + int(topic.max(initial=-1)) + 1, NO_TOPIC)
        cluster[rows], topic[rows] = groups + int(cluster.max(initial=-1)) + 1, numbers[groups]
        alike[rows] = _mean_similarity(similarity, groups)
        thresholds.append(least)
        parts.append(int(robust.sum()))
    if len(parts) > 1 and any(parts):
        of_segment = np.repeat(np.arange(len(parts), dtype=np.int32), parts)
        similarity = _similarity_of_segments(runs, run, topic, df)
        least = usual_threshold(similarity, of_segment) if threshold is None else threshold
        topic = np.where(topic >= 0, cluster_topics(similarity, least)[topic], NO_TOPIC).astype(np.int32)
        thresholds.append(least)
    return Clusters(run, cluster, topic, alike, tuple(thresholds))


def _similarity_of_segments(runs: Sequence[RunTopics], run: IntArray, topic: IntArray, df: LongArray) -> FloatArray:
    """Return how similar the words of the robust topics of all segments are; topic (N,): robust topic of each topic, by segment."""
    phi = sparse.csr_array(sparse.vstack([one.probabilities() for one in runs]))
    into = sparse.csr_array((np.ones(len(run)), (np.maximum(topic, 0), np.arange(len(run)))))
    into.data[topic[into.indices] < 0] = 0.0
    merged = sparse.csr_array(into @ phi)
    empty = sparse.csr_array((len(runs[0].present), merged.shape[0]))
    return topic_similarity([RunTopics(merged, empty, runs[0].present)], df, match="words")


def _mean_similarity(similarity: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean similarity of each topic (N,) to the others of its group, NaN where there is none."""
    same = groups[:, None] == groups
    others = same.sum(axis=1) - 1.0
    total = np.where(same, similarity, 0.0).sum(axis=1) - np.diag(similarity)
    mean: FloatArray = np.divide(total, others, out=np.full(len(groups), np.nan), where=others > 0)
    return mean


# ------------------------------------------------------------------------------------------------------------------------
# The robust topics as a mixture model: what documents and words have of them, over the runs that have them.


def indicator(clusters: Clusters, run: int) -> CsrMatrix:
    """Return which topics of a run are which robust topic (K, M + 1), the last column those that did not come back."""
    topic = clusters.topic[clusters.run == run]
    column = np.where(topic < 0, clusters.n_topics, topic)
    shape = (len(topic), clusters.n_topics + 1)
    return sparse.csr_array((np.ones(len(topic)), (np.arange(len(topic)), column)), shape=shape)


def runs_with(clusters: Clusters, n_runs: int) -> BoolArray:
    """Return which runs have which robust topic (R, M)."""
    has = np.zeros((n_runs, clusters.n_topics), bool)
    has[clusters.run[clusters.topic >= 0], clusters.topic[clusters.topic >= 0]] = True
    return has


def robust_counts(runs: Sequence[RunTopics], clusters: Clusters, lengths: LongArray) -> CsrMatrix:
    """Return the tokens of the documents in robust topics N_d θ_dm (D, M + 1), the last column what did not come back.

        θ_dm = mean over the runs that have robust topic m and document d of the shares of its topics in d

    The rest of a document is 1 - Σ_m θ_dm. Where the sum is above 1, as a topic and its parts both came back, it is divided by it.
    """
    M, has = clusters.n_topics, runs_with(clusters, len(runs)).astype(np.float64)
    topics = [indicator(clusters, r) for r in range(len(runs))]
    present = np.column_stack([run.present for run in runs]).astype(np.float64)
    blocks = []
    for first in range(0, len(lengths), ROWS):
        rows = slice(first, first + ROWS)
        theta = np.zeros((present[rows].shape[0], M + 1))
        for run, one in zip(runs, topics, strict=True):
            theta += (run.documents[rows] @ one).toarray()
        weight = present[rows] @ has
        np.divide(theta[:, :M], weight, out=theta[:, :M], where=weight > 0)
        total = theta[:, :M].sum(axis=1)
        theta[:, :M] /= np.maximum(total, 1.0)[:, None]
        theta[:, M] = np.maximum(1.0 - total, 0.0)
        blocks.append(expected_counts(theta, lengths[rows].astype(np.float64)))
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def share_not_robust(runs: Sequence[RunTopics], clusters: Clusters) -> float:
    """Return how much of the documents the topics have that did not come back, the mean over the runs."""
    shares = [
        run.documents.sum(axis=0)[clusters.topic[clusters.run == r] < 0].sum() / max(int(run.present.sum()), 1)
        for r, run in enumerate(runs)
    ]
    return float(np.mean(shares))


def term_shares(runs: Sequence[RunTopics], clusters: Clusters, topic: int) -> FloatArray:
    """Return the share of each term in a robust topic, for each run that has it (R_m, V); its topics are added up."""
    rows = []
    for r in np.unique(clusters.run[clusters.topic == topic]):
        chosen = np.flatnonzero(clusters.topic[clusters.run == r] == topic)
        counts = np.asarray(runs[r].words[chosen].sum(axis=0), np.float64).ravel()
        rows.append(counts / max(counts.sum(), 1e-300))
    return np.array(rows)


def robust_fit(
    runs: Sequence[RunTopics], clusters: Clusters, terms: tuple[str, ...], lengths: LongArray, cf: LongArray
) -> tuple[MixtureFit, Clusters]:
    """Return the robust topics as a mixture model, the largest first, and the clusters by their numbers.

    The words of a robust topic are the mean of its words over the runs that have it. What did not come back is one topic, the last,
    whose words are those of all such topics.

    Args:
        terms (V,); lengths (D,): tokens of each document; cf (V,): of each term.
    """
    M = clusters.n_topics
    doc_topic = robust_counts(runs, clusters, lengths)
    main = main_topics(doc_topic, np.zeros(M + 1)).topic
    documents = np.bincount(main[main >= 0], minlength=M + 1)[:M]
    tokens = np.asarray(doc_topic.sum(axis=0)).ravel()
    order = np.lexsort((np.arange(M), -tokens[:M], -documents))
    clusters = clusters.renumbered(order)
    kept = np.append(order, [M] if tokens[M] > 1e-6 * max(tokens.sum(), 1.0) else []).astype(np.int64)
    phi = [term_shares(runs, clusters, m).mean(axis=0) for m in range(M)]
    names = ("",) * M
    if len(kept) > M:
        phi.append(_other_words(runs, clusters, cf))
        names = (*names, REST)
    doc_topic = sparse.csr_array(doc_topic[:, kept])
    doc_topic.sort_indices()
    totals = np.maximum(tokens[kept], 1.0)
    model = MixtureModel(terms, expected_counts(np.array(phi), totals), np.zeros(len(kept)), 0.0)
    return MixtureFit(model, doc_topic, names=names), clusters


def _other_words(runs: Sequence[RunTopics], clusters: Clusters, cf: LongArray) -> FloatArray:
    """Return the share of each term in the topics that did not come back (V,); in all documents where there is none."""
    words = np.zeros(len(cf))
    for r, run in enumerate(runs):
        mass = np.asarray(run.documents.sum(axis=0), np.float64).ravel()
        mass[clusters.topic[clusters.run == r] >= 0] = 0.0
        words += mass @ run.probabilities()
    words = words if words.sum() > 0 else cf.astype(np.float64)
    return np.asarray(words / words.sum())
