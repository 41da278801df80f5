"""Confirmation measures by hand."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.topics import coherence as of
from tests.strategies import repeatable

EPS = 1e-12


def one(function: Any, *counts: float, **options: Any) -> float:
    *arrays, last = counts
    n = [last] if function is not of.smoothed_log_conditional else [np.array([last])]
    return float(function(*(np.array([c]) for c in arrays), *n, **options)[0])


def test_log_ratio() -> None:
    # p(u, v) = 2/10, p(u) = 4/10, p(v) = 5/10
    assert one(of.log_ratio, 2, 4, 5, 10.0) == pytest.approx(log(0.2 / 0.2), abs=1e-11)
    assert one(of.log_ratio, 3, 4, 5, 10.0) == pytest.approx(log(0.3 / 0.2), rel=1e-10)
    assert one(of.log_ratio, 0, 4, 5, 10.0) == pytest.approx(log(EPS / 0.2), rel=1e-12)
    assert one(of.log_ratio, 0, 4, 5, 10.0, below=EPS) == pytest.approx(log(EPS / (0.2 + EPS)), rel=1e-12)
    assert one(of.log_ratio, 0, 0, 5, 10.0, undefined=-7.0) == -7.0
    assert one(of.log_ratio, 0, 4, 0, 10.0, undefined=-7.0) == -7.0


def test_normalized_log_ratio() -> None:
    assert one(of.normalized_log_ratio, 3, 4, 5, 10.0) == pytest.approx(log(1.5) / -log(0.3), rel=1e-10)
    # 0.01 each, never together: ln(1e-12 / 1e-4) / -ln 1e-12 = -8/12: not -1
    assert one(of.normalized_log_ratio, 0, 1, 1, 100.0) == pytest.approx(-8 / 12, rel=1e-12)
    assert one(of.normalized_log_ratio, 10, 10, 10, 10.0) == pytest.approx(-1.0, rel=1e-3)
    assert one(of.normalized_log_ratio, 0, 0, 5, 10.0, undefined=0.25) == 0.25


def test_log_conditional() -> None:
    assert one(of.log_conditional, 2, 3, 4, 10.0) == pytest.approx(log(0.5), rel=1e-10)
    assert one(of.log_conditional, 0, 3, 4, 10.0) == pytest.approx(log(EPS / 0.4), rel=1e-12)
    assert one(of.log_conditional, 0, 3, 0, 10.0, undefined=0.5) == 0.5
    assert one(of.log_conditional_after, 0, 4, 10.0) == pytest.approx(log(EPS), rel=1e-12)
    assert one(of.log_conditional_after, 2, 4, 10.0) == pytest.approx(log(0.5), rel=1e-10)


def test_smoothed_log_conditional() -> None:
    assert one(of.smoothed_log_conditional, 2, 4) == pytest.approx(log(3 / 4), rel=1e-14)
    assert one(of.smoothed_log_conditional, 0, 4) == pytest.approx(log(1 / 4), rel=1e-14)
    assert one(of.smoothed_log_conditional, 4, 4) == pytest.approx(log(5 / 4), rel=1e-14)
    assert one(of.smoothed_log_conditional, 0, 0, undefined=-3.0) == -3.0


def test_fitelson() -> None:
    # p(u | v) = 3/5, p(u | not v) = (4 - 3) / (10 - 5) = 1/5: (3/5 - 1/5) / (3/5 + 1/5) = 1/2
    assert one(of.fitelson, 3, 4, 5, 10.0) == pytest.approx(0.5, rel=1e-14)
    assert one(of.fitelson, 2, 4, 5, 10.0) == pytest.approx(0.0, abs=1e-15)
    assert one(of.fitelson, 0, 4, 5, 10.0) == -1.0
    assert one(of.fitelson, 5, 5, 5, 10.0) == 1.0
    assert one(of.fitelson, 4, 4, 10, 10.0) == 1.0  # nothing is without v
    assert one(of.fitelson, 0, 4, 0, 10.0) == -1.0  # nothing is with v
    assert one(of.fitelson, 0, 0, 5, 10.0, undefined=0.75) == 0.75


def test_cosine() -> None:
    a, b = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 2.0], [1.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(of.cosine(a, b), [0.0, 1 / sqrt(2), 0.0], rtol=1e-15)


@st.composite
def windows_of_pairs(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """Windows with both, with u, with v, and all, as they can be."""
    n = draw(st.integers(1, 30))
    u, v = draw(st.integers(0, n)), draw(st.integers(0, n))
    return draw(st.integers(max(0, u + v - n), min(u, v))), u, v, n


@repeatable
@given(windows_of_pairs())
def test_nothing_is_nan_and_bounds_hold(counts: tuple[int, int, int, int]) -> None:
    joint, u, v, n = counts
    for function in (of.log_ratio, of.normalized_log_ratio, of.log_conditional, of.fitelson):
        assert np.isfinite(one(function, joint, u, v, float(n)))
    assert -1 <= one(of.fitelson, joint, u, v, float(n)) <= 1
    assert one(of.log_ratio, joint, u, v, float(n)) >= log(EPS)
    assert one(of.log_ratio, joint, u, v, float(n)) == one(of.log_ratio, joint, v, u, float(n))
    assert one(of.smoothed_log_conditional, joint, v) >= -log(n)
