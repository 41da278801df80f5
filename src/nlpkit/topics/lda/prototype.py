"""LDAPrototype: of many runs of one LDA the run that is most like all others (Rieger, Jentsch & Rahnenführer 2024).

Topics of runs are clustered by complete linkage, the dendrogram is pruned where clusters come closest to one topic of each
run, and S-CLOP (Similarity of multiple sets by Clustering with LOcal Pruning) says how close. Agrees with R's ldaPrototype
0.3.1, ties included; ttta's Python version always takes the first run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event, Lock
from typing import Protocol

import numpy as np
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.sclop import Pruning, pairwise_sclop, prune_topics
from nlpkit.parallel import TURN
from nlpkit.topics.lda.similarity import SimilarityMeasure, jaccard
from nlpkit.topics.streams import run_seeds
from nlpkit.types import NO_TOPIC, CsrMatrix, FloatArray, IntArray, LongArray

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
