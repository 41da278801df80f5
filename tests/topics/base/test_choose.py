"""Numbers of topics compared: scores by hand, planted numbers found, kills, bad ranges."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from nlpkit.cluster.options import NumberOfTopics, Range
from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.plain import to_json
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.arguments import run_seeds
from nlpkit.topics.base.by_term import weighted_terms
from nlpkit.topics.base.choose import Row, TopicChoice, choose_topics, compare, grid_of, halfway, runner_ups
from nlpkit.topics.base.guide import Seeds, fixed_counts, seed_counts, token_weights
from nlpkit.topics.base.heldout import perplexity
from nlpkit.topics.base.model import Inference, MixtureModel
from nlpkit.topics.base.scores import HeldOutCorpus, Scores, completion, score_fits, split_corpus, stability
from nlpkit.topics.lda.fit import SWEEPS, LdaFit, LdaFitter, fit_lda
from nlpkit.topics.lda.options import LdaOptions
from tests.few import few
from tests.refusals import refuses
from tests.strategies import token_table

OWN = 30


@cache
def drawn(K: int, D: int = 300, seed: int = 0, mean_length: int = 50) -> TokenTable:
    """A corpus drawn as LDA has it: topics of 30 words of their own and a tenth of noise, a few topics a document."""
    rng = np.random.default_rng(seed)
    V = K * OWN
    phi = np.full((K, V), 0.1 / V)
    for k in range(K):
        phi[k, k * OWN : (k + 1) * OWN] += 0.9 * rng.dirichlet(np.full(OWN, 0.5))
    cumulative = np.cumsum(phi, axis=1)
    documents = []
    for theta in rng.dirichlet(np.full(K, 0.1), D):
        z = rng.choice(K, rng.poisson(mean_length) + 1, p=theta)
        documents.append(
            [np.searchsorted(cumulative[k], u * cumulative[k, -1]) for k, u in zip(z, rng.random(len(z)), strict=True)]
        )
    return token_table(documents, [f"w{v}" for v in range(V)])


TWO_THREADS = Execution(threads=2)


def asked(text: str) -> Range:
    return NumberOfTopics.parse(text).within


def choose_lda(
    tokens: TokenTable, options: LdaOptions, wanted: Range, execution: Execution, *, sweeps: int = SWEEPS, **more: Any
) -> TopicChoice:
    return choose_topics(tokens, LdaFitter(options, sweeps), wanted, execution, **more)


def quick(tokens: TokenTable, k: str = "2:6:2", threads: int = 2, **more: Any) -> TopicChoice:
    return choose_lda(tokens, LdaOptions(), asked(k), Execution(threads=threads), **({"seeds": 2, "sweeps": 20} | more))


# --- the rule ---


def scores(log_likelihood: Any, n_tokens: Any = (10, 20, 10), **more: Any) -> Scores:
    plain: dict[str, Any] = {
        "npmi": 0.1,
        "diversity": 0.5,
        "exclusivity": 0.5,
        "small_topics": 0.0,
        "top_terms": ((0, 1),),
    } | more
    return Scores(tuple(map(float, log_likelihood)), tuple(n_tokens), **plain)


def test_how_far_behind_by_hand() -> None:
    rows = compare({8: [scores((-20, -40, -20))], 2: [scores((-24, -44, -21))], 4: [scores((-22, -40, -20))]})
    assert [row.n_topics for row in rows] == [2, 4, 8]
    assert [row.log_likelihood for row in rows] == pytest.approx([-89 / 40, -82 / 40, -2])
    # to 4 topics: d = (2, 0, 0), Σd/Σn = 1/20, d - n/20 = (3/2, -1, -1/2), squares 7/2
    assert rows[1].behind == pytest.approx(0.05)
    assert rows[1].behind_se == pytest.approx(math.sqrt(3 / 2 * 7 / 2) / 40)
    # to 2 topics: d = (4, 4, 1), Σd/Σn = 9/40, d - 9n/40 = (7/4, -1/2, -5/4), squares 39/8
    assert rows[0].behind == pytest.approx(9 / 40)
    assert rows[0].behind_se == pytest.approx(math.sqrt(3 / 2 * 39 / 8) / 40)
    assert [(row.best, row.chosen) for row in rows] == [(False, False), (False, False), (True, True)]
    # all else is alike: the parts are 0, 7/9 and 1 of the likelihood, and twice 1
    assert [row.score for row in rows] == pytest.approx([2 / 3, (7 / 9 + 2) / 3, 1])
    assert (rows[2].behind, rows[2].behind_se) == (0, 0)
    assert rows[2].perplexity == pytest.approx(math.exp(2))
    # of the best itself: l = -2n, so that nothing is left
    assert rows[2].se == pytest.approx(0, abs=1e-15)
    # of 4 topics: L = -2.05, l - nL = (-1.5, 1, 0.5)
    assert rows[1].se == pytest.approx(math.sqrt(3 / 2 * 7 / 2) / 40)
    assert rows[1].perplexity_se == pytest.approx(rows[1].perplexity * rows[1].se)


def test_seeds_add_to_the_standard_error_by_hand() -> None:
    rows = compare(
        {4: [scores((-21, -40, -20)), scores((-23, -40, -20))], 8: [scores((-20, -38, -20)), scores((-20, -42, -20))]}
    )
    # log-likelihoods per token -81/40 and -83/40, variance (2/40)²/2; -78/40 and -82/40, variance (4/40)²/2
    of_seeds = (0.05**2 / 2 + 0.1**2 / 2) / 2
    assert rows[0].log_likelihood == pytest.approx(-82 / 40)
    assert rows[0].behind_se == pytest.approx(math.sqrt(3 / 2 * 7 / 2 / 40**2 + of_seeds))


def test_the_score_by_hand() -> None:
    nan = float("nan")
    likelihoods = {2: (-30, -40, -20), 4: (-22, -40, -20), 8: (-20, -40, -20), 16: (-20, -40, -20)}
    evidence = {
        2: {"npmi": 0.1, "exclusivity": 0.9, "small_topics": 0.0},
        4: {"npmi": 0.3, "exclusivity": 0.7, "small_topics": 0.0},
        8: {"npmi": 0.2, "exclusivity": 0.5, "small_topics": 0.5},
        16: {"npmi": nan, "exclusivity": 0.4, "small_topics": 1.0},
    }
    rows = compare({K: [scores(likelihoods[K], **evidence[K])] for K in likelihoods})
    # no stability from one seed: it does not count
    steady = [(1 + 1) / 2, (0.6 + 1) / 2, (0.2 + 0.5) / 2, 0]
    by_hand = [(a + b + c) / 3 for a, b, c in zip([0, 0.8, 1, 1], [0, 1, 0.5, 0], steady, strict=True)]
    assert [row.score for row in rows] == pytest.approx(by_hand)
    assert [row.n_topics for row in rows if row.chosen] == [4]
    assert [row.n_topics for row in rows if row.best] == [8]  # the likelihood alone


def test_many_small_topics_are_not_chosen_for_their_likelihood() -> None:
    """As on a corpus of 5 classes, where the likelihood rose up to 134 topics, many of 2 documents."""
    table = {
        5: (-3.0, {"npmi": 0.10, "exclusivity": 0.62, "small_topics": 0.0}),
        10: (-2.9, {"npmi": 0.12, "exclusivity": 0.57, "small_topics": 0.0}),
        80: (-2.7, {"npmi": 0.08, "exclusivity": 0.39, "small_topics": 0.4}),
        134: (-2.6, {"npmi": 0.06, "exclusivity": 0.34, "small_topics": 0.6}),
    }
    rows = compare({K: [scores((10 * L, 20 * L), (10, 20), **more)] for K, (L, more) in table.items()})
    assert [row.n_topics for row in rows if row.chosen] == [10]
    assert [row.n_topics for row in rows if row.best] == [134]


def test_what_is_hard_for_every_k_does_not_count() -> None:
    # documents differ by a hundred times what numbers of topics do
    n = [10] * 50
    hard = np.random.default_rng(0).normal(-40, 10, 50)
    rows = compare({2: [scores(hard - 0.1, n)], 4: [scores(hard, n)]})
    assert rows[0].se > 0.1
    assert rows[0].behind_se == pytest.approx(0, abs=1e-12)
    assert rows[1].chosen


def test_the_standard_error_is_the_spread_over_drawn_documents() -> None:
    rng = np.random.default_rng(1)
    behind, errors = [], []
    for _ in range(500):
        n = rng.integers(5, 60, 80)
        gain = 0.2 * n + rng.normal(0, 0.5, 80) * np.sqrt(n)  # of 4 topics over 2, by document
        few = compare({2: [scores(-3 * n - gain, n)], 4: [scores(-3 * n, n)]})[0]
        behind.append(few.behind)
        errors.append(few.behind_se)
    assert np.mean(behind) == pytest.approx(0.2, rel=0.01)
    assert np.mean(errors) == pytest.approx(np.std(behind), rel=0.1)


def test_equal_numbers_of_topics_go_to_the_fewest() -> None:
    rows = compare({k: [scores((-20, -40, -20))] for k in (8, 2, 4)})
    assert [(row.best, row.chosen) for row in rows] == [(True, True), (False, False), (False, False)]


def test_means_leave_out_what_no_topic_has() -> None:
    nan = float("nan")
    both = [scores((-20, -40, -20), npmi=nan), scores((-20, -40, -20), npmi=0.3, diversity=0.9)]
    rows = compare({2: both, 4: [scores((-30, -40, -20), npmi=nan)]})
    assert rows[0].npmi == pytest.approx(0.3)
    assert rows[0].diversity == pytest.approx(0.7)
    assert math.isnan(rows[1].npmi)
    assert math.isnan(rows[1].stability)


def test_scores_of_other_documents_are_refused() -> None:
    with pytest.raises(UsageError, match="another corpus"):
        compare({2: [scores((-1, -1), (2, 2))], 4: [scores((-1, -1), (2, 3))]})


# --- stability ---


def test_stability_by_hand() -> None:
    a = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, -1, -1]], np.int32)
    b = np.array([[4, 5, 6, 9], [8, 9, -1, -1], [0, 1, 10, 11]], np.int32)
    # 0 with 2: two of four in common; 1 with 0: three of four; 2 with 1: all
    assert stability([a, b]) == pytest.approx((2 / 4 + 3 / 4 + 1) / 3)
    assert stability([a, a[::-1]]) == 1
    assert stability([a, b, b]) == pytest.approx((2 * 0.75 + 1) / 3)


def test_topics_are_matched_one_to_one() -> None:
    # both topics of the first fit are most like the first of the second
    a, b = np.array([[0, 1], [0, 1]], np.int32), np.array([[0, 1], [2, 3]], np.int32)
    assert stability([a, b]) == 0.5


def test_a_topic_without_terms_is_like_none() -> None:
    empty = np.full((1, 3), -1, np.int32)
    assert stability([empty, empty]) == 0
    assert math.isnan(stability([empty]))


# --- numbers of topics to compare ---


@pytest.mark.parametrize(
    ("k", "n_docs", "n_tokens", "grid"),
    [
        ("10:50:20", 1000, 50_000, [10, 30, 50]),
        ("10:45:20", 1000, 50_000, [10, 30]),
        ("1:3:1", 1000, 50_000, [1, 2, 3]),
        ("4:100", 1000, 50_000, [4, 8, 16, 32, 64, 100]),
        ("4:32", 1000, 50_000, [4, 8, 16, 32]),
        ("7:8", 1000, 50_000, [7, 8]),
        ("auto", 1000, 1_000_000, [5, 10, 20, 40, 80]),
        ("auto", 1000, 5000, [5, 10, 20]),
        ("auto", 10**6, 10**8, [5, 10, 20, 40, 80, 160, 320, 640]),
        ("auto", 60, 2000, [2, 4]),
        ("auto", 20, 40, [2, 4]),
    ],
)
def test_numbers_of_topics(k: str, n_docs: int, n_tokens: int, grid: list[int]) -> None:
    assert grid_of(asked(k), n_docs, n_tokens) == grid


def test_there_are_as_many_topics_as_are_given() -> None:
    assert grid_of(asked("auto"), 1000, 10**6, n_guided=12) == [12, 24, 48, 96]
    assert grid_of(asked("3:40"), 1000, 10**6, n_guided=12) == [12, 24, 40]
    with refuses("k"):
        grid_of(asked("10:40:10"), 1000, 10**6, n_guided=12)


@pytest.mark.parametrize(
    "k",
    [
        "10:10:5",
        "10:14:5",
        "10:10",
        "1:1000:1",
        "10:1000:90",
        "400:600",
        "40000:80000:20000",
    ],
)
def test_bad_ranges_are_refused(k: str) -> None:
    with refuses("k"):
        grid_of(asked(k), 1000, 10**6 if "40000" in k else 500)


def row(n_topics: int, **more: Any) -> Row:
    names = [field.name for field in fields(Row) if field.name not in ("n_topics", "best", "chosen")]
    return Row(n_topics, **(dict.fromkeys(names, 0.5) | more))


def test_halfway_by_ratio() -> None:
    rows = [row(5), row(10, chosen=True), row(20), row(40, best=True), row(80)]
    assert halfway(rows, 2) == [7, 14]
    assert halfway([row(5, best=True, chosen=True), row(10)], 2) == [3, 7]
    assert halfway([row(2, chosen=True), row(4, best=True)], 2) == [3]
    assert halfway([row(2, best=True, chosen=True), row(3)], 2) == []


# --- what is said ---


def test_runner_ups_and_what_speaks_for_them() -> None:
    rows = [
        row(5, score=0.6, perplexity=90.0, npmi=0.9, stability=0.9, exclusivity=0.9, diversity=0.9),
        row(10, score=0.7, perplexity=51.0, npmi=0.2, stability=0.6, exclusivity=0.4, chosen=True),
        row(20, score=0.4, perplexity=50.0, npmi=0.1, stability=0.5, exclusivity=0.3, best=True),
        row(14, score=0.5, perplexity=52.5, npmi=0.3, stability=0.7, exclusivity=0.2),
    ]
    # what is said of one holds in the whole table; before, 5 topics were left out, and 14 "most stable" in spite of them
    assert runner_ups(rows) == (
        (
            5,
            "next in score, 0.600; highest NPMI of all (0.900 against 0.200); most stable over seeds of all (0.900 against 0.600); "
            "most exclusive words of all (0.900 against 0.400); most diverse words of all (0.900 against 0.500)",
        ),
        (14, "next in score, 0.500; better than the chosen in NPMI 0.300 against 0.200, stability 0.700 against 0.600"),
    )
    assert runner_ups(rows, 3)[2] == (20, "next in score, 0.400; lowest perplexity of all (50.0 against 51.0)")


def test_runner_ups_that_are_better_in_nothing() -> None:
    rows = [
        row(5, score=0.9, perplexity=50.0, npmi=0.4, stability=0.6, chosen=True, best=True),
        row(7, score=0.3, perplexity=55.0, npmi=0.2, stability=float("nan")),
        row(10, score=0.3, perplexity=60.0, npmi=float("nan"), stability=0.4),
    ]
    assert runner_ups(rows) == ((7, "next in score, 0.300"), (10, "next in score, 0.300"))
    assert runner_ups(rows[:2]) == ((7, "next in score, 0.300"),)


def test_runner_ups_are_true_of_the_table() -> None:
    choice = quick(drawn(5), "2:12:2", sweeps=40)
    by_k = {row.n_topics: row for row in choice.rows}
    names = {"NPMI": "npmi", "stable": "stability", "exclusive": "exclusivity", "diverse": "diversity"}
    for k, why in choice.runner_ups:
        for word, name in names.items():
            if f"{word}" in why.split("better than")[0]:
                assert getattr(by_k[k], name) == max(getattr(row, name) for row in choice.rows)


# --- planted numbers of topics ---


@pytest.mark.parametrize(("K", "near", "seed"), few([(5, range(5, 8), 0), (12, range(10, 16), 1)], 1))
def test_a_planted_number_of_topics_is_found(K: int, near: range, seed: int) -> None:
    choice = choose_lda(drawn(K, seed=seed), LdaOptions(), asked("auto"), TWO_THREADS, sweeps=80)
    assert choice.n_topics in near
    numbers = [row.n_topics for row in choice.rows]
    assert numbers == sorted(set(numbers))
    assert 5 <= len(numbers) <= 16
    assert [row.n_topics for row in choice.rows if row.chosen] == [choice.n_topics]
    assert choice.reason.startswith(f"{choice.n_topics} topics ")
    assert len(choice.runner_ups) == 2
    assert choice.n_topics not in [k for k, _ in choice.runner_ups]
    assert choice.note == ""
    assert choice.n_held_out == 50
    few = choice.rows[0]
    assert few.perplexity > min(row.perplexity for row in choice.rows)


@pytest.mark.parametrize(
    ("k", "peak", "compared", "chosen"),
    [
        # 20 and 40 are behind, so 80 is left out; halfway from 10 to 5 and 20, then to 7 and 14
        ("auto", 10, [5, 7, 8, 10, 12, 14, 20, 40], 10),
        # never behind, to the end; then halfway from 80 to 40 and to 57
        ("auto", 200, [5, 10, 20, 40, 57, 68, 80], 80),
        # halfway from 5 to 2 and 10, then from 3 to 2 and 5
        ("auto", 2, [2, 3, 4, 5, 7, 10, 20], 2),
        # 24 and 48 are behind; halfway from 12 to 6 and 24, then to 8 and 17
        ("3:50", 13, [3, 6, 8, 10, 12, 14, 17, 24, 48], 14),
    ],
)
def test_where_the_search_looks(k: str, peak: int, compared: list[int], chosen: int) -> None:
    """Known scores stand in for fits: the further from the peak, by ratio, the worse."""
    tokens = drawn(5, D=900)
    n = split_corpus(tokens, 0.1, 42, None, None).n_tokens
    noise = np.random.default_rng(0).normal(0, 1e-6, len(n))
    curve = {K: scores(-(3 + abs(math.log(K / peak)) + noise) * np.array(n), n) for K in range(2, 200)}
    known = {(K, seed): found for K, found in curve.items() for seed in run_seeds(42, 1)}
    choice = choose_lda(tokens, LdaOptions(), asked(k), TWO_THREADS, seeds=1, known=known)
    assert [row.n_topics for row in choice.rows] == compared
    assert choice.n_topics == chosen
    assert ("larger K" in choice.note) == (chosen == 80)


def test_one_fall_does_not_end_the_search() -> None:
    tokens = drawn(5, D=900)
    n = split_corpus(tokens, 0.1, 42, None, None).n_tokens
    curve = {K: scores(np.array(n) * -(4.0 if K == 10 else 3.0 if K == 40 else 3.5), n) for K in range(2, 200)}
    known = {(K, seed): found for K, found in curve.items() for seed in run_seeds(42, 1)}
    assert choose_lda(tokens, LdaOptions(), asked("auto"), TWO_THREADS, seeds=1, known=known).n_topics == 40


def test_a_range_with_steps_is_compared_as_it_is() -> None:
    choice = choose_lda(drawn(5), LdaOptions(), asked("3:9:2"), TWO_THREADS, sweeps=60)
    assert [row.n_topics for row in choice.rows] == [3, 5, 7, 9]
    assert choice.n_topics in (5, 7)


def test_the_end_of_the_range_is_told() -> None:
    choice = quick(drawn(12), "2:6:2", sweeps=60)
    assert choice.n_topics == 6
    assert choice.note == "the score is highest at 6 topics, the most that were tried: a larger K might be better still"
    assert choice.reason.startswith("6 topics have the highest score, ")


def test_the_beginning_of_the_range_is_told() -> None:
    choice = quick(drawn(5), "5:40:35", sweeps=60)
    assert choice.n_topics == 5
    assert "smaller K" in choice.note
    assert choice.reason.startswith("5 topics have the highest score, 1.000: the mean of held-out log-likelihood, NPMI")


# --- what is compared ---


def inferred(fit: LdaFit, corpus: HeldOutCorpus, threads: int) -> tuple[MixtureModel, HeldOutCorpus, Inference]:
    scored, infer = LdaFitter(LdaOptions()).inference(fit, corpus.seed, threads)
    return scored, corpus, infer


def test_perplexity_is_that_of_document_completion() -> None:
    corpus = split_corpus(drawn(5), 0.4, 42, None, None)
    fit = fit_lda(corpus.train, LdaOptions(k=5, sweeps=20))
    log_p = completion(*inferred(fit, corpus, 2))
    assert log_p.shape == (100,)
    # the held-out documents are those that are not fitted: found by their words
    everything = {tuple(words) for words in documents(drawn(5), drawn(5).terms)}
    fitted = {tuple(words) for words in documents(corpus.train, corpus.train.terms)}
    rest = [words for words in documents(drawn(5), drawn(5).terms) if tuple(words) not in fitted]
    assert len(everything) == 300
    assert len(rest) == 120
    number = {term: v for v, term in enumerate(drawn(5).terms)}
    held_out = token_table([[number[word] for word in words] for words in rest], list(drawn(5).terms))
    by_hand = perplexity(fit.model, held_out, seed=42)
    assert sum(corpus.n_tokens) == by_hand.n_tokens
    assert log_p.sum() / by_hand.n_tokens == pytest.approx(by_hand.log_likelihood_per_token, rel=1e-12)
    np.testing.assert_array_equal(log_p, completion(*inferred(fit, corpus, 1)))


def documents(tokens: TokenTable, terms: tuple[str, ...]) -> list[list[str]]:
    return [[terms[v] for v in tokens.term_ids[a:b]] for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)]


@pytest.mark.parametrize(("D", "share", "held"), [(300, 0.1, 50), (1000, 0.1, 100), (60, 0.1, 20), (300, 0.4, 120)])
def test_how_many_documents_are_held_out(D: int, share: float, held: int) -> None:
    corpus = split_corpus(drawn(2, D=D, mean_length=10), share, 1, None, None)
    assert corpus.train.n_docs == D - held
    assert corpus.observed.n_docs <= held  # some may have a single known word
    sizes = np.bincount(corpus.group)
    assert len(sizes) == min(100, corpus.observed.n_docs)
    assert np.ptp(sizes) <= 1


def test_words_of_held_out_documents_alone_are_left_out() -> None:
    rng = np.random.default_rng(3)
    tokens = token_table([[*rng.integers(0, 20, 8), 20 + d] for d in range(60)], [f"w{v}" for v in range(80)])
    corpus = split_corpus(tokens, 0.1, 1, None, None)
    assert corpus.train.n_docs == 40
    assert corpus.train.n_terms == 60
    assert corpus.observed.n_docs == 20
    assert sum(corpus.n_tokens) == 20 * 4
    assert corpus.train.terms == tuple(tokens.terms[v] for v in corpus.vocabulary)
    assert len(corpus.observed.term_ids) == 20 * 4


def test_held_out_documents_without_known_words_are_refused() -> None:
    tokens = token_table([[2 * d, 2 * d + 1] for d in range(30)], [f"w{v}" for v in range(60)])
    with pytest.raises(UsageError, match="none of the 10 held-out documents"):
        quick(tokens)


def test_weights_and_guidance_are_those_of_the_fitted_documents() -> None:
    tokens = drawn(5)
    weights = np.arange(len(tokens.term_ids)) / len(tokens.term_ids)
    of_word = [f"{term}:{w}" for term, w in zip(np.array(tokens.terms)[tokens.term_ids], weights, strict=True)]
    guidance = seed_counts([Seeds("x", ("w1", "w77"))], tokens.terms, np.bincount(tokens.term_ids, minlength=150))
    corpus = split_corpus(tokens, 0.3, 1, guidance, weights)
    assert corpus.weights is not None
    assert corpus.guidance is not None
    terms = np.array(corpus.train.terms)
    found = [f"{term}:{w}" for term, w in zip(terms[corpus.train.term_ids], corpus.weights, strict=True)]
    everything = iter(of_word)
    assert all(word in everything for word in found)  # in the same order
    assert set(terms[corpus.guidance.term_ids]) == {"w1", "w77"}
    assert len(corpus.guidance.term_ids) == len(guidance.term_ids)


def test_scores_of_a_fit() -> None:
    tokens = drawn(5, D=60, mean_length=12)  # some words are in held-out documents alone
    corpus = split_corpus(tokens, 0.1, 1, None, None)
    assert corpus.train.n_terms < tokens.n_terms
    own = LdaOptions(k=5, sweeps=30)
    (found,) = score_fits(corpus, [(5, 3)], LdaFitter(own, 10**6), threads=1, known={}, done=None)
    fit = fit_lda(corpus.train, own, Execution(3))
    top = weighted_terms(fit.model.topic_term, fit.model.eta, n=10).term_ids
    assert found.top_terms == tuple(tuple(row) for row in corpus.vocabulary[top].tolist())
    assert found.diversity == len(set(top.ravel())) / 50
    counts = fit.model.topic_term.toarray()
    by_hand = np.mean([np.mean(counts[k, row] / counts[:, row].sum(axis=0)) for k, row in enumerate(top)])
    assert found.exclusivity == pytest.approx(by_hand)
    held = np.array([set(words) for words in documents(tokens, tokens.terms)])
    npmi = []
    for row in top:
        for i, u in enumerate(row):
            for v in row[i + 1 :]:
                a, b = ([corpus.train.terms[w] in words for words in held] for w in (u, v))
                p_u, p_v, p_uv = np.mean(a), np.mean(b), np.mean(np.logical_and(a, b))
                npmi.append(np.log(p_uv / (p_u * p_v)) / -np.log(p_uv) if p_uv else -1.0)
    assert found.npmi == pytest.approx(np.mean(npmi))


def test_the_sum_of_alpha_is_shared_by_the_topics_of_each_k() -> None:
    chain = LdaOptions(alpha_sum=5, eta=0.01, estimate="mean", burn_in=900, optimize_burn_in=900)
    assert [chain.of_chain(K).alpha for K in (2, 4)] == [2.5, 1.25]
    choice = choose_lda(drawn(5), chain, asked("2:6:2"), TWO_THREADS, seeds=1, sweeps=10)
    other = choose_lda(drawn(5), LdaOptions(), asked("2:6:2"), TWO_THREADS, seeds=1, sweeps=10)
    assert [row.perplexity for row in choice.rows] != [row.perplexity for row in other.rows]


def test_guided_topics() -> None:
    tokens = drawn(5)
    cf = np.bincount(tokens.term_ids, minlength=tokens.n_terms)
    seeds = seed_counts([Seeds(f"s{k}", (f"w{OWN * k}",)) for k in range(3)], tokens.terms, cf)
    choice = choose_lda(tokens, LdaOptions(), asked("auto"), TWO_THREADS, guidance=seeds, seeds=2, sweeps=40)
    assert min(row.n_topics for row in choice.rows) >= 3
    model = fit_lda(tokens, LdaOptions(k=5, sweeps=40)).model
    fixed = fixed_counts(model, tokens.terms, ("",) * 5)
    choice = quick(tokens, "5:10:5", guidance=fixed, weights=token_weights(tokens, "idf"))
    assert [row.n_topics for row in choice.rows] == [5, 10]
    with refuses("k"):
        quick(tokens, "2:10:2", guidance=fixed)


# --- the same result, however it is made ---


def test_the_result_does_not_depend_on_threads() -> None:
    one = quick(drawn(5), threads=1)
    assert quick(drawn(5), threads=2) == one
    assert quick(drawn(5), threads=7) == one
    assert choose_lda(drawn(5), LdaOptions(), asked("2:6:2"), Execution(1, 2), seeds=2, sweeps=20) != one


def test_documents_without_words_change_nothing() -> None:
    tokens = drawn(5)
    lengths = np.diff(tokens.offsets)
    with_empty = replace(tokens, offsets=np.cumsum([0, 0, *lengths[:100], 0, 0, *lengths[100:], 0]))
    assert [r.perplexity for r in quick(with_empty).rows] == [r.perplexity for r in quick(tokens).rows]


class KilledError(Exception):
    pass


@pytest.mark.parametrize(("k", "first"), few([("2:6:2", [2, 4, 6]), ("2:8", [2, 4, 8]), ("auto", [5, 10, 20])], 1))
def test_a_killed_comparison_goes_on_to_the_same_result(k: str, first: list[int]) -> None:
    told: list[tuple[int, int]] = []
    whole = quick(drawn(5), k, done=lambda K, seed, _: told.append((K, seed)))
    assert told[:6] == [(K, seed) for K in first for seed in run_seeds(42, 2)]
    lines: list[str] = []
    for stop_after in (1, 3, 4):

        def done(K: int, seed: int, found: Scores, stop_after: int = stop_after) -> None:
            lines.append(to_json({"k": K, "seed": seed, **found.as_dict()}))
            if len(lines) == stop_after:
                raise KilledError

        with pytest.raises(KilledError):
            quick(drawn(5), k, known=read(lines), done=done)
    new: list[tuple[int, int]] = []
    assert quick(drawn(5), k, known=read(lines), done=lambda K, seed, _: new.append((K, seed))) == whole
    assert new == told[4:]


def read(lines: list[str]) -> Mapping[tuple[int, int], Scores]:
    rows = [json.loads(line) for line in lines]
    return {(values.pop("k"), values.pop("seed")): Scores.from_dict(values) for values in rows}


def test_scores_come_back_from_json() -> None:
    found = scores((-1.5, -1 / 3, -0.1), npmi=float("nan"), top_terms=((0, 5, -1), (3, 4, 2)))
    (again,) = read([to_json({"k": 2, "seed": 1, **found.as_dict()})]).values()
    assert math.isnan(again.npmi)
    assert replace(again, npmi=0.0) == replace(found, npmi=0.0)


def test_known_scores_of_another_corpus_are_refused() -> None:
    known: dict[tuple[int, int], Scores] = {}
    quick(drawn(5), done=lambda K, seed, found: known.update({(K, seed): found}))
    known.pop((6, run_seeds(42, 2)[1]))
    with pytest.raises(UsageError, match="another corpus"):
        quick(drawn(5, seed=1), known=known)


def test_an_interrupt_ends_the_fits_at_once() -> None:
    quick(drawn(5))  # compiles
    others = set(threading.enumerate())  # that read for streams which tests before this one left
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        choose_lda(drawn(5), LdaOptions(sweeps=10**6), asked("2:6:2"), TWO_THREADS, sweeps=10**6)
    assert time.perf_counter() - begin < 30  # of hours
    for thread in set(threading.enumerate()) - others:
        if thread.name.startswith(("nlpkit", "sweep")):
            thread.join(30)  # on a machine that does much else
            assert not thread.is_alive(), thread.name


def test_an_interrupt_while_fits_are_started_ends_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, one that came between two of them waited for all of their sweeps."""
    corpus = split_corpus(drawn(5), 0.3, 1, None, None)
    submit = ThreadPoolExecutor.submit

    def interrupted(pool: Any, *args: Any) -> Any:
        submit(pool, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    own = LdaOptions(k=5, sweeps=10**6)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        score_fits(corpus, [(5, 1), (5, 2)], LdaFitter(own, 10**6), threads=1, known={}, done=None)
    assert time.perf_counter() - begin < 30  # of hours


# --- bad input ---


def test_three_documents_are_too_few() -> None:
    tokens = token_table([[0, 1, 2], [], [1, 2, 0], [0, 0, 1]], list("abc"))
    with pytest.raises(UsageError, match=r"at least 20 documents of two words .* found 3 among 4; .*`k=N`"):
        choose_lda(tokens, LdaOptions(), asked("auto"), TWO_THREADS)


@pytest.mark.parametrize("bad", [{"seeds": 0}, {"share": 0.0}, {"share": 0.6}, {"share": float("nan")}])
def test_options_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="a comparison needs"):
        quick(drawn(5), **bad)


def test_more_topics_than_tokens_are_refused() -> None:
    with refuses("k"):
        quick(drawn(5), "10:50000:49990")


def test_twenty_documents_are_enough() -> None:
    tokens = token_table([[d % 2, 2 + d % 2, d % 2] for d in range(20)], list("abcd"))
    choice = choose_lda(tokens, LdaOptions(), asked("auto"), TWO_THREADS, sweeps=20)
    assert choice.n_topics <= 3
    assert choice.n_held_out == 6
