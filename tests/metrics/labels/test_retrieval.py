"""Precision, recall, F1 against scikit-learn; Wilson's interval against SciPy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import precision_recall_fscore_support

from nlpkit.metrics.labels.classification import score_retrieval, wilson_interval
from tests.strategies import repeatable


def test_by_hand() -> None:
    found = score_retrieval(tp=3, fp=1, fn=6, tn=90)
    assert (found.precision, found.recall, found.f1) == (0.75, pytest.approx(1 / 3), pytest.approx(6 / 13))


@repeatable
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_as_in_scikit_learn(tp: int, fp: int, fn: int, tn: int) -> None:
    truth = [1] * tp + [0] * fp + [1] * fn + [0] * tn
    search = [1] * (tp + fp) + [0] * (fn + tn)
    found = score_retrieval(tp=tp, fp=fp, fn=fn, tn=tn)
    if not truth:
        return
    expected = precision_recall_fscore_support(truth, search, labels=[1], zero_division=math.nan)
    for value, column in zip((found.precision, found.recall, found.f1), expected, strict=False):
        assert value == pytest.approx(column[0], nan_ok=True)


@repeatable
@given(st.integers(1, 500), st.data())
def test_interval_as_in_scipy(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    share, low, high = wilson_interval(successes, trials)
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert (share, low, high) == pytest.approx((successes / trials, expected.low, expected.high), abs=1e-12)
    assert 0 <= low <= share <= high <= 1


def test_nothing_found_has_no_precision() -> None:
    found = score_retrieval(tp=0, fp=0, fn=5, tn=1)
    assert math.isnan(found.precision)
    assert math.isnan(found.precision_high)
    assert (found.recall, found.recall_low, found.f1) == (0, 0, 0)
    assert math.isnan(score_retrieval(tp=0, fp=0, fn=0, tn=9).f1)
