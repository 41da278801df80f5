"""Diversity and exclusivity of top terms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nlpkit.metrics.topics.diversity import exclusivity, unique_share
from tests.strategies import repeatable, term_ids_kn


def test_diversity_by_hand() -> None:
    assert unique_share(np.array([[0, 1, 2], [3, 4, 5]], np.int32)) == 1.0
    assert unique_share(np.array([[0, 1, 2], [0, 1, 2]], np.int32)) == 0.5
    assert unique_share(np.array([[0, 1, -1], [0, -1, -1]], np.int32)) == 2 / 3
    assert math.isnan(unique_share(np.array([[-1, -1]], np.int32)))


@repeatable
@given(st.data())
def test_diversity_is_bounded(data: st.DataObject) -> None:
    term_ids = data.draw(term_ids_kn(12))
    filled = (term_ids >= 0).sum()
    share = unique_share(term_ids)
    if filled:
        topics_with_terms = (term_ids >= 0).any(axis=1).sum()
        assert 1 / topics_with_terms <= share <= 1  # a topic repeats no term
    else:
        assert math.isnan(share)


def test_exclusivity_by_hand() -> None:
    term_ids = np.array([[0, 1, -1], [1, 2, 3], [-1, -1, -1]], np.int32)
    share = np.array([[1.0, 0.5, 0.9], [0.5, 0.2, 0.2], [0.0, 0.0, 0.0]])
    scores = exclusivity(term_ids, share)
    np.testing.assert_allclose(scores[:2], [0.75, 0.3])
    assert math.isnan(scores[2])


@repeatable
@given(st.data())
def test_exclusivity_is_a_mean_of_shares(data: st.DataObject) -> None:
    term_ids = data.draw(term_ids_kn(12))
    share: Any = np.random.default_rng(0).random(term_ids.shape)
    for k, value in enumerate(exclusivity(term_ids, share)):
        own = share[k][term_ids[k] >= 0]
        assert (np.isnan(value) and not len(own)) or np.isclose(value, own.mean())
