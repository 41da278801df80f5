"""Calibration of the top label: by hand, against scikit-learn, and what must not change it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from nlpkit.errors import InputError, UsageError
from nlpkit.metrics.labels.classification import (
    bin_edges,
    bin_sums,
    brier_errors,
    calibrate,
    expected_error,
    log_losses,
    maximum_error,
    squared_errors,
)
from tests.refusals import refuses
from tests.strategies import repeatable

P = np.array([0.3, 0.4, 0.6, 0.8, 0.9, 1.0])
RIGHT = np.array([False, True, False, True, True, True])


@st.composite
def predictions_d(draw: st.DrawFn) -> tuple[Any, Any]:
    """Probabilities and whether right, of 1 … 30 predictions; ties and 0 and 1 occur."""
    n = draw(st.integers(1, 30))
    p = st.one_of(st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.floats(0, 1, allow_subnormal=False))
    return (
        np.array(draw(st.lists(p, min_size=n, max_size=n))),
        np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n))),
    )


def test_by_hand() -> None:
    found = calibrate(P, RIGHT, n_bins=2)
    # (0, .5]: .3 .4, one of two right; (.5, 1]: .6 .8 .9 1, three of four
    assert [(b.low, b.high, b.n) for b in found.bins] == [(0.0, 0.5, 2), (0.5, 1.0, 4)]
    assert [b.confidence for b in found.bins] == pytest.approx([0.35, 0.825])
    assert [b.accuracy for b in found.bins] == pytest.approx([0.5, 0.75])
    assert found.ece == pytest.approx((2 * 0.15 + 4 * 0.075) / 6)
    assert found.mce == pytest.approx(0.15)
    # the median of p is 0.7: three each, one and three right
    assert [(b.low, b.high, b.n) for b in found.bins_mass] == [
        (0.0, pytest.approx(0.7), 3),
        (pytest.approx(0.7), 1.0, 3),
    ]
    assert found.ece_mass == pytest.approx(((1.3 - 1) + (3 - 2.7)) / 6)
    assert (found.n_documents, found.accuracy, found.confidence) == (6, pytest.approx(4 / 6), pytest.approx(4 / 6))
    assert found.brier_top == pytest.approx((0.09 + 0.36 + 0.36 + 0.04 + 0.01 + 0) / 6)
    expected = -(math.log(0.7) + math.log(0.4) + math.log(0.4) + math.log(0.8) + math.log(0.9)) / 6
    assert found.log_loss == pytest.approx(expected)


def test_a_probability_on_an_edge_is_in_the_bin_below() -> None:
    p, right = np.array([0.0, 0.5, 0.5000001, 1.0]), np.ones(4, bool)
    assert bin_sums(p, right, bin_edges(p, n_bins=2))[:, 0].tolist() == [2, 2]


def test_bins_of_equal_mass_keep_equal_probabilities_together() -> None:
    p = np.array([0.1, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 1.0])
    edges = bin_edges(p, n_bins=4, by="mass")
    assert edges.tolist() == [0.0, 0.9, 1.0]
    assert bin_sums(p, p > 0, edges)[:, 0].tolist() == [7, 1]
    assert bin_edges(np.ones(3), n_bins=4, by="mass").tolist() == [0.0, 1.0]


@repeatable
@given(predictions_d(), st.integers(1, 12))
def test_agrees_with_scikit_learn(predictions: tuple[Any, Any], n_bins: int) -> None:
    p, right = predictions
    found = calibrate(p, right, n_bins=n_bins)
    for bins, strategy in ((found.bins, "uniform"), (found.bins_mass, "quantile")):
        accuracy, confidence = calibration_curve(right, p, n_bins=n_bins, strategy=strategy, pos_label=True)
        assert [b.accuracy for b in bins] == pytest.approx(accuracy.tolist())
        assert [b.confidence for b in bins] == pytest.approx(confidence.tolist())
        assert sum(b.n for b in bins) == len(p)
    assert found.brier_top == pytest.approx(brier_score_loss(right, p, pos_label=True))
    for values in (p, p.astype(np.float32)):
        expected = log_loss(right, values, labels=[False, True])
        assert log_losses(values, right).mean() == pytest.approx(expected, rel=1e-5, abs=1e-6)


@repeatable
@given(predictions_d(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_bounds_and_order_of_documents(predictions: tuple[Any, Any], n_bins: int, random: Any) -> None:
    p, right = predictions
    found = calibrate(p, right, n_bins=n_bins)
    for score in (found.ece, found.ece_mass, found.mce, found.brier_top):
        assert 0 <= score <= 1 + 1e-12
    # no binning finds less than the difference of the means, and one bin exactly that
    gap = abs(found.confidence - found.accuracy)
    assert gap - 1e-12 <= found.ece <= found.mce + 1e-12
    assert calibrate(p, right, n_bins=1).ece == pytest.approx(gap)
    order = list(range(len(p)))
    random.shuffle(order)
    other = calibrate(p[order], right[order], n_bins=n_bins)
    assert (other.ece, other.ece_mass, other.mce) == pytest.approx((found.ece, found.ece_mass, found.mce))


@pytest.mark.parametrize("J", [2, 4])
def test_the_brier_score_of_all_classes_is_scikit_learns(J: int) -> None:
    rng = np.random.default_rng(J)
    p, y = rng.dirichlet(np.ones(J), 50), rng.integers(0, J, 50).astype(np.int32)
    expected = brier_score_loss(y, p, labels=np.arange(J), scale_by_half=False)
    assert brier_errors(p, y).mean() == pytest.approx(expected, abs=1e-12)
    # a class of which the model knows nothing had the probability 0
    assert brier_errors(np.array([[0.5, 0.5]]), np.array([-1], np.int32)).tolist() == [1.5]
    assert brier_errors(np.eye(J), np.arange(J, dtype=np.int32)).tolist() == [0.0] * J
    with pytest.raises(InputError):
        brier_errors(np.full((1, 2), np.nan), np.zeros(1, np.int32))


def test_draws_score_as_resamples_in_the_same_bins() -> None:
    rng = np.random.default_rng(0)
    weights = rng.multinomial(6, np.full(6, 1 / 6), size=20).astype(np.float64)
    for by in ("width", "mass"):
        edges = bin_edges(P, n_bins=3, by=by)  # type: ignore[arg-type]
        sums = bin_sums(P, RIGHT, edges, weights=weights)
        assert sums.shape == (20, len(edges) - 1, 3)
        for draw, w in zip(sums, weights.astype(int), strict=True):
            np.testing.assert_allclose(draw, bin_sums(np.repeat(P, w), np.repeat(RIGHT, w), edges))
        errors = expected_error(sums), maximum_error(sums)
        one_by_one = [expected_error(draw) for draw in sums], [maximum_error(draw) for draw in sums]
        np.testing.assert_allclose(errors, one_by_one)


def test_a_calibrated_classifier_has_small_errors_and_a_sure_one_large() -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 1, 20_000)
    right = rng.random(20_000) < p
    good, sure = calibrate(p, right), calibrate(np.sqrt(p), right)
    assert good.ece < 0.015
    assert good.ece_mass < 0.015
    assert sure.ece == pytest.approx(np.sqrt(p).mean() - p.mean(), abs=0.01)
    assert sure.confidence > sure.accuracy
    assert sure.brier_top > good.brier_top


def test_all_right_and_certain() -> None:
    found = calibrate(np.ones(3), np.ones(3, bool))
    assert (found.ece, found.ece_mass, found.mce, found.brier_top) == (0, 0, 0, 0)
    assert found.log_loss == pytest.approx(0, abs=1e-15)
    assert len(found.bins) == len(found.bins_mass) == 1


def test_certain_and_wrong_is_finite() -> None:
    assert log_losses(np.array([1.0]), np.array([False]))[0] == pytest.approx(-math.log(2**-52))
    assert log_losses(np.array([1.0], np.float32), np.array([False]))[0] == pytest.approx(-math.log(2**-23))


@pytest.mark.parametrize("bad", [np.nan, 1.01, -0.1])
def test_no_probabilities(bad: float) -> None:
    p = P.copy()
    p[3] = bad
    with pytest.raises(InputError, match=r"document 4 \(1 in all\)"):
        calibrate(p, RIGHT)


def test_what_cannot_be_scored() -> None:
    with pytest.raises(InputError):
        calibrate(P[:0], RIGHT[:0])
    with pytest.raises(UsageError, match="got 6 and 5"):
        squared_errors(P[:5], RIGHT)
    with refuses("n_bins"):
        calibrate(P, RIGHT, n_bins=0)
