"""Scores of numbers: against scikit-learn and scipy, with weights, of values far from 0 and very small ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from nlpkit.metrics.labels.numbers import statistics
from nlpkit.platform.types import FloatArray

NAMES = ("rmse", "mae", "r2", "pearson", "spearman")


def scores(true: FloatArray, found: FloatArray, weights: FloatArray | None = None) -> dict[str, float]:
    own = np.ones(len(true)) if weights is None else weights
    return {name: float(score(own[None, :])[0]) for name, score in statistics(true, found).items()}


def theirs(true: FloatArray, found: FloatArray) -> dict[str, float]:
    return {
        "rmse": sk.root_mean_squared_error(true, found),
        "mae": sk.mean_absolute_error(true, found),
        "r2": sk.r2_score(true, found),
        "pearson": stats.pearsonr(true, found).statistic,
        "spearman": stats.spearmanr(true, found).statistic,
    }


def values(n: int = 40) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 6, n).astype(float)  # with ties
    return true, np.round(true + rng.normal(0, 1.5, n), 1)


def test_by_hand() -> None:
    found = scores(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 3.0, 2.0]))
    assert (found["rmse"], found["mae"]) == (pytest.approx(np.sqrt(5 / 4)), pytest.approx(3 / 4))
    assert found["r2"] == pytest.approx(1 - 5 / 5)
    assert found["pearson"] == pytest.approx(0.5 / np.sqrt(5 * 0.75))  # Σ ab = 0.5, Σ a² = 5, Σ b² = 0.75
    assert found["spearman"] == pytest.approx(1 / np.sqrt(5 * 3))  # ranks 1 2 3 4 and 2 2 4 2


def test_scikit_learn_and_scipy_agree() -> None:
    assert scores(*values()) == pytest.approx(theirs(*values()), rel=1e-12)


def test_weights_are_how_often_a_document_is_drawn() -> None:
    true, found = values(12)
    drawn = np.random.default_rng(1).integers(0, 4, 12)
    again = theirs(np.repeat(true, drawn), np.repeat(found, drawn))
    own = scores(true, found, drawn.astype(float))
    for name in ("rmse", "mae", "r2", "pearson"):
        assert own[name] == pytest.approx(again[name], rel=1e-12)
    a, b = stats.rankdata(true), stats.rankdata(found)  # ranks of all documents
    assert own["spearman"] == pytest.approx(stats.pearsonr(np.repeat(a, drawn), np.repeat(b, drawn)).statistic)


def test_several_draws_at_once() -> None:
    true, found = values(12)
    weights = np.random.default_rng(1).integers(0, 4, (5, 12)).astype(float)
    for name, score in statistics(true, found).items():
        np.testing.assert_allclose(score(weights), [scores(true, found, w)[name] for w in weights])


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1e-9), (1.6e9, 1.0), (-1e6, 1e-3), (0.0, 1e9)])
def test_shift_and_scale_of_the_values_change_nothing_but_the_errors(shift: float, scale: float) -> None:
    true, found = values()
    usual, own = scores(true, found), scores(true * scale + shift, found * scale + shift)
    for name in ("r2", "pearson"):
        assert own[name] == pytest.approx(usual[name], rel=1e-5)
    for name in ("rmse", "mae"):
        assert own[name] == pytest.approx(usual[name] * scale, rel=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.3])
def test_values_that_are_all_alike_have_no_correlation(value: float) -> None:
    true, found = values(7)
    own = scores(np.full(7, value), found)
    assert np.isnan([own["r2"], own["pearson"], own["spearman"]]).all()
    own = scores(true, np.full(7, value))
    assert np.isnan([own["pearson"], own["spearman"]]).all()
    assert np.isfinite([own["r2"], own["rmse"], own["mae"]]).all()


def test_a_draw_of_one_document_has_no_correlation() -> None:
    true, found = values(7)
    own = scores(true, found, np.eye(7)[3] * 7)
    assert np.isnan([own["r2"], own["pearson"], own["spearman"]]).all()
    assert own["mae"] == pytest.approx(abs(true[3] - found[3]))


def test_float32_is_not_summed_in_float32() -> None:
    true, found = values()
    own = scores((true + 1e4).astype(np.float32), (found + 1e4).astype(np.float32))
    assert own["r2"] == pytest.approx(scores(true, found)["r2"], abs=1e-3)
    assert own["pearson"] == pytest.approx(scores(true, found)["pearson"], abs=1e-3)
