"""Collapsed Gibbs sampling: one draw by hand, then draw for draw against the sampler that counts everything anew."""

from __future__ import annotations

from bisect import bisect
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlpkit.platform.types import TokenTable
from nlpkit.topics.base import kernels as gibbs
from nlpkit.topics.lda import kernels as gibbs_layout
from nlpkit.topics.lda import sampler as sampler_module
from nlpkit.topics.lda.sampler import GibbsSampler
from tests.reference import gibbs as plain
from tests.refusals import refuses
from tests.strategies import repeatable

COUNT, TOPIC = 2**32, 2**32 - 1
NO_WORDS = gibbs.Lists(np.zeros(3, np.int64), np.zeros(2, np.int32), np.zeros(0, np.uint64))  # of two words, no list


def table(documents: list[list[int]], n_terms: int) -> TokenTable:
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    return TokenTable(offsets, np.array([v for d in documents for v in d], np.int32), tuple(map(str, range(n_terms))))


@st.composite
def chains(draw: st.DrawFn, weighted: bool = False) -> dict[str, Any]:
    """Arguments of a sampler: corpora of words used often and rarely, K of one block and of several, documents that stay."""
    V, longest = draw(st.integers(1, 12)), draw(st.integers(1, 16))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p_v = rng.dirichlet(np.full(V, 0.5))
    lengths = rng.integers(0, longest + 1, draw(st.integers(1, 10)))
    tokens = table([rng.choice(V, n, p=p_v).tolist() for n in lengths], V)
    N, D = len(tokens.term_ids), tokens.n_docs
    K = draw(st.one_of(st.integers(1, 5), st.integers(1, 40), st.integers(33, 100)))
    chain: dict[str, Any] = {"tokens": tokens, "n_topics": K, "seed": draw(st.integers(-5, 2**40))}
    chain["shards"] = draw(st.integers(1, 3))
    chain["alpha"] = draw(
        st.one_of(st.floats(1e-3, 3), st.floats(0.1, 3).map(lambda scale: scale * rng.gamma(0.5, size=K) + 1e-6))
    )
    chain["eta"] = draw(st.floats(1e-3, 2))
    if draw(st.booleans()):
        chain["assignments"] = np.where(rng.random(N) < 0.5, rng.integers(0, K, N), -1).astype(np.int32)
    if draw(st.booleans()):
        frozen = rng.random(D) < 0.4
        chain["frozen"] = frozen
        chain["assignments"] = np.where(frozen[plain.documents_of(tokens)], rng.integers(0, K, N), -1).astype(np.int32)
    if draw(st.booleans()):
        chain["fixed"] = rng.random(K) < 0.4
    if weighted:
        chain["weights"] = np.where(rng.random(N) < 0.1, 0, rng.gamma(1.5, size=N))
    return chain


def lists_of(sampler: GibbsSampler, tokens: TokenTable, frozen: Any) -> list[list[tuple[int, int]]]:
    """The kernel's lists as (topic, count) of each document, in the order of the corpus."""
    start, length, entries = sampler._lists
    order = np.argsort(np.zeros(tokens.n_docs) if frozen is None else frozen, kind="stable")
    lists: list[list[tuple[int, int]]] = [[] for _ in order]
    for internal, d in enumerate(order):
        mine = entries[start[internal] : start[internal] + length[internal]].tolist()
        width = 2 ** (4 * entries.itemsize)
        lists[d] = [(entry % width, entry // width) for entry in mine]
    return lists


def assert_same_draws(chain: dict[str, Any], sweeps: int = 3) -> None:
    slow = plain.PlainSampler(**chain)
    samplers = [GibbsSampler(**chain)]
    with mock.patch.object(sampler_module, "LISTED_FROM", 1):  # with lists of the topics of rare words too
        samplers.append(GibbsSampler(**chain))
    for _ in range(sweeps + 1):
        for sampler in samplers:
            assert_same_state(sampler, slow, chain)
            sampler.run(1)
        slow.run(1)


def assert_same_state(sampler: GibbsSampler, slow: Any, chain: dict[str, Any]) -> None:
    assert sampler.assignments().tolist() == slow.z.tolist()
    lists = lists_of(sampler, chain["tokens"], chain.get("frozen"))
    assert [[k for k, _ in mine] for mine in lists] == slow.lists
    in_doc = [np.bincount(slow.z[slow.doc == d], slow.units[slow.doc == d], slow.K) for d in range(len(lists))]
    assert all(n == in_doc[d][k] for d, mine in enumerate(lists) for k, n in mine)
    counted = slow.frozen | ~slow.fixed[slow.z]
    assert sampler._n_k.tolist() == np.bincount(slow.z[counted], slow.units[counted], slow.K).tolist()
    start, length, entries = sampler._word_lists
    for v in np.flatnonzero(np.diff(start)):
        mine = {int(e) & TOPIC: int(e) // COUNT for e in entries[start[v] : start[v] + length[v]]}
        tokens = counted & (chain["tokens"].term_ids == v)
        of_word = np.bincount(slow.z[tokens], slow.units[tokens], slow.K)
        assert mine == {int(k): int(of_word[k]) for k in np.flatnonzero(of_word)}


@settings(repeatable, max_examples=80)
@given(chains())
def test_every_draw_is_that_of_the_plain_sampler(chain: dict[str, Any]) -> None:
    assert_same_draws(chain)


@repeatable
@given(chains(weighted=True))
def test_every_draw_of_weighted_tokens_is_that_of_the_plain_sampler(chain: dict[str, Any]) -> None:
    assert_same_draws(chain)


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("K", [2, 5, 31, 32, 33, 64, 130])
def test_larger_corpora_are_drawn_as_by_the_plain_sampler(K: int, shards: int) -> None:
    rng = np.random.default_rng([K, shards])
    p_v = rng.dirichlet(np.full(20, 0.3))  # some words more often than K, some less
    tokens = table([rng.choice(20, n, p=p_v).tolist() for n in rng.integers(0, 40, 12)], 20)
    chain = {"tokens": tokens, "n_topics": K, "alpha": rng.gamma(1, 1 / K, K) + 1e-3, "eta": 0.1, "seed": K}
    assert_same_draws(chain | {"shards": shards}, sweeps=2)


def test_an_alpha_that_leaves_no_integer_weights_is_refused() -> None:
    chain = {"tokens": table([[0, 1, 0], [1, 1]], 2), "n_topics": 35, "alpha": 1e30, "eta": 0.1, "seed": 1}
    with refuses("alpha"):
        GibbsSampler(**chain).run(1)


# One token, by hand: V = 2, η = 1, α = (1, 2, 3), 2^s = 16. Document 0 has the word 0 in topic 0 and the word 1 in topics
# 2, 2, 1; document 1 has the word 0 in topic 1. Without the token: n_d = (0, 1, 2), n_w = (0, 1, 0), n_k = (0, 2, 2), so
# φ = (1/2, 1/2, 1/4) · 16 = (8, 8, 4). Parts: the own topic 0 + 1 · 8; the list, 2: 2 · 4 and 1: 1 · 8; the smoothing,
# 1: 2 · 8 and 2: 3 · 4. They end at 8, 16, 24, 40, 52.
ENDS, TOPICS = [8, 16, 24, 40, 52], [0, 2, 1, 1, 2]


def by_hand() -> Any:
    word_start, docs = gibbs_layout.sort_by_word(np.array([0, 4, 5]), np.array([0, 1, 1, 1, 0], np.int32), 2)
    z = np.array([0, 1, 2, 2, 1], np.uint16)  # by word: the word 0 of both documents, then the word 1
    bounds = gibbs_layout.block_bounds(
        np.array([0, 4, 5]), np.array([0, 1, 1, 1, 0], np.int32), word_start, np.array([0, 1, 2, 2])
    )
    layout = gibbs.Layout(bounds, docs, np.zeros(0, np.uint16))
    lists = gibbs.Lists(np.array([0, 3, 5]), np.zeros(2, np.int32), np.zeros(5, np.uint64))
    gibbs_layout.fill_lists(layout, lists, z, 2)
    priors = gibbs.Priors(np.array([1.0, 2.0, 3.0]), 1.0, 2.0, np.ones(3, np.int64), 16.0)
    room = [np.zeros(3, np.int64) for _ in range(5)]
    room[0][:] = gibbs_layout.topic_totals(layout, z, priors.step)
    return (
        layout,
        lists,
        priors,
        gibbs.Scratch(room[0], room[1], np.zeros(3), room[2], room[3], np.zeros(1, np.int64), room[4]),
        z,
    )


def test_one_draw_by_hand() -> None:
    seen = set()
    for key in range(60):
        layout, lists, priors, scratch, z = by_hand()
        assert scratch.n_k.tolist() == [1, 2, 2]
        with np.errstate(over="ignore"):
            moved = gibbs.sample_cell(layout, lists, NO_WORDS, priors, scratch, z, 0, np.array([0]), np.uint64(key))
        part = bisect(ENDS, int(plain.uniform(key, 0) * 52))
        new = TOPICS[part]
        seen.add(part)
        assert (z.tolist(), moved) == ([new, 1, 2, 2, 1], int(new != 0))
        assert scratch.n_k.tolist() == [[1, 2, 2], [0, 3, 2], [0, 2, 3]][new]
        mine = [(int(entry) & TOPIC, int(entry) // COUNT) for entry in lists.entries[: lists.length[0]]]
        # the last entry of the list takes the place of one that is empty
        assert mine == [[(0, 1), (2, 2), (1, 1)], [(1, 2), (2, 2)], [(1, 1), (2, 3)]][new]
        assert not scratch.n_w.any()
    assert seen == set(range(5))


def test_splitmix64_of_seed_1234567() -> None:
    # the first five numbers that the program of Vigna (prng.di.unimi.it/splitmix64.c) prints for this seed
    published = [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        assert [int(gibbs.random_bits(np.uint64(1234567), np.uint64(i))) for i in range(1, 6)] == published
    assert [plain.random_bits(1234567, i) for i in range(1, 6)] == published


@repeatable
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32))
def test_uniform_equals_integers_without_end(key: int, counter: int) -> None:
    with np.errstate(over="ignore"):
        found = float(gibbs.uniform(np.uint64(key), np.uint64(counter)))
    assert found == plain.uniform(key, counter)
    assert 0 <= found < 1


@st.composite
def corpora(draw: st.DrawFn) -> tuple[TokenTable, Any]:
    """A corpus, empty ones too, and borders of blocks of documents (B + 1,)."""
    V = draw(st.integers(1, 5))
    tokens = table(draw(st.lists(st.lists(st.integers(0, V - 1), max_size=6), max_size=6)), V)
    inner = sorted(draw(st.lists(st.integers(0, tokens.n_docs), min_size=1, max_size=4)))
    return tokens, np.array([0, *inner, tokens.n_docs])


@repeatable
@given(corpora())
def test_tokens_are_sorted_by_word_and_come_back(drawn: tuple[TokenTable, Any]) -> None:
    tokens, blocks = drawn
    order = np.argsort(tokens.term_ids, kind="stable")
    word_start, docs = gibbs_layout.sort_by_word(tokens.offsets, tokens.term_ids, tokens.n_terms)
    assert docs.tolist() == plain.documents_of(tokens)[order].tolist()
    assert np.diff(word_start).tolist() == np.bincount(tokens.term_ids, minlength=tokens.n_terms).tolist()
    values = np.arange(len(order), dtype=np.int32)
    placed, back = np.empty_like(values), np.empty_like(values)
    gibbs_layout.to_word_order(tokens.term_ids, word_start, values, placed)
    gibbs_layout.to_corpus_order(tokens.term_ids, word_start, placed, back)
    assert (placed.tolist(), back.tolist()) == (order.tolist(), values.tolist())
    bounds = gibbs_layout.block_bounds(tokens.offsets, tokens.term_ids, word_start, blocks)
    assert bounds[0].tolist() == word_start[:-1].tolist()
    for v in range(tokens.n_terms):
        for b in range(len(blocks) - 1):
            of_word = docs[bounds[b, v] : bounds[b + 1, v]]
            within = [d for d in docs[word_start[v] : word_start[v + 1]].tolist() if blocks[b] <= d < blocks[b + 1]]
            assert of_word.tolist() == within


def test_start_topics_keep_what_is_given_and_draw_the_rest_by_place() -> None:
    z = np.empty(5, np.uint16)
    with np.errstate(over="ignore"):
        gibbs_layout.start_topics(np.array([6, -1, 0, -1, -1], np.int32), np.uint64(3), 7, z)
    assert z.tolist() == [6, *(6 if i == 0 else 0 if i == 2 else int(7 * plain.uniform(3, i)) for i in range(1, 5))]
    many = np.empty(70_000, np.uint16)
    with np.errstate(over="ignore"):
        gibbs_layout.start_topics(np.full(len(many), -1, np.int32), np.uint64(1), 7, many)
    # each topic has 10,000 of 70,000: five standard deviations are 463
    assert np.all(np.abs(np.bincount(many, minlength=7) - 10_000) < 463)


@pytest.mark.parametrize("weighted", [False, True])
def test_totals_and_lists_by_hand(weighted: bool) -> None:
    # by word: word 0 of documents 0, 0, 1 and 2, word 1 of document 0; document 2 is frozen; topic 1 is fixed
    bounds = np.array([[0, 4], [3, 5], [4, 5]], np.uint32)
    units = np.array([2, 3, 5, 7, 11], np.uint16) if weighted else np.zeros(0, np.uint16)
    layout = gibbs.Layout(bounds, np.array([0, 0, 1, 2, 0], np.uint32), units)
    z = np.array([1, 0, 1, 1, 1], np.uint16)
    assert gibbs_layout.topic_totals(layout, z, np.array([1, 0, 1])).tolist() == ([3, 7, 0] if weighted else [1, 1, 0])
    lists = gibbs.Lists(np.array([0, 3, 5, 5]), np.zeros(3, np.int32), np.zeros(5, np.uint64))
    gibbs_layout.fill_lists(layout, lists, z, 2)
    assert lists.length.tolist() == [2, 1, 0]
    entries = [(int(entry) & TOPIC, int(entry) // COUNT) for entry in lists.entries]
    assert entries == (
        [(1, 13), (0, 3), (0, 0), (1, 5), (0, 0)] if weighted else [(1, 2), (0, 1), (0, 0), (1, 1), (0, 0)]
    )
