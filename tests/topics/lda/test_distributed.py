"""AD-LDA: every draw against the plain version, the same bytes wherever shards are, counts that sum to N, lost workers."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from nlpkit.errors import ActorLostError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.parallel import ProcessActors, RayActors, Start
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.guide import Guidance
from nlpkit.topics.lda import sampler as chain_state
from nlpkit.topics.lda.distributed import DistributedSampler
from nlpkit.topics.lda.fit import LdaFit, fit_lda
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.sampler import TracePoint
from tests.reference.gibbs import PlainShards
from tests.refusals import refuses
from tests.strategies import repeatable
from tests.topics.base.test_gibbs_kernel import chains
from tests.topics.lda.keepers import Saved
from tests.topics.lda.test_sampler import MIXED, corpus, digest, sampler

THREE = partial(ProcessActors, processes=3)


def distributed(tokens: TokenTable = MIXED, **options: Any) -> DistributedSampler:
    return DistributedSampler(tokens, **{"n_topics": 8, "alpha": 0.2, "eta": 0.1, "seed": 1, **options})


def pseudo(chain: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a sampler with frozen documents, as those of one that has pseudo-tokens after its documents."""
    tokens, frozen = chain["tokens"], chain.get("frozen")
    if frozen is None:
        return chain
    in_frozen = np.repeat(frozen, np.diff(tokens.offsets))
    lengths = np.diff(tokens.offsets)[~frozen]
    kept = TokenTable(np.concatenate([[0], np.cumsum(lengths)]), tokens.term_ids[~in_frozen], tokens.terms)
    words, topics = tokens.term_ids[in_frozen], chain["assignments"][in_frozen]
    rest = {name: value for name, value in chain.items() if name not in ("frozen", "assignments", "tokens")}
    return rest | {
        "tokens": kept,
        "assignments": chain["assignments"][~in_frozen],
        "pseudo_tokens": (words, topics),
    }


def assert_same_draws(chain: dict[str, Any], sweeps: int = 3) -> None:
    slow, fast = PlainShards(**chain), DistributedSampler(**pseudo(chain))
    for _ in range(sweeps + 1):
        z = slow.z[~slow.frozen]
        assert fast.assignments().tolist() == z.tolist()
        n_kv = fast.topic_term()
        units = np.bincount(slow.z * slow.V + slow.term, slow.units, slow.K * slow.V).reshape(slow.K, slow.V)
        assert (n_kv.toarray() * (1 if n_kv.dtype == np.int32 else 256) == units).all()
        fast.run(1)
        slow.run(1)


@repeatable
@given(chains())
def test_every_draw_is_that_of_plain_shards(chain: dict[str, Any]) -> None:
    assert_same_draws(chain | {"shards": chain["shards"] + 1})


@repeatable
@given(chains(weighted=True))
def test_every_draw_of_weighted_tokens_is_that_of_plain_shards(chain: dict[str, Any]) -> None:
    if "frozen" not in chain:  # pseudo-tokens have weight 1
        assert_same_draws(chain)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_shard_is_the_sampler_without_approximation(weighted: bool) -> None:
    weights = np.random.default_rng(0).random(len(MIXED.term_ids)) * 3 if weighted else None
    one, exact = distributed(shards=1, weights=weights), sampler(shards=1, weights=weights)
    for _ in range(3):
        one.run(2)
        exact.run(2)
        assert digest(one) == digest(exact)


def test_the_bytes_do_not_depend_on_where_shards_are() -> None:
    alone = distributed(shards=5)
    alone.run(4)
    threads = distributed(shards=5, threads=3)
    threads.run(4)
    processes = distributed(shards=5, start=THREE)
    try:
        processes.run(2)
        state = processes.state()
        processes.run(2)
        assert digest(alone) == digest(threads) == digest(processes)
    finally:
        processes.close()
    restored = distributed(shards=5)
    restored.restore(state, 2)
    restored.run(2)
    assert digest(restored) == digest(alone)
    other = distributed(shards=4)
    other.run(4)
    assert digest(other) != digest(alone)  # the number of shards is a parameter of the model


@pytest.mark.parametrize("shards", [1, 2, 7, 40, 1000])
def test_counts_sum_to_the_tokens_after_every_merge(shards: int) -> None:
    chain = distributed(shards=shards)
    for _ in range(4):
        chain.run(1)
        z, topics = chain.assignments(), chain.topic_term()
        cells = np.bincount(z * MIXED.n_terms + MIXED.term_ids, minlength=8 * MIXED.n_terms)
        assert topics.sum() == len(z)
        assert (topics.toarray().ravel() == cells).all()
        assert (topics.data > 0).all()
        assert (chain.doc_topic().sum(axis=0) == chain.topic_sizes()).all()


@pytest.mark.parametrize(
    "documents",
    [[[]], [[0]], [[0], []], [[], [], [0, 1, 2] * 40, [], [1]], [[0] * 300, [0], [1]]],
    ids=["nothing", "one token", "an empty shard", "one large document", "one word"],
)
@pytest.mark.parametrize("K", [1, 2, 300])
def test_shards_with_next_to_nothing(documents: list[list[int]], K: int) -> None:
    tokens = corpus(documents, 3)
    chain = distributed(tokens, n_topics=K, shards=4)
    chain.run(3)
    assert chain.topic_term().sum() == len(tokens.term_ids)
    assert chain.doc_topic().sum(axis=1).tolist() == list(map(len, documents))
    assert np.isfinite(chain.log_likelihood())


def test_arguments_that_do_not_fit_are_refused() -> None:
    for name, values in (("assignments", np.zeros(3, np.int32)), ("weights", np.ones(3)), ("alpha", np.ones(3))):
        with pytest.raises(UsageError, match=name):
            distributed(**{name: values})
    with refuses("alpha"):
        distributed(eta=0.0)
    with pytest.raises(UsageError, match="another number of shards"):
        distributed(shards=3).restore(distributed(shards=2).state(), 0)
    damaged = distributed(shards=2).state()
    damaged["1.z"] = damaged["1.z"] * 0
    with pytest.raises(UsageError, match="damaged"):
        distributed(shards=2).restore(damaged, 0)


# ---------------------------------------------------------------- whole fits

OPTIONS = LdaOptions(
    6, sweeps=12, shards=4, scheme="ad-lda", optimize_interval=3, optimize_burn_in=2, optimize_eta=True, trace_every=4
)


def contents(fit: LdaFit) -> tuple[Any, ...]:
    counts, documents = fit.model.topic_term, fit.doc_topic
    arrays = (counts.data, counts.indices, documents.data, documents.indices, fit.assignments, fit.model.alpha)
    return (*(np.ascontiguousarray(a).tobytes() for a in arrays), fit.trace, fit.model.eta, fit.sweeps)


@pytest.mark.parametrize("estimate", ["last", "mean", "best"])
def test_a_fit_with_one_shard_is_that_of_the_exact_sampler(estimate: str) -> None:
    one = replace(OPTIONS, shards=1, estimate=estimate, thin=2)
    assert contents(fit_lda(MIXED, one)) == contents(fit_lda(MIXED, replace(one, scheme="grid")))


def test_a_guided_fit_has_its_fixed_topics_and_the_likelihood_of_the_exact_sampler() -> None:
    words, topics = np.array([0, 0, 3, 4, 4], np.int32), np.array([0, 0, 0, 1, 1], np.int32)
    fit = fit_lda(
        MIXED,
        replace(OPTIONS, optimize_interval=0, optimize_eta=False),
        guidance=Guidance(words, topics, 1, ("a", "b")),
    )
    assert fit.names[:2] == ("a", "b")
    assert fit.model.topic_term[[0]].toarray().ravel().tolist() == [2, 0, 0, 1] + [0] * 46
    place = np.empty(6, np.int32)
    place[fit.order] = np.arange(6)
    frozen = np.arange(MIXED.n_docs + 1) == MIXED.n_docs
    whole = TokenTable(
        np.append(MIXED.offsets, MIXED.offsets[-1] + len(words)), np.concatenate([MIXED.term_ids, words]), MIXED.terms
    )
    z = np.concatenate([fit.assignments, place[topics]])
    exact = sampler(
        whole,
        n_topics=6,
        alpha=1 / 6,
        eta=1 / 6,
        assignments=z,
        frozen=frozen,
        fixed=place[np.zeros(6, int)] == np.arange(6),
    )
    assert fit.log_likelihood == pytest.approx(exact.log_likelihood() / len(MIXED.term_ids), rel=1e-12)


class KilledAt:
    """Processes of which one is killed at given sweeps, once each."""

    def __init__(self, *sweeps: int) -> None:
        self.left, self.actors = list(sweeps), [ProcessActors.__new__(ProcessActors)]

    def start(self, build: Any, arguments: Any) -> ProcessActors:
        self.actors = [ProcessActors(build, arguments, processes=2)]
        return self.actors[0]

    def progress(self, sweep: int, _point: TracePoint | None) -> None:
        if sweep in self.left:
            self.left.remove(sweep)
            os.kill(self.actors[0].pids[1], signal.SIGKILL)


@pytest.mark.parametrize("save_every", [pytest.param(0, marks=pytest.mark.slow), 4])
def test_a_killed_worker_changes_nothing(save_every: int, caplog: pytest.LogCaptureFixture) -> None:
    kill = KilledAt(6)
    saved = Saved(save_every)
    fit = fit_lda(MIXED, OPTIONS, shards=kill.start, progress=kill.progress, keeper=saved)
    assert not kill.left
    assert contents(fit) == contents(fit_lda(MIXED, OPTIONS, Execution(threads=2)))
    assert [state.step for state in saved.states] == ([4, 8, 12] if save_every else [])
    assert "exit code -9" in caplog.text
    assert f"all restart after sweep {save_every}" in caplog.text


@pytest.mark.slow
def test_without_a_keeper_the_state_of_the_last_minute_is_remembered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(chain_state, "SAVE_SECONDS", -1.0)
    kill = KilledAt(6)
    fit = fit_lda(MIXED, OPTIONS, shards=kill.start, progress=kill.progress)
    assert contents(fit) == contents(fit_lda(MIXED, OPTIONS))
    assert "all restart after sweep" in caplog.text or "all restart after sweep" in caplog.text


@pytest.mark.slow
def test_workers_that_are_lost_again_and_again_end_the_fit() -> None:
    kill = KilledAt(*[6] * 4)
    with pytest.raises(ActorLostError, match="worker process"):
        fit_lda(MIXED, OPTIONS, shards=kill.start, progress=kill.progress)
    assert not kill.left


def test_a_driver_that_ended_resumes_from_the_saved_state_with_other_workers() -> None:
    saved = Saved(5)
    whole = fit_lda(MIXED, OPTIONS, keeper=saved)
    resumed = fit_lda(MIXED, OPTIONS, keeper=Saved(begin=saved.states[0]), shards=partial(ProcessActors, processes=2))
    assert contents(resumed) == contents(whole)


# ---------------------------------------------------------------- a cluster


@pytest.fixture(scope="module")
def cluster() -> Any:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    yield ray
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_actors_give_the_same_bytes_though_one_is_killed(cluster: Any) -> None:
    started: list[RayActors] = []

    def start(build: Any, arguments: Any) -> RayActors:
        started.append(RayActors(build, arguments, workers=3))
        return started[-1]

    def progress(sweep: int, _point: TracePoint | None) -> None:
        if sweep == 6 and len(started) == 1:
            os.kill(cluster.get(started[0].hosts[2].pid.remote()), signal.SIGKILL)

    where: Start = start
    fit = fit_lda(MIXED, OPTIONS, shards=where, progress=progress, keeper=Saved(4))
    assert len(started) == 2
    assert contents(fit) == contents(fit_lda(MIXED, OPTIONS))
