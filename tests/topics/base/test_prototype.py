"""S-CLOP, its pruning and the choice of the prototype: by hand, against recursion, and on any number of threads."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.topics.stability import pairwise_sclop, prune_topics
from nlpkit.topics.base.arguments import run_seeds
from nlpkit.topics.base.prototype import MEASURES, choose_prototype, cosine, replicate, run_prototype
from tests.reference.linkage import complete_linkage
from tests.strategies import repeatable


def similar(n: int, pairs: dict[tuple[int, int], float], rest: float = 0.0) -> Any:
    """Similarities (n, n) with these of pairs, `rest` of all others, 1 of a topic to itself."""
    out = np.full((n, n), rest)
    for (i, j), value in pairs.items():
        out[i, j] = out[j, i] = value
    np.fill_diagonal(out, 1.0)
    return out


def random_similarity(n: int, seed: int) -> Any:
    """No two pairs are equally similar."""
    values = (np.random.default_rng(seed).permutation(n * (n - 1) // 2) + 1) / (n * n)
    out = np.eye(n)
    out[np.triu_indices(n, 1)] = values
    return np.maximum(out, out.T)


# --- S-CLOP and the pruned dendrogram ---


@pytest.mark.parametrize(
    ("pairs", "rest", "sizes", "groups", "disparity", "sclop"),
    [
        # topics 0, 1, 2 of the first run are 4, 3, 5 of the second
        ({(0, 4): 0.9, (1, 3): 0.8, (2, 5): 0.7}, 0.0, (3, 3), [0, 1, 2, 1, 0, 2], 0, 1),
        # U of two topics of one run is 1/2 · (1 + 1) · 2 = 2, above the 1/2 + 1/2 of each alone: the worst case, 4 · 1/2
        ({(0, 1): 0.9, (2, 3): 0.8}, 0.0, (2, 2), [0, 1, 2, 3], 2, 0),
        # 0-3 and 1-4 merge; 2 joins {1, 4} at 0.3 and 5 joins {0, 3} at 0.2, and both are parted again:
        # U(2, 1) = 1/2 · 1 · 3 = 3/2 against 0 + 1/2. U_Σ = 0 + 0 + 1/2 + 1/2, U_Σ,max = 6 · 1/2
        (
            {(0, 3): 0.9, (1, 4): 0.8, (1, 2): 0.5, (2, 4): 0.3, (3, 5): 0.4, (0, 5): 0.2}, 0.0, (3, 3), [0, 1, 2, 0, 1, 3], 1, 2 / 3,
        ),
        # {a, b} of two of three runs: 1/3 · 1 · 2 = 2/3, against 2/3 for each of a and b alone; twice. The topics of the third
        # run merge with each other: 1/3 · 3 · 2 = 2, against 4/3. U_Σ = 8/3, U_Σ,max = 6 · 2/3
        ({(0, 2): 0.9, (1, 3): 0.8, (4, 5): 0.7}, 0.0, (2, 2, 2), [0, 1, 0, 1, 2, 3], 8 / 3, 1 / 3),
        # {0, 1} and 2: U(2, 1) = 3/2 = 1/2 + 1/2 + 1/2; pruneSCLOP keeps the cluster
        ({(0, 1): 0.9}, 0.5, (2, 1), [0, 0, 0], 3 / 2, 0),
    ],
)  # fmt: skip
def test_sclop_by_hand(
    pairs: dict[tuple[int, int], float],
    rest: float,
    sizes: tuple[int, ...],
    groups: list[int],
    disparity: float,
    sclop: float,
) -> None:
    pruning = prune_topics(similar(sum(sizes), pairs, rest=rest), sizes)
    assert (pruning.groups.tolist(), pruning.groups.dtype) == (groups, np.int32)
    assert (pruning.disparity, pruning.sclop) == pytest.approx((disparity, sclop))


def test_sclop_at_its_limits() -> None:
    # without similar topics everything merges at similarity 0, from the left as in R's hclust
    assert prune_topics(similar(6, {}), (3, 3)).sclop == 0
    # runs of one topic always agree
    assert prune_topics(similar(2, {}), (1, 1)).sclop == 1
    assert prune_topics(similar(4, {(0, 1): 0.5}), (1, 1, 1, 1)).sclop == 1
    # one match and a topic left over: U_Σ = 1/2, U_Σ,max = 3 · 1/2
    assert prune_topics(similar(3, {(0, 2): 0.9}), (2, 1)).sclop == pytest.approx(2 / 3)


def test_sclop_needs_two_runs() -> None:
    with pytest.raises(UsageError, match="at least 2, got 1"):
        prune_topics(np.eye(2), (2,))


sizes_r = st.lists(st.integers(1, 6), min_size=2, max_size=5)


@repeatable
@given(sizes_r, st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_pruning_equals_recursion(sizes: list[int], levels: int, seed: int) -> None:
    n = sum(sizes)
    grades = np.random.default_rng(seed).integers(0, levels + 1, (n, n)) / levels  # with many ties
    similarity = similar(n, {(i, j): grades[i, j] for i in range(n) for j in range(i)})
    runs = [r for r, size in enumerate(sizes) for _ in range(size)]
    nodes: dict[int, Any] = dict(enumerate(range(n)))
    for m, (a, b, _) in enumerate(complete_linkage((1.0 - similarity).tolist())):
        nodes[n + m] = (nodes[a], nodes[b])

    def leaves(node: Any) -> list[int]:
        return [node] if isinstance(node, int) else leaves(node[0]) + leaves(node[1])

    def prune(node: Any) -> tuple[int, list[list[int]]]:
        topics = leaves(node)
        t = Counter(runs[k] for k in topics)
        whole = sum(abs(t[r] - 1) for r in range(len(sizes))) * len(topics)
        if isinstance(node, int):
            return whole, [topics]
        (left, left_groups), (right, right_groups) = prune(node[0]), prune(node[1])
        return (whole, [topics]) if whole <= left + right else (left + right, left_groups + right_groups)

    least, groups = prune(nodes[max(nodes)])
    pruning = prune_topics(similarity, sizes)
    ours = [np.flatnonzero(pruning.groups == g).tolist() for g in range(pruning.groups.max() + 1)]
    assert ours == sorted(sorted(group) for group in groups)
    assert pruning.disparity == pytest.approx(least / len(sizes))
    assert pruning.sclop == pytest.approx(1 - least / len(sizes) / (n * (len(sizes) - 1) / len(sizes)))


@repeatable
@given(sizes_r, st.integers(0, 2**32 - 1))
def test_sclop_is_a_share_and_does_not_see_the_order_of_topics_and_runs(sizes: list[int], seed: int) -> None:
    similarity = random_similarity(sum(sizes), seed)
    before = similarity.copy()
    sclop = prune_topics(similarity, sizes).sclop
    assert 0 <= sclop <= 1
    assert (similarity == before).all()
    rng = np.random.default_rng(seed)
    rows = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    order = rng.permutation(len(sizes))
    shuffled = np.concatenate([rng.permutation(rows[r]) for r in order])
    again = prune_topics(similarity[np.ix_(shuffled, shuffled)], [sizes[r] for r in order])
    assert again.sclop == pytest.approx(sclop)


@repeatable
@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_sclop_of_a_pair_is_the_share_of_topics_with_a_partner(n_topics: int, seed: int) -> None:
    similarity = random_similarity(2 * n_topics, seed)
    partners = sum(
        max(a, b) < 2 * n_topics and (a < n_topics) != (b < n_topics)
        for a, b, _ in complete_linkage((1.0 - similarity).tolist())
    )
    assert prune_topics(similarity, (n_topics, n_topics)).sclop == pytest.approx(partners / n_topics)


def test_pairs_of_runs() -> None:
    # runs {0, 1}, {2, 3}, {4, 5}: both topics of the first two match, one of the first and the last, none of the last two
    similarity = similar(6, {(0, 2): 0.9, (1, 3): 0.8, (0, 4): 0.7, (4, 5): 0.6, (2, 3): 0.1})
    sclop = pairwise_sclop(similarity, (2, 2, 2))
    assert np.isnan(np.diag(sclop)).all()
    assert (sclop[0].tolist()[1:], sclop[1, 2]) == ([1.0, 0.5], 0)
    np.testing.assert_array_equal(sclop, sclop.T)


# --- the choice ---

TOPICS = np.array([[50, 50, 0, 0, 0, 0], [0, 0, 50, 50, 0, 0], [0, 0, 0, 0, 50, 50]], np.int32)
MIXED = np.array([[50, 0, 50, 0, 50, 0], [0, 50, 0, 50, 0, 50], [1, 1, 1, 1, 1, 1]], np.int32)


def csr(counts: Any) -> Any:
    return sparse.csr_array(np.asarray(counts, np.int32))


def test_the_prototype_is_the_run_most_like_the_others() -> None:
    # the first run mixes up the topics of all others, and the third lacks one
    third = TOPICS[[1, 0, 2]].copy()
    third[2] = [50, 0, 50, 0, 50, 0]
    prototype = choose_prototype([csr(MIXED), csr(TOPICS), csr(third), csr(TOPICS[[2, 0, 1]])])
    assert (prototype.run, prototype.sclop[1, 3], prototype.mean_sclop.argmax()) == (1, 1, 1)
    assert prototype.mean_sclop[1] == pytest.approx((prototype.sclop[1, [0, 2, 3]]).mean())
    assert prototype.offsets.tolist() == [0, 3, 6, 9, 12]
    assert prototype.matches[:, 1].tolist() == [0, 1, 2]
    assert prototype.matches[:, 2].tolist() == [1, 0, 2]
    assert prototype.matches[:, 3].tolist() == [1, 2, 0]
    # 2 words of 2 and 3 words: 1 shared of 4
    assert prototype.match_similarity.tolist() == [[0.25, 1, 1, 1], [0.25, 1, 1, 1], [0.25, 1, 0.25, 1]]
    assert prototype.agreement.tolist() == [2.25 / 3, 2.25 / 3, 0.5]
    groups = prototype.pruning.groups
    assert groups[3] == groups[7] == groups[10]
    assert groups[4] == groups[6] == groups[11]
    assert groups[5] == groups[9] != groups[3]


def test_of_equal_runs_the_first_is_the_prototype() -> None:
    prototype = choose_prototype([csr(TOPICS[order]) for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2])])
    assert (prototype.run, prototype.mean_sclop.tolist()) == (0, [1, 1, 1])
    assert prototype.pruning.sclop == 1
    assert prototype.matches.tolist() == [[0, 2, 1], [1, 1, 0], [2, 0, 2]]
    # a mixed-up first run is not it
    assert choose_prototype([csr(MIXED), csr(TOPICS), csr(TOPICS)]).run == 1


def test_a_topic_like_no_other_has_no_match() -> None:
    other = [[0, 0, 0, 0, 50, 50], [50, 50, 0, 0, 0, 0]]
    prototype = choose_prototype([csr(TOPICS), csr(other)])
    assert prototype.matches.tolist() == [[0, 1], [1, -1], [2, 0]]
    assert prototype.agreement.tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_each_measure_finds_the_same_topics(name: str) -> None:
    counts = [csr(TOPICS + np.arange(6)), csr(MIXED), csr(TOPICS[[2, 1, 0]])]
    prototype = choose_prototype(counts, measure=MEASURES[name])
    assert prototype.run in (0, 2)
    assert (prototype.sclop[0, 2], prototype.matches[1].tolist()[0::2]) == (1, [1, 1])
    np.testing.assert_array_equal(prototype.similarity, MEASURES[name](sparse.vstack(counts)))


def test_runs_that_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="at least 2 runs, got 1"):
        choose_prototype([csr(TOPICS)])
    with pytest.raises(InputError):
        choose_prototype([csr(TOPICS), csr(TOPICS[:, :5])])
    with pytest.raises(InputError, match=r"\(0, 6\)"):
        choose_prototype([csr(TOPICS), csr(TOPICS[:0])])
    with pytest.raises(InputError, match=r"\(3, 0\)"):
        choose_prototype([csr(TOPICS[:, :0]), csr(TOPICS[:, :0])])


# --- replications ---


class FakeSampler:
    """Counts that depend on the seed and the sweeps alone; how many work at a time is noted."""

    working: int = 0
    most: int = 0
    lock = threading.Lock()

    def __init__(self, seed: int, *, fails: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.fails = fails
        self.counts = np.zeros((3, 8), np.int32)
        self.sweeps = 0

    def run(self, sweeps: int) -> None:
        if self.fails:
            raise ValueError("no more")
        with self.lock:
            FakeSampler.working += 1
            FakeSampler.most = max(FakeSampler.most, FakeSampler.working)
        time.sleep(0.002)
        for _ in range(sweeps):
            self.counts += self.rng.poisson(2.0, (3, 8)).astype(np.int32)
        self.sweeps += sweeps
        with self.lock:
            FakeSampler.working -= 1

    def topic_term(self) -> Any:
        return sparse.csr_array(self.counts)

    def log_likelihood(self) -> float:
        return -float(self.sweeps)


@pytest.fixture(autouse=True)
def idle() -> None:
    FakeSampler.working = FakeSampler.most = 0


def test_the_seed_of_a_run_depends_on_its_number_alone() -> None:
    seeds = run_seeds(7, 50)
    assert len(set(seeds)) == 50
    assert run_seeds(7, 3) == seeds[:3]
    assert set(run_seeds(8, 50)).isdisjoint(seeds)
    assert seeds[1] == np.random.SeedSequence(7, spawn_key=(1,)).generate_state(1)[0]


def test_runs_are_the_same_on_any_number_of_threads() -> None:
    alone = replicate(FakeSampler, runs=7, sweeps=25, seed=1)
    assert FakeSampler.most == 1
    assert (alone.seeds, alone.log_likelihood.tolist()) == (run_seeds(1, 7), [-25.0] * 7)
    by_itself = FakeSampler(alone.seeds[4])
    by_itself.run(25)
    np.testing.assert_array_equal(alone.counts[4].toarray(), by_itself.counts)
    for threads in (2, 3, 8):
        together = replicate(FakeSampler, runs=7, sweeps=25, seed=1, threads=threads)
        assert together.seeds == alone.seeds
        for ours, theirs in zip(together.counts, alone.counts, strict=True):
            np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    assert 1 < FakeSampler.most <= 7
    one, other = (choose_prototype(r.counts, measure=cosine) for r in (alone, together))
    assert one.run == other.run
    np.testing.assert_array_equal(one.sclop, other.sclop)


def test_progress_grows_to_one() -> None:
    shares: list[float] = []
    replicate(FakeSampler, runs=3, sweeps=25, seed=1, threads=2, progress=shares.append)
    assert (shares, len(shares), shares[-1]) == (sorted(shares), 3 * 3, 1)


def test_an_error_ends_all_runs() -> None:
    made: list[FakeSampler] = []
    numbers = itertools.count()  # of two threads that make one at a time, one has the 1

    def make(seed: int) -> FakeSampler:
        sampler = FakeSampler(seed, fails=next(numbers) == 1)
        made.append(sampler)
        return sampler

    with pytest.raises(ValueError, match="no more"):
        replicate(make, runs=50, sweeps=10_000, seed=1, threads=2)
    assert len(made) < 10
    assert max(sampler.sweeps for sampler in made) < 10_000


def test_an_interrupt_ends_all_runs() -> None:
    made: list[FakeSampler] = []

    def make(seed: int) -> FakeSampler:
        if len(made) > 4:
            time.sleep(0.2)  # on a busy machine the main thread needs its turn to hear the signal
        sampler = FakeSampler(seed)
        made.append(sampler)
        return sampler

    def interrupt(share: float) -> None:
        if len(made) == 2:
            made.append(FakeSampler(0))  # once
            os.kill(os.getpid(), signal.SIGINT)

    gc.disable()  # an interrupt that comes while a callback of the collector runs, such as hypothesis', is lost
    try:
        with pytest.raises(KeyboardInterrupt):
            replicate(make, runs=50, sweeps=10_000, seed=1, threads=2, progress=interrupt)
    finally:
        gc.enable()
    assert len(made) < 10
    assert max(sampler.sweeps for sampler in made) < 10_000


def test_the_prototype_of_replications() -> None:
    def make(seed: int) -> FakeSampler:
        sampler = FakeSampler(seed)
        # all runs but the first find the planted topics, each in an order of its own
        found = MIXED if seed == first else TOPICS[sampler.rng.permutation(3)]
        sampler.counts[:, :6] = 20 * found
        return sampler

    first = run_seeds(3, 1)[0]
    replications, prototype = run_prototype(make, runs=4, sweeps=2, seed=3, threads=2)
    assert (prototype.run, prototype.sclop[1, 2:].tolist()) == (1, [1, 1])
    again = make(replications.seeds[prototype.run])
    again.run(2)
    np.testing.assert_array_equal(again.counts, replications.counts[prototype.run].toarray())


def test_one_run_is_refused_before_it_is_sampled() -> None:
    def make(seed: int) -> FakeSampler:
        raise AssertionError("sampled")

    with pytest.raises(UsageError, match="at least 2 runs, got 1"):
        run_prototype(make, runs=1, sweeps=2, seed=3)


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"sweeps": 0}, {"threads": 0}])
def test_replications_out_of_range(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="must be 1 or more"):
        replicate(FakeSampler, **{"runs": 2, "sweeps": 1, "seed": 1, "threads": 1} | wrong)  # type: ignore[arg-type]
