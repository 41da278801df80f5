"""Scores of ranks: scikit-learn's kappa and the definitions, weighted documents, and what is not defined."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from nlpkit.metrics.labels.ordinal import statistics


def drawn(n: int = 200, J: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    true = rng.integers(0, J, n)
    return true, np.clip(true + rng.integers(-2, 3, n), 0, J - 1)


def value(true: np.ndarray, predicted: np.ndarray, name: str, weights: np.ndarray | None = None) -> float:
    w = np.ones((1, len(true))) if weights is None else weights[None].astype(float)
    return float(statistics(true, predicted)[name](w)[0])


@pytest.mark.parametrize("seed", range(4))
def test_quadratic_kappa_is_scikit_learns(seed: int) -> None:
    true, predicted = drawn(30 + 40 * seed, 2 + seed)
    peer = cohen_kappa_score(true, predicted, weights="quadratic", labels=list(range(2 + seed)))
    assert value(true, predicted, "quadratic_kappa") == pytest.approx(peer, abs=1e-12)


def test_errors_are_as_defined() -> None:
    true, predicted = drawn()
    error = np.abs(true - predicted)
    assert value(true, predicted, "rank_mae") == pytest.approx(error.mean())
    assert value(true, predicted, "macro_mae") == pytest.approx(np.mean([error[true == r].mean() for r in set(true)]))
    # Baccianella et al. 2009: a guess of one class has a macroaveraged MAE that does not depend on the sizes of the classes
    skewed = np.array([0] * 90 + [1] * 9 + [2])
    assert value(skewed, np.zeros(100, int), "macro_mae") == pytest.approx(1.0)
    assert value(skewed, np.zeros(100, int), "rank_mae") == pytest.approx(0.11)


@pytest.mark.parametrize("name", ["rank_mae", "macro_mae", "quadratic_kappa"])
def test_a_weight_is_how_often_a_document_counts(name: str) -> None:
    true, predicted = drawn(50)
    weights = np.random.default_rng(2).integers(0, 4, 50)
    repeated = np.repeat(np.arange(50), weights)
    assert value(true, predicted, name, weights) == pytest.approx(value(true[repeated], predicted[repeated], name))


def test_kappa_needs_two_ranks() -> None:
    assert np.isnan(value(np.zeros(5, int), np.zeros(5, int), "quadratic_kappa"))
    assert value(np.array([0, 1, 2]), np.array([0, 1, 2]), "quadratic_kappa") == pytest.approx(1.0)
