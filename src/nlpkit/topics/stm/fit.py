"""Fitting a structural topic model by variational EM (Roberts, Stewart and Airoldi 2016, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.parameters import Execution
from nlpkit.topics.lda.arguments import MAX_TOPICS
from nlpkit.topics.lda.chain import make_sampler
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.mixtures import model as mixtures
from nlpkit.topics.mixtures.steps import Arrays, Keeper, RunningState, resumable
from nlpkit.topics.options import check_number_of_topics
from nlpkit.topics.stm.content import Content, ContentModel, update_content
from nlpkit.topics.stm.inference import Inference, as_counts, expected_counts, infer_posteriors
from nlpkit.topics.stm.model import Prior, StmModel, softmax
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.spectral import spectral_topics
from nlpkit.topics.stm.update import covariance_of, regress
from nlpkit.topics.streams import stream_key
from nlpkit.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.weighting.dtm import count_terms

FIRST_VARIANCE = 20.0  # of η at the start, as in R's stm
LDA_SWEEPS = 50
TRIAL_STEPS, TRIAL_DOCS = 5, 2000  # after which, and by how many documents at most, sets of anchor words are compared


@dataclass(frozen=True, slots=True)
class StmPoint:
    """The bound per token in step number `step`, before its update."""

    step: int
    bound: float


@dataclass(frozen=True, slots=True)
class StmFit:
    """A fitted model, and how the fit went.

    model: its eta has a row for each document; one without words has its prior mean. trace: the bound along the steps; bound: the last
    one, of the whole corpus, in nats; converged: it changed by less than the tolerance; unsettled: documents whose posterior in the last
    step is not normal at its mode.
    """

    model: StmModel
    trace: tuple[StmPoint, ...]
    bound: float
    converged: bool
    unsettled: int


def fit_stm(
    tokens: TokenTable,
    n_topics: int,
    options: StmOptions | None = None,
    execution: Execution | None = None,
    *,
    X: FloatArray | None = None,
    content: Content | None = None,
    phi: FloatArray | None = None,
    progress: Callable[[int, StmPoint], None] | None = None,
    keeper: Keeper | None = None,
) -> StmFit:
    """Fit a structural topic model; without X, the correlated topic model (Blei and Lafferty 2007).

        θ_d = softmax(η_d, 0),  η_d ~ Normal(X_d γ, Σ),  each token: z ~ θ_d, w ~ φ_z, or φ_z|a at level a of the content

    E-step: `infer_posteriors`; M-step: γ by `regress` (without X the mean of η), Σ by `covariance_of`, φ_kv ∝ n_kv, or
    `update_content`. It begins at η = 0, μ = 0, Σ = 20 I, as R's stm does. Documents without words take no part. Topics
    are numbered by documents of which they are the main topic. The result does not depend on the number of threads.

    Args:
        tokens: corpus; documents may be empty.
        n_topics: K, at least 2; execution: seed and threads.
        X: (D, P) covariates, the first column of ones. content: what the words of topics depend on.
        phi: (K, V) topics to begin with, in place of options.start.
        progress: called after each step; keeper: keeps states to go on from.

    Raises:
        UsageError: no tokens, or a number of topics that cannot be; InputError: too few different words for the start.
    """
    options, execution = options or StmOptions(), execution or Execution()
    check_number_of_topics(n_topics, len(tokens.term_ids), least=2, most=MAX_TOPICS)
    counts, K, threads = as_counts(count_terms(tokens)), n_topics, execution.n_threads()
    filled = np.diff(counts.indptr) > 0
    used = counts if filled.all() else as_counts(counts[filled])
    covariates = None if X is None else X[filled]
    parts = _parts(
        used, None if content is None else content.numbers[filled], 0 if content is None else len(content.levels)
    )
    with threadpool_limits(1, user_api="blas"):  # so that the number of threads changes no digit
        phi = first_topics(tokens, used, K, options.start, execution) if phi is None else phi
        topics, words = [phi] * len(parts), None
        prior = first_prior(K)
        eta: FloatArray | None = None
        trace: list[StmPoint] = []
        before, converged = -np.inf, False

        def put_back(arrays: Arrays) -> None:
            nonlocal eta, topics, prior, before
            eta, topics, before = arrays["eta"], list(arrays["topics"]), float(arrays["before"])
            prior = Prior(arrays["mean"], arrays["covariance"])

        state = RunningState(
            trace, StmPoint, replaced=lambda: {
                "eta": step.eta, "topics": np.array(topics), "before": np.array(before), "mean": prior.mean, "covariance": prior.covariance
            }, restore=put_back,
        )  # fmt: skip
        for _ in resumable(options.iterations, state, keeper):
            step = _infer(parts, topics, prior, eta, threads)
            eta = step.eta
            by_level = [
                expected_counts(part.counts, softmax(eta[part.rows]), phi, threads=threads)
                for part, phi in zip(parts, topics, strict=True)
            ]
            gamma, prior = _update(step, covariates, options)
            if content is None:
                topic_term = by_level[0]
                topics = [normalized(topic_term)]
            else:
                words = _words(parts, by_level, options, threads)
                topics = list(words.phi)
                topic_term = words.mean_phi * np.sum(by_level, axis=(0, 2))[:, None]
            bound = float(step.bounds.sum())
            trace.append(StmPoint(len(trace) + 1, bound / len(tokens.term_ids)))
            if progress is not None:
                progress(len(trace), trace[-1])
            converged = bound - before < options.tolerance * abs(before)
            before = bound
            if converged:
                break
        mean = prior.mean if X is None or gamma is None else X @ gamma
        every = np.tile(mean, (len(filled), 1)) if len(mean) == 1 else mean.copy()
        every[filled] = step.eta
        model = StmModel(
            tokens.terms, topic_term, Prior(mean, prior.covariance), gamma, every, step.covariance / filled.sum(), words
        )
        lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
        order = mixtures.order_by_size(mixtures.expected_counts(model.theta, lengths), np.zeros(K))
        return StmFit(model.renumbered(order), tuple(trace), before, converged, step.unsettled)


@dataclass(frozen=True, slots=True)
class _Part:
    """Documents whose topics have the same words: their rows, and counts (·, V)."""

    rows: LongArray | slice
    counts: CsrMatrix


def _parts(counts: CsrMatrix, level: IntArray | None, n_levels: int) -> list[_Part]:
    """Return the documents of each level; all of them where there are none."""
    if level is None:
        return [_Part(slice(None), counts)]
    rows = [np.flatnonzero(level == a) for a in range(n_levels)]
    return [_Part(each, as_counts(counts[each])) for each in rows]


def _infer(
    parts: Sequence[_Part], topics: Sequence[FloatArray], prior: Prior, start: FloatArray | None, threads: int
) -> Inference:
    """Return the posteriors of the documents of all parts, each by its own topics (K, V)."""
    steps = [
        infer_posteriors(
            part.counts, phi, prior.part(part.rows), start=None if start is None else start[part.rows], threads=threads
        )
        for part, phi in zip(parts, topics, strict=True)
    ]
    if len(steps) == 1:
        return steps[0]
    D, J = sum(len(step.eta) for step in steps), steps[0].eta.shape[1]
    eta, bounds, covariance = np.empty((D, J)), np.empty(D), np.zeros((J, J))
    for part, step in zip(parts, steps, strict=True):
        eta[part.rows], bounds[part.rows] = step.eta, step.bounds
        covariance += step.covariance
    return Inference(eta, covariance, bounds, sum(step.unsettled for step in steps))


def _words(parts: Sequence[_Part], by_level: Sequence[FloatArray], options: StmOptions, threads: int) -> ContentModel:
    """Return the words of topics at each level, of the expected counts (K, V) of each."""
    observed = np.array([part.counts.sum(axis=0) for part in parts])
    frequency, sizes = observed.sum(axis=0), observed.sum(axis=1)
    return update_content(
        np.array(by_level), frequency / frequency.sum(), sizes / sizes.sum(), interactions=options.interactions,
        threads=threads,
    )  # fmt: skip


def _update(step: Inference, X: FloatArray | None, options: StmOptions) -> tuple[FloatArray | None, Prior]:
    """Return γ and the prior of the documents after an E-step."""
    gamma = None if X is None else regress(step.eta, X)
    mean = step.eta.mean(axis=0, keepdims=True) if X is None or gamma is None else X @ gamma
    return gamma, Prior(mean, covariance_of(step.eta, mean, step.covariance, shrinkage=options.sigma_prior))


def normalized(topic_term: FloatArray) -> FloatArray:
    """Return phi (K, V) of expected counts; a topic without any has the same probability for all terms."""
    totals = topic_term.sum(axis=1, keepdims=True)
    even = np.full_like(topic_term, 1.0 / topic_term.shape[1])
    return np.asarray(np.divide(topic_term, totals, out=even, where=totals > 0))


def first_prior(K: int) -> Prior:
    """Return Normal(0, 20 I), as in R's stm."""
    return Prior(np.zeros((1, K - 1)), FIRST_VARIANCE * np.eye(K - 1))


def start_of(tokens: TokenTable, n_topics: int, options: StmOptions, execution: Execution) -> FloatArray:
    """Return the topics (K, V) with which `fit_stm` begins: the same for all covariates, so that several fits can share them."""
    counts = as_counts(count_terms(tokens))
    with threadpool_limits(1, user_api="blas"):
        filled = as_counts(counts[np.diff(counts.indptr) > 0])
        return first_topics(tokens, filled, n_topics, options.start, execution)


def first_topics(tokens: TokenTable, counts: CsrMatrix, K: int, start: str, execution: Execution) -> FloatArray:
    """Return the topics (K, V) with which a fit begins.

    spectral: from anchor words, without chance, those of `spectral_topics` with the highest bound after five steps over at most 2,000
    documents. lda: from 50 sweeps of Gibbs sampling, α = 50 / K and η = 0.01 as in R's stm. random: rows from a gamma distribution of
    shape 0.1.
    """
    if start == "spectral":
        threads = execution.n_threads()
        some = as_counts(counts[np.arange(0, counts.shape[0], 1 + (counts.shape[0] - 1) // TRIAL_DOCS)])
        topics = spectral_topics(counts, K, threads=threads)
        return max(topics, key=lambda phi: bound_after(some, phi, threads=threads))
    if start == "lda":
        sampler = make_sampler(tokens, LdaOptions(K, alpha=50 / K, eta=0.01), execution)
        sampler.run(LDA_SWEEPS)
        return normalized(sampler.topic_term().toarray() + 0.01)
    rng = np.random.Generator(np.random.Philox(key=stream_key(execution.seed, "stm")))
    return normalized(rng.gamma(0.1, size=(K, tokens.n_terms)) + 1e-12)


def bound_after(counts: CsrMatrix, phi: FloatArray, *, steps: int = TRIAL_STEPS, threads: int = 1) -> float:
    """Return the bound of a fit without covariates in its last one of a few steps that begin at phi (K, V)."""
    prior, eta = first_prior(len(phi)), None
    for _ in range(steps):
        step = infer_posteriors(counts, phi, prior, start=eta, threads=threads)
        eta = step.eta
        phi = normalized(expected_counts(counts, softmax(eta), phi, threads=threads))
        prior = _update(step, None, StmOptions())[1]
    return float(step.bounds.sum())
