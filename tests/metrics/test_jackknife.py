"""Jackknife intervals: by hand, and how often they hold what they should."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nlpkit.metrics import intervals as jackknife
from nlpkit.metrics.intervals import jackknife_comparison, jackknife_interval, mean_of, standard_error
from nlpkit.metrics.labels import partitions

VALUES = np.array([1.0, 2.0, 4.0, 9.0])
ONES = np.ones(4, np.int64)


def test_the_error_of_a_mean_by_hand() -> None:
    # mean 4; s² = (9 + 4 + 0 + 25) / 3; error s / sqrt(4)
    error = math.sqrt(38 / 3 / 4)
    assert standard_error(mean_of(VALUES), ONES) == pytest.approx(error)
    found = jackknife_interval(mean_of(VALUES), ONES, level=0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((4 - 1.959964 * error, 4 + 1.959964 * error), rel=1e-6)
    assert (found.level, found.method) == (0.95, "jackknife over documents")


def test_units_alike_count_as_often_as_they_are() -> None:
    counts = np.array([3, 0, 2, 1])
    repeated = np.repeat(VALUES, counts)
    expected = standard_error(mean_of(repeated), np.ones(6, np.int64))
    assert standard_error(mean_of(VALUES), counts) == pytest.approx(expected, rel=1e-12)


def test_a_score_that_is_no_mean() -> None:
    # the square of the mean: without one of 1, 2, 3 the means are 2.5, 2, 1.5
    values = np.array([1.0, 2.0, 3.0])
    squares = np.array([6.25, 4.0, 2.25])
    expected = math.sqrt(2 / 3 * ((squares - squares.mean()) ** 2).sum())
    assert standard_error(lambda w: mean_of(values)(w) ** 2, np.ones(3, np.int64)) == pytest.approx(expected)


def test_comparison_by_hand() -> None:
    other = VALUES - np.array([1.0, 1.0, 0.0, 2.0])
    found = jackknife_comparison(mean_of(VALUES), mean_of(other), ONES, level=0.9)
    error = math.sqrt(2 / 3 / 4)  # of the differences 1, 1, 0, 2
    assert found.difference == pytest.approx(1.0)
    assert found.interval is not None
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.644854 * error, rel=1e-6)
    assert found.p_value == pytest.approx(math.erfc(1 / error / math.sqrt(2)), rel=1e-9)
    turned = jackknife_comparison(mean_of(other), mean_of(VALUES), ONES, level=0.9)
    assert (turned.difference, turned.p_value) == pytest.approx((-1.0, found.p_value))


def test_nothing_varies() -> None:
    flat = mean_of(np.ones(4))
    assert jackknife_interval(flat, ONES, level=0.95) is None
    same = jackknife_comparison(mean_of(VALUES), mean_of(VALUES), ONES, level=0.95)
    assert (same.difference, same.interval, same.p_value) == (0.0, None, 1.0)
    always = jackknife_comparison(flat, mean_of(np.zeros(4)), ONES, level=0.95)
    assert (always.difference, always.interval, always.p_value) == (1.0, None, None)


def test_too_few_units_or_no_score() -> None:
    assert jackknife_interval(mean_of(VALUES[:2]), ONES[:2], level=0.95) is None
    assert jackknife_interval(lambda w: np.full(len(w), np.nan), ONES, level=0.95) is None
    assert jackknife_comparison(mean_of(VALUES[:2]), mean_of(VALUES[:2]), ONES[:2], level=0.95).p_value is None


def test_more_units_than_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=900)
    monkeypatch.setattr(jackknife, "CELLS", 5000)
    assert standard_error(mean_of(values), np.ones(900, np.int64)) == pytest.approx(
        values.std(ddof=1) / math.sqrt(900), rel=1e-9
    )


@pytest.mark.parametrize("name", ["ami", "ari", "nmi", "bcubed_f1", "purity"])
def test_intervals_hold_the_mean_over_samples(name: str) -> None:
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.full(200, 0.05))  # 20 clusters, 10 classes
    samples = rng.multinomial(200, share, size=100)

    def score(weights: Any) -> Any:
        return partitions.SCORES[name](weights.reshape(-1, 20, 10))

    mean = score(samples).mean()
    found = [jackknife_interval(score, counts, level=0.95) for counts in samples]
    held = sum(interval is not None and interval.low <= mean <= interval.high for interval in found)
    assert 88 <= held <= 100


def test_groups_stand_for_many_units() -> None:
    """5,000 values: groups of 25 are left out; the error of a mean is known."""
    values = np.random.default_rng(4).gamma(2, size=5000)
    found = standard_error(mean_of(values), np.ones(5000, np.int64))
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(5000), rel=0.15)
    assert found == standard_error(mean_of(values), np.ones(5000, np.int64))
