"""Fitting a structural topic model by variational EM (Roberts, Stewart and Airoldi 2016, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base import model as mixtures
from nlpkit.topics.base.arguments import MAX_TOPICS
from nlpkit.topics.base.options import check_number_of_topics
from nlpkit.topics.base.scores import Arrays, Keeper, RunningState, resumable
from nlpkit.topics.stm.content import Content, ContentModel, update_content
from nlpkit.topics.stm.model import Inference, Prior, StmModel, as_counts, expected_counts, infer_posteriors, softmax
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.start import Choice, choose_start, first_prior, normalized, updated_prior
from nlpkit.weights.dtm import count_terms


@dataclass(frozen=True, slots=True)
class StmPoint:
    """The bound per token in step number `step`, before its update."""

    step: int
    bound: float


@dataclass(frozen=True, slots=True)
class StmFit:
    """A fitted model, and how the fit went.

    model: its eta has a row for each document; one without words has its prior mean. trace: the bound along the steps; bound: the last
    one, of the whole corpus, in nats; converged: it rose by less than the tolerance, or fell, as Laplace's approximation of the bound can
    (R's stm ends there, too); unsettled: documents whose posterior in the last step is not normal at its mode; choice: the start, None
    where topics were given.
    """

    model: StmModel
    trace: tuple[StmPoint, ...]
    bound: float
    converged: bool
    unsettled: int
    choice: Choice | None = None

    @property
    def fall(self) -> float:
        """By how much the bound fell in the last step, in nats per token; 0 where it rose."""
        return max(0.0, self.trace[-2].bound - self.trace[-1].bound) if len(self.trace) > 1 else 0.0


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
        choice = None
        if phi is None:
            choice = choose_start(tokens, used, K, options.start, execution)
            phi = choice.start.phi
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
            gamma, prior = updated_prior(step, covariates, shrinkage=options.sigma_prior)
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
        return StmFit(model.renumbered(order), tuple(trace), before, converged, step.unsettled, choice)


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


def start_of(tokens: TokenTable, n_topics: int, options: StmOptions, execution: Execution) -> FloatArray:
    """Return the topics (K, V) with which `fit_stm` begins: the same for all covariates, so that several fits can share them."""
    counts = as_counts(count_terms(tokens))
    with threadpool_limits(1, user_api="blas"):
        filled = as_counts(counts[np.diff(counts.indptr) > 0])
        return choose_start(tokens, filled, n_topics, options.start, execution).start.phi
