"""Heaps' law: growth curves by hand and by counting, fits against SciPy and planted laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nlpkit.metrics.texts.corpus import fit_heaps, growth_curve, heaps_curve
from tests.strategies import repeatable


def test_growth_by_hand() -> None:
    # I am Sam / Sam I am / I do not like ham and eggs: new at 1 2 3, then 8 9 10 11 12 13
    n, v = growth_curve(np.array([1, 2, 3, 8, 9, 10, 11, 12, 13]), 13)
    assert n.tolist() == list(range(1, 14))
    assert v.tolist() == [1, 2, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9]
    n, v = growth_curve(np.array([1, 2, 3, 8, 9, 10, 11, 12, 13]), 13, n_points=4)
    assert (n.tolist(), v.tolist()) == ([4, 7, 10, 13], [3, 3, 6, 9])


@repeatable
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 70))
def test_growth_is_the_number_of_different_words_so_far(words: list[int], points: int) -> None:
    first = [i + 1 for i, word in enumerate(words) if word not in words[:i]]
    n, v = growth_curve(np.array(first), len(words), points)
    assert (len(n), n[-1]) == (min(points, len(words)), len(words))
    assert (np.diff(n) > 0).all()
    assert v.tolist() == [len(set(words[:m])) for m in n.tolist()]


def test_a_planted_law_comes_back() -> None:
    n = np.arange(1000, 1_000_001, 1000)
    fit = fit_heaps(n, np.round(44 * n**0.49).astype(np.int64))  # Manning et al. 2008: K 44, β 0.49 of Reuters-RCV1
    assert (fit.k, fit.beta) == (pytest.approx(44, rel=0.001), pytest.approx(0.49, abs=1e-4))
    assert fit.r2 == pytest.approx(1, abs=1e-6)
    assert heaps_curve(fit, np.array([1_000_000]))[0] == pytest.approx(44 * 1000**0.98, rel=0.001)


@repeatable
@given(st.lists(st.integers(1, 500), min_size=3, max_size=30, unique=True), st.randoms(use_true_random=False))
def test_least_squares_as_in_scipy(places: list[int], random: object) -> None:
    n = np.array(sorted(places))
    v = np.array([random.randint(1, 50) for _ in places])  # type: ignore[attr-defined]
    fit = fit_heaps(n, v)
    other = stats.linregress(np.log(n), np.log(v))
    assert fit.beta == pytest.approx(other.slope, abs=1e-9)
    assert fit.k == pytest.approx(math.exp(other.intercept), rel=1e-8)
    if len(set(v.tolist())) > 1:
        assert fit.r2 == pytest.approx(other.rvalue**2, abs=1e-8)


@pytest.mark.parametrize("n", [0, 1])
def test_no_law_for_less_than_two_tokens(n: int) -> None:
    fit = fit_heaps(*growth_curve(np.arange(1, n + 1), n))
    assert all(map(math.isnan, (fit.k, fit.beta, fit.r2)))


def test_one_word_again_and_again_does_not_grow() -> None:
    fit = fit_heaps(*growth_curve(np.array([1]), 50))
    assert (fit.k, fit.beta) == (pytest.approx(1), pytest.approx(0))
    assert math.isnan(fit.r2)  # nothing varies


def test_only_new_words_grow_with_the_text() -> None:
    fit = fit_heaps(*growth_curve(np.arange(1, 51), 50))
    assert (fit.k, fit.beta, fit.r2) == (pytest.approx(1), pytest.approx(1), pytest.approx(1))
