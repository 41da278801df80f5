"""Ridge regression: scikit-learn's solution and the normal equations, dense and sparse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from nlpkit.classify.fit import model_from
from nlpkit.classify.models.logistic import fit_ridge


def planted(D: int = 120, V: int = 40, density: float = 0.2, seed: int = 3) -> tuple[sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(sparse.random(D, V, density, random_state=rng))
    return X, X @ rng.normal(size=V) + rng.normal(size=D) * 0.3 + 50.0


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("shape", [(120, 40), (30, 200)])
def test_equals_scikit_learn(C: float, dense: bool, shape: tuple[int, int]) -> None:
    X, y = planted(*shape)
    given = X.toarray() if dense else X
    before = given.copy()
    model = fit_ridge(given, y, C=C)
    peer = Ridge(alpha=1 / C, solver="cholesky").fit(X.toarray(), y)
    assert model.converged
    assert model.coef[:, 0] == pytest.approx(peer.coef_, abs=1e-6)
    assert model.intercept[0] == pytest.approx(peer.intercept_, abs=1e-6)
    assert model.decision(given)[:, 0] == pytest.approx(peer.predict(X.toarray()), abs=1e-6)
    assert model.probabilities(given) is None
    assert (given != before).sum() == 0


def test_equals_the_normal_equations() -> None:
    X, y = planted()
    whole = np.hstack([X.toarray(), np.ones((X.shape[0], 1))])
    penalty = np.diag([*np.full(X.shape[1], 0.5), 0.0])  # none on the intercept
    solution = np.linalg.solve(whole.T @ whole + penalty, whole.T @ y)
    model = fit_ridge(X, y, C=2.0)
    assert np.append(model.coef[:, 0], model.intercept) == pytest.approx(solution, abs=1e-6)


def test_scale_and_mean_of_the_numbers_change_nothing_else() -> None:
    X, y = planted()
    model, scaled = fit_ridge(X, y), fit_ridge(X, 1000 * y - 7)
    assert scaled.decision(X) == pytest.approx(1000 * model.decision(X) - 7, rel=1e-6)


def test_features_of_very_different_size_converge() -> None:
    X, y = planted()
    given = np.hstack([X.toarray(), np.full((120, 1), 3.0), np.arange(120)[:, None] * 1e4])
    model = fit_ridge(given, y, C=10.0)
    assert model.converged
    assert model.decision(given)[:, 0] == pytest.approx(Ridge(alpha=0.1).fit(given, y).predict(given), abs=1e-4)


def test_documents_without_features_get_the_mean() -> None:
    y = np.array([1.0, 2.0, 6.0])
    for X in (sparse.csr_array((3, 4)), np.zeros((3, 4)), sparse.csr_array((3, 0))):
        assert fit_ridge(X, y).decision(X) == pytest.approx(np.full((3, 1), 3.0))


def test_the_copy_is_equal_to_the_bit() -> None:
    X, y = planted()
    model = fit_ridge(X, y)
    assert (model_from(model.config(), model.arrays()).decision(X) == model.decision(X)).all()
