"""The ranges of scores, and intervals that stay in them."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from nlpkit.metrics.catalogue import ANY, METRICS, OF_GROUP, OF_SCORE, metric_of
from nlpkit.metrics.intervals import Statistic, independent_comparison, jackknife_interval, mean_of
from nlpkit.metrics.labels import classification as calibration
from nlpkit.metrics.labels import partitions
from nlpkit.metrics.score import Uncertainty, mean_score, statistic_score
from nlpkit.platform.types import FloatArray

HOW = Uncertainty(0.95, 42)


def test_every_score_has_a_range_and_every_range_a_score() -> None:
    assert [m.name for m in METRICS.values() if m.name not in OF_SCORE and m.group not in OF_GROUP] == []
    assert set(OF_SCORE) <= set(METRICS)
    assert set(OF_GROUP) <= {m.group for m in METRICS.values()}
    assert all(low < high for low, high in (m.range for m in METRICS.values()))
    unbounded = [m.name for m in METRICS.values() if m.range == ANY]
    assert unbounded == ["pmi", "umass", "mean_cost"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ece", (0, 1)), ("accuracy", (0, 1)), ("macro_f2", (0, 1)), ("brier", (0, 2)), ("span_f1", (0, 1)), ("nmi", (0, 1)),
        ("mcc", (-1, 1)), ("kappa", (-1, 1)), ("pearson", (-1, 1)), ("npmi", (-1, 1)), ("silhouette", (-1, 1)),
        ("rmse", (0, inf)), ("mae", (0, inf)), ("r2", (-inf, 1)), ("brier_top", (0, 1)), ("perplexity", (1, inf)), ("rating", (1, 3)),
    ],
)  # fmt: skip
def test_ranges(name: str, expected: tuple[float, float]) -> None:
    metric = metric_of(name)
    assert metric is not None
    assert metric.range == expected


def ece(prob: FloatArray, right: FloatArray) -> Statistic:
    edges = calibration.bin_edges(prob)
    truth = right > 0
    return lambda w: calibration.expected_error(calibration.bin_sums(prob, truth, edges, weights=w))


def test_an_interval_below_zero_is_cut() -> None:
    """Three predictions that are 0.6 sure, two of them right: ECE 1/15, without one of them 0.1, 0.1 and 0.4, so an error of 0.2."""
    statistic = ece(np.full(3, 0.6), np.array([1.0, 1.0, 0.0]))
    whole = jackknife_interval(statistic, np.ones(3, np.int64), level=0.95)
    assert whole is not None
    assert whole.low == pytest.approx(1 / 15 - 1.959964 * 0.2, abs=1e-6)
    score = statistic_score(METRICS["ece"], statistic, np.ones(3), HOW, over="documents", jackknife=True)
    assert score.interval == replace(whole, low=0.0)


def test_an_interval_above_one_is_cut_and_one_inside_is_not() -> None:
    values = np.array([1.0] * 2500 + [0.0])  # so many are left out in groups
    score = mean_score(METRICS["precision"], values, HOW)
    assert score.interval is not None
    assert score.value is not None
    assert score.interval.low < score.value < score.interval.high == 1.0
    inside = mean_score(METRICS["precision"], np.tile([0.0, 1.0], 1500), HOW)
    assert inside.interval == jackknife_interval(
        mean_of(np.tile([0.0, 1.0], 1500)), np.ones(3000), level=0.95, over="topics"
    )


def test_a_cut_never_leaves_the_score_out() -> None:
    """A score that rounding takes past its range is the end of its interval."""
    over = 1 + 1e-12
    score = statistic_score(
        METRICS["nmi"], lambda w: over - (w.sum(axis=1) < 10) * 0.01 * w[:, 0], np.ones(10), HOW, over="documents", jackknife=True
    )  # fmt: skip
    assert score.interval is not None
    assert score.value is not None
    assert score.value > 1
    assert score.interval.low < score.value == score.interval.high


@pytest.mark.parametrize("seed", range(5))
def test_intervals_of_clusterings_of_few_documents_hold_the_score_and_stay_in_its_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, true = rng.integers(0, 4, 12).astype(np.int32), rng.integers(0, 3, 12).astype(np.int32)
    for name in ("nmi", "ami", "ari", "purity", "homogeneity", "pair_f1"):
        score = statistic_score(
            METRICS[name],
            lambda w, name=name: partitions.SCORES[name](partitions.weighted_contingency(w, found, true, shape=(4, 3))),  # type: ignore[misc]
            np.ones(12),
            HOW,
            over="documents",
            jackknife=True,
        )
        assert score.interval is not None
        assert score.value is not None
        low, high = METRICS[name].range
        assert low <= score.interval.low <= score.value <= score.interval.high <= high, name


def test_scores_of_different_units_are_compared_by_their_errors_not_their_cut_intervals() -> None:
    first, second = np.array([1.0, 1.0, 1.0, 0.6]), np.array([0.2, 0.5, 0.9, 0.4])
    ones = np.ones(4)
    whole = [jackknife_interval(mean_of(v), ones, level=0.95) for v in (first, second)]
    scores = [
        statistic_score(METRICS["diversity"], mean_of(v), ones, HOW, over="topics", jackknife=True)
        for v in (first, second)
    ]
    assert whole[0] is not None
    assert scores[0].interval is not None
    assert whole[0].high > 1 == scores[0].interval.high
    cut = independent_comparison(first.mean(), scores[0].interval, second.mean(), scores[1].interval)
    assert cut.interval is not None
    # of means the errors are s / sqrt(n)
    error = np.sqrt(first.var(ddof=1) / 4 + second.var(ddof=1) / 4)
    assert cut.interval.high - cut.difference == pytest.approx(1.959964 * error, rel=1e-6)
    assert independent_comparison(0.5, None, 0.4, scores[1].interval).interval is None
