"""LDA models: phi, theta and main topics by hand; documents without tokens, ties, K = 1, blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.topics.base.model import MixtureModel, main_topics, theta_of
from tests.strategies import counts_dv, repeatable

# η = 1: φ = (3, 1, 2)/6 and (1, 4, 1)/6
MODEL = MixtureModel(
    ("a", "b", "c"), sparse.csr_array(np.array([[2, 0, 1], [0, 3, 0]], np.int32)), np.array([1.0, 0.5]), 1.0
)
# α = (1, ½): θ = (3, 1½)/4½, (2, 1½)/3½, (1, ½)/1½ for no tokens, (1, 2½)/3½
DOC_TOPIC = sparse.csr_array(np.array([[2, 1], [1, 1], [0, 0], [0, 2]], np.int32))


def test_phi_by_hand() -> None:
    assert (MODEL.n_topics, MODEL.n_terms) == (2, 3)
    assert MODEL.topic_totals.tolist() == [3, 3]
    np.testing.assert_allclose(MODEL.phi_of(np.arange(3)), np.array([[3, 1, 2], [1, 4, 1]]) / 6, rtol=1e-15)
    np.testing.assert_allclose(MODEL.phi_of(np.array([2, 0])), np.array([[2, 3], [1, 1]]) / 6, rtol=1e-15)


def test_rows_of_phi_sum_to_one_where_a_topic_has_no_tokens() -> None:
    model = MixtureModel(("a", "b"), sparse.csr_array((2, 2), dtype=np.int32), np.ones(2), 0.01)
    assert model.phi_of(np.arange(2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_renumbered() -> None:
    other = MODEL.renumbered(np.array([1, 0]))
    assert other.topic_term.toarray().tolist() == [[0, 3, 0], [2, 0, 1]]
    assert other.alpha.tolist() == [0.5, 1.0]
    assert (other.terms, other.eta) == (MODEL.terms, MODEL.eta)
    assert MODEL.alpha.tolist() == [1.0, 0.5]


def test_theta_by_hand() -> None:
    theta = theta_of(DOC_TOPIC, MODEL.alpha, slice(0, 3))
    np.testing.assert_allclose(theta, [[3 / 4.5, 1.5 / 4.5], [2 / 3.5, 1.5 / 3.5], [1 / 1.5, 0.5 / 1.5]], rtol=1e-15)


def test_main_topics_by_hand() -> None:
    found = main_topics(DOC_TOPIC, MODEL.alpha)
    assert found.topic.tolist() == [0, 0, -1, 1]
    np.testing.assert_allclose(found.prob, [3 / 4.5, 2 / 3.5, 0, 2.5 / 3.5], rtol=1e-6)
    np.testing.assert_allclose(found.margin, [1.5 / 4.5, 0.5 / 3.5, 0, 1.5 / 3.5], rtol=1e-6)
    assert [x.dtype for x in (found.topic, found.prob, found.margin)] == [np.int32, np.float32, np.float32]


def test_ties_go_to_the_lower_topic() -> None:
    found = main_topics(sparse.csr_array([[0, 1, 1], [1, 0, 1]]), np.ones(3))
    assert found.topic.tolist() == [1, 0]
    assert found.margin.tolist() == [0, 0]


def test_one_topic_has_no_lead() -> None:
    found = main_topics(sparse.csr_array([[3], [0]]), np.ones(1))
    assert (found.topic.tolist(), found.prob.tolist(), found.margin.tolist()) == ([0, -1], [1, 0], [0, 0])


@repeatable
@given(counts_dv(max_docs=9, max_terms=5), st.integers(1, 4))
def test_blocks_change_nothing(counts: np.ndarray, block: int) -> None:
    alpha = np.linspace(0.3, 0.9, counts.shape[1])
    whole, parts = (main_topics(sparse.csr_array(counts), alpha, block=b) for b in (4096, block))
    for name in ("topic", "prob", "margin"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    theta = np.sort((counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True), axis=1)
    full = counts.sum(axis=1) > 0
    assert ((whole.topic >= 0) == full).all()
    assert whole.prob[full] == pytest.approx(theta[full, -1], rel=1e-6)
    if counts.shape[1] > 1:
        assert whole.margin[full] == pytest.approx(theta[full, -1] - theta[full, -2], abs=1e-6)


def test_no_documents() -> None:
    assert main_topics(sparse.csr_array((0, 3)), np.ones(3)).topic.shape == (0,)
