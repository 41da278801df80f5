"""Linear SVM: the weights of LinearSVC, kept as a linear model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from nlpkit.classify.models.sklearn_models import fit_label_svm, fit_svm


def corpus(J: int) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(J)
    y = np.sort(rng.integers(0, J, 150)).astype(np.int32)
    return sparse.csr_array(rng.poisson(rng.gamma(0.5, 0.6, (J, 40))[y]).astype(np.float64)), y


@pytest.mark.parametrize("J", [2, 4])
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_equals_linear_svc(J: int, balanced: bool, dense: bool) -> None:
    X, y = corpus(J)
    rows = X.toarray().astype(np.float32) if dense else X
    model = fit_svm(rows, y, J, C=0.1, balanced=balanced, max_iter=5000, seed=1)
    weight = "balanced" if balanced else None
    peer = LinearSVC(C=0.1, class_weight=weight, max_iter=5000, random_state=1, dual="auto").fit(X, y)
    found, expected = model.decision(rows), peer.decision_function(X)
    assert model.converged
    assert (found[:, 1] - found[:, 0] if J == 2 else found) == pytest.approx(expected, abs=1e-9)
    assert (found.argmax(axis=1) == peer.predict(X)).all()
    assert model.probabilities(rows) is None


def test_labels_are_two_classes_each() -> None:
    X, y = corpus(3)
    Y = np.stack([y == 0, y != 1], axis=1)
    model = fit_label_svm(X, Y, C=0.1, seed=0)
    for j in range(2):
        margins = fit_svm(X, Y[:, j].astype(np.int32), 2, C=0.1, seed=0).decision(X)
        assert model.decision(X)[:, j] == pytest.approx(margins[:, 1] - margins[:, 0], abs=1e-12)


def test_too_few_steps_are_told() -> None:
    X, y = corpus(3)
    assert not fit_svm(X, y, 3, C=100.0, max_iter=1, seed=0).converged
