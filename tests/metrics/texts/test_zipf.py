"""Zipf's law against the table of the lecture, SciPy's distribution, and laws that were planted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from nlpkit.metrics.texts.corpus import fit_zipf, zipf_frequencies, zipf_probabilities
from tests.strategies import repeatable

counts = st.lists(st.integers(1, 10_000), min_size=2, max_size=40)


def test_the_table_of_the_lecture() -> None:
    table = [49688, 32781.85, 25702.70, 21627.96, 18917.75, 16957.46, 15459.40, 14269.13, 13295.54, 12481.06]
    assert np.round(zipf_frequencies(49688, 0.6, 10), 2).tolist() == table  # L1366
    assert zipf_frequencies(7, 1e6, 3).tolist() == [7, 0, 0]


def test_probabilities_by_hand() -> None:
    assert zipf_probabilities(3, 1.0) == pytest.approx(np.array([6, 3, 2]) / 11)
    assert zipf_probabilities(4, 0.0) == pytest.approx([0.25] * 4)
    assert zipf_probabilities(50, 1.3) == pytest.approx(stats.zipfian(1.3, 50).pmf(np.arange(1, 51)))


def test_two_ranks_by_hand() -> None:
    # p_1 = 1 / (1 + 2^-s): the likelihood is largest at p_1 = 3/4, s = log2 3
    fit = fit_zipf(np.array([1, 3]))
    assert fit.exponent == pytest.approx(math.log2(3))
    # N Var[ln k] = 4 · (ln 2)² · 3/4 · 1/4
    assert fit.error == pytest.approx(1 / math.sqrt(4 * math.log(2) ** 2 * 3 / 16))
    assert fit.ks == pytest.approx(0, abs=1e-12)


@repeatable
@given(counts)
def test_nothing_is_more_likely(frequencies: list[int]) -> None:
    f = np.sort(np.array(frequencies))[::-1]
    ranks = np.arange(1, len(f) + 1)

    def cost(s: float) -> float:
        return float(-(f * stats.zipfian.logpmf(ranks, max(s, 0), len(f))).sum())

    s = fit_zipf(np.array(frequencies)).exponent
    best = optimize.minimize_scalar(cost, bounds=(0, 40), method="bounded", options={"xatol": 1e-10})
    assert cost(s) <= best.fun * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("s", [0.3, 0.6, 1.0, 1.4])
def test_a_planted_law_comes_back(s: float) -> None:
    p = zipf_probabilities(2000, s)
    exact = fit_zipf(np.round(1e9 * p).astype(np.int64))
    assert exact.exponent == pytest.approx(s, abs=1e-5)
    assert exact.ks < 1e-6
    drawn = np.random.default_rng(1).multinomial(300_000, p)
    fit = fit_zipf(drawn[drawn > 0])
    # ranks by frequency look a little steeper than ranks known beforehand: the error bar does not cover that
    assert fit.exponent == pytest.approx(s, abs=0.1)


def test_the_error_is_the_spread_of_draws_when_ranks_are_known() -> None:
    p, rng = zipf_probabilities(30, 1.5), np.random.default_rng(2)
    draws = [rng.multinomial(200_000, p) for _ in range(200)]
    assert all((np.diff(d) < 0).all() for d in draws[:1])  # so frequent that sorting changes next to nothing
    fits = [fit_zipf(d) for d in draws]
    assert np.std([f.exponent for f in fits]) == pytest.approx(fits[0].error, rel=0.15)
    assert np.mean([f.exponent for f in fits]) == pytest.approx(1.5, abs=0.001)


def test_the_largest_gap_is_that_of_the_cumulative_shares() -> None:
    f = np.array([50, 2, 2, 2, 1, 1])
    fit = fit_zipf(f)
    gaps = np.abs(np.cumsum(f) / 58 - stats.zipfian(fit.exponent, 6).cdf(np.arange(1, 7)))
    assert (fit.ks, fit.ks_rank) == (pytest.approx(gaps.max()), gaps.argmax() + 1)


@pytest.mark.parametrize("frequencies", [[], [7]])
def test_no_law_for_less_than_two_words(frequencies: list[int]) -> None:
    fit = fit_zipf(np.array(frequencies, np.int64))
    assert math.isnan(fit.exponent)
    assert math.isnan(fit.error)
    assert fit.n_ranks == len(frequencies)


def test_equal_words_have_exponent_zero() -> None:
    for n in (2, 7, 1000):
        fit = fit_zipf(np.full(n, 3))
        assert fit.exponent == pytest.approx(0, abs=1e-9)
        assert fit.ks < 1e-9


def test_one_word_above_all_has_a_steep_law() -> None:
    fit = fit_zipf(np.array([10**9, 1]))
    assert fit.exponent == pytest.approx(math.log2(10**9))


@repeatable
@given(counts, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_the_argument_stays(frequencies: list[int], random: object) -> None:
    mixed = list(frequencies)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    given_ = np.array(mixed)
    assert fit_zipf(given_) == fit_zipf(np.array(frequencies))
    assert given_.tolist() == mixed
