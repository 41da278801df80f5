"""Expected words of topics in classes of documents, against loops over documents and words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.lda.edited import LEAST_SHARE, ExpectedCounts


def test_they_are_those_of_the_formula_in_any_batches() -> None:
    rng = np.random.default_rng(0)
    D, K, V, C = 30, 4, 12, 3
    topic_term = sparse.csr_array(rng.poisson(3, (K, V)) * (rng.random((K, V)) < 0.7))
    model = MixtureModel(tuple(f"w{v}" for v in range(V)), topic_term, np.full(K, 0.1), 0.01)
    theta = rng.dirichlet(np.full(K, 0.3), D)
    theta[theta < 0.05] = 0
    counts = sparse.csr_array(rng.poisson(0.6, (D, V)))
    classes = rng.integers(-1, C, D)
    n_kv = topic_term.toarray()
    phi = (n_kv + 0.01) / (n_kv.sum(axis=1, keepdims=True) + V * 0.01)
    plain = np.zeros((C * K, V))
    for d in range(D):
        for v in range(V):
            share = theta[d] * phi[:, v]
            share = share / share.sum() if share.sum() else share
            if classes[d] >= 0:
                plain[classes[d] * K : (classes[d] + 1) * K, v] += counts[[d]].toarray()[0, v] * np.where(
                    share >= LEAST_SHARE, share, 0
                )
    for size in (1, 7, D):
        sums = ExpectedCounts(model)
        for start in range(0, D, size):
            rows = slice(start, start + size)
            sums.add(classes[rows], sparse.csr_array(theta[rows]), counts[rows])
        np.testing.assert_allclose(sums.finish(np.arange(C * K)).toarray(), plain, atol=1e-12)
        some = np.array([1, 5, 10])
        np.testing.assert_allclose(sums.finish(some).toarray(), plain[some], atol=1e-12)


def test_nothing_is_nothing() -> None:
    model = MixtureModel(("a", "b"), sparse.csr_array(np.eye(2)), np.ones(2), 0.1)
    sums = ExpectedCounts(model)
    sums.add(np.array([-1, -1]), sparse.csr_array(np.eye(2)), sparse.csr_array(np.ones((2, 2))))
    assert sums.finish(np.arange(2)).toarray().sum() == pytest.approx(0)
    assert sums.finish(np.zeros(0, np.int64)).shape == (0, 2)
