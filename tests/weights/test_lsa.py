"""LSA against the dense decomposition and scikit-learn; signs, ranks, the same bits on any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from nlpkit.errors import InputError
from nlpkit.weights.lsa import lsa, pca
from tests.refusals import refuses


def matrix(D: int = 60, V: int = 40, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (D, V)) * rng.lognormal(size=V)
    return sparse.csr_array(X)


@pytest.mark.parametrize("shape", [(60, 40), (40, 60), (50, 50)])
def test_equals_the_dense_decomposition(shape: tuple[int, int]) -> None:
    X = matrix(*shape)
    found = lsa(X, 7, seed=1)
    U, S, Wt = np.linalg.svd(X.toarray(), full_matrices=False)
    np.testing.assert_allclose(found.singular_values, S[:7], rtol=1e-12)
    signs = np.sign((found.terms * Wt[:7].T).sum(axis=0))
    np.testing.assert_allclose(found.terms, Wt[:7].T * signs, atol=1e-9)
    np.testing.assert_allclose(found.documents, U[:, :7] * S[:7] * signs, atol=1e-9)
    np.testing.assert_allclose(found.terms.T @ found.terms, np.eye(7), atol=1e-12)


def test_equals_scikit_learn() -> None:
    from sklearn.decomposition import TruncatedSVD

    X = matrix(90, 70)
    found = lsa(X, 10, seed=3)
    theirs = TruncatedSVD(10, algorithm="arpack", random_state=0).fit(X)
    np.testing.assert_allclose(found.singular_values, theirs.singular_values_, rtol=1e-12)
    np.testing.assert_allclose(found.explained_variance_ratio, theirs.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(found.terms, theirs.components_.T, atol=1e-9)


def test_signs_are_fixed() -> None:
    for seed in range(3):
        terms = lsa(matrix(seed=seed), 5, seed=seed).terms
        strongest = terms[np.abs(terms).argmax(axis=0), range(5)]
        assert (strongest > 0).all()


def test_the_same_bits_again_and_on_any_number_of_threads() -> None:
    X = matrix(400, 300)
    first = lsa(X, 20, seed=42)
    for threads in (1, 2, 3):
        with threadpool_limits(limits=threads):
            again = lsa(X, 20, seed=42)
        assert again.documents.tobytes() == first.documents.tobytes()
        assert again.terms.tobytes() == first.terms.tobytes()
    other = lsa(X, 20, seed=7)  # another start, the same answer but for rounding
    np.testing.assert_allclose(other.singular_values, first.singular_values, rtol=1e-12)


def test_the_same_bits_where_singular_values_are_equal() -> None:
    """ARPACK begins anew at random there."""
    X = sparse.csr_array(np.kron(np.eye(8), np.ones((3, 3))))
    first, again = (lsa(X, 20, seed=0) for _ in range(2))
    assert first.terms.shape == (24, 8)
    np.testing.assert_array_equal(first.terms, again.terms)


def test_a_planted_topic_is_a_component() -> None:
    X = np.zeros((40, 30))
    X[:20, :5], X[20:, 5:9] = 3.0, 2.0
    rng = np.random.default_rng(0)
    X += rng.random(X.shape) * 0.1
    found = lsa(sparse.csr_array(X), 2, seed=0)
    assert sorted(np.argsort(-found.terms[:, 0])[:5]) == [0, 1, 2, 3, 4]
    assert sorted(np.argsort(-found.terms[:, 1])[:4]) == [5, 6, 7, 8]


def test_no_more_components_than_the_rank() -> None:
    X = np.zeros((12, 9))
    X[:6, :3], X[6:, 3:] = 1.0, 2.0
    found = lsa(sparse.csr_array(X), 6, seed=0)
    assert len(found.singular_values) == 2
    np.testing.assert_allclose(found.documents @ found.terms.T, X, atol=1e-12)
    assert found.explained_variance_ratio.sum() == pytest.approx(1)
    assert len(lsa(sparse.csr_array(X[:6]), 3, seed=0).singular_values) == 1


def test_equal_documents_have_no_variance() -> None:
    found = lsa(sparse.csr_array(np.ones((5, 4))), 1, seed=0)
    assert found.singular_values.tolist() == pytest.approx([np.sqrt(20)])
    assert found.explained_variance_ratio.tolist() == [0]


def test_documents_without_words_lie_at_zero() -> None:
    X = np.vstack([matrix(20, 15).toarray(), np.zeros((2, 15))])
    assert (lsa(sparse.csr_array(X), 3, seed=0).documents[-2:] == 0).all()


def test_what_cannot_be_decomposed() -> None:
    with refuses("lsa"):
        lsa(matrix(5, 9), 5, seed=0)
    with pytest.raises(InputError):
        lsa(sparse.csr_array((4, 4)), 2, seed=0)
    with refuses("lsa"):
        lsa(sparse.csr_array([[1.0, 2.0]]), 1, seed=0)


# ---------------------------------------------------------------- PCA


@pytest.mark.parametrize("shape", [(90, 70), (40, 60)])
def test_pca_equals_scikit_learn_on_the_dense_matrix(shape: tuple[int, int]) -> None:
    from sklearn.decomposition import PCA

    X = matrix(*shape)
    result = pca(X, 8, seed=3)
    theirs = PCA(8, svd_solver="full").fit(X.toarray())
    signs = np.sign((result.terms * theirs.components_.T).sum(axis=0))
    np.testing.assert_allclose(result.singular_values, theirs.singular_values_, rtol=1e-10)
    np.testing.assert_allclose(result.explained_variance_ratio, theirs.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(result.terms, theirs.components_.T * signs, atol=1e-8)
    np.testing.assert_allclose(result.documents, theirs.transform(X.toarray()) * signs, atol=1e-8)
    np.testing.assert_allclose(result.center, theirs.mean_ @ result.terms, atol=1e-10)
    np.testing.assert_allclose(result.documents.mean(axis=0), 0, atol=1e-10)  # the lecture's condition


def test_pca_has_the_same_bits_on_any_number_of_threads() -> None:
    X = matrix(400, 300)
    first = pca(X, 20, seed=42)
    with threadpool_limits(limits=3):
        again = pca(X, 20, seed=42)
    assert again.documents.tobytes() == first.documents.tobytes()


def test_pca_of_equal_rows_and_of_too_many_components() -> None:
    with pytest.raises(InputError, match="all documents have the same weights"):
        pca(sparse.csr_array(np.ones((6, 4))), 1, seed=0)
    with refuses("pca"):
        pca(matrix(5, 9), 5, seed=0)
    X = sparse.csr_array(np.array([[1.0, 0, 3, 1], [2, 0, 3, 1], [4, 0, 3, 1], [9, 0, 3, 1]]))
    assert len(pca(X, 2, seed=0).singular_values) == 1  # the rows lie on a line
