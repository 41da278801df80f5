"""Dispersion: the corpus of Gries, ends of the scale, and parts that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.metrics.texts.corpus import dispersion
from tests.strategies import repeatable


def spread(rows: Any, sizes: Any) -> Any:
    return dispersion(sparse.csr_array(np.array(rows)), np.array(sizes, np.int64))


def test_the_corpus_of_gries() -> None:
    # Gries (2008), §2: the word a in five parts of 9, 10, 10, 10 and 11 words; D and DPnorm as in Gries (2020), §2
    of_a = spread([[1], [2], [3], [4], [5]], [9, 10, 10, 10, 11])
    assert (of_a.dp[0], of_a.dp_norm[0]) == (pytest.approx(0.18), pytest.approx(0.2195, abs=5e-5))
    assert (of_a.juilland_d[0], of_a.range[0]) == (pytest.approx(0.785, abs=5e-4), 5)


def test_the_ends() -> None:
    both = spread([[4, 9, 0], [4, 0, 0], [8, 0, 0]], [10, 10, 20])
    assert (both.dp.tolist()[:2], both.dp_norm.tolist()[:2]) == ([0, 0.75], [0, 1])
    assert both.juilland_d.tolist()[:2] == pytest.approx([1, 0])
    assert all(np.isnan(values[2]) for values in (both.dp, both.dp_norm, both.juilland_d))
    assert both.range.tolist() == [3, 1, 0]


def test_one_part_or_none() -> None:
    one = spread([[3], [0]], [5, 0])  # an empty document is no part
    assert one.dp.tolist() == [0]
    assert np.isnan(one.dp_norm).all()
    assert np.isnan(one.juilland_d).all()
    assert np.isnan(spread(np.zeros((2, 1), int), [0, 0]).dp).all()


@repeatable
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), min_size=2, max_size=8))
def test_equals_its_formula(parts: list[tuple[int, int]]) -> None:
    tf, n = np.array([a for a, _ in parts]), np.array([a + b for a, b in parts])
    found = spread(tf[:, None], n)
    if not tf.sum():
        assert np.isnan(found.dp[0])
        return
    shares, rates = n / n.sum(), tf / n
    assert found.dp[0] == pytest.approx(np.abs(tf / tf.sum() - shares).sum() / 2)
    assert found.dp_norm[0] == pytest.approx(found.dp[0] / (1 - shares.min()))
    assert found.juilland_d[0] == pytest.approx(1 - rates.std() / rates.mean() / np.sqrt(len(n) - 1))
