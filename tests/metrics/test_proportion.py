"""Intervals of shares and of scores at the end of their range: by hand, beside scipy, and that they hold what they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from nlpkit.metrics.catalogue import METRICS
from nlpkit.metrics.intervals import changed_shares, edge_interval, edge_sums, wilson
from nlpkit.metrics.labels.classification import averages, averages_of_sums
from nlpkit.metrics.score import Uncertainty, mean_score
from tests.strategies import repeatable


@repeatable
@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.999]))
def test_wilson_is_scipys(n: int, share: float, level: float) -> None:
    k = round(share * n)
    found = wilson(k, n, level=level)
    assert found is not None
    expected = binomtest(k, n).proportion_ci(level, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert found.low <= k / n <= found.high


def test_no_documents_have_no_interval() -> None:
    assert wilson(0, 0, level=0.95) is None
    assert edge_interval(0.5, 10, low=0, high=1, level=0.95) is None
    assert edge_interval(1.0, 10, low=-np.inf, high=1, level=0.95) is None


def test_a_mean_at_the_end_has_the_interval_of_a_share() -> None:
    """Ten topics of NPMI 1, in [-1, 1]: the share 10/10 is at least 0.7225, so the mean at least 0.445."""
    score = mean_score(METRICS["npmi"], np.ones(10), Uncertainty(0.95, 0))
    assert score.interval is not None
    assert (score.interval.low, score.interval.high) == pytest.approx((2 * 0.7224672 - 1, 1))
    nothing = mean_score(METRICS["brier"], np.zeros(10), Uncertainty(0.95, 0))
    assert nothing.interval is not None
    assert (nothing.interval.low, nothing.interval.high) == pytest.approx((0, 2 * (1 - 0.7224672)))


@repeatable
@given(st.lists(st.integers(0, 60), min_size=1, max_size=8).filter(any))
def test_what_no_error_allows(sizes: list[int]) -> None:
    """Both sets of shares would show no error with the same probability, and the second errs most in the mean of the classes."""
    n = np.array(sizes, np.float64)
    same, worst = changed_shares(sizes, level=0.95)
    found = wilson(n.sum(), n.sum(), level=0.95)
    assert found is not None
    some = n > 0
    assert 1 - same[some] == pytest.approx(found.low)
    assert (n[some] * np.log1p(-worst[some])).sum() == pytest.approx(n.sum() * np.log(found.low), rel=1e-6)
    assert worst.mean() >= same.mean() - 1e-9
    assert (worst[~some] == 0).all()


def test_all_right_and_all_wrong() -> None:
    """Five of each of two classes, all right, Wilson 0.7225: a share of 0.2775 of each class may be taken for the other."""
    for counts, sign in ((np.diag([5, 5]), 1), (np.array([[0, 5], [5, 0]]), -1)):
        edge = edge_sums(counts, level=0.95)
        assert edge is not None
        found = averages_of_sums(*edge)
        right = 0.7224672 if sign > 0 else 1 - 0.7224672
        assert found["accuracy"] == pytest.approx([right] * 2)
        assert found["macro_f1"] == pytest.approx([right] * 2)
        assert found["mcc"] == pytest.approx([2 * right - 1] * 2)
        assert found["kappa"] == pytest.approx([2 * right - 1] * 2)
    assert edge_sums(np.array([[5, 0], [1, 4]]), level=0.95) is None


@repeatable
@given(st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(any))
def test_the_sums_are_those_of_a_confusion_matrix(sizes: list[int]) -> None:
    edge = edge_sums(np.diag(sizes), level=0.95)
    assert edge is not None
    hits, rows, columns = edge
    n = np.array(sizes, np.float64)
    for own, changed in zip(zip(hits, rows, columns, strict=True), changed_shares(sizes, level=0.95) * n, strict=True):
        matrix = np.zeros((len(n), len(n) + 1))
        for j, size in enumerate(n):
            others = np.where(np.arange(len(n)) == j, 0.0, n)
            matrix[j, j] = size - changed[j]
            if others.any():
                matrix[j, :-1] += changed[j] * others / others.sum()
            else:
                matrix[j, -1] += changed[j]
        expected = averages(matrix)
        assert {k: float(v) for k, v in averages_of_sums(*own).items()} == pytest.approx(
            {k: float(v) for k, v in expected.items()}, abs=1e-9
        )


def test_intervals_of_perfect_samples_hold_the_truth() -> None:
    """A classifier right in 90 %: of samples of 10 without an error, which a bootstrap gives [1, 1], the interval holds 0.9."""
    found = wilson(10, 10, level=0.95)
    assert found is not None
    assert found.low < 0.9 < found.high
