"""Fitting LDA: the last, mean and best state by hand from a sampler, early stop, states to go on from, interrupts."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlpkit.errors import UsageError
from nlpkit.platform.interrupts import Ended, Stop
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base import resume
from nlpkit.topics.base.guide import Guidance, Seeds, fixed_counts, joined, seed_counts, token_weights
from nlpkit.topics.base.heldout import dirichlet_multinomial
from nlpkit.topics.base.model import main_topics
from nlpkit.topics.base.options import CheckpointOptions
from nlpkit.topics.base.resume import UnfinishedWork, read_steps, write_steps
from nlpkit.topics.base.scores import StepState
from nlpkit.topics.lda.chain_run import CHAIN
from nlpkit.topics.lda.fit import WINDOW, LdaFit
from nlpkit.topics.lda.fit import fit_lda as fit_from
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.priors import estimate_alpha, estimate_eta
from nlpkit.topics.lda.sampler import GibbsSampler, TracePoint, chain_options, resume_problem
from tests.few import few
from tests.strategies import planted, token_table
from tests.topics.lda.keepers import Saved

CORPUS = planted([40, 30, 20, 10], seed=3)
TOKENS = CORPUS.tokens
N = len(TOKENS.term_ids)
OPTIONS = LdaOptions(k=5, sweeps=40, trace_every=5)
SEED = 7


def fit_lda(
    tokens: TokenTable, options: LdaOptions = OPTIONS, seed: int = SEED, threads: int = 1, **more: Any
) -> LdaFit:
    return fit_from(tokens, options, Execution(seed, threads), **more)


def chain(options: LdaOptions = OPTIONS, tokens: TokenTable = TOKENS, seed: int = SEED) -> GibbsSampler:
    """The chain of a fit, at its start."""
    K = options.n_topics
    return GibbsSampler(tokens, n_topics=K, alpha=1 / K, eta=1 / K, seed=seed, shards=options.shards)


def by_documents(doc_topic: Any, alpha: Any) -> Any:
    """Topics by documents of which they are the main topic, then tokens, then number."""
    n = doc_topic.toarray()
    main = ((n + alpha) / (n.sum(axis=1, keepdims=True) + alpha.sum())).argmax(axis=1)
    documents = np.bincount(main[n.sum(axis=1) > 0], minlength=len(alpha))
    return np.array(sorted(range(len(alpha)), key=lambda k: (-documents[k], -n[:, k].sum(), k)))


def agrees(fit: LdaFit, topic_term: Any, doc_topic: Any, assignments: Any) -> None:
    """The fit is this state, its topics renumbered."""
    order = by_documents(doc_topic, fit.model.alpha[np.argsort(fit.order)])
    np.testing.assert_array_equal(fit.order, order)
    np.testing.assert_array_equal(fit.model.topic_term.toarray(), topic_term.toarray()[order])
    np.testing.assert_array_equal(fit.doc_topic.toarray(), doc_topic.toarray()[:, order])
    np.testing.assert_array_equal(order[fit.assignments], assignments)


def same(a: LdaFit, b: LdaFit) -> None:
    """Two fits are equal to the byte."""
    for one, other in ((a.model.topic_term, b.model.topic_term), (a.doc_topic, b.doc_topic)):
        for part in ("data", "indices", "indptr"):
            assert getattr(one, part).tobytes() == getattr(other, part).tobytes()
            assert getattr(one, part).dtype == getattr(other, part).dtype
    assert (a.model.alpha.tobytes(), a.model.eta) == (b.model.alpha.tobytes(), b.model.eta)
    assert a.assignments.tobytes() == b.assignments.tobytes()
    assert a.order.tobytes() == b.order.tobytes()
    rest = ("trace", "sweeps", "samples", "log_likelihood", "names", "stopped")
    assert [getattr(a, name) for name in rest] == [getattr(b, name) for name in rest]


# --- what is taken as the result ---


def test_planted_topics_come_back() -> None:
    fit = fit_lda(TOKENS, replace(OPTIONS, k=4, sweeps=100))
    topics = main_topics(fit.doc_topic, fit.model.alpha).topic
    assert (topics == CORPUS.labels).mean() > 0.97  # by size, as planted
    assert fit.log_likelihood > fit.trace[0].log_likelihood


def test_the_last_state() -> None:
    fit, sampler = fit_lda(TOKENS, OPTIONS), chain()
    sampler.run(40)
    agrees(fit, sampler.topic_term(), sampler.doc_topic(), sampler.assignments())
    assert (fit.sweeps, fit.samples, fit.stopped) == (40, 1, None)
    assert fit.log_likelihood == sampler.log_likelihood() / N
    assert fit.model.topic_term.dtype == fit.doc_topic.dtype == fit.assignments.dtype == np.int32
    assert fit.model.terms == TOKENS.terms


def test_the_mean_of_every_thin_th_state_after_burn_in() -> None:
    fit = fit_lda(TOKENS, replace(OPTIONS, estimate="mean", burn_in=20, thin=6))
    sampler, topics, documents = chain(), [], []
    sampler.run(20)
    for _ in range(3):  # after 26, 32 and 38 sweeps
        sampler.run(6)
        topics.append(sampler.topic_term())
        documents.append(sampler.doc_topic())
    sampler.run(2)
    agrees(fit, sum(topics) / 3, sum(documents) / 3, sampler.assignments())
    assert fit.samples == 3
    assert (fit.model.topic_term.data % 1 > 0).any()
    assert fit.model.topic_term.sum() == pytest.approx(N)


def test_half_of_the_sweeps_are_burn_in_by_default() -> None:
    assert fit_lda(TOKENS, replace(OPTIONS, estimate="mean", thin=1)).samples == 20


def test_the_best_point_of_the_trace_after_burn_in() -> None:
    options = replace(OPTIONS, k=12, estimate="best", burn_in=20, sweeps=62, optimize_interval=0)
    fit, sampler, states = fit_lda(TOKENS, options), chain(options), {}
    for sweep in range(1, 63):
        sampler.run(1)
        if sweep > 20 and (sweep % 5 == 0 or sweep == 62):
            states[sweep] = (sampler.log_likelihood(), sampler.topic_term(), sampler.doc_topic(), sampler.assignments())
    best = max(states, key=lambda sweep: states[sweep][0])
    assert best < 60  # else this test could not tell it from the last
    agrees(fit, *states[best][1:])
    assert fit.log_likelihood == states[best][0] / N
    assert (fit.sweeps, fit.samples) == (62, 1)


def log_likelihood_of(fit: LdaFit) -> float:
    words = dirichlet_multinomial(fit.model.topic_term, fit.model.eta)
    return (words + dirichlet_multinomial(fit.doc_topic, fit.model.alpha)) / N


@pytest.mark.parametrize("options", [{}, {"estimate": "best"}, {"optimize_interval": 5, "optimize_eta": True}])
def test_the_log_likelihood_is_that_of_the_model(options: dict[str, Any]) -> None:
    fit = fit_lda(TOKENS, replace(OPTIONS, k=12, **options))
    assert fit.log_likelihood == pytest.approx(log_likelihood_of(fit), rel=1e-12)


def test_the_priors_of_the_best_state_are_those_it_had() -> None:
    options = replace(OPTIONS, k=12, estimate="best", optimize_interval=1, optimize_burn_in=30)
    fit = fit_lda(TOKENS, options, seed=2)
    # (the best is not the last point here)
    assert fit.log_likelihood == pytest.approx(log_likelihood_of(fit), rel=1e-12)


def test_the_trace() -> None:
    fit, sampler = fit_lda(TOKENS, replace(OPTIONS, sweeps=12)), chain()
    assert [point.sweep for point in fit.trace] == [5, 10, 12]
    for point in fit.trace:
        sampler.run(point.sweep - sampler.sweep)
        share = np.bincount(sampler.assignments(), minlength=5) / N
        assert point == TracePoint(
            point.sweep,
            sampler.log_likelihood() / N,
            pytest.approx(np.exp(-(share * np.log(share)).sum())),
            pytest.approx(1.0),
            0.2,
        )


# --- priors estimated on the way ---


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("eta_too", [False, True])
def test_priors_are_estimated_every_n_sweeps_after_burn_in(symmetric: bool, eta_too: bool) -> None:
    fit = fit_lda(
        TOKENS,
        replace(OPTIONS, optimize_interval=7, optimize_burn_in=15, symmetric_alpha=symmetric, optimize_eta=eta_too),
    )
    sampler = chain()
    for sweep in (21, 28, 35):
        sampler.run(sweep - sampler.sweep)
        alpha = estimate_alpha(sampler.doc_topic(), sampler.alpha, symmetric=symmetric, rate=1)
        eta = estimate_eta(sampler.topic_term(), sampler.eta) if eta_too else sampler.eta
        sampler.set_priors(alpha, eta)
    sampler.run(5)
    agrees(fit, sampler.topic_term(), sampler.doc_topic(), sampler.assignments())
    np.testing.assert_array_equal(fit.model.alpha, sampler.alpha[fit.order])
    assert fit.model.eta == sampler.eta
    assert (np.ptp(fit.model.alpha) == 0) == symmetric
    assert (fit.model.eta != 0.2) == eta_too
    sums = {point.sweep: point.alpha_sum for point in fit.trace}
    assert sums[20] == pytest.approx(1.0)
    assert len({sums[20], sums[25], sums[30], sums[40]}) == 4
    assert sums[35] == sums[30]  # the estimate after sweep 35 is for the next one


def test_alpha_is_estimated_by_default() -> None:
    options = replace(OPTIONS, sweeps=70)
    same(fit_lda(TOKENS, options), fit_lda(TOKENS, replace(options, optimize_interval=10, optimize_burn_in=50)))
    alpha = fit_lda(TOKENS, options).model.alpha
    assert len(set(alpha.tolist())) == 5
    for fixed in ({"optimize_interval": 0}, {"alpha": 0.2}, {"alpha_sum": 1.0}):
        assert fit_lda(TOKENS, replace(options, **fixed).of_chain(5)).model.alpha.tolist() == [0.2] * 5


@pytest.mark.parametrize("fixed", [{"optimize_interval": 0}, {"alpha": 0.2}, {"alpha_sum": 1.0}])
@pytest.mark.parametrize("name", ["optimize_eta", "symmetric_alpha"])
def test_nothing_is_estimated_of_fixed_priors(name: str, fixed: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"`{name}` needs priors that are re-estimated"):
        replace(OPTIONS, **fixed, **{name: True})


def test_priors_are_not_estimated_after_the_last_sweep() -> None:
    # nothing has been drawn with them
    fit = fit_lda(TOKENS, replace(OPTIONS, sweeps=10, optimize_interval=5, optimize_burn_in=10))
    assert fit.model.alpha.tolist() == [0.2] * 5


def test_defaults() -> None:
    options = LdaOptions(k=20)
    assert (options.start_alpha, options.start_eta) == (0.05, 0.05)
    assert (options.samples_from, options.estimates_every, options.optimize_from) == (500, 10, 50)
    assert replace(options, optimize_interval=5).optimize_from == 25
    for fixed in ({"alpha": 0.05}, {"alpha_sum": 1.0}, {"optimize_interval": 0}):
        assert LdaOptions(k=20, **fixed).estimates_every == 0
    assert LdaOptions(k=20, alpha=0.05, optimize_interval=20).estimates_every == 20
    chosen = LdaOptions(k=20, alpha=0.3, eta=0.01, burn_in=0, optimize_burn_in=0)
    assert (chosen.start_alpha, chosen.start_eta, chosen.samples_from, chosen.optimize_from) == (0.3, 0.01, 0, 0)


# --- early stop ---

LONG = replace(OPTIONS, sweeps=400, trace_every=4, optimize_interval=0)


def settles(fit: LdaFit, share: float, first: int = 0) -> int:
    """The first point of the trace whose mean of five is not better by this share than that of the five before."""
    values = [point.log_likelihood for point in fit.trace]
    for at in range(2 * WINDOW, len(values) + 1):
        before, now = np.mean(values[at - 10 : at - 5]), np.mean(values[at - 5 : at])
        if now - before < share * abs(before) and fit.trace[at - 1].sweep >= first:
            return fit.trace[at - 1].sweep
    raise AssertionError("never")


@pytest.mark.parametrize("share", [0.1, 0.01, 0.001, 0.0])
def test_the_early_stop_ends_the_chain_and_says_where(share: float) -> None:
    whole = fit_lda(TOKENS, LONG)
    stopped = fit_lda(TOKENS, replace(LONG, early_stop=share))
    at = settles(whole, share)
    assert at < 400
    assert (stopped.stopped, stopped.sweeps) == (at, at)
    assert whole.stopped is None
    assert stopped.trace == whole.trace[: at // 4]
    sampler = chain(LONG)
    sampler.run(at)
    agrees(stopped, sampler.topic_term(), sampler.doc_topic(), sampler.assignments())


@pytest.mark.parametrize("estimate", ["mean", "best"])
def test_the_early_stop_waits_for_states_of_the_estimate(estimate: str) -> None:
    options = replace(LONG, estimate=estimate, burn_in=100, thin=4)
    stopped = fit_lda(TOKENS, replace(options, early_stop=0.1))
    assert stopped.stopped == settles(fit_lda(TOKENS, options), 0.1, first=100 + 5 * 4)
    assert stopped.samples == (5 if estimate == "mean" else 1)
    if estimate == "best":
        assert stopped.log_likelihood == max(p.log_likelihood for p in stopped.trace if p.sweep > 100)


def test_a_chain_that_does_not_settle_ends_as_planned() -> None:
    fit = fit_lda(TOKENS, replace(OPTIONS, early_stop=0.0, sweeps=45, trace_every=5))
    assert (fit.stopped, fit.sweeps) == (None, 45)  # nine points


# --- going on ---

FITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "last": ({}, {}),
    "mean": ({"estimate": "mean", "thin": 4}, {}),
    "best": ({"estimate": "best", "k": 12}, {}),
    "optimised": ({"optimize_interval": 4, "optimize_eta": True}, {}),
    "mean, optimised": ({"estimate": "mean", "thin": 4, "optimize_interval": 4, "symmetric_alpha": True}, {}),
    "early stop": ({"early_stop": 0.001, "sweeps": 400}, {}),
    "shards": ({"shards": 4}, {}),
    "guided": ({"estimate": "mean", "thin": 4, "optimize_interval": 4}, {}),
    "guided best": ({"estimate": "best", "optimize_eta": True, "optimize_interval": 4}, {}),
    "weights": ({"estimate": "mean", "thin": 4}, {"weights": token_weights(TOKENS, "idf")}),
    "guided, weights": ({"estimate": "best"}, {"weights": token_weights(TOKENS, "pmi")}),
}


def some_guidance() -> Guidance | None:
    """Two fixed topics and one with a seed word."""
    frequencies = np.bincount(TOKENS.term_ids, minlength=TOKENS.n_terms)
    return joined(
        fixed_counts(fit_lda(TOKENS, replace(OPTIONS, k=2)).model, TOKENS.terms, ("", "")),
        seed_counts([Seeds("c", ("acown",))], TOKENS.terms, frequencies, first=2),
    )


@pytest.mark.parametrize("name", few(FITS, 6))
def test_any_saved_state_goes_on_to_the_same_bytes(name: str, tmp_path: Path) -> None:
    some, given = FITS[name]
    options = replace(OPTIONS, **some)
    if name.startswith("guided"):
        given = {**given, "guidance": some_guidance()}
    whole = fit_lda(TOKENS, options, **given)
    saved = Saved(7)
    same(fit_lda(TOKENS, options, keeper=saved, **given), whole)
    assert [state.step for state in saved.states] == list(range(7, whole.sweeps + 1, 7))
    for state in saved.states:
        write_steps(tmp_path / "state.npz", state, {})
        again = Saved(begin=read_steps(tmp_path / "state.npz", {}))
        same(fit_lda(TOKENS, options, keeper=again, **given), whole)


def test_a_chain_can_be_gone_on_from_again_and_again() -> None:
    options = replace(OPTIONS, estimate="mean", thin=4, optimize_interval=4)
    state = None
    for sweep in (9, 18, 27, 36):
        saved = Saved(9, state)
        fit = fit_lda(TOKENS, options, keeper=saved)
        same(fit, fit_lda(TOKENS, options))
        state = saved.states[0]
        assert state.step == sweep


def test_the_state_given_stays_as_it_is() -> None:
    saved = Saved(20)
    fit_lda(TOKENS, OPTIONS, keeper=saved)
    first = fit_lda(TOKENS, OPTIONS, keeper=Saved(begin=saved.states[0]))
    assert saved.states[0].step == 20
    same(fit_lda(TOKENS, OPTIONS, keeper=Saved(begin=saved.states[0])), first)


def test_a_state_saved_where_the_early_stop_came_ends_there_too() -> None:
    options = replace(LONG, early_stop=0.001)
    saved = Saved(4)
    whole = fit_lda(TOKENS, options, keeper=saved)
    last = saved.states[-1]
    assert whole.stopped == last.step
    same(fit_lda(TOKENS, options, keeper=Saved(begin=last)), whole)


def test_a_state_of_another_corpus_or_k_is_refused() -> None:
    saved = Saved(20)
    fit_lda(TOKENS, OPTIONS, keeper=saved)
    with pytest.raises(UsageError, match="another corpus"):
        fit_lda(planted([20, 20], seed=1).tokens, OPTIONS, keeper=Saved(begin=saved.states[0]))
    with pytest.raises(UsageError, match="another number of topics"):
        fit_lda(TOKENS, replace(OPTIONS, k=3), keeper=Saved(begin=saved.states[0]))


# --- interrupts ---


def interrupted(options: LdaOptions, folder: Path) -> StepState:
    """The state that is in the checkpoint of a fit that the user interrupts."""
    unfinished = UnfinishedWork(folder / "run", CheckpointOptions())
    with pytest.raises(KeyboardInterrupt), resume.keeping(unfinished, {}, CHAIN) as keeper:
        fit_lda(TOKENS, options, keeper=keeper)
    assert unfinished.chain is not None
    return read_steps(unfinished.chain, {})


@pytest.mark.parametrize("sweep", [1, 17, 20, 40])
def test_an_interrupt_in_a_sweep_saves_a_state_to_go_on_from(
    sweep: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = replace(OPTIONS, estimate="mean", thin=4, optimize_interval=4)
    run = GibbsSampler.run

    def slow(self: GibbsSampler, sweeps: int) -> None:
        if self.sweep + 1 == sweep:
            os.kill(os.getpid(), signal.SIGINT)
        run(self, sweeps)

    with monkeypatch.context() as patch:
        patch.setattr(GibbsSampler, "run", slow)
        saved = interrupted(options, tmp_path)
    assert saved.step == sweep
    same(fit_lda(TOKENS, options, keeper=Saved(begin=saved)), fit_lda(TOKENS, options))


def test_an_interrupt_without_save_goes_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    log_likelihood = GibbsSampler.log_likelihood

    def interrupting(self: GibbsSampler) -> float:
        signal.raise_signal(signal.SIGINT)
        return log_likelihood(self)

    monkeypatch.setattr(GibbsSampler, "log_likelihood", interrupting)
    with pytest.raises(KeyboardInterrupt):
        fit_lda(TOKENS, OPTIONS)


def test_an_interrupt_between_sweeps_saves_a_state_to_go_on_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log_likelihood = GibbsSampler.log_likelihood

    def interrupting(self: GibbsSampler) -> float:
        if self.sweep == 15:
            os.kill(os.getpid(), signal.SIGINT)
        return log_likelihood(self)

    with monkeypatch.context() as patch:
        patch.setattr(GibbsSampler, "log_likelihood", interrupting)
        saved = interrupted(OPTIONS, tmp_path)
    assert saved.step == 15
    same(fit_lda(TOKENS, OPTIONS, keeper=Saved(begin=saved)), fit_lda(TOKENS, OPTIONS))


def test_progress_is_told_of_every_sweep_and_may_end_the_fit() -> None:
    told: list[tuple[int, TracePoint | None]] = []
    fit = fit_lda(TOKENS, OPTIONS, progress=lambda sweep, point: told.append((sweep, point)))
    assert [sweep for sweep, _ in told] == list(range(1, 41))
    assert tuple(point for _, point in told if point) == fit.trace

    class EnoughError(Exception):
        pass

    def enough(sweep: int, point: TracePoint | None) -> None:
        if sweep == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        fit_lda(TOKENS, OPTIONS, progress=enough)


# --- threads, odd corpora, bad options ---


def test_the_result_does_not_depend_on_threads() -> None:
    options = replace(OPTIONS, shards=4, estimate="mean", thin=4, optimize_interval=4)
    one = fit_lda(TOKENS, options)
    for threads in (2, 3, 8):
        same(fit_lda(TOKENS, options, threads=threads), one)


def test_documents_without_tokens_keep_their_rows() -> None:
    tokens = token_table([[], [0, 1, 0], [], [2, 3, 2], []], list("abcd"))
    fit = fit_lda(tokens, LdaOptions(k=2, sweeps=20))
    assert (fit.doc_topic.sum(axis=1).tolist(), fit.doc_topic.shape) == ([0, 3, 0, 3, 0], (5, 2))


@pytest.mark.parametrize(
    ("documents", "n_terms", "K"), [([[0, 1]], 2, 1), ([[0, 1]], 2, 9), ([[0, 0, 0], [0]], 1, 3), ([[0]], 1, 1)]
)
@pytest.mark.parametrize("estimate", ["last", "mean", "best"])
def test_tiny_corpora(documents: Any, n_terms: int, K: int, estimate: str) -> None:
    tokens = token_table(documents, [f"w{v}" for v in range(n_terms)])
    options = LdaOptions(k=K, sweeps=20, estimate=estimate, optimize_interval=2, optimize_eta=True)
    fit = fit_lda(tokens, options)
    assert fit.model.topic_term.shape == (K, n_terms)
    assert fit.model.topic_term.sum() == pytest.approx(len(tokens.term_ids))
    assert np.isfinite(fit.log_likelihood)
    assert (fit.model.alpha > 0).all()


@pytest.mark.parametrize("documents", [[], [[], []]])
def test_a_corpus_without_tokens_is_refused(documents: Any) -> None:
    tokens = TokenTable(np.zeros(len(documents) + 1, np.int64), np.zeros(0, np.int32), ("a",))
    with pytest.raises(UsageError, match="no tokens"):
        fit_lda(tokens, OPTIONS)


@pytest.mark.parametrize(
    "bad",
    [
        {"k": -3},
        {"estimate": "median"},
        {"estimate": "mean", "burn_in": 40},
        {"estimate": "best", "burn_in": 50},
        {"alpha": 0.0},
        {"eta": -1.0},
        {"alpha": float("nan")},
        {"k": 0},
        {"sweeps": 0},
        {"sweeps": -5},
        {"trace_every": 0},
        {"thin": 0, "estimate": "mean"},
        {"thin": -1, "estimate": "mean"},
        {"burn_in": -10, "estimate": "mean"},
        {"optimize_interval": -1},
        {"early_stop": float("nan")},
        {"estimate": "mean", "burn_in": 35, "thin": 10},
    ],
)
def test_bad_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        fit_lda(TOKENS, replace(OPTIONS, **bad))


def test_the_early_stop_waits_for_the_first_sample_of_the_mean() -> None:
    fit = fit_lda(TOKENS, replace(LONG, estimate="mean", burn_in=100, thin=50, early_stop=0.1))
    assert fit.model.topic_term.dtype == np.float64
    assert fit.stopped is not None
    assert fit.stopped >= 150


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({}, 25),
        ({"optimize_interval": 4, "optimize_burn_in": 3}, 25),
        ({"optimize_interval": 5}, 30),  # where an estimate is due after the last sweep
        ({"estimate": "mean", "thin": 4, "burn_in": 10}, 25),
        ({"estimate": "best", "burn_in": 5, "trace_every": 5}, 30),
    ],
)
def test_a_chain_is_lengthened_to_the_same_bytes(change: dict[str, Any], first: int) -> None:
    longer = replace(OPTIONS, sweeps=40, **change)
    shorter = replace(longer, sweeps=first)
    saved = Saved(5)
    fit_lda(TOKENS, shorter, keeper=saved)
    whole = fit_lda(TOKENS, longer)
    assert chain_options(shorter, 7) == chain_options(longer, 7)
    for state in saved.states:
        problem = resume_problem(state, longer)
        if problem is None:
            same(fit_lda(TOKENS, longer, keeper=Saved(begin=state)), whole)
        else:  # after the last sweep of the shorter chain
            assert state.step == first
    assert resume_problem(saved.states[-1], replace(longer, sweeps=10)) is not None
    assert chain_options(replace(OPTIONS, estimate="mean", sweeps=20), 7) != chain_options(
        replace(OPTIONS, estimate="mean"), 7
    )


def test_states_are_saved_by_the_clock_when_nobody_says_how_often(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resume, "SAVE_SECONDS", 0.0)
    for every, kept in ((None, True), (0, False)):
        unfinished = UnfinishedWork(tmp_path / "run", CheckpointOptions(checkpoint_every=every))
        assert unfinished.chain is not None
        with resume.keeping(unfinished, {}, CHAIN) as keeper:
            fit_lda(TOKENS, OPTIONS, keeper=keeper)
        assert unfinished.chain.exists() == kept


def test_a_signal_said_again_does_not_disturb_what_is_saved() -> None:
    stop = Stop()
    stop.step(1, 9)
    stop.press(signal.SIGTERM)
    stop.press(signal.SIGTERM)
    with pytest.raises(Ended) as ended:
        stop.step(2, 9)
    assert ended.value.number == signal.SIGTERM
    stop.press(signal.SIGTERM)  # while the state is written
    with pytest.raises(KeyboardInterrupt):
        stop.press(signal.SIGINT)
