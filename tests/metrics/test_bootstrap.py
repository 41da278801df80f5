"""Bootstrap intervals and comparisons, beside scipy's, by hand, and at their limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nlpkit.metrics.intervals import compare, compare_means, interval, mean_of, pair_mean_of, ratio_of
from tests.strategies import repeatable

LEVEL = 0.95


def ones(n: int) -> np.ndarray:
    return np.ones(n, np.int64)


def test_interval_is_scipys_bca() -> None:
    values = np.random.default_rng(0).gamma(2, size=60)
    found = interval(mean_of(values), ones(60), level=LEVEL, seed=1, draws=20_000)
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=2).confidence_interval
    assert found is not None
    assert found.low == pytest.approx(theirs.low, abs=0.02)
    assert found.high == pytest.approx(theirs.high, abs=0.02)
    assert found.method == "BCa bootstrap over units, 20000 draws"


def test_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for i in range(300):
        values = rng.exponential(size=40)
        found = interval(mean_of(values), ones(40), level=0.9, seed=i, draws=300)
        assert found is not None
        hits += found.low <= 1.0 <= found.high
    assert 0.84 <= hits / 300 <= 0.95


def test_counts_are_equal_units() -> None:
    """Three units of 0 and seven of 1 are two cells with the counts 3 and 7."""
    cells = interval(mean_of(np.array([0.0, 1.0])), np.array([3, 7]), level=LEVEL, seed=5, draws=4000)
    units = interval(mean_of(np.repeat([0.0, 1.0], [3, 7])), ones(10), level=LEVEL, seed=6, draws=4000)
    assert cells is not None
    assert units is not None
    assert cells.low == pytest.approx(units.low, abs=0.101)  # a step of the mean is 0.1
    assert cells.high == pytest.approx(units.high, abs=0.101)


def test_the_seed_decides() -> None:
    statistic = mean_of(np.arange(20.0))
    first, again, other = (interval(statistic, ones(20), level=LEVEL, seed=s) for s in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [3.0] * 9, [np.nan] * 5])
def test_no_interval_where_there_is_none(values: list[float]) -> None:
    assert interval(mean_of(np.array(values)), ones(len(values)), level=LEVEL, seed=0) is None


def test_missing_values_are_left_out_of_the_mean() -> None:
    statistic = mean_of(np.array([1.0, np.nan, 3.0]))
    # the unit without a value changes nothing; a draw of only such units has no mean
    assert statistic(np.array([[1.0, 1.0, 1.0], [0.0, 5.0, 1.0], [0.0, 3.0, 0.0]]))[:2].tolist() == [2.0, 3.0]
    assert np.isnan(statistic(np.array([[0.0, 3.0, 0.0]]))[0])


def test_ratio_by_hand() -> None:
    statistic = ratio_of(np.array([-2.0, -9.0]), np.array([1.0, 3.0]))
    assert statistic(np.array([[1.0, 1.0], [2.0, 1.0]])).tolist() == [-11 / 4, -13 / 5]


def test_pairs_by_hand_and_never_of_a_unit_with_itself() -> None:
    similarity = np.array([[1.0, 0.2, 0.6], [0.2, 1.0, 0.4], [0.6, 0.4, 1.0]])
    statistic = pair_mean_of(similarity)
    # all once: (0.2 + 0.6 + 0.4) / 3; the first twice: 2·0.2 + 2·0.6 + 0.4 over 5 pairs; one unit thrice: none
    found = statistic(np.array([[1.0, 1, 1], [2, 1, 1], [3, 0, 0]]))
    assert found[:2] == pytest.approx([0.4, 0.4])
    assert np.isnan(found[2])
    assert statistic(np.array([[2.0, 1, 0]]))[0] == pytest.approx(0.2)


def test_paired_comparison_sees_what_the_units_share() -> None:
    rng = np.random.default_rng(8)
    hard = rng.normal(size=80)  # some documents are harder than others, for both
    a, b = hard + 0.1 + rng.normal(0, 0.05, 80), hard + rng.normal(0, 0.05, 80)
    paired = compare(mean_of(a), mean_of(b), ones(80), level=LEVEL, seed=1)
    apart = compare_means(a, b, level=LEVEL, seed=1)
    assert paired.difference == pytest.approx(a.mean() - b.mean())
    assert paired.p_value is not None
    assert paired.p_value < 0.002
    assert apart.p_value is not None
    assert apart.p_value == pytest.approx(stats.ttest_ind(a, b).pvalue, abs=0.05)
    assert apart.p_value > 0.2
    assert paired.interval is not None
    assert 0 < paired.interval.low < 0.1 < paired.interval.high < 0.2


def test_equal_scores_do_not_differ() -> None:
    values = np.arange(10.0)
    found = compare(mean_of(values), mean_of(values.copy()), ones(10), level=LEVEL, seed=0)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.interval is None
    assert compare_means(values, values, level=LEVEL, seed=0).p_value == 1


def test_comparison_of_nothing() -> None:
    found = compare_means(np.array([np.nan]), np.array([1.0]), level=LEVEL, seed=0)
    assert np.isnan(found.difference)
    assert found.p_value is None
    assert compare_means(np.array([2.0]), np.array([1.0]), level=LEVEL, seed=0).difference == 1


def test_p_values_of_equal_models_are_spread_evenly() -> None:
    rng = np.random.default_rng(4)
    p = []
    for i in range(200):
        a, b = rng.normal(size=(2, 50))
        found = compare(mean_of(a), mean_of(b), ones(50), level=LEVEL, seed=i, draws=200)
        assert found.p_value is not None
        p.append(found.p_value)
    assert 0.01 <= np.mean(np.array(p) < 0.05) <= 0.11


@repeatable
@given(st.lists(st.floats(-100, 100), min_size=3, max_size=30), st.integers(0, 5))
def test_intervals_lie_within_the_values(values: list[float], seed: int) -> None:
    array = np.array(values)
    found = interval(mean_of(array), ones(len(array)), level=LEVEL, seed=seed, draws=200)
    if found is not None:
        assert array.min() - 1e-9 <= found.low <= found.high <= array.max() + 1e-9
