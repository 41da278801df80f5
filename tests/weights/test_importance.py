"""The importance score against a hand example and its formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.weights.ctfidf import EPSILON, importance
from tests.reference import keyness as plain
from tests.refusals import refuses
from tests.strategies import counts_dv, repeatable


def test_by_hand() -> None:
    scores = importance(sparse.csr_array([[2, 2, 0], [0, 1, 3]]), epsilon=0.01).toarray()
    first = 0.5 * (math.log(0.51) - (math.log(0.51) + math.log(0.01)) / 2)
    shared = 0.5 * (math.log(0.51) - (math.log(0.51) + math.log(0.26)) / 2)
    assert scores[0] == pytest.approx([first, shared, 0.0], rel=1e-14)
    assert scores[1, 1] == pytest.approx(0.25 * (math.log(0.26) - (math.log(0.51) + math.log(0.26)) / 2), rel=1e-14)
    assert scores[1, 1] < 0 < scores[0, 1] < scores[0, 0]


@repeatable
@given(counts_dv(), st.sampled_from([EPSILON, 1e-12, 0.1]))
def test_equals_its_formula(counts: Any, epsilon: float) -> None:
    scores = importance(sparse.csr_array(counts), epsilon=epsilon).toarray()
    np.testing.assert_allclose(scores, plain.importance(counts.tolist(), epsilon), rtol=1e-11, atol=1e-13)


def test_a_word_that_all_classes_use_alike_is_not_important() -> None:
    scores = importance(sparse.csr_array([[5, 5, 0], [5, 0, 5]])).toarray()
    assert scores[:, 0] == pytest.approx([0, 0], abs=1e-15)
    assert scores[0, 1] > 2
    one = importance(sparse.csr_array([[5, 5]])).toarray()
    assert one == pytest.approx(np.zeros((1, 2)), abs=1e-15)


def test_many_classes_are_never_dense() -> None:
    C, V = 20_000, 2_000_000  # dense: 320 GB
    rng = np.random.default_rng(1)
    counts = sparse.csr_array((np.ones(C, np.int32), (np.arange(C), rng.integers(0, V, C))), shape=(C, V))
    assert importance(counts).nnz == C


def test_nothing_but_empty_classes() -> None:
    assert not importance(sparse.csr_array((3, 4), dtype=np.int32)).toarray().any()
    assert importance(sparse.csr_array((2, 0), dtype=np.int32)).shape == (2, 0)


@pytest.mark.parametrize("epsilon", [0, -1e-5, math.nan])
def test_epsilon_is_above_zero(epsilon: float) -> None:
    with refuses("epsilon"):
        importance(sparse.csr_array([[1, 2]]), epsilon=epsilon)
