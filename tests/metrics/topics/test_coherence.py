"""NPMI by documents."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.metrics.topics.coherence import npmi, npmi_by_document, postings
from tests.reference import cooccurrence as plain
from tests.strategies import counts_dv, repeatable, term_ids_kn


def score(terms: list[int], dtm: Any) -> float:
    return float(npmi_by_document(np.array([terms], np.int32), postings(sparse.csr_array(dtm)))[0])


APART = [
    [1, 1, 0],
    [1, 1, 0],
    [0, 0, 1],
    [0, 0, 0],
]  # terms 0 and 1 always together (npmi 1), each never with 2 (-1, -1)


@pytest.mark.parametrize(
    ("terms", "dtm", "expected"),
    [
        # p(u) = 2/4, p(v) = 3/4, p(u, v) = 2/4: ln(4/3) / ln 2
        ([0, 1], [[3, 1], [1, 1], [0, 2], [0, 0]], math.log(4 / 3) / math.log(2)),
        ([0, 1], APART, 1.0),
        ([0, 1, 2], APART, -1 / 3),
        ([0, 1], [[1, 0], [0, 1], [0, 0]], -1.0),  # never together
        ([0, 1], [[1, 2], [3, 1]], 1.0),  # in every document together
        ([0, 1], [[1, 1], [1, 0], [0, 1], [0, 0]], 0.0),  # independent
        ([0, 1], [[1, 0], [1, 0]], -1.0),  # a term in no document
    ],
)
def test_by_hand(terms: list[int], dtm: Any, expected: float) -> None:
    assert score(terms, np.array(dtm, np.int32)) == pytest.approx(expected, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("terms", [[0, -1, -1], [-1, -1, -1]])
def test_a_topic_of_under_two_terms_has_no_score(terms: list[int]) -> None:
    scores = npmi_by_document(np.array([terms, [0, 1, -1]], np.int32), postings(sparse.csr_array([[1, 1], [0, 1]])))
    assert math.isnan(scores[0])
    assert math.isfinite(scores[1])


@repeatable
@given(st.data())
def test_equals_brute_force(data: st.DataObject) -> None:
    dtm = data.draw(counts_dv())
    term_ids = data.draw(term_ids_kn(dtm.shape[1]))
    scores = npmi_by_document(term_ids, postings(sparse.csr_array(dtm)))
    expected = [plain.mean_npmi(row.tolist(), dtm.tolist()) for row in term_ids]
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    given_scores = scores[~np.isnan(scores)]
    assert ((given_scores >= -1 - 1e-12) & (given_scores <= 1 + 1e-12)).all()


@repeatable
@given(st.data(), st.randoms(use_true_random=False))
def test_order_of_terms_and_documents_does_not_matter(data: st.DataObject, random: Any) -> None:
    dtm = data.draw(counts_dv())
    term_ids = data.draw(term_ids_kn(dtm.shape[1]))
    rows, places = list(range(len(dtm))), list(range(term_ids.shape[1]))
    random.shuffle(rows)
    random.shuffle(places)
    np.testing.assert_allclose(
        npmi_by_document(term_ids[:, places], postings(sparse.csr_array(dtm[rows]))),
        npmi_by_document(term_ids, postings(sparse.csr_array(dtm))),
        rtol=1e-12,
        atol=1e-12,
    )


def test_columns_of_a_slice_are_accepted() -> None:
    ids = np.arange(12, dtype=np.int64).reshape(2, 6) % 3
    dtm = postings(sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]])))
    np.testing.assert_array_equal(npmi_by_document(ids[:, :2], dtm), npmi_by_document(ids[:, :2].astype(np.int32), dtm))


def test_counts_elementwise() -> None:
    joint, u, v = np.array([[0, 4], [1, 2]]), np.array([[1, 4], [1, 2]]), np.array([[2, 4], [1, 3]])
    expected = [[-1.0, 1.0], [1.0, math.log(4 / 3) / math.log(2)]]
    np.testing.assert_allclose(npmi(joint, u, v, 4), expected, rtol=1e-14)
    assert joint.tolist() == [[0, 4], [1, 2]]


def test_postings_are_ascending_documents_of_each_term() -> None:
    lists = postings(sparse.csr_array(np.array([[1, 0], [2, 1], [0, 0], [1, 0]])))
    assert (lists.indptr.tolist(), lists.indices.tolist(), lists.n_docs) == ([0, 3, 4], [0, 1, 3, 1], 4)
