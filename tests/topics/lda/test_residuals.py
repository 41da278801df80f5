"""The dispersion of residuals: by hand, 1 for data of the model itself, more when topics are missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.errors import InputError
from nlpkit.topics.lda.priors import residual_dispersion


def drawn(D: int, V: int, K: int, N: int, seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(V, 0.3), K)
    theta = rng.dirichlet(np.full(K, 0.3), D)
    counts = np.stack([rng.multinomial(N, row) for row in theta @ phi])
    return sparse.csr_array(counts), theta, phi


def test_by_hand() -> None:
    """One topic, two words of 1/2 each, documents (3, 1) and (2, 2): residuals 1²/(4 · 1/4) twice, and 0 twice."""
    counts = sparse.csr_array(np.array([[3, 1], [2, 2]]))
    found = residual_dispersion(counts, lambda rows: np.ones((2, 1))[rows], np.array([[0.5, 0.5]]))
    assert found.statistic == pytest.approx(2.0)
    assert found.degrees == 4 - 0 - 1  # four cells, no parameter of theta, one of phi
    assert (found.dispersion, found.n_docs) == (pytest.approx(2 / 3), 2)


def test_it_is_1_for_data_of_the_model() -> None:
    counts, theta, phi = drawn(D=2000, V=40, K=3, N=80, seed=1)
    found = residual_dispersion(counts, lambda rows: theta[rows], phi)
    cells = found.degrees + 2000 * 2 + 3 * 39
    assert found.statistic / cells == pytest.approx(1, abs=0.03)  # nothing was estimated here


def test_missing_topics_show() -> None:
    counts, _, _ = drawn(D=400, V=40, K=5, N=100, seed=2)
    pooled = np.asarray(counts.sum(axis=0), np.float64).ravel()
    phi = ((pooled + 1e-9) / (pooled + 1e-9).sum())[None]
    found = residual_dispersion(counts, lambda rows: np.ones((400, 1))[rows], phi)
    assert found.dispersion > 2
    assert found.p_value < 1e-6


def test_documents_without_tokens_and_blocks_do_not_matter() -> None:
    counts, theta, phi = drawn(D=150, V=40, K=2, N=60, seed=3)
    whole = residual_dispersion(counts, lambda rows: theta[rows], phi)
    padded = sparse.csr_array(sparse.vstack([sparse.csr_array((70, 40), dtype=np.int64), counts]))
    more = np.concatenate([np.full((70, 2), 0.5), theta])
    found = residual_dispersion(padded, lambda rows: more[rows], phi)
    assert (found.dispersion, found.n_docs) == (pytest.approx(whole.dispersion), 150)


def test_too_few_words_for_the_parameters() -> None:
    with pytest.raises(InputError):
        residual_dispersion(
            sparse.csr_array(np.array([[1, 0, 0]])), lambda rows: np.ones((1, 1)), np.array([[0.995, 0.003, 0.002]])
        )
