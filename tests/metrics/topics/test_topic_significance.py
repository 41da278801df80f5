"""Divergences from junk topics: by hand, against dense loops, against MALLET's diagnostics and OCTIS's formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.metrics.topics.significance import topic_significance
from nlpkit.topics.base.diagnostics import topic_diagnostics
from tests.strategies import counts_dv, repeatable, token_table

LN2 = math.log(2)


def csr(dense: Any) -> Any:
    return sparse.csr_array(np.array(dense, np.float64))


def divergence(p: Any, q: Any) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def plain(counts: Any, eta: float, documents: Any, alpha: Any) -> list[dict[str, float]]:
    """The formulas over dense distributions, topic by topic."""
    K, V = counts.shape
    phi = (counts + eta) / (counts.sum(axis=1, keepdims=True) + V * eta)
    theta = (documents + alpha) / (documents.sum(axis=1, keepdims=True) + alpha.sum())
    p_k = documents.sum(axis=0) / documents.sum()
    p_v = p_k @ phi
    scores = []
    for k in range(K):
        of_documents = theta[:, k] / theta[:, k].sum()
        scores.append(
            {
                "kl_uniform": divergence(phi[k], np.full(V, 1 / V)),
                "kl_vacuous": divergence(phi[k], p_v),
                "kl_background": divergence(of_documents, np.full(len(theta), 1 / len(theta))),
                "effective_words": 1 / sum(p * p for p in phi[k]),
                "perplexity": math.exp(-sum(p * math.log(p) for p in phi[k] if p > 0)),
            }
        )
    return scores


def test_by_hand_without_smoothing() -> None:
    # φ = (½, ½, 0, 0) and (0, 0, 0, 1); a third of the tokens are of topic 1: p = (⅓, ⅓, 0, ⅓)
    found = topic_significance(csr([[2, 2, 0, 0], [0, 0, 0, 2]]))
    np.testing.assert_allclose(found.kl_uniform, [2 * 0.5 * math.log(0.5 * 4), math.log(4)])
    np.testing.assert_allclose(found.kl_vacuous, [2 * 0.5 * math.log(0.5 * 3), math.log(3)])
    np.testing.assert_allclose(found.effective_words, [2.0, 1.0])
    np.testing.assert_allclose(found.perplexity, [2.0, 1.0])
    assert np.isnan(found.kl_background).all()


def test_by_hand_with_eta() -> None:
    # φ = (2 + 1, 0 + 1) / 4
    found = topic_significance(csr([[2, 0]]), eta=1.0)
    assert found.kl_uniform[0] == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))
    assert found.kl_vacuous[0] == pytest.approx(0.0, abs=1e-15)  # one topic is the corpus
    assert found.effective_words[0] == pytest.approx(1 / (0.75**2 + 0.25**2))


def test_documents_by_hand() -> None:
    # topic 0 is in one of four documents, topic 1 in all alike, topic 2 in two
    theta = csr([[1.0, 0.5, 0.0], [0.0, 0.5, 0.2], [0.0, 0.5, 0.6], [0.0, 0.5, 0.0]])
    found = topic_significance(csr(np.eye(3)), doc_topic=theta)
    expected = [math.log(4), 0.0, 0.25 * math.log(0.25 * 4) + 0.75 * math.log(0.75 * 4)]
    np.testing.assert_allclose(found.kl_background, expected, atol=1e-15)


def test_counts_of_documents_are_smoothed_by_alpha() -> None:
    # θ_d0 = (1 + ½) / (1 + 1) and ½ / (1 + 1), so that ϑ = (¾, ¼)
    found = topic_significance(csr(np.eye(2)), doc_topic=csr([[1, 0], [0, 1]]), alpha=np.array([0.5, 0.5]))
    expected = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    np.testing.assert_allclose(found.kl_background, [expected, expected])


def test_a_topic_without_weight_is_nan() -> None:
    for eta in (0.0, 0.1):
        found = topic_significance(csr([[1, 2], [0, 0]]), eta=eta, doc_topic=csr([[3, 0]]))
        for scores in (
            found.kl_uniform,
            found.kl_vacuous,
            found.kl_background,
            found.effective_words,
            found.perplexity,
        ):
            assert math.isfinite(scores[0])
            assert math.isnan(scores[1])


def test_a_topic_of_no_document_has_no_corpus_to_differ_from() -> None:
    # topic 1 has the words 0 and 1, but p(1) = 0: word 1 is nowhere in p = (1, 0); topic 2 has word 0 alone
    found = topic_significance(csr([[2, 0], [1, 1], [1, 0]]), doc_topic=csr([[1, 0, 0]]))
    np.testing.assert_array_equal(found.kl_vacuous, [0.0, np.nan, 0.0])
    np.testing.assert_allclose(found.kl_uniform, [LN2, 0.0, LN2], atol=1e-15)


def test_flat_and_corpus_topics_are_junk() -> None:
    flat = topic_significance(csr([[1, 1, 1, 1], [4, 0, 0, 0]]))
    assert flat.kl_uniform[0] == pytest.approx(0.0, abs=1e-15)
    assert (flat.effective_words[0], flat.perplexity[0]) == (pytest.approx(4.0), pytest.approx(4.0))
    vacuous = topic_significance(csr([[6, 3], [2, 1]]))
    np.testing.assert_allclose(vacuous.kl_vacuous, [0.0, 0.0], atol=1e-15)


def test_a_corpus_of_its_own() -> None:
    found = topic_significance(csr([[1, 1, 0]]), corpus=np.array([1.0, 1.0, 2.0]))
    assert found.kl_vacuous[0] == pytest.approx(2 * 0.5 * math.log(0.5 / 0.25))
    with pytest.raises(UsageError, match="term 1 has the frequency 0 in the corpus, but topics hold it"):
        topic_significance(csr([[1, 1, 0]]), corpus=np.array([1.0, 0.0, 2.0]))
    with pytest.raises(UsageError, match="term 2 has the frequency 0"):  # smoothed, a topic holds every term
        topic_significance(csr([[1, 1, 0]]), eta=0.1, corpus=np.array([1.0, 1.0, 0.0]))


@repeatable
@given(st.data(), st.sampled_from([0.0, 0.01, 1.0]))
def test_equals_dense_loops(data: st.DataObject, eta: float) -> None:
    counts = data.draw(counts_dv()).astype(np.float64)
    K = len(counts)
    documents = np.random.default_rng(data.draw(st.integers(0, 1000))).integers(0, 3, (5, K)).astype(np.float64)
    counts[counts.sum(axis=1) == 0, 0] = 1
    documents[0, 0] = 1
    held = documents.sum(axis=0) > 0
    alpha = np.linspace(0.1, 0.5, K)
    found = topic_significance(sparse.csr_array(counts), eta=eta, doc_topic=sparse.csr_array(documents), alpha=alpha)
    for k, expected in enumerate(plain(counts, eta, documents, alpha)):
        for name in expected:
            if name == "kl_background" and not held[k]:
                assert math.isnan(found.kl_background[k])
            elif name != "kl_vacuous" or held.all():  # a topic of no documents may hold words that p_v does not
                assert getattr(found, name)[k] == pytest.approx(expected[name], rel=1e-10, abs=1e-10)
    V = counts.shape[1]
    assert ((found.kl_uniform >= 0) & (found.kl_uniform <= math.log(V) + 1e-12)).all()
    assert ((found.effective_words >= 1 - 1e-12) & (found.effective_words <= found.perplexity + 1e-9)).all()


def test_as_mallet_has_them() -> None:
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 12, 30) for _ in range(20)]
    tokens = token_table(documents, [f"w{v}" for v in range(12)])
    topics = [rng.integers(0, 3, 30) for _ in documents]
    topic_term = np.zeros((3, 12))
    doc_topic = np.zeros((20, 3))
    for d, (words, of) in enumerate(zip(documents, topics, strict=True)):
        np.add.at(topic_term, (of, words), 1)
        np.add.at(doc_topic, (d, of), 1)
    args = (sparse.csr_array(topic_term), sparse.csr_array(doc_topic))
    mallet = topic_diagnostics(*args, tokens, alpha=np.full(3, 0.1), eta=0.01)
    found = topic_significance(args[0], doc_topic=args[1])
    np.testing.assert_allclose(found.kl_uniform, mallet.uniform_dist, rtol=1e-12)
    np.testing.assert_allclose(found.kl_vacuous, mallet.corpus_dist, rtol=1e-10)
    np.testing.assert_allclose(found.effective_words, mallet.eff_num_words, rtol=1e-12)


def test_octis_without_its_epsilon() -> None:
    """KL_uniform, KL_vacuous and KL_background of OCTIS are the means, but for the 1e-5 it adds to every probability."""
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(50, 0.5), 4)
    theta = rng.dirichlet(np.full(4, 0.5), 30)  # OCTIS holds it as (K, D)

    def octis(P: Any, Q: Any, epsilon: float) -> float:
        return float(np.sum((P + epsilon) * np.log((P + epsilon) / (Q + epsilon))))

    found = topic_significance(sparse.csr_array(phi), doc_topic=sparse.csr_array(theta))
    p_v = theta.mean(axis=0) @ phi
    flat, alike = np.full(50, 1 / 50), np.full(30, 1 / 30)
    for epsilon, tolerance in ((0.0, 1e-12), (1e-5, 5e-3)):
        uniform = np.mean([octis(row, flat, epsilon) for row in phi])
        vacuous = np.mean([octis(row, p_v, epsilon) for row in phi])
        background = np.mean([octis(row / row.sum(), alike, epsilon) for row in theta.T])
        assert found.kl_uniform.mean() == pytest.approx(uniform, abs=tolerance)
        assert found.kl_vacuous.mean() == pytest.approx(vacuous, abs=tolerance)
        assert found.kl_background.mean() == pytest.approx(background, abs=tolerance)


def test_what_octis_adds_is_large_where_the_vocabulary_is() -> None:
    V = 20_000
    phi = np.zeros(V)
    phi[:1000] = 1e-3
    smoothed = phi + 1e-5
    octis = float(np.sum(smoothed * np.log(smoothed / (1 / V + 1e-5))))
    exact = topic_significance(sparse.csr_array(phi[None, :])).kl_uniform[0]
    assert exact == pytest.approx(math.log(20))
    # 1000 · 0.00101 ln(0.00101 / 0.00006) + 19000 · 0.00001 ln(0.00001 / 0.00006)
    assert octis == pytest.approx(1.01 * math.log(101 / 6) - 0.19 * math.log(6))
    assert exact - octis == pytest.approx(0.485, abs=1e-3)


@repeatable
@given(st.data())
def test_order_of_terms_topics_and_documents_does_not_matter(data: st.DataObject) -> None:
    counts = data.draw(counts_dv()).astype(np.float64)
    documents = data.draw(
        st.just(np.random.default_rng(len(counts)).integers(0, 3, (6, len(counts))).astype(np.float64))
    )
    rows = data.draw(st.permutations(range(len(counts))))
    columns = data.draw(st.permutations(range(counts.shape[1])))
    found = topic_significance(sparse.csr_array(counts), eta=0.1, doc_topic=sparse.csr_array(documents))
    other = topic_significance(
        sparse.csr_array(counts[rows][:, columns]), eta=0.1, doc_topic=sparse.csr_array(documents[::-1][:, rows])
    )
    for name in ("kl_uniform", "kl_vacuous", "kl_background", "effective_words", "perplexity"):
        np.testing.assert_allclose(getattr(other, name), getattr(found, name)[rows], rtol=1e-9, atol=1e-12)


def test_input_stays_as_it_came() -> None:
    counts = sparse.csr_array((np.array([1.0, 0.0, 2.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    topic_significance(counts)
    assert counts.data.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"eta": -1.0}, "eta -1.0"),
        ({"eta": math.nan}, "eta nan"),
        ({"corpus": np.ones(3)}, "frequency of each of the 2 terms"),
        ({"doc_topic": csr([[1, 1, 1]])}, r"doc_topic of shape \(1, 3\) does not fit 2 topics"),
        ({"alpha": np.ones(2)}, "alpha smooths counts in doc_topic"),
        ({"doc_topic": csr([[1, 1]]), "alpha": np.array([0.1, -1.0])}, "2 numbers of 0 or more"),
        ({"doc_topic": csr([[1, -1]])}, "doc_topic holds the weight -1"),
    ],
)
def test_what_cannot_be_meant(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        topic_significance(csr([[1, 0], [0, 1]]), **options)


def test_no_topics_and_no_words() -> None:
    assert topic_significance(sparse.csr_array((0, 5))).kl_uniform.shape == (0,)
    assert np.isnan(topic_significance(sparse.csr_array((2, 0))).kl_uniform).all()
    assert np.isnan(topic_significance(csr([[1, 1]]), doc_topic=sparse.csr_array((0, 1))).kl_background).all()
