"""The dynamic topic model (Blei & Lafferty 2006): topics whose words drift over periods.

Parts, in this order:
- The fit by expectation maximisation.
- The dynamic topic model as one of the mixture models: fitted, compared, applied to new documents by the same code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.platform.documents.chunks import Periods
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import map_ahead
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import MAX_TOPICS
from nlpkit.topics.base.by_term import in_chunks
from nlpkit.topics.base.choose import SEEDS
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, expected_counts, order_by_size, reordered
from nlpkit.topics.base.options import check_number_of_topics
from nlpkit.topics.base.scores import Arrays, Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.dtm import kernels
from nlpkit.topics.dtm.model import DynamicTopics
from nlpkit.topics.dtm.options import DtmOptions
from nlpkit.topics.lda.chain import make_sampler
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.variational import Batch, count_between
from nlpkit.weights.dtm import count_terms

FIRST_VARIANCE = 10.0  # of the words of a topic in the first period
START_SWEEPS = 100
ROUNDS = 3  # of paths and normalisers in a step
FEW = 0.01  # expected tokens of a word in a topic below which it shares the path of the words without any


@dataclass(frozen=True, slots=True)
class DtmPoint:
    """The bound of the documents with the prior of the paths, per token, in step number `step` before its update."""

    step: int
    bound: float


class Walks:
    """β (V, K, T) between two steps, and log Σ_v exp β (K, T)."""

    def __init__(self, paths: FloatArray, rest: FloatArray, variance: float) -> None:
        """Take paths, and rest (K, T): the path of words without counts."""
        self.paths, self.rest, self.variance = paths, rest, variance
        self.log_sums, self.prior = np.empty(rest.shape), 0.0

    def normalise(self, threads: int) -> None:
        """Centre the paths over words, and take their sums and prior."""
        sums = np.empty_like(self.rest)

        def work(k: int) -> float:
            return float(kernels.centre_topic(self.paths, self.rest[k], k, FIRST_VARIANCE, self.variance, sums[k]))

        self.prior = sum(prior for _, prior in map_ahead(work, range(len(sums)), threads=threads))
        self.log_sums = np.log(sums)

    def climb(self, counts: FloatArray, threads: int) -> None:
        """Move the paths to the maximum under expected counts (V, K, T), the normalisers one step behind them."""
        tokens, nothing = counts.sum(axis=0), np.zeros(counts.shape[2])
        gradient, diagonal = np.empty_like(nothing), np.empty_like(nothing)
        for _ in range(ROUNDS):
            exposures = tokens * np.exp(-self.log_sums)
            for k in range(len(self.rest)):
                kernels.climb(nothing, exposures[k], FIRST_VARIANCE, self.variance, self.rest[k], gradient, diagonal)

            def work(begin: int, end: int, exposures: FloatArray = exposures) -> None:
                kernels.climb_words(
                    counts, exposures, self.rest, FIRST_VARIANCE, self.variance, begin, end, self.paths
                )  # fmt: skip

            in_chunks(work, len(counts), threads)
            self.normalise(threads)


def fit_dtm(
    tokens: TokenTable,
    periods: Periods,
    period: LongArray,
    n_topics: int,
    options: DtmOptions | None = None,
    execution: Execution | None = None,
    *,
    start: FloatArray | None = None,
    progress: Callable[[int, DtmPoint], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit a dynamic topic model; the words of its topics drift by a Gaussian random walk of natural parameters.

        β_1kv ~ Normal(0, 10),  β_tkv ~ Normal(β_t-1,kv, σ²),  φ_tk = softmax(β_tk)
        θ_d ~ Dirichlet(α),  each token of a document of period t: z ~ θ_d, w ~ φ_t,z

    The paper approximates the posterior of β by a Kalman filter with variational observations. Here β is a point, the most probable path
    (MAP), and only θ and z have posteriors: expectation maximisation. E-step: γ of the documents (`kernels.variational.infer`), which
    gives the expected counts n_tkv. M-step: with log Σ_v exp β ≤ Σ_v exp β / ζ - 1 + log ζ (the paper's bound, its ζ_t), which is met
    at ζ = Σ_v exp β, the words of a topic are T-vectors of their own with a tridiagonal Hessian: Newton's method costs O(T) a
    step (`kernels.paths.climb`), and ζ and β take turns, β less its mean over words, on which φ does not depend. It is faster than the
    filter by orders of magnitude, each step raises one objective, and there is no variance of observations to choose; what it lacks
    is the variance of β, which the counts of rare words leave wide: φ of these is that of the mode. α does not change over time.

    It begins with LDA by Gibbs sampling over all periods, the same topics in each. Periods without documents take part: paths lead through
    them. Memory: 16 bytes · V K T. The result does not depend on the number of threads.

    Args:
        tokens: corpus; documents without tokens take no part.
        periods: T of them; period (D,): that of each document.
        n_topics: K; execution: seed and threads.
        start: (K, V) counts of topics to begin with, in place of LDA.
        progress: called after each step; keeper: keeps states to go on from.

    Returns:
        The fit; its model has φ averaged over time (`DynamicTopics.mean_counts`), its arrays are those of `DynamicTopics`.

    Raises:
        UsageError: no tokens, or a number of topics that cannot be.

    Source: Blei & Lafferty (2006), "Dynamic Topic Models", ICML.
    """
    options, execution = options or DtmOptions(), execution or Execution()
    check_number_of_topics(n_topics, len(tokens.term_ids), most=MAX_TOPICS)
    threads, T, n_tokens = execution.n_threads(), periods.n, len(tokens.term_ids)
    documents = Dated(count_terms(tokens), period, T)
    alpha = np.full(n_topics, options.each_alpha(n_topics))
    counts = first_counts(tokens, n_topics, execution) if start is None else start
    walks = first_walks(counts, T, options.chain_variance)
    walks.normalise(threads)
    trace: list[DtmPoint] = []
    converged = False

    def put_back(arrays: Arrays) -> None:
        walks.log_sums, walks.prior = arrays["log_sums"], float(arrays["prior"])

    state = RunningState(
        trace, DtmPoint, {"paths": walks.paths, "rest": walks.rest}, None,
        lambda: {"log_sums": walks.log_sums, "prior": np.array(walks.prior)}, put_back,
    )  # fmt: skip
    for n in resumable(options.iterations, state, keeper):
        expected, bound = documents.expected(walks, alpha, threads)
        trace.append(DtmPoint(n, (bound + walks.prior) / n_tokens))
        walks.climb(expected, threads)
        if progress is not None:
            progress(n, trace[-1])
        converged = n > 1 and trace[-1].bound - trace[-2].bound < options.tolerance * abs(trace[-2].bound)
        if converged:
            break
    model = as_dynamic(walks, expected, periods)
    theta, bound = documents.posteriors(model, alpha, threads)
    doc_topic = expected_counts(theta, np.ones(len(theta)))
    order = order_by_size(doc_topic, alpha)
    model = model.renumbered(order)
    mean = expected_counts(model.mean_counts(), np.ones(n_topics))
    numbers = {
        "alpha": round(float(alpha[0]), 8), "chain_variance": options.chain_variance,
        "bound_per_token": round((bound + walks.prior) / n_tokens, 6), "steps": len(trace), "converged": converged,
    }  # fmt: skip
    return MixtureFit(
        MixtureModel(tokens.terms, mean, alpha, 0.0), reordered(doc_topic, order), trace, numbers, arrays=model.arrays()
    )


class Dated:
    """The documents that have words, period by period."""

    def __init__(self, dtm: CsrMatrix, period: LongArray, T: int) -> None:
        """Take counts (D, V) and the period of each document (D,)."""
        full = np.diff(dtm.indptr) > 0
        self.n_docs, self.T = dtm.shape[0], T
        self.documents = [np.flatnonzero(full & (period == t)) for t in range(T)]
        self.batches = [Batch(sparse.csr_array(dtm[rows])) if len(rows) else None for rows in self.documents]

    def expected(self, walks: Walks, alpha: FloatArray, threads: int) -> tuple[FloatArray, float]:
        """Return n_tkv as (V, K, T), and the bound of the documents."""
        counts, bound = np.zeros_like(walks.paths), 0.0
        for t, batch in enumerate(self.batches):
            if batch is not None:
                words, peaks = scaled(walks.paths[batch.rows, :, t] - walks.log_sums[:, t])
                posterior = batch.infer(words, peaks, alpha, threads)
                counts[batch.rows, :, t] = batch.sums(posterior, words, threads)
                bound += posterior.bound
        return counts, bound

    def posteriors(self, model: DynamicTopics, alpha: FloatArray, threads: int) -> tuple[FloatArray, float]:
        """Return γ - α (D, K), and the bound of the documents."""
        counts, bound = np.zeros((self.n_docs, len(alpha))), 0.0
        for t, batch in enumerate(self.batches):
            if batch is not None:
                posterior = batch.infer(*scaled(model.logits(t)[:, batch.rows].T), alpha, threads)
                counts[self.documents[t]] = posterior.gamma - alpha
                bound += posterior.bound
        return counts, bound


def scaled(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return exp(log φ - peak) of words (U, K), and their peaks (U,)."""
    peaks = logits.max(axis=1)
    return np.ascontiguousarray(np.exp(logits - peaks[:, None])), peaks


def first_counts(tokens: TokenTable, n_topics: int, execution: Execution) -> FloatArray:
    """Return n_kv (K, V) of LDA after 100 sweeps of Gibbs sampling."""
    sampler = make_sampler(tokens, LdaOptions(n_topics), execution)
    sampler.run(START_SWEEPS)
    return np.asarray(sampler.topic_term().toarray(), np.float64)


def first_walks(counts: FloatArray, T: int, variance: float) -> Walks:
    """Return paths that stay where they are: β_kv = log(n_kv + ½), less its mean over the words."""
    beta = np.log(counts + 0.5)
    mean = beta.mean(axis=1, keepdims=True)
    paths = np.repeat((beta - mean).T[:, :, None], T, axis=2)
    return Walks(np.ascontiguousarray(paths), np.repeat(np.log(0.5) - mean, T, axis=1), variance)


def as_dynamic(walks: Walks, counts: FloatArray, periods: Periods) -> DynamicTopics:
    """Return the topics as a run holds them: float32 paths of the words that have tokens in a topic, one path for all others."""
    V = len(counts)
    words, topics = np.nonzero(counts.sum(axis=2) >= FEW)
    rows = np.lexsort((words, topics))
    pairs = np.column_stack([topics, words])[rows]
    paths = walks.paths[pairs[:, 1], pairs[:, 0]].astype(np.float32).astype(np.float64)
    rest = walks.rest.astype(np.float32).astype(np.float64)
    return DynamicTopics(periods, V, pairs, paths, rest, np.ascontiguousarray(counts.sum(axis=0).T))


def infer_theta(
    model: DynamicTopics,
    alpha: FloatArray,
    period: LongArray,
    offsets: LongArray,
    term_ids: IntArray,
    *,
    threads: int = 1,
) -> Float32Array:
    """Return theta (D, K) of new documents of some periods (D,), the mean of q(θ_d); the prior's mean for one without words.

    Args:
        offsets: (D + 1,) document d owns term_ids[offsets[d]:offsets[d + 1]]; a batch may begin anywhere in term_ids.
    """
    dtm = count_between(offsets, term_ids, model.n_terms)
    counts, _ = Dated(dtm, period, model.periods.n).posteriors(model, alpha, threads)
    counts += alpha
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), np.float32)


# ------------------------------------------------------------------------------------------------------------------------
# The dynamic topic model as one of the mixture models: fitted, compared, applied to new documents by the same code.


@dataclass(frozen=True, slots=True)
class DtmFitter(TokenFitter):
    """A dynamic topic model whose numbers of topics are compared, and that is fitted.

    periods, period (D,): those of the documents; None for a model that was loaded.
    """

    options: DtmOptions
    periods: Periods | None = None
    period: LongArray | None = None
    seeds: int = SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        assert self.periods is not None
        assert self.period is not None
        return fit_dtm(
            tokens, self.periods, self.period, n_topics, self.options, execution, progress=progress, keeper=keeper
        )

    def take(self, documents: LongArray, terms: LongArray) -> DtmFitter:
        """Return the fitter with the periods of some of the documents."""
        assert self.period is not None
        return replace(self, period=self.period[documents])

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model averaged over time, every term possible in every topic, and the posteriors of documents without a date."""
        smooth = fit.model.smoothed()
        return smooth, partial(infer_undated, np.log(smooth.phi), smooth.alpha, threads=threads)


def infer_undated(
    log_phi: FloatArray, alpha: FloatArray, offsets: LongArray, term_ids: IntArray, *, threads: int = 1
) -> Float32Array:
    """Return theta (D, K) of documents under log φ (K, V); arguments as of `fit.infer_theta`."""
    batch = Batch(count_between(offsets, term_ids, log_phi.shape[1]))
    return batch.infer(*scaled(log_phi[:, batch.rows].T), alpha, threads).theta
