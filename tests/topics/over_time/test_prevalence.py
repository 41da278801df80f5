"""Shares of topics in cells, their intervals, trends, differences of groups: against scipy and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, xlogy
from scipy.stats import binomtest, chi2_contingency, f, f_oneway, false_discovery_control

from nlpkit.metrics.intervals import benjamini_hochberg
from nlpkit.topics.over_time.prevalence import Membership, differences, one_topic_each, share_bounds, sum_cells, trends


def hard_labels(rng: np.random.Generator, D: int = 400, K: int = 3, C: int = 4) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(-1, K, D).astype(np.int32), rng.integers(-1, C, D).astype(np.int32)


def test_counts_of_one_topic_each_are_those_of_a_table() -> None:
    topics, cells = hard_labels(np.random.default_rng(0))
    sums = sum_cells(one_topic_each(topics, 3), cells, 5)
    for c in range(5):
        here = topics[cells == c]
        assert sums.n[c] == len(here)
        assert sums.sums[c].tolist() == [(here == k).sum() for k in (0, 1, 2, -1)]
    assert np.isnan(sums.shares[4]).all()  # the last cell is empty
    np.testing.assert_allclose(sums.shares[:4].sum(axis=1), 1)


def test_mixtures_get_their_rest_by_the_prior() -> None:
    """A plain loop: what a document's row lacks to 1 goes to the topics that it does not list."""
    theta = np.array([[0.7, 0.2, 0.0, 0.0], [0.0, 0.0, 0.95, 0.0], [0.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    prior, none = np.array([0.1, 0.2, 0.3, 0.4]), np.array([False, False, True, False])
    full = theta.copy()
    for d in np.flatnonzero(~none):
        unlisted = theta[d] == 0
        if unlisted.any():
            full[d, unlisted] = (1 - theta[d].sum()) * prior[unlisted] / prior[unlisted].sum()
    cells = np.array([0, 0, 0, 1], np.int32)
    sums = sum_cells(Membership(sparse.csr_array(theta), none, prior), cells, 2)
    np.testing.assert_allclose(sums.sums[0], [*full[:3].sum(axis=0), 1])
    np.testing.assert_allclose(sums.squares[0], [*(full[:3] ** 2).sum(axis=0), 1])
    np.testing.assert_allclose(sums.sums[1], [0.25, 0.25, 0.25, 0.25, 0])


def test_intervals_of_one_topic_each_are_those_of_wilson() -> None:
    topics, cells = hard_labels(np.random.default_rng(1))
    sums = sum_cells(one_topic_each(topics, 3), cells, 5)
    low, high = share_bounds(sums, level=0.95)
    for c in range(4):
        for k in range(4):
            ends = binomtest(int(sums.sums[c, k]), int(sums.n[c])).proportion_ci(0.95, method="wilson")
            assert (low[c, k], high[c, k]) == pytest.approx((ends.low, ends.high))
    assert np.isnan(low[4]).all()
    assert np.isnan(high[4]).all()


def test_intervals_of_mixtures_hold_the_truth_and_are_shorter() -> None:
    rng = np.random.default_rng(2)
    alpha = np.array([2.0, 1.0, 1.0])
    truth, inside, widths = alpha / alpha.sum(), 0, []
    for _ in range(300):
        theta = rng.dirichlet(alpha, 30)
        sums = sum_cells(Membership(sparse.csr_array(theta), np.zeros(30, bool), alpha), np.zeros(30, np.int32), 1)
        low, high = share_bounds(sums, level=0.95)
        inside += int(low[0, 0] <= truth[0] <= high[0, 0])
        widths.append(high[0, 0] - low[0, 0])
    ends = binomtest(15, 30).proportion_ci(0.95, method="wilson")
    assert 0.92 <= inside / 300 <= 0.98
    assert np.mean(widths) < 0.6 * (ends.high - ends.low)


def test_a_trend_is_the_logistic_regression_of_its_counts() -> None:
    """Coefficients by a general optimiser; the dispersion by its formula; an empty period keeps its place."""
    n = np.array([40, 0, 55, 60, 30, 70, 44], np.int64)
    y = np.array([4, 0, 9, 12, 6, 25, 15])
    t = np.flatnonzero(n)
    topics = np.concatenate([np.repeat([0, 1], [a, b - a]) for a, b in zip(y, n, strict=True)]).astype(np.int32)
    cells = sum_cells(one_topic_each(topics, 2), np.repeat(np.arange(7), n).astype(np.int32), 7)
    result = trends(cells, level=0.95)

    def loss(ab: np.ndarray) -> float:
        mu = expit(ab[0] + ab[1] * t)
        return float(-(xlogy(y[t], mu) + xlogy(n[t] - y[t], 1 - mu)).sum())

    a, b = minimize(loss, [0.0, 0.0], tol=1e-12).x
    mu = expit(a + b * t)
    phi = float(((y[t] - n[t] * mu) ** 2 / (n[t] * mu * (1 - mu))).sum()) / (len(t) - 2)
    assert result.odds_ratio[0] == pytest.approx(np.exp(b), rel=1e-4)
    assert result.first[0] == pytest.approx(mu[0], rel=1e-3)
    assert result.last[0] == pytest.approx(mu[-1], rel=1e-3)
    assert result.dispersion[0] == pytest.approx(max(phi, 1.0), rel=1e-3)
    assert result.odds_ratio[0] * result.odds_ratio[1] == pytest.approx(
        1
    )  # of two topics, one falls as the other rises
    assert result.low[0] < result.odds_ratio[0] < result.high[0]
    deviance = 2 * (loss(np.array([np.log(y.sum() / (n - y).sum()), 0.0])) - loss(np.array([a, b])))
    assert result.p[0] == pytest.approx(f.sf(deviance / max(phi, 1.0), 1, len(t) - 2), rel=1e-3)
    assert np.isnan(result.p[2])


def test_no_trend_where_there_is_nothing_to_see_and_none_without_periods() -> None:
    rng = np.random.default_rng(3)
    cells = sum_cells(
        one_topic_each(rng.integers(0, 2, 600).astype(np.int32), 3), rng.integers(0, 12, 600).astype(np.int32), 12
    )
    result = trends(cells, level=0.95)
    assert result.p[0] > 0.01
    assert np.isnan(result.p[2])
    two = trends(
        sum_cells(one_topic_each(np.array([0, 1, 1], np.int32), 2), np.array([0, 1, 1], np.int32), 2), level=0.95
    )
    assert np.isnan(two.p).all()


def test_tests_of_trends_that_are_none_are_right_as_often_as_they_say() -> None:
    """Months that scatter more than documents do: a binomial test would find trends in far more than 5 % of the corpora."""
    rng, small = np.random.default_rng(4), 0
    period = np.repeat(np.arange(24), 40).astype(np.int32)
    for _ in range(400):
        share = np.repeat(expit(-1 + 0.6 * rng.standard_normal(24)), 40)
        topics = (rng.random(len(period)) > share).astype(np.int32)
        small += trends(sum_cells(one_topic_each(topics, 2), period, 24), level=0.95).p[0] <= 0.05
    assert 0.025 <= small / 400 <= 0.08


def test_a_topic_that_stops_at_once_has_a_finite_test() -> None:
    topics = np.repeat([0, 1], [300, 300]).astype(np.int32)
    result = trends(sum_cells(one_topic_each(topics, 2), np.repeat(np.arange(6), 100).astype(np.int32), 6), level=0.95)
    assert result.p[0] < 0.001
    assert result.last[0] < 1e-3 < result.first[0]


def test_differences_are_the_chi_square_test_of_each_topic() -> None:
    rng = np.random.default_rng(5)
    topics, groups = hard_labels(rng, D=300, K=3, C=3)
    topics[(groups == 1) & (rng.random(300) < 0.4)] = 0
    cells = sum_cells(one_topic_each(topics, 3), groups, 4)  # group 3 is empty
    result = differences(cells)
    for k in range(3):
        counts = np.stack([cells.sums[:3, k], cells.n[:3] - cells.sums[:3, k]])
        peer = chi2_contingency(counts, correction=False)
        assert result.statistic[k] == pytest.approx(peer.statistic)
        assert result.p[k] == pytest.approx(peer.pvalue)
        assert result.effect[k] == pytest.approx(np.sqrt(peer.statistic / cells.n.sum()))
        assert result.least_expected[k] == pytest.approx(peer.expected_freq.min())
    assert result.highest[0] == 1
    np.testing.assert_allclose(result.q[:3], false_discovery_control(result.p[:3]))


def test_differences_of_mixtures_are_an_analysis_of_variance() -> None:
    rng = np.random.default_rng(6)
    theta, groups = rng.dirichlet(np.ones(3), 60), np.repeat([0, 1, 2], 20).astype(np.int32)
    result = differences(sum_cells(Membership(sparse.csr_array(theta), np.zeros(60, bool), np.ones(3)), groups, 3))
    for k in range(3):
        peer = f_oneway(*(theta[groups == g, k] for g in range(3)))
        assert result.statistic[k] == pytest.approx(peer.statistic)
        assert result.p[k] == pytest.approx(peer.pvalue)


def test_groups_whose_documents_are_alike_differ_beyond_doubt() -> None:
    theta = np.repeat([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]], 20, axis=0)
    groups = np.repeat([0, 1], 20).astype(np.int32)
    result = differences(sum_cells(Membership(sparse.csr_array(theta), np.zeros(40, bool), np.ones(3)), groups, 2))
    assert result.p[0] < 1e-12
    assert result.q[1] < 1e-12
    assert np.isnan(result.p[2])  # in no document


def test_q_values_are_those_of_scipy_and_gaps_stay() -> None:
    p = np.array([0.01, np.nan, 0.04, 0.03, 0.5, 0.03])
    q = benjamini_hochberg(p)
    assert np.isnan(q[1])
    np.testing.assert_allclose(np.delete(q, 1), false_discovery_control(np.delete(p, 1)))


def test_a_group_of_one_document_is_not_the_one_with_the_largest_share() -> None:
    topics = np.array([0] * 6 + [1] * 4 + [0] * 3 + [1] * 7 + [0], np.int32)
    groups = np.repeat([0, 1, 2], [10, 10, 1]).astype(np.int32)
    result = differences(sum_cells(one_topic_each(topics, 2), groups, 3))
    assert (result.highest[0], result.lowest[0]) == (0, 1)
    few = differences(sum_cells(one_topic_each(topics[8:14], 2), np.array([0, 0, 1, 1, 2, 2], np.int32), 3))
    assert (few.highest[0], few.lowest[0]) == (1, 0)
