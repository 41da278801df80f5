"""LDA by stochastic variational Bayes, batch by batch (Hoffman, Blei & Bach 2010), or on the whole corpus (Blei, Ng & Jordan 2003)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.base.by_term import in_chunks
from nlpkit.topics.base.choose import SEEDS
from nlpkit.topics.base.model import (
    Inference,
    MixtureFit,
    MixtureModel,
    expected_counts,
    order_by_size,
    reordered,
    select_documents,
)
from nlpkit.topics.base.options import check_number_of_topics
from nlpkit.topics.base.scores import Arrays, Fitted, Keeper, RunningState, TokenFitter, resumable
from nlpkit.topics.lda import kernels
from nlpkit.topics.lda.chain import make_sampler
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.variational import Batch, count_between
from nlpkit.topics.lda_online.options import LdaOnlineOptions
from nlpkit.weights.dtm import count_terms

SHAPE, RATE = 100.0, 100.0  # of the gamma distribution of λ at the start, as in Hoffman's program
SMALLEST_SCALE = 1e-100
START_SWEEPS, START_DOCUMENTS = 50, 10_000  # of Gibbs sampling


@dataclass(frozen=True, slots=True)
class OnlinePoint:
    """The bound per token after a pass: that of each document when it was read, and of the topics at the end."""

    step: int
    bound: float


class Topics:
    """λ (K, V) between two batches: λ_kv = scale · counts[v, k] + η, so that words that a batch lacks cost nothing.

    totals (K,): Σ_v (λ_kv - η).
    """

    def __init__(self, counts: FloatArray, eta: float) -> None:
        """Take λ - η by word (V, K)."""
        self.counts, self.eta, self.scale = counts, eta, 1.0
        self.totals = counts.sum(axis=0)

    @property
    def n_terms(self) -> int:
        """V."""
        return len(self.counts)

    @property
    def log_totals(self) -> FloatArray:
        """ψ(Σ_v λ_kv) (K,)."""
        from scipy.special import psi

        return np.asarray(psi(self.totals + self.n_terms * self.eta))

    def expected(self, rows: LongArray, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return exp(E[log β_kv] - peak_v) of some words (U, K), and the peaks (U,)."""
        # both are written at u below U, which is how many rows there are
        weights, peaks = np.empty((len(rows), self.counts.shape[1])), np.empty(len(rows))
        totals = self.log_totals

        def fill(begin: int, end: int) -> None:
            kernels.expect_words(rows, self.counts, self.scale, self.eta, totals, begin, end, weights, peaks)

        in_chunks(fill, len(rows), threads)
        return weights, peaks

    def move(self, rows: LongArray, sums: FloatArray, rho: float) -> None:
        """Set λ to (1 - ρ) λ + ρ (η + sums), which are 0 of words that are not among the rows; sums (U, K)."""
        self.scale *= 1.0 - rho
        self.totals = (1.0 - rho) * self.totals + rho * sums.sum(axis=0)
        if self.scale < SMALLEST_SCALE:
            self.counts *= self.scale
            self.scale = 1.0
        self.counts[rows] += rho / self.scale * sums

    def bound(self, threads: int) -> float:
        """Return E[log p(β | η)] - E[log q(β | λ)]."""
        from scipy.special import gammaln

        bounds, totals, V = np.empty(self.n_terms), self.log_totals, self.n_terms

        def fill(begin: int, end: int) -> None:
            kernels.word_bounds(self.counts, self.scale, self.eta, totals, begin, end, bounds)

        in_chunks(fill, V, threads)
        return float(bounds.sum() + (gammaln(V * self.eta) - gammaln(self.totals + V * self.eta)).sum())


def fit_lda_online(
    tokens: TokenTable,
    n_topics: int,
    options: LdaOnlineOptions | None = None,
    execution: Execution | None = None,
    *,
    progress: Callable[[int, OnlinePoint], None] | None = None,
    keeper: Keeper | None = None,
) -> MixtureFit:
    """Fit LDA by variational Bayes: q(θ_d) = Dir(γ_d), q(β_k) = Dir(λ_k), λ moved by one batch S of documents after another.

        γ of the documents of the batch, λ as it is (`kernels.variational.infer`)
        λ_kv ← (1 - ρ_t) λ_kv + ρ_t (η + D / |S| Σ_{d in S} n_dv φ_dvk),     ρ_t = (τ_0 + t)^-κ,   t = 0, 1, …

    λ - η begins at the n_kv of some sweeps of Gibbs sampling; begun at random, topics of small corpora hardly become different
    (416 texts of news, K = 8: AMI with their labels 0.03 in place of 0.40; scikit-learn's 0.01 to 0.12). A pass takes the documents in
    random order. With one batch of all documents ρ = 1: coordinate ascent (Blei, Ng & Jordan 2003, with topics that have a prior),
    until the bound rises by less than the tolerance. In the end γ is fitted once more, and n_dk = γ_dk - α_k, n_kv = λ_kv - η: θ and
    phi are the means of q. Documents and words are worked on one by one, and sums are added in a fixed order: the result is the same
    on any number of threads. γ begins at 1 each time: begun at the γ of the pass before, which is faster, topics stay where they were
    (AG News from a random start, 40 passes on the whole corpus: -9.14 nats a token in place of -8.61).

    Args:
        tokens: corpus; documents without tokens take no part.
        n_topics: K; execution: seed and threads.
        progress: called after each pass; keeper: keeps states to go on from.

    Raises:
        UsageError: no tokens, or a number of topics that cannot be.

    Source: Hoffman, Blei & Bach (2010), "Online Learning for Latent Dirichlet Allocation", NIPS, algorithm 2. Agrees with scikit-learn's
    LatentDirichletAllocation from the same random start and in the same order of documents; there t begins at 1.
    """
    options, execution = options or LdaOnlineOptions(), execution or Execution()
    check_number_of_topics(n_topics, len(tokens.term_ids))
    threads = execution.n_threads()
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "lda-online")))
    dtm = count_terms(tokens)
    full = np.flatnonzero(np.diff(dtm.indptr) > 0)
    used = sparse.csr_array(dtm[full])
    alpha, eta = np.full(n_topics, options.each_alpha(n_topics)), options.each_eta(n_topics)
    counts = _start(tokens, full, n_topics, options.start, rng, execution)
    topics = Topics(counts, eta)
    trace: list[OnlinePoint] = []
    converged = False
    whole, size = Batch(used), options.documents_of_batch
    n_tokens, batches = len(tokens.term_ids), 0

    def put_back(arrays: Arrays) -> None:
        nonlocal batches
        topics.totals, topics.scale, batches = arrays["totals"], float(arrays["scale"]), int(arrays["batches"])

    state = RunningState(
        trace, OnlinePoint, {"counts": topics.counts}, rng,
        lambda: {"totals": topics.totals, "scale": np.array(topics.scale), "batches": np.array(batches)}, put_back,
    )  # fmt: skip
    for n in resumable(options.iterations, state, keeper):
        if size is None:
            words, peaks = topics.expected(whole.rows, threads)
            posterior = whole.infer(words, peaks, alpha, threads)
            bound = posterior.bound + topics.bound(threads)
            topics.move(whole.rows, whole.sums(posterior, words, threads), 1.0)
        else:
            bound, batches = _pass(used, topics, alpha, options, rng.permutation(len(full)), batches, threads)
            bound += topics.bound(threads)
        trace.append(OnlinePoint(n, bound / n_tokens))
        if progress is not None:
            progress(n, trace[-1])
        converged = n > 1 and trace[-1].bound - trace[-2].bound < options.tolerance * abs(trace[-2].bound)
        if converged:
            break
    posterior = whole.infer(*topics.expected(whole.rows, threads), alpha, threads)
    bound = posterior.bound + topics.bound(threads)
    counts = np.zeros((tokens.n_docs, n_topics))
    counts[full] = posterior.gamma - alpha
    numbers = {
        "alpha": round(float(alpha[0]), 8), "eta": round(eta, 8), "bound": round(bound, 4),
        "bound_per_token": round(bound / n_tokens, 6), "steps": len(trace), **({"converged": converged} if size is None else {}),
    }  # fmt: skip
    return _result(tokens.terms, topics, counts, alpha, trace, numbers)


def _start(
    tokens: TokenTable, full: LongArray, K: int, start: str, rng: np.random.Generator, execution: Execution
) -> FloatArray:
    """Return λ - η to begin with (V, K); full: the documents that have tokens."""
    if start == "random":
        return rng.gamma(SHAPE, 1 / RATE, (tokens.n_terms, K))
    sample = np.sort(rng.permutation(full)[:START_DOCUMENTS])
    sampler = make_sampler(select_documents(tokens, sample), LdaOptions(K), execution)
    sampler.run(START_SWEEPS)
    counts = sampler.topic_term().toarray().T * (len(full) / len(sample))
    return np.ascontiguousarray(counts, np.float64)


def _result(
    terms: tuple[str, ...],
    topics: Topics,
    counts: FloatArray,
    alpha: FloatArray,
    trace: list[OnlinePoint],
    numbers: dict[str, Any],
) -> MixtureFit:
    """Return the fit with topics by size. counts: γ - α (D, K)."""
    doc_topic = expected_counts(counts, np.ones(len(counts)))
    order = order_by_size(doc_topic, alpha)
    topic_term = expected_counts(np.ascontiguousarray((topics.scale * topics.counts).T[order]), np.ones(len(alpha)))
    return MixtureFit(MixtureModel(terms, topic_term, alpha, topics.eta), reordered(doc_topic, order), trace, numbers)


def _pass(
    dtm: CsrMatrix, topics: Topics, alpha: FloatArray, options: LdaOnlineOptions, order: LongArray, t: int, threads: int
) -> tuple[float, int]:
    """Move the topics by one batch after the other; return the bounds of their documents, and the number of batches so far."""
    size, total = options.documents_of_batch or len(order), 0.0
    for begin in range(0, len(order), size):
        batch = Batch(sparse.csr_array(dtm[order[begin : begin + size]]))
        words, peaks = topics.expected(batch.rows, threads)
        posterior = batch.infer(words, peaks, alpha, threads)
        total += posterior.bound
        rho = (options.tau0 + t) ** -options.kappa
        topics.move(batch.rows, len(order) / batch.n_docs * batch.sums(posterior, words, threads), rho)
        t += 1
    topics.counts *= topics.scale
    topics.scale, topics.totals = 1.0, topics.counts.sum(axis=0)
    return total, t


def infer_theta(
    topics: Topics, alpha: FloatArray, offsets: LongArray, term_ids: IntArray, *, threads: int = 1
) -> Float32Array:
    """Return theta (D, K) of new documents, the mean of q(θ_d) with λ as it is; the prior's mean for one without words.

    Args:
        offsets: (D + 1,) document d owns term_ids[offsets[d]:offsets[d + 1]]; a batch may begin anywhere in term_ids.
    """
    batch = Batch(count_between(offsets, term_ids, topics.n_terms))
    return batch.infer(*topics.expected(batch.rows, threads), alpha, threads).theta


@dataclass(frozen=True, slots=True)
class LdaOnlineFitter(TokenFitter):
    """LDA by variational Bayes whose numbers of topics are compared, and that is fitted."""

    counts_tokens: ClassVar[bool] = True
    options: LdaOnlineOptions
    seeds: int = SEEDS

    def fit_tokens(
        self, tokens: TokenTable, n_topics: int, execution: Execution, progress: Callable[..., None] | None = None,
        keeper: Keeper | None = None,
    ) -> MixtureFit:  # fmt: skip
        """Fit a corpus."""
        return fit_lda_online(tokens, n_topics, self.options, execution, progress=progress, keeper=keeper)

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and the variational posteriors of documents."""
        model = fit.model
        topics = Topics(np.ascontiguousarray(model.topic_term.toarray().T, np.float64), model.eta)
        return model, partial(infer_theta, topics, model.alpha, threads=threads)
