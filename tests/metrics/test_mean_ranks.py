"""Mean ranks, against scipy and published critical values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from nlpkit.metrics.mean_ranks import groups_of, interval_of_means, mean_ranks

Q = {
    2: 1.960,
    3: 2.343,
    4: 2.569,
    5: 2.728,
    10: 3.164,
}  # Demšar 2006, table 5a: critical values of the Nemenyi test, α = 0.05


@pytest.mark.parametrize("K", Q)
def test_the_critical_values_of_the_paper(K: int) -> None:
    ranks = mean_ranks([str(k) for k in range(K)], np.tile(np.arange(K, dtype=float), (14, 1)))
    assert ranks.critical_difference == pytest.approx(Q[K] * np.sqrt(K * (K + 1) / (6 * 14)), rel=3e-4)
    assert (ranks.ranks.tolist(), ranks.blocks) == (list(range(K, 0, -1)), 14)


def test_ranks_by_hand() -> None:
    ranks = mean_ranks("abc", np.array([[0.9, 0.8, 0.8], [0.5, 0.7, 0.6]]))
    assert ranks.ranks.tolist() == [2.0, 1.75, 2.25]  # 1, 2.5, 2.5 and 3, 1, 2


@pytest.mark.parametrize("seed", range(4))
def test_friedman_equals_scipy_with_ties(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 4, (6, 4)).astype(float)
    ranks = mean_ranks("abcd", scores)
    assert ranks.p_value == pytest.approx(friedmanchisquare(*(-scores).T).pvalue)
    assert ranks.ranks == pytest.approx(rankdata(-scores, axis=1).mean(axis=0))
    assert mean_ranks("abcd", np.ones((6, 4))).p_value is None


def test_groups_are_the_largest_ranges_within_the_difference() -> None:
    assert groups_of([1.0, 1.5, 2.2, 3.4], 1.3) == [(1.0, 2.2), (2.2, 3.4)]
    assert groups_of([3.0, 1.0, 2.0], 0.5) == []
    assert groups_of([1.0, 2.0, 3.0], 9.0) == [(1.0, 3.0)]
    assert groups_of([2.0, 2.0], 1.0) == [(2.0, 2.0)]


def test_an_interval_stays_within_the_limits_of_the_score() -> None:
    low, high = interval_of_means([0.4, 0.5, 0.6], level=0.95, limits=(0.0, 1.0)) or (0, 0)
    assert (low, high) == pytest.approx((0.5 - 4.3027 * 0.1 / 3**0.5, 0.5 + 4.3027 * 0.1 / 3**0.5), abs=1e-4)
    assert (interval_of_means([0.8, 0.95, 1.0], level=0.95, limits=(0.0, 1.0)) or (0, 0))[1] == 1.0
    assert interval_of_means([0.5, 0.6], level=0.95, limits=(0.0, 1.0)) is None
