"""Steps of GloVe: the plain version, the same result on any number of threads, co-occurrences that come back."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nlpkit.words.kernels import Vectors, adagrad
from nlpkit.words.learn import PARTS, fit_glove
from tests.reference import glove as plain


def vectors(rng: np.random.Generator, V: int, E: int) -> Vectors:
    values = rng.normal(0, 0.3, (V, E)).astype(np.float32)
    return Vectors(values, values[:, 0].copy(), np.ones_like(values), np.ones(V, np.float32))


def test_equals_the_plain_version() -> None:
    rng = np.random.default_rng(1)
    words, contexts = vectors(rng, 9, 5), vectors(rng, 9, 5)
    rows, columns = (rng.integers(0, 9, 80).astype(np.int32) for _ in range(2))
    logs, weights = rng.normal(1, 2, 80).astype(np.float32), rng.random(80).astype(np.float32)
    exact = [array.astype(np.float64) for array in (*words, *contexts)]
    expected = plain.adagrad(zip(rows, columns, logs, weights, strict=True), 0.05, *exact)
    loss = adagrad(rows, columns, logs, weights, np.float32(0.05), words, contexts)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    for array, other in zip((*words, *contexts), exact, strict=True):
        np.testing.assert_allclose(array, other, rtol=1e-4, atol=1e-6)


def test_logarithms_of_cooccurrences_come_back_and_threads_do_not_matter() -> None:
    """A matrix whose logarithm has rank 2 is learned by heart; the first loss is that of nothing learned."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(0, 1, (30, 2)), rng.normal(0, 1, (30, 2))
    X = sparse.csr_array(np.exp(u @ v.T + 2))
    settings = {"dimensions": 4, "epochs": 400, "rate": 0.1, "x_max": 1.0, "exponent": 0.0, "seed": 3}
    words, contexts, losses = fit_glove(X, **settings, threads=1)
    again = fit_glove(X, **settings, threads=3)
    assert (words == again[0]).all()
    assert (contexts == again[1]).all()
    assert losses == again[2]
    assert losses[-1] < 0.01 < losses[0]
    np.testing.assert_allclose(losses, sorted(losses, reverse=True), rtol=0.2)


def test_blocks_share_no_word() -> None:
    """Fewer words than parts: each cell is in one block, and one block alone has it."""
    X = sparse.csr_array(np.array([[0.0, 2.0], [2.0, 1.0]]))
    words, _, losses = fit_glove(X, dimensions=50, epochs=1, rate=0.001, x_max=2.0, exponent=0.75, seed=0)
    assert words.shape == (2, 50)
    assert len(losses) == 1
    weights = np.array([1, 1, 0.5**0.75])
    expected = (weights * np.log([2.0, 2.0, 1.0]) ** 2).sum() / 2 / 3
    np.testing.assert_allclose(losses[0], expected, rtol=0.05)  # vectors begin near 0, and the first steps are small
    assert PARTS > 2
