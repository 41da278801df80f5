"""The kernel of the bootstrap against counting sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.topics.rolling.kernels import resampled_products
from tests.reference import resample as plain
from tests.strategies import repeatable


def run(uniforms: Any, cumulative: Any, reference: Any, n_others: int, guides: int) -> tuple[Any, Any]:
    guide = np.searchsorted(cumulative, np.arange(guides) / guides, side="right").astype(np.int32)
    counts = np.zeros(len(cumulative) + n_others, np.int64)
    dots, squares = np.empty((2, len(uniforms)), np.int64)
    resampled_products(uniforms, cumulative, guide, reference, n_others, counts, dots, squares)
    assert not counts.any()
    return dots, squares


def test_by_hand() -> None:
    uniforms = np.array([[0.0, 0.24, 0.25, 0.5], [0.5, 0.74, 0.75, 0.99], [0.1, 0.2, 0.76, 0.8]])
    # two words of a quarter each, and two others that share the second half
    dots, squares = run(uniforms, np.array([0.25, 0.5]), np.array([3, 10]), 2, 4)
    assert dots.tolist() == [16, 0, 6]
    assert squares.tolist() == [6, 8, 8]  # 2 + 1 + 1, 2 + 2, 2 + 2


@repeatable
@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 5), st.sampled_from([1, 4, 64]))
def test_equals_counting(seed: int, n_words: int, n_others: int, guides: int) -> None:
    n_others = max(n_others, int(n_words == 0))  # for bool the kernel would be compiled once more
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_words + bool(n_others), 0.3))
    cumulative = np.cumsum(p)[:n_words]
    if not n_others:
        cumulative[-1] = 1.0
    uniforms = rng.random((5, int(rng.integers(1, 40))))
    uniforms[0] = rng.choice(np.append(cumulative[cumulative < 1], 0.0), uniforms.shape[1])  # on the bounds
    reference = rng.integers(0, 9, n_words)
    for ours, theirs in zip(
        run(uniforms, cumulative, reference, n_others, guides),
        plain.products(uniforms, cumulative, reference, n_others),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
