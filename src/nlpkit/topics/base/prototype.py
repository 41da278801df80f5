"""LDAPrototype: the run of LDA that is most like all others (Rieger, Jentsch & Rahnenführer 2024).

Each measure takes the counts n_kv (N, V) of the N topics of all runs, one below the other, and returns their similarities
(N, N) float64: symmetric, in [0, 1], 1 on the diagonal. Only the words of a topic are visited; no dense N × V is made.

Parts, in this order:
- Similarity of topics by the words assigned to them: four measures of Rieger et al. (2024), as in R's ldaPrototype
  0.3.1.
- The runs, and the choice among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event, Lock
from typing import Protocol, TypeAlias

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.topics.stability import Pruning, pairwise_sclop, prune_topics
from nlpkit.platform.parallel import TURN
from nlpkit.platform.types import NO_TOPIC, CsrMatrix, FloatArray, IntArray, LongArray, ranges
from nlpkit.topics.base.arguments import run_seeds

SimilarityMeasure: TypeAlias = Callable[[CsrMatrix], FloatArray]

LIMIT_REL = 1 / 500
LIMIT_ABS = 10
EPSILON = 1e-6
RBO_DEPTH = 12
RBO_P = 0.9

_BLOCK = 256  # rows of a product that are dense at a time


def jaccard(
    counts: CsrMatrix, *, limit_rel: float = LIMIT_REL, limit_abs: float = LIMIT_ABS, at_least: int = 0
) -> FloatArray:
    """Return the thresholded Jaccard coefficient |A_i ∩ A_j| / |A_i ∪ A_j| of the relevant words of topics (N, N).

    Relevant words are those of `relevant_words`. Topics without relevant words are like no other topic (0, as in R).

    Args:
        counts: (N, V) CSR, n_kv.
        limit_rel, limit_abs, at_least: see `relevant_words`.

    Raises:
        UsageError: a limit is negative.

    Source: Rieger, Jentsch & Rahnenführer (2024), thresholded Jaccard coefficient; `jaccardTopics`.
    """
    words = relevant_words(counts, limit_rel=limit_rel, limit_abs=limit_abs, at_least=at_least)
    sizes = np.diff(words.indptr).astype(np.float64)
    out = np.empty((len(sizes), len(sizes)))
    for rows, both in _products(words):
        either = sizes[rows, None] + sizes - both
        out[rows] = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    return _unit_diagonal(out)


def relevant_words(
    counts: CsrMatrix, *, limit_rel: float = LIMIT_REL, limit_abs: float = LIMIT_ABS, at_least: int = 0
) -> CsrMatrix:
    """Return which words count for a topic, (N, V) CSR of ones: n_kv > limit_abs and n_kv > limit_rel · Σ_v n_kv.

    Both limits are strict. A topic with fewer than `at_least` such words gets its `at_least` most frequent words instead,
    and all that are as frequent as the last of them; words it does not hold never (R adds all of them where it holds fewer).

    Args:
        counts: (N, V) CSR, n_kv.
        limit_rel: share of the tokens of the topic that a word has to exceed.
        limit_abs: number of tokens that a word has to exceed.
        at_least: number of words that each topic has, if it holds as many.

    Raises:
        UsageError: a limit is negative.
    """
    if limit_rel < 0 or limit_abs < 0 or at_least < 0:
        raise UsageError(
            f"the limits of relevant words must be 0 or more, got limit_rel {limit_rel}, limit_abs {limit_abs}, "
            f"at_least {at_least}"
        )
    matrix = _canonical(counts)
    of_topic = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    totals = np.asarray(matrix.sum(axis=1), np.float64).ravel()
    chosen = (matrix.data > limit_abs) & (matrix.data > (totals * limit_rel)[of_topic])
    for k in np.flatnonzero(np.bincount(of_topic[chosen], minlength=matrix.shape[0]) < at_least):
        row = slice(matrix.indptr[k], matrix.indptr[k + 1])
        frequent = np.sort(matrix.data[row])[::-1][:at_least]
        chosen[row] = matrix.data[row] >= (frequent[-1] if len(frequent) else 0)
    return _select(matrix, chosen)


def cosine(counts: CsrMatrix) -> FloatArray:
    """Return the cosine Σ_v n_iv n_jv / (√Σ_v n_iv² · √Σ_v n_jv²) of topics (N, N); 0 for topics without tokens.

    Args:
        counts: (N, V) CSR, n_kv.

    Source: Rieger, Jentsch & Rahnenführer (2024); `cosineTopics` (which gives NaN for topics without tokens).
    """
    matrix = _canonical(counts).astype(np.float64)  # whole numbers: the sums are exact, in whatever order
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    out = np.empty((len(norms), len(norms)))
    for rows, dot in _products(matrix):
        scale = norms[rows, None] * norms
        out[rows] = np.minimum(np.divide(dot, scale, out=np.zeros_like(dot), where=scale > 0), 1.0)
    return _unit_diagonal(out)


def jensen_shannon(counts: CsrMatrix, *, epsilon: float = EPSILON) -> FloatArray:
    """Return 1 - JSD(p_i, p_j) of topics (N, N), with p_kv = (n_kv + ε) / Σ_u (n_ku + ε).

    JSD(p, q) = ½ Σ_v p_v ln p_v + ½ Σ_v q_v ln q_v - Σ_v m_v ln m_v with m = (p + q) / 2: in nats as in R, so that
    similarities lie in [1 - ln 2, 1], about [0.31, 1].

    Args:
        counts: (N, V) CSR, n_kv.
        epsilon: ε > 0, added to each count.

    Raises:
        UsageError: ε is not above 0.

    Source: Rieger, Jentsch & Rahnenführer (2024); `jsTopics`.
    """
    if not epsilon > 0:
        raise UsageError(
            f"epsilon of the Jensen-Shannon similarity must be above 0, got {epsilon}", parameter="epsilon"
        )
    matrix = _canonical(counts)
    N, V = matrix.shape
    words = np.diff(matrix.indptr)
    scale = 1.0 / (np.asarray(matrix.sum(axis=1), np.float64).ravel() + V * epsilon)
    absent = epsilon * scale  # p_kv of a word that topic k does not hold
    p = sparse.csr_array(
        ((matrix.data + epsilon) * np.repeat(scale, words), matrix.indices, matrix.indptr), shape=(N, V)
    )

    # Σ_v f(p_iv + p_jv), f(x) = x ln x, over the words of i as if j held none, those of j as if i held none, and all others
    one_sided = np.empty((N, N))
    negentropy = np.empty(N)
    for i in range(N):
        values, times = np.unique(p.data[p.indptr[i] : p.indptr[i + 1]], return_counts=True)
        one_sided[i] = times @ _xlogx(values[:, None] + absent)
        negentropy[i] = times @ _xlogx(values) + (V - words[i]) * _xlogx(absent[i])
    sums = one_sided + one_sided.T
    # … then the words that both hold
    for i, others, mine, theirs in _shared_words(p):
        q = absent[others]
        both = _xlogx(mine + theirs) - _xlogx(mine + q) - _xlogx(absent[i] + theirs)
        sums[i, i + 1 :] += np.bincount(others, both, N)[i + 1 :]
        neither = V - words[i] - words[i + 1 :] + np.bincount(others, minlength=N)[i + 1 :]
        sums[i, i + 1 :] += neither * _xlogx(absent[i] + absent[i + 1 :])
    out = 1.0 - (negentropy[:, None] + negentropy - sums) / 2 - np.log(2.0)
    upper = np.triu(np.clip(out, 0.0, 1.0), 1)
    return _unit_diagonal(upper + upper.T)


def rank_biased_overlap(counts: CsrMatrix, *, depth: int = RBO_DEPTH, p: float = RBO_P) -> FloatArray:
    """Return the rank-biased overlap of the most frequent words of topics (N, N).

    RBO_ij = p^k o_k + (1 - p)/p Σ_{d=1}^k p^d o_d with o_d = 2 |Z_i^d ∩ Z_j^d| / (|Z_i^d| + |Z_j^d|), where Z_i^d are the
    words of topic i of rank d or better and k is the depth. Equally frequent words share the best of their ranks, so that
    Z_i^d may hold more than d words; a topic with fewer than d words has all V words in Z_i^d, as in R.

    Args:
        counts: (N, V) CSR, n_kv.
        depth: k, 1 or more (R has no default; 12 and p = 0.9 are its manual's example).
        p: in (0, 1]; the lower, the more the first ranks weigh.

    Raises:
        UsageError: depth or p out of range.

    Source: Webber, Moffat & Zobel (2010), RBO_ext with ties; Rieger, Jentsch & Rahnenführer (2024); `rboTopics`.
    """
    if depth < 1 or not 0 < p <= 1:
        raise UsageError(f"rank-biased overlap needs a depth of 1 or more and p in (0, 1], got depth {depth}, p {p}")
    matrix = _canonical(counts)
    N, V = matrix.shape
    ranks = np.empty(len(matrix.data), np.int64)
    for k in range(N):
        row = slice(matrix.indptr[k], matrix.indptr[k + 1])
        ranks[row] = 1 + np.searchsorted(np.sort(-matrix.data[row]), -matrix.data[row])
    words = np.diff(matrix.indptr)
    out = np.zeros((N, N))
    for d in range(1, depth + 1):
        weight = (1 - p) / p * p**d + (p**depth if d == depth else 0.0)
        top = _select(matrix, ranks <= d)
        whole = words < d  # words of count 0 tie at rank words + 1
        sizes = np.where(whole, V, np.diff(top.indptr)).astype(np.float64)
        for rows, both in _products(top):
            shared = np.where(whole[rows, None] | whole, np.minimum(sizes[rows, None], sizes), both)
            out[rows] += weight * 2 * shared / (sizes[rows, None] + sizes)
    return _unit_diagonal(np.minimum(out, 1.0))


MEASURES: dict[str, SimilarityMeasure] = {
    "jaccard": jaccard,
    "cosine": cosine,
    "jensen-shannon": jensen_shannon,
    "rbo": rank_biased_overlap,
}


def _canonical(counts: CsrMatrix) -> CsrMatrix:
    """Return a copy with ascending indices and without stored zeros."""
    matrix = sparse.csr_array(counts, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _select(matrix: CsrMatrix, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> CsrMatrix:
    """Return the pattern (N, V) of the chosen entries, as ones."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    return sparse.csr_array(
        (np.ones(before[-1]), matrix.indices[chosen], before[matrix.indptr]), shape=matrix.shape, dtype=np.float64
    )


def _products(matrix: CsrMatrix) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of rows of X Xᵀ, dense."""
    transposed = matrix.T.tocsr()
    for first in range(0, matrix.shape[0], _BLOCK):
        rows = slice(first, min(first + _BLOCK, matrix.shape[0]))
        yield rows, (matrix[rows] @ transposed).toarray()


def _shared_words(p: CsrMatrix) -> Iterator[tuple[int, LongArray, FloatArray, FloatArray]]:
    """Yield for each topic i the topics j > i that hold a word of i, once per word, with p_iv and p_jv."""
    columns = p.tocsc()
    after = columns.indptr[:-1].astype(np.int64)  # of each word: the entry of the next topic that holds it
    for i in range(p.shape[0]):
        row = slice(p.indptr[i], p.indptr[i + 1])
        terms = p.indices[row]
        after[terms] += 1
        holders = columns.indptr[terms + 1] - after[terms]
        entries = ranges(after[terms], holders)
        yield i, columns.indices[entries], np.repeat(p.data[row], holders), columns.data[entries]


def _xlogx(x: FloatArray) -> FloatArray:
    """Return x ln x, for x > 0."""
    return np.asarray(x * np.log(x))


def _unit_diagonal(similarity: FloatArray) -> FloatArray:
    """Return the matrix, a topic being like itself."""
    np.fill_diagonal(similarity, 1.0)
    return similarity


# ------------------------------------------------------------------------------------------------------------------------
# LDAPrototype: of many runs of one LDA the run that is most like all others (Rieger, Jentsch & Rahnenführer 2024).
#
# Topics of runs are clustered by complete linkage, the dendrogram is pruned where clusters come closest to one topic of each
# run, and S-CLOP (Similarity of multiple sets by Clustering with LOcal Pruning) says how close. Agrees with R's ldaPrototype
# 0.3.1, ties included; ttta's Python version always takes the first run.

SWEEPS_AT_ONCE = 10  # between two looks at whether somebody still wants the result


class ReplicationSampler(Protocol):
    """Sampler of a replication, such as `GibbsSampler`."""

    def run(self, sweeps: int) -> None:
        """Sample each token once per sweep; n sweeps and then m are n + m sweeps."""

    def topic_term(self) -> CsrMatrix:
        """Return n_kv (K, V) CSR."""

    def log_likelihood(self) -> float:
        """Return log p(w, z)."""


@dataclass(frozen=True, slots=True)
class Prototype:
    """The run of highest mean S-CLOP, and how the topics of all R runs match its K topics; N topics in all.

    run: index of the prototype.
    sclop (R, R): S-CLOP of each pair of runs, NaN on the diagonal; mean_sclop (R,): mean over the other runs.
    similarity (N, N): of all topics, runs one after the other; offsets (R+1,) int64: run r owns rows offsets[r]:offsets[r+1].
    matches (K, R) int32: the topic of run r that is most like topic k of the prototype, -1 where none is at all like it, k
    itself in the prototype's own column; match_similarity (K, R): how like it is.
    agreement (K,): mean of match_similarity over the other runs.
    pruning: the pruned dendrogram of all topics of all runs.
    """

    run: int
    sclop: FloatArray
    mean_sclop: FloatArray
    similarity: FloatArray
    offsets: LongArray
    matches: IntArray
    match_similarity: FloatArray
    agreement: FloatArray
    pruning: Pruning


@dataclass(frozen=True, slots=True)
class Replications:
    """R runs of one model: seed of each (R,), counts n_kv (K, V) CSR of each, log p(w, z) of each (R,).

    A run is not kept beyond its counts: its sampler, made again with its seed, gives it back to the byte.
    """

    seeds: tuple[int, ...]
    counts: tuple[CsrMatrix, ...]
    log_likelihood: FloatArray


def choose_prototype(counts: Sequence[CsrMatrix], *, measure: SimilarityMeasure = jaccard) -> Prototype:
    """Choose of R runs the one with the highest mean S-CLOP to the others, the first of equals.

    Memory: 16 bytes for each pair of the N topics of all runs.

    Args:
        counts: R matrices n_kv (K_r, V) CSR over one vocabulary.
        measure: similarity of topics from the counts of all of them (N, V), one of `similarity.MEASURES`.

    Raises:
        UsageError: fewer than two runs.
        InputError: the runs are not over the same vocabulary, or have no topics or words.

    Source: Rieger, Jentsch & Rahnenführer (2024), LDAPrototype; `getPrototype`.
    """
    if len(counts) < 2:
        raise UsageError(f"a prototype is chosen among at least 2 runs, got {len(counts)}")
    shapes = [run.shape for run in counts]
    if len({V for _, V in shapes}) > 1 or 0 in (min(K for K, _ in shapes), shapes[0][1]):
        raise InputError(
            f"a prototype needs runs with topics over one vocabulary; found topics × terms {', '.join(map(str, shapes))}"
        )
    sizes = [K for K, _ in shapes]
    similarity = measure(sparse.csr_array(sparse.vstack(counts, format="csr")))
    sclop = pairwise_sclop(similarity, sizes)
    mean_sclop = np.nansum(sclop, axis=1) / (len(counts) - 1)
    run = int(np.argmax(np.round(mean_sclop, 12)))  # equal means stay equal, in whatever order they were summed
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    matches, match_similarity = _match(similarity, offsets, run)
    others = np.arange(len(counts)) != run
    return Prototype(
        run=run,
        sclop=sclop,
        mean_sclop=mean_sclop,
        similarity=similarity,
        offsets=offsets,
        matches=matches,
        match_similarity=match_similarity,
        agreement=match_similarity[:, others].mean(axis=1),
        pruning=prune_topics(similarity, sizes),
    )


def replicate(
    make_sampler: Callable[[int], ReplicationSampler],
    *,
    runs: int,
    sweeps: int,
    seed: int,
    threads: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Replications:
    """Run one model R times from different seeds, `threads` runs at a time; the result does not depend on `threads`.

    Memory: `threads` samplers, and 8 bytes per non-zero count n_kv of each run. When the caller is interrupted, runs end
    after the ten sweeps they are at.

    Args:
        make_sampler: returns the sampler for a seed; it should use one thread and release the GIL in `run`.
        runs: R; their seeds are `run_seeds(seed, R)`.
        sweeps: of each run.
        seed: of all runs.
        threads: runs at a time.
        progress: called with the share of sweeps done, in whatever thread, one at a time.

    Raises:
        UsageError: runs, sweeps or threads below 1.
    """
    if runs < 1 or sweeps < 1 or threads < 1:
        raise UsageError(f"runs, sweeps and threads must be 1 or more, got {runs}, {sweeps} and {threads}")
    seeds = run_seeds(seed, runs)
    stop, lock, done = Event(), Lock(), 0

    def one(seed: int) -> tuple[CsrMatrix, float]:
        nonlocal done
        sampler = make_sampler(seed)
        for first in range(0, sweeps, SWEEPS_AT_ONCE):
            if stop.is_set():
                break
            step = min(SWEEPS_AT_ONCE, sweeps - first)
            sampler.run(step)
            with lock:
                done += step
                if progress:
                    progress(done / (runs * sweeps))
        return sampler.topic_term(), sampler.log_likelihood()

    with ThreadPoolExecutor(threads, thread_name_prefix="nlpkit") as pool:
        try:
            futures = [pool.submit(one, each) for each in seeds]
            running, failed = set(futures), False
            while running and not failed:
                ended, running = wait(running, timeout=TURN, return_when=FIRST_EXCEPTION)
                failed = any(future.exception() is not None for future in ended)
        finally:  # all are done, or one failed, or the caller was interrupted: then nobody wants the others
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
    results = [future.result() for future in futures]
    return Replications(seeds, tuple(counts for counts, _ in results), np.array([value for _, value in results]))


def run_prototype(
    make_sampler: Callable[[int], ReplicationSampler],
    *,
    runs: int,
    sweeps: int,
    seed: int,
    threads: int = 1,
    measure: SimilarityMeasure = jaccard,
    progress: Callable[[float], None] | None = None,
) -> tuple[Replications, Prototype]:
    """Run one model R times and choose the prototype: `replicate`, then `choose_prototype`.

    The chosen run comes back from make_sampler(replications.seeds[prototype.run]).run(sweeps): kept assignments of all
    runs would be R times the size of a sampler's own.

    Raises:
        UsageError: fewer than two runs; sweeps or threads below 1.
    """
    if runs < 2:
        raise UsageError(f"a prototype is chosen among at least 2 runs, got {runs}")
    replications = replicate(make_sampler, runs=runs, sweeps=sweeps, seed=seed, threads=threads, progress=progress)
    return replications, choose_prototype(replications.counts, measure=measure)


def _match(similarity: FloatArray, offsets: LongArray, run: int) -> tuple[IntArray, FloatArray]:
    """Return for each topic of a run the most similar topic of each run (K, R) and its similarity, the first of equals."""
    mine = similarity[offsets[run] : offsets[run + 1]]
    K, R = len(mine), len(offsets) - 1
    matches, best = np.empty((K, R), np.int32), np.empty((K, R))
    for r in range(R):
        theirs = mine[:, offsets[r] : offsets[r + 1]]
        matches[:, r] = np.arange(K) if r == run else theirs.argmax(axis=1)
        best[:, r] = theirs[np.arange(K), matches[:, r]]
    matches[best == 0] = NO_TOPIC
    return matches, best
