"""PMI-SVD: numbers by hand and NumPy's own singular vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.words.learn import fit_pmi_svd, shifted_ppmi

X = sparse.csr_array(np.array([[0.0, 4, 1, 1], [4, 0, 1, 0], [1, 1, 0, 6], [1, 0, 6, 2]]))


def test_pmi_by_hand() -> None:
    """n = 28; p(a, b) = 4/28, p(a) = 6/28, p(b) = 5/28: PMI = ln(4 · 28 / 30). a and c: 28/48 < 1, so nothing stays."""
    M = shifted_ppmi(X, smoothing=1.0, shift=1.0).toarray()
    np.testing.assert_allclose(M[0, 1], np.log(4 * 28 / 30))
    np.testing.assert_allclose(M[2, 3], np.log(6 * 28 / (8 * 9)))
    assert M[0, 2] == M[3, 3] == 0
    np.testing.assert_allclose(M, M.T)
    shifted = shifted_ppmi(X, smoothing=1.0, shift=2.0).toarray()
    np.testing.assert_allclose(shifted, np.maximum(M - np.log(2), 0))


def test_smoothing_raises_rare_contexts() -> None:
    contexts = np.array([6.0, 5, 8, 9]) ** 0.75
    M = shifted_ppmi(X, smoothing=0.75, shift=1.0).toarray()
    np.testing.assert_allclose(M[0, 1], np.log((4 / 6) / (contexts[1] / contexts.sum())))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_vectors_are_numpys_but_for_signs(power: float) -> None:
    M = shifted_ppmi(X, smoothing=0.75, shift=1.0).toarray()
    U, sigma, Vt = np.linalg.svd(M)
    words, contexts = fit_pmi_svd(X, dimensions=3, smoothing=0.75, shift=1.0, power=power, seed=0)
    np.testing.assert_allclose(np.abs(words), np.abs(U[:, :3] * sigma[:3] ** power), atol=1e-10)
    np.testing.assert_allclose(np.abs(contexts), np.abs(Vt[:3].T * sigma[:3] ** power), atol=1e-10)
    if power == 0.5:
        best = (U[:, :3] * sigma[:3]) @ Vt[:3]
        np.testing.assert_allclose(words @ contexts.T, best, atol=1e-10)


def test_no_pair_above_chance() -> None:
    with pytest.raises(InputError, match="more often than by chance"):
        fit_pmi_svd(sparse.csr_array(np.ones((3, 3))), dimensions=2, smoothing=1.0, shift=1.0, power=0.5, seed=0)
