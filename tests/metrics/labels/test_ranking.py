"""ROC AUC, average precision and the true class among the first: by hand, and against scikit-learn with weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from nlpkit.metrics.labels.classification import among_first, average_precision, roc_auc
from tests.strategies import repeatable


def test_by_hand() -> None:
    p = np.array([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.4, 0.6]])
    true = np.array([0, 1, 0, 1], np.int32)
    ones = np.ones((1, 4))
    # pairs of a document of class 0 and one of class 1: 0.9 > 0.6, 0.9 > 0.4, 0.4 < 0.6, 0.4 = 0.4
    assert roc_auc(p, true)(ones)[0] == pytest.approx((1 + 1 + 0 + 0.5) / 4)
    # class 0: 1 of 1, then 1 of 2, then 2 of 4; class 1: 1 of 2, then 2 of 3 … at 0.6, 0.4, 0.1
    assert average_precision(p, true)(ones)[0] == pytest.approx(
        np.mean([0.5 * 1 + 0.5 * 2 / 4, 0.5 * 1 / 2 + 0.5 * 2 / 3])
    )
    assert among_first(p, true, 1).tolist() == [True, False, False, True]
    assert among_first(p, true, 2).all()
    assert not among_first(p, np.full(4, -1, np.int32), 2).any()


@repeatable
@given(st.integers(0, 999), st.integers(2, 4), st.integers(4, 30), st.booleans())
def test_equal_scikit_learn_with_ties_and_weights(seed: int, J: int, D: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 4, (D, J)).astype(np.float64) if ties else rng.random((D, J))
    true = rng.permutation(np.concatenate([np.arange(J), rng.integers(0, J, max(D - J, 0))])[:D]).astype(np.int32)
    weights = rng.integers(0, 3, (3, D)).astype(np.float64)
    for row, auc in zip(weights, roc_auc(p, true)(weights), strict=True):
        kept = row > 0
        classes = [j for j in range(J) if 0 < (true[kept] == j).sum() < kept.sum()]
        expected = [roc_auc_score(true[kept] == j, p[kept, j], sample_weight=row[kept]) for j in classes]
        assert auc == pytest.approx(np.mean(expected) if expected else np.nan, nan_ok=True)
    for row, precision in zip(weights, average_precision(p, true)(weights), strict=True):
        classes = [j for j in range(J) if 0 < (true == j).sum() < D and row[true == j].any()]
        expected = [average_precision_score(true == j, p[:, j], sample_weight=row) for j in classes]
        assert precision == pytest.approx(np.mean(expected) if expected else np.nan, nan_ok=True)


def test_of_one_class_there_is_nothing_to_order() -> None:
    p, true = np.array([[0.2, 0.8], [0.5, 0.5]]), np.zeros(2, np.int32)
    assert np.isnan(roc_auc(p, true)(np.ones((1, 2)))).all()
