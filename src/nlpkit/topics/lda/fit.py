"""LDA fitted to a corpus, for one number of topics or for several to choose from.

Parts, in this order:
- LDA fitted to a corpus: sweeps, priors estimated on the way, and what is taken as the result.
- Fits of LDA with several numbers of topics, for `mixtures.choose`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from nlpkit.errors import ActorLostError, UsageError
from nlpkit.platform import reporting
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import Start
from nlpkit.platform.types import CsrMatrix, Float32Array, FloatArray, IntArray, LongArray, TokenTable
from nlpkit.topics.base.arguments import MAX_TOPICS
from nlpkit.topics.base.by_term import words_of
from nlpkit.topics.base.guide import Guidance
from nlpkit.topics.base.heldout import CHAINS, infer_topics
from nlpkit.topics.base.model import Inference, MixtureFit, MixtureModel, order_by_size
from nlpkit.topics.base.scores import Arrays, Fitted, HeldOutCorpus, Keeper, RunningState, resumable
from nlpkit.topics.lda.chain import Chain, make_sampler
from nlpkit.topics.lda.distributed import DistributedSampler
from nlpkit.topics.lda.options import USUAL, LdaOptions
from nlpkit.topics.lda.priors import PRIOR_RATE, estimate_alpha, estimate_eta
from nlpkit.topics.lda.sampler import PLANNED, ChainState, LastState, TracePoint

MAX_LOSSES = 3  # of workers, without a sweep that was saved between them
WINDOW = 5  # trace points whose mean is compared with that of as many before, for the early stop


@dataclass(frozen=True, slots=True)
class LdaFit:
    """A fitted model and its corpus.

    doc_topic (D, K) CSR n_dk; assignments (N,) int32 topics of the tokens: of the last state, or of the best one; topics are
    numbered by documents of which they are the main topic, guided ones first as they were given; order (K,): the numbers they
    have in the chain. names: of the topics, "" for none. stopped: sweep at which the early stop ended the chain, else None.
    """

    model: MixtureModel
    doc_topic: CsrMatrix
    assignments: IntArray
    trace: tuple[TracePoint, ...]
    sweeps: int
    samples: int
    log_likelihood: float
    names: tuple[str, ...]
    order: LongArray
    stopped: int | None

    @property
    def arrays(self) -> Mapping[str, FloatArray]:
        """Nothing: counts and priors are all there is."""
        return {}

    @property
    def weights(self) -> Mapping[str, Float32Array]:
        """Nothing, either."""
        return {}

    def mixture(self) -> MixtureFit:
        """Return the fit as one of any mixture model, with the numbers of the chain."""
        numbers = {
            "log_likelihood_per_token": round(self.log_likelihood, 6),
            "sweeps": self.sweeps,
            "samples": self.samples,
            "stopped_early": self.stopped is not None,
            "alpha_sum": round(float(self.model.alpha.sum()), 8),
            "eta": round(self.model.eta, 8),
        }
        return MixtureFit(self.model, self.doc_topic, self.trace, numbers, self.names, self.assignments)


def fit_lda(
    tokens: TokenTable,
    options: LdaOptions,
    execution: Execution = USUAL,
    *,
    guidance: Guidance | None = None,
    weights: FloatArray | None = None,
    keeper: Keeper | None = None,
    progress: Callable[[int, TracePoint | None], None] | None = None,
    shards: Start | None = None,
) -> LdaFit:
    """Fit LDA by collapsed Gibbs sampling (`GibbsSampler`, or `DistributedSampler` with the scheme ad-lda).

    Args:
        tokens: corpus; documents may be empty.
        options: the chain, with one number of topics; execution: its seed and threads.
        guidance: seed words and fixed topics; weights: (N,) of the tokens.
        keeper: keeps states to go on from.
        progress: called after each sweep with its number, and the new point of the trace if there is one.
        shards: where those of ad-lda are, such as `ProcessActors` with a number of processes; by default in threads. When a worker
            is lost, all begin again at the state that was kept last, and the chain comes to the same bytes.

    Raises:
        UsageError: no tokens, or an option is out of its range. ActorLostError: workers are lost again and again.
    """
    _check(tokens, options, guidance)
    sampler = make_sampler(tokens, options, execution, guidance, weights, shards=shards)
    kept = LastState(keeper, isinstance(sampler, DistributedSampler) and sampler.can_be_lost)
    losses, begun = 0, -1  # workers lost since there is a state of this sweep
    try:
        while True:
            try:
                state = _run(sampler, options, guidance, kept, progress)
                return _result(sampler, state, options, tokens, guidance, weights)
            except ActorLostError as error:
                sweep = 0 if kept.state is None else kept.state.step
                losses, begun = (losses + 1 if sweep == begun else 1), sweep
                if losses > MAX_LOSSES or not isinstance(sampler, DistributedSampler):
                    raise
                reporting.warn(f"{error}; all restart after sweep {sweep:,}", always=True)
                sampler.restart()
    finally:
        if isinstance(sampler, DistributedSampler):
            sampler.close()


def _run(
    sampler: Chain,
    options: LdaOptions,
    guidance: Guidance | None,
    keeper: Keeper,
    progress: Callable[[int, TracePoint | None], None] | None,
) -> ChainState:
    """Run a chain to its end, from the state that is kept if there is one."""
    state = ChainState()

    def arrays() -> Arrays:
        numbers = {"sweep": sampler.sweep, PLANNED: options.n_sweeps, "alpha": sampler.alpha, "eta": sampler.eta}
        chain = {f"chain.{name}": values for name, values in sampler.state().items()}
        return {**chain, **{name: np.asarray(number) for name, number in numbers.items()}, **state.arrays()}

    def put_back(arrays: Arrays) -> None:
        chain = {name.removeprefix("chain."): v for name, v in arrays.items() if name.startswith("chain.")}
        sampler.restore(chain, int(arrays["sweep"]))
        sampler.set_priors(arrays["alpha"], float(arrays["eta"]))
        state.restore(arrays)

    running = RunningState(state.trace, TracePoint, replaced=arrays, restore=put_back)
    for _ in resumable(options.n_sweeps, running, keeper):
        if _settled_at(sampler, state, options) is not None:
            break
        point = _sweep(sampler, state, options, guidance)
        if progress is not None:
            progress(sampler.sweep, point)
    return state


def fit_state(tokens: TokenTable, assignments: IntArray, alpha: FloatArray, eta: float) -> LdaFit:
    """Return the fit that a state is, made elsewhere: topics (N,) of the tokens and the priors."""
    options = LdaOptions(len(alpha), eta=eta)  # of which only the priors count
    sampler = make_sampler(tokens, options, start=assignments)
    sampler.set_priors(alpha, eta)
    return _result(sampler, ChainState([_point(sampler)]), options, tokens, None, None)


def _check(tokens: TokenTable, options: LdaOptions, guidance: Guidance | None) -> None:
    if not len(tokens.term_ids):
        raise UsageError("the corpus has no tokens to find topics in")
    check_options(options)
    if guidance is not None and len(guidance.names) > options.n_topics:
        raise UsageError(
            f"{len(guidance.names)} topics are given, but `k` is {options.n_topics}; `k` must be at least the "
            "number of given topics",
            parameter="k",
        )


def check_options(options: LdaOptions) -> None:
    """Refuse options that are out of their range or contradict each other, whatever the corpus.

    Raises:
        UsageError: there is one.
    """
    if options.exactly is not None and not 1 <= options.exactly <= MAX_TOPICS:
        raise UsageError(f"`k={options.k}`: a model has from 1 to {MAX_TOPICS:,} topics", parameter="k")
    first = options.samples_from + (options.thin if options.estimate == "mean" else 1)
    if options.estimate != "last" and first > options.n_sweeps:
        raise UsageError(
            f"`estimate={options.estimate}` has no sweep to take: `burn_in={options.samples_from}`, `thin={options.thin}`, "
            f"`sweeps={options.n_sweeps}`; give more sweeps, or a smaller burn-in",
            parameter="burn_in",
        )


def _sweep(sampler: Chain, state: ChainState, options: LdaOptions, guidance: Guidance | None) -> TracePoint | None:
    """Estimate the priors where it is time, sweep once, and bring the state to its end: samples, the trace.

    So the priors of a state are those that it was drawn with, and a chain can be continued after its last sweep.
    """
    every = options.estimates_every
    if every and sampler.sweep >= max(options.optimize_from, 1) and sampler.sweep % every == 0:
        free = sampler.topic_term()[0 if guidance is None else guidance.n_fixed :]
        one = options.symmetric_alpha
        alpha = estimate_alpha(sampler.topic_histogram(), sampler.alpha, symmetric=one, rate=PRIOR_RATE)
        sampler.set_priors(alpha, estimate_eta(free, sampler.eta) if options.optimize_eta else sampler.eta)
    sampler.run(1)
    sweep = sampler.sweep
    counts = sweep > options.samples_from
    if options.estimate == "mean" and counts and (sweep - options.samples_from) % options.thin == 0:
        topics, documents = sampler.topic_term(), sampler.doc_topic()
        state.topic_sum = topics if state.topic_sum is None else state.topic_sum + topics
        state.doc_sum = documents if state.doc_sum is None else state.doc_sum + documents
        state.samples += 1
    point = None
    if sweep % options.trace_every == 0 or sweep == options.n_sweeps:
        point = _point(sampler)
        if options.estimate == "best" and counts:
            before = [p.log_likelihood for p in state.trace if p.sweep > options.samples_from]
            if not before or point.log_likelihood > max(before):
                state.best, state.best_sweep = sampler.assignments(), sweep
                state.best_alpha, state.best_eta = sampler.alpha, sampler.eta
        state.trace.append(point)
    return point


def _point(sampler: Chain) -> TracePoint:
    sizes = np.asarray(sampler.topic_sizes(), np.float64)
    shares = sizes[sizes > 0] / sizes.sum()
    effective = float(np.exp(-np.sum(shares * np.log(shares))))
    likelihood = sampler.log_likelihood() / sizes.sum()
    return TracePoint(sampler.sweep, likelihood, effective, float(sampler.alpha.sum()), sampler.eta)


def _settled_at(sampler: Chain, state: ChainState, options: LdaOptions) -> int | None:
    """Return the sweep if the early stop ends the chain there: at a point of the trace, and not before there is an estimate."""
    if options.early_stop is None or len(state.trace) < 2 * WINDOW or state.trace[-1].sweep != sampler.sweep:
        return None
    if options.estimate != "last" and sampler.sweep < options.samples_from + WINDOW * options.trace_every:
        return None
    if options.estimate == "mean" and not state.samples:
        return None
    values = [p.log_likelihood for p in state.trace[-2 * WINDOW :]]
    before, now = float(np.mean(values[:WINDOW])), float(np.mean(values[WINDOW:]))
    return sampler.sweep if now - before < options.early_stop * abs(before) else None


def _result(
    sampler: Chain,
    state: ChainState,
    options: LdaOptions,
    tokens: TokenTable,
    guidance: Guidance | None,
    weights: FloatArray | None,
) -> LdaFit:
    sweep, stopped = sampler.sweep, _settled_at(sampler, state, options)
    alpha, eta = sampler.alpha, sampler.eta
    if state.topic_sum is not None and state.doc_sum is not None:
        topic_term = sparse.csr_array(state.topic_sum / state.samples)
        doc_topic = sparse.csr_array(state.doc_sum / state.samples)
        assignments = sampler.assignments()
    else:
        if state.best is not None:
            sampler = make_sampler(tokens, options, USUAL, guidance, weights, state.best)
            alpha, eta = state.best_alpha if state.best_alpha is not None else alpha, state.best_eta
        topic_term, doc_topic, assignments = sampler.topic_term(), sampler.doc_topic(), sampler.assignments()
    doc_topic = sparse.csr_array(doc_topic[: tokens.n_docs])
    if guidance is not None and guidance.n_fixed:
        topic_term = _with_fixed(topic_term, guidance)
    order = order_by_size(doc_topic, alpha, 0 if guidance is None else len(guidance.names))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    model = MixtureModel(tokens.terms, topic_term, alpha, eta).renumbered(order)
    likelihoods = {p.sweep: p.log_likelihood for p in state.trace}
    at = state.best_sweep if state.best is not None else sweep
    names = () if guidance is None else guidance.names
    documents = sparse.csr_array(doc_topic[:, order])
    documents.sort_indices()
    return LdaFit(
        model=model,
        doc_topic=documents,
        assignments=place[assignments[: len(tokens.term_ids)]],
        trace=tuple(state.trace),
        sweeps=sweep,
        samples=state.samples or 1,
        log_likelihood=likelihoods[at],
        names=(*names, *[""] * (options.n_topics - len(names))),
        order=order,
        stopped=stopped,
    )


def _with_fixed(topic_term: CsrMatrix, guidance: Guidance) -> CsrMatrix:
    """Return the counts with those of the fixed topics as they were given."""
    fixed = guidance.topics < guidance.n_fixed
    places = (guidance.topics[fixed], guidance.term_ids[fixed])
    fixed_counts = sparse.coo_array(
        (np.ones(int(fixed.sum())), places), shape=(guidance.n_fixed, topic_term.shape[1])
    ).tocsr()
    whole = sparse.csr_array(sparse.vstack([fixed_counts, topic_term[guidance.n_fixed :]]))
    whole.sort_indices()
    return whole.astype(topic_term.dtype)


# ------------------------------------------------------------------------------------------------------------------------
# Fits of LDA with several numbers of topics, for `mixtures.choose`.

SWEEPS = 200


@dataclass(frozen=True, slots=True)
class LdaFitter:
    """LDA whose numbers of topics are compared: the last state of a chain of at most so many sweeps, with its default burn-in."""

    options: LdaOptions
    sweeps: int = SWEEPS

    def prepared(self, n_topics: int) -> LdaOptions:
        """Return the options of a fit with K topics."""
        chain = self.options.of_chain(n_topics)
        return replace(
            chain, sweeps=min(self.sweeps, chain.n_sweeps), estimate="last", burn_in=None, optimize_burn_in=None
        )  # fmt: skip

    def fit(self, corpus: HeldOutCorpus, n_topics: int, execution: Execution, progress: Callable[..., None]) -> LdaFit:
        """Fit the documents that are not held out."""
        return fit_lda(
            corpus.train, self.prepared(n_topics), execution, guidance=corpus.guidance, weights=corpus.weights, progress=progress
        )  # fmt: skip

    def inference(self, fit: Fitted, seed: int, threads: int) -> tuple[MixtureModel, Inference]:
        """Return the model, and Gibbs sampling of topics by it."""
        return fit.model, partial(infer_topics, words_of(fit.model), seed=seed, chains=CHAINS, threads=threads)
