"""Clusters, the fractional logit, random intercepts: against their definitions, and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from nlpkit.errors import InputError
from nlpkit.platform.types import FloatArray
from nlpkit.topics.effects.estimators import (
    Clusters,
    check_clusters,
    fractional_logit,
    linear,
    random_intercepts,
    regress_with,
    resampled,
)
from nlpkit.topics.effects.regression import Effects, regress_draws

# What statsmodels 0.15.0 gives for `survey()`: GLM(y, X, Binomial()), OLS(y, X).fit(cov_type="HC3"), MixedLM(y, X, groups).fit()
LOGIT = (-0.7587635381, 0.3263249821, 0.0404288393)
HC3 = (0.0346163828, 0.0407937037, 0.0526710242)
MIXED = (0.3210114139, 0.0735374728, 0.0088988842)


def survey(G: int = 12, each: int = 5) -> tuple[FloatArray, FloatArray, Clusters]:
    """Shares of documents of clusters with a level each, from sines: no random numbers, so that other programs can make them."""
    D = G * each
    at, group = np.arange(D), np.repeat(np.arange(G), each)
    X = np.column_stack([np.ones(D), np.sin(3.0 * at), group % 2])
    y = expit(-0.5 + 0.4 * X[:, 1] - 0.5 * X[:, 2] + 1.2 * np.sin(5.0 * group**2) + 0.8 * np.sin(11.0 * at))
    return X, y, Clusters.of_labels([f"g{g:02}" for g in group], "group")


def test_clustered_errors_are_those_of_leaving_each_cluster_out() -> None:
    X, y, clusters = survey()
    estimate, covariance = (each[0] for each in linear(X, clusters)(y[:, None]))
    moves = np.array(
        [np.linalg.lstsq(X[clusters.cluster_of != g], y[clusters.cluster_of != g], rcond=None)[0] for g in range(12)]
    )
    np.testing.assert_allclose(covariance, (moves - estimate).T @ (moves - estimate), atol=1e-12)


def test_documents_that_are_clusters_of_one_have_the_errors_of_stm() -> None:
    X, y, _ = survey()
    theta = np.column_stack([y, 1 - y])
    alone = linear(X, Clusters.of_documents(len(X)))(theta)[1]
    np.testing.assert_allclose(alone, regress_draws([theta] * 2, X, ("a", "b", "c")).covariance, atol=1e-15)
    np.testing.assert_allclose(np.sqrt(np.diag(alone[0])), HC3, rtol=1e-7)


def test_the_fractional_logit_of_statsmodels() -> None:
    X, y, clusters = survey()
    estimate, covariance = (each[0] for each in fractional_logit(X, clusters)(y[:, None]))
    np.testing.assert_allclose(estimate, LOGIT, atol=1e-8)
    without = []
    for g in range(12):
        kept = clusters.cluster_of != g
        rest = Clusters.of_documents(int(kept.sum()))
        without.append(fractional_logit(X[kept], rest)(y[kept, None])[0][0])
    exact = sum(np.outer(each - estimate, each - estimate) for each in without)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), np.sqrt(np.diag(exact)), rtol=0.05)  # one step of each


def test_random_intercepts_of_statsmodels() -> None:
    X, y, clusters = survey()
    estimate, covariance = (each[0] for each in random_intercepts(X, clusters)(y[:, None]))
    np.testing.assert_allclose(estimate, MIXED, atol=2e-5)  # REML there, variances by fitting constants here
    assert (np.diag(covariance) > 0).all()
    within = linear(X, clusters)(y[:, None])[1][0]
    assert covariance[1, 1] < within[1, 1]  # of a covariate within clusters


def test_against_statsmodels_itself() -> None:
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    G, each = 150, 4
    group = np.repeat(np.arange(G), each)
    X = np.column_stack([np.ones(G * each), rng.normal(size=G * each), group % 2])
    y = expit(-1 + 0.4 * X[:, 1] + 0.3 * X[:, 2] + 0.8 * rng.normal(size=G)[group] + 0.5 * rng.normal(size=G * each))
    clusters = Clusters.of_labels([f"{g:03}" for g in group], "group")
    for estimator, model in (
        (linear, sm.OLS(y, X)),
        (fractional_logit, sm.GLM(y, X, family=sm.families.Binomial())),
    ):
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": group})
        estimate, covariance = estimator(X, clusters)(y[:, None])
        np.testing.assert_allclose(estimate[0], fit.params, atol=1e-10)
        ratio = np.sqrt(np.diag(covariance[0])) / fit.bse  # CV3 is a little wider than CV1
        assert 1 < ratio.min() < ratio.max() < 1.03
    fit = sm.MixedLM(y, X, groups=group).fit()
    np.testing.assert_allclose(random_intercepts(X, clusters)(y[:, None])[0][0], fit.fe_params, atol=1e-5)


def test_shares_by_the_logit_stay_within_their_range() -> None:
    X, y, clusters = survey()
    theta = np.column_stack([y**6, 1 - y**6])
    effects = regress_with(fractional_logit(X, clusters), [theta], ("a", "b", "c"), 11, is_logit=True)
    far = np.array([[1.0, 9.0, 0.0], [1.0, -9.0, 1.0]])
    at, step = effects.at(far), effects.between(far[:1], far[1:])
    assert (at.low >= 0).all()
    assert (at.high <= 1).all()
    np.testing.assert_allclose(at.mean.sum(axis=1), 1)  # of two topics, whose logits mirror each other
    np.testing.assert_allclose(step.mean, at.mean[:1] - at.mean[1:])
    # the delta method, by differences
    small = 1e-6
    slopes = [
        (
            Effects(effects.names, effects.coefficients + small * np.eye(3)[p], effects.covariance, 11, True)
            .at(far)
            .mean
            - at.mean
        )
        / small
        for p in range(3)
    ]
    slope = np.array(slopes)[:, 0, 0] - np.array(slopes)[:, 1, 0]
    assert step.error[0, 0] == pytest.approx(np.sqrt(slope @ effects.covariance[0] @ slope), rel=1e-4)


def test_a_topic_that_a_level_never_has_has_no_logit() -> None:
    X, y, clusters = survey()
    theta = np.column_stack([np.where(X[:, 2] == 1, 0.0, y), y])
    estimate, covariance = fractional_logit(X, clusters)(theta)
    assert np.isnan(estimate[0]).all()
    assert np.isnan(covariance[0]).all()
    assert np.isfinite(estimate[1]).all()


def test_clusters_that_say_too_little() -> None:
    X, _, clusters = survey()
    names = ("(intercept)", "x", "odd")
    check_clusters(X, clusters, names)
    alone = X.copy()
    alone[:, 2] = clusters.cluster_of == 3
    with pytest.raises(InputError, match="the coefficient of odd is decided by the documents of 'g03' alone"):
        check_clusters(alone, clusters, names)
    few = Clusters.of_labels(["a", "b"] * 30, "side")
    with pytest.raises(InputError, match="'side' has 2 values in these documents, and the formula has 3 columns"):
        check_clusters(X, few, names)
    with pytest.raises(InputError, match="random intercepts need values of 'id' with several documents"):
        random_intercepts(X, Clusters.of_labels([str(i) for i in range(60)], "id"))


def test_samples_of_clusters_are_whole() -> None:
    _, _, clusters = survey()
    rows, sample = resampled(clusters, np.random.default_rng(0))
    assert len(rows) == 60  # all of one size
    for g in range(12):
        drawn = rows[sample.cluster_of == g]
        np.testing.assert_array_equal(drawn, np.arange(drawn[0], drawn[0] + 5))
    assert len(set(clusters.cluster_of[rows])) < 12
