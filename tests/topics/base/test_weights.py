"""Five weightings of the terms of topics: by hand, against plain dense formulas, and in bounded memory."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import rankdata

from nlpkit.errors import UsageError
from nlpkit.topics.base.by_term import WEIGHTINGS, WeightedTerms, Weighting, weighted_terms
from nlpkit.weights.ctfidf import importance
from tests.strategies import repeatable

# two topics, four terms, η = 1: n_0 = 8, n_1 = 4, so φ_0 = (4, 3, 4, 1)/12 and φ_1 = (1, 4, 1, 2)/8
COUNTS = np.array([[3, 2, 3, 0], [0, 3, 0, 1]])
ETA = 1.0


def top(counts: Any = COUNTS, eta: float = ETA, **options: Any) -> WeightedTerms:
    return weighted_terms(sparse.csr_array(counts), eta, **options)


def dense(counts: Any, eta: float, cf: Any = None, relevance_lambda: float = 0.6) -> dict[Weighting, Any]:
    """The formulas as they stand, on dense matrices."""
    n = np.asarray(counts, float)
    phi = (n + eta) / (n.sum(axis=1, keepdims=True) + n.shape[1] * eta)
    cf = n.sum(axis=0) if cf is None else cf
    with np.errstate(divide="ignore"):
        lift = phi / (cf / (cf.sum() or 1.0))
    totals = n.sum(axis=1, keepdims=True)
    q = n / np.where(totals > 0, totals, 1)
    above = np.log(q + 1e-5)
    F = np.apply_along_axis(rankdata, 1, phi) / n.shape[1]
    E = np.apply_along_axis(rankdata, 1, (phi / phi.sum(axis=0)).astype(np.float32)) / n.shape[1]
    return {
        "probability": phi,
        "frex": 1 / (0.5 / F + 0.5 / E),
        "lift": lift,
        "relevance": relevance_lambda * np.log(phi) + (1 - relevance_lambda) * np.log(lift),
        "importance": q * (above - above.mean(axis=0)),
    }


def test_probability_by_hand_ties_by_term_id() -> None:
    found = top(n=3)
    assert found.term_ids.tolist() == [[0, 2, 1], [1, 3, -1]]
    np.testing.assert_allclose(found.probability[0], [4 / 12, 4 / 12, 3 / 12])
    np.testing.assert_allclose(found.probability[1], [4 / 8, 2 / 8, math.nan])


def test_lift_by_hand() -> None:
    # p = (3, 5, 3, 1)/12
    found = top(by="lift", n=2)
    assert found.term_ids.tolist() == [[0, 2], [3, 1]]
    np.testing.assert_allclose(found.lift, [[4 / 3, 4 / 3], [3.0, 6 / 5]])


def test_relevance_by_hand() -> None:
    found = top(by="relevance", n=4)
    assert found.term_ids.tolist() == [[0, 2, 1, -1], [1, 3, -1, -1]]
    assert found.relevance[0, 0] == pytest.approx(0.6 * math.log(1 / 3) + 0.4 * math.log(4 / 3))
    assert found.relevance[1, 1] == pytest.approx(0.6 * math.log(1 / 4) + 0.4 * math.log(3))


def test_relevance_is_probability_at_1_and_lift_at_0() -> None:
    by_probability, by_lift = top(by="relevance", relevance_lambda=1.0), top(by="relevance", relevance_lambda=0.0)
    np.testing.assert_allclose(by_probability.relevance, np.log(by_probability.probability))
    np.testing.assert_allclose(by_lift.relevance, np.log(by_lift.lift))


def test_importance_by_hand() -> None:
    found = top(by="importance", n=2)
    assert found.term_ids.tolist() == [[0, 2], [3, 1]]
    own, other = math.log(3 / 8 + 1e-5), math.log(1e-5)
    assert found.importance[0, 0] == pytest.approx(3 / 8 * (own - (own + other) / 2))


def test_frex_by_hand() -> None:
    # topic 0: φ ranks (3.5, 2, 3.5, 1)/4; φ_0/(φ_0 + φ_1) = (8/11, 1/3, 8/11, 1/4), of ranks (3.5, 2, 3.5, 1)/4
    # topic 1: φ ranks (1.5, 4, 1.5, 3)/4; shares (3/11, 2/3, 3/11, 3/4), of ranks (1.5, 3, 1.5, 4)/4
    found = top(by="frex", n=3)
    assert found.term_ids.tolist() == [[0, 2, 1], [1, 3, -1]]
    np.testing.assert_allclose(found.frex[0], [3.5 / 4, 3.5 / 4, 2 / 4])
    np.testing.assert_allclose(found.frex[1, :2], [2 / (1 / (4 / 4) + 1 / (3 / 4)), 2 / (1 / (3 / 4) + 1 / (4 / 4))])


def test_one_topic_is_exclusive_for_all_its_terms() -> None:
    # all shares are 1, however the sums are rounded: ranks (2, 2, 2)/3
    found = top([[7, 1, 3]], 0.1)
    np.testing.assert_allclose(found.frex[0, :3], [1 / (0.5 / f + 0.5 / (2 / 3)) for f in (3 / 3, 2 / 3, 1 / 3)])


def test_frex_ranks_among_the_terms_a_topic_does_not_hold() -> None:
    # the term 1 is all but exclusive to topic 1, so topic 0, where it is the rarer one, ranks it below the absent term 2
    counts = np.array([[9, 1, 0], [0, 99, 1]])
    found, plain = top(counts, 0.5), dense(counts, 0.5)["frex"]
    assert plain[0, 1] == pytest.approx(1 / (0.5 / (2 / 3) + 0.5 / (1 / 3)))
    np.testing.assert_allclose(found.frex[0, :2], plain[0, :2])


def test_given_frequencies_replace_the_sums() -> None:
    cf = np.array([6.0, 2.0, 3.0, 1.0])
    found = top(by="lift", n=4, cf=cf)
    assert found.term_ids[0].tolist() == [1, 2, 0, -1]
    np.testing.assert_allclose(found.lift[0, :3], [3 / 2, 4 / 3, 2 / 3])


@repeatable
@given(st.data())
def test_all_weightings_are_those_of_the_dense_formulas(data: st.DataObject) -> None:
    K, V = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 8))
    cell = st.one_of(st.just(0), st.integers(0, 4), st.floats(0.25, 3).map(lambda x: round(4 * x) / 4))
    counts = np.array(data.draw(st.lists(st.lists(cell, min_size=V, max_size=V), min_size=K, max_size=K)), float)
    eta = data.draw(st.sampled_from([0.01, 0.25, 1.0]))
    n = data.draw(st.integers(1, 9))
    expected = dense(counts, eta)
    for by in WEIGHTINGS:
        found = top(counts, eta, by=by, n=n)
        for k in range(K):
            given_terms = found.term_ids[k][found.term_ids[k] >= 0]
            assert len(given_terms) == min(n, (counts[k] > 0).sum())
            assert len(set(given_terms)) == len(given_terms)
            assert (counts[k, given_terms] > 0).all()
            # every term left out weighs no more than the last one of the list
            left_out = np.setdiff1d(np.flatnonzero(counts[k] > 0), given_terms)
            if len(left_out):
                assert expected[by][k, left_out].max() <= expected[by][k, given_terms].min() + 1e-9
            for name in WEIGHTINGS:
                np.testing.assert_allclose(
                    getattr(found, name)[k, : len(given_terms)], expected[name][k, given_terms], atol=1e-12
                )
                assert np.isnan(getattr(found, name)[k, len(given_terms) :]).all()


def test_importance_is_that_of_weighting() -> None:
    counts = sparse.random_array(
        (6, 40), density=0.4, rng=np.random.default_rng(1), data_sampler=lambda size: 1 + np.arange(size)
    )
    counts = sparse.csr_array(counts)
    found, whole = weighted_terms(counts, 0.1, by="importance", n=5), importance(counts).toarray()
    np.testing.assert_allclose(found.importance, np.take_along_axis(whole, found.term_ids.astype(int), axis=1))


def test_an_empty_topic_has_no_terms_and_leaves_the_others_alone() -> None:
    found = top(np.vstack([COUNTS, np.zeros((1, 4), int)]), n=2)
    assert found.term_ids.tolist() == [[0, 2], [1, 3], [-1, -1]]
    assert np.isnan(found.frex[2]).all()


def test_zeros_and_halves_that_are_stored_count_as_what_they_are() -> None:
    # (0, 1) is stored twice, (0, 2) as 0, and the columns of row 0 descend
    data, indices, indptr = np.array([0, 1, 1, 3, 3, 1]), np.array([2, 1, 1, 0, 1, 3]), np.array([0, 4, 6])
    messy = sparse.csr_array((data, indices, indptr), shape=(2, 4))
    before = messy.data.copy()
    found, clean = weighted_terms(messy, ETA), top([[3, 2, 0, 0], [0, 3, 0, 1]])
    np.testing.assert_array_equal(found.term_ids, clean.term_ids)
    np.testing.assert_array_equal(found.frex, clean.frex)
    np.testing.assert_array_equal(messy.data, before)


def test_long_rows_keep_ties_by_term_id() -> None:
    found = top(np.ones((1, 1000), int), n=7)
    assert found.term_ids[0].tolist() == list(range(7))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": -1.0}, "`eta=-1.0`"),
        ({"epsilon": 0.0}, "`epsilon=0.0`"),
        ({"relevance_lambda": 1.5}, "from 0"),
        ({"n": 0}, "at least 1"),
        ({"by": "beauty"}, "'beauty'"),
        ({"cf": np.ones(3)}, "each of the 4 terms"),
        ({"cf": np.array([1, 0, 1, 1])}, "term 1"),
    ],
)
def test_options_that_cannot_be_meant(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        top(**options)


def test_counts_below_zero_are_refused() -> None:
    with pytest.raises(UsageError, match="-1"):
        top([[1, -1]])


def test_memory_is_that_of_a_few_rows() -> None:
    K, V = 200, 20_000  # 32 MB if it were dense
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, K * V, 60_000))
    counts = sparse.csr_array((np.ones(len(cells), np.int32), (cells // V, cells % V)), shape=(K, V))
    weighted_terms(counts, 0.01, n=2)
    tracemalloc.start()
    weighted_terms(counts, 0.01, by="frex")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6
