"""What is said of topics: sizes, shares, names, scores and typical documents of a corpus small enough to count by hand."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy import sparse

from nlpkit.platform.types import CsrMatrix, IntArray, TokenTable
from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.base.topic_words import REPRESENTATIVES, TopicDescription, describe_topics, typical_documents
from tests.strategies import planted, token_table

TERMS = ("bank", "boat", "judge", "jury")
# documents and the topics of their tokens; the fourth is empty
DOCUMENTS = [[0, 1, 1], [2, 3, 0], [2, 3], [], [1, 0]]
TOPICS = [[0, 0, 0], [1, 1, 0], [1, 1], [], [0, 1]]
TOKENS = token_table(DOCUMENTS, list(TERMS))
ASSIGNMENTS = np.concatenate(TOPICS).astype(np.int32)
MODEL = MixtureModel(
    TERMS, sparse.csr_array(np.array([[2, 3, 0, 0], [1, 0, 2, 2]], np.int32)), np.array([0.5, 0.5]), 0.1
)
DOC_TOPIC = sparse.csr_array(np.array([[3, 0], [1, 2], [0, 2], [0, 0], [1, 1]], np.int32))


@pytest.fixture(scope="module")
def found() -> TopicDescription:
    return describe_topics(MODEL, DOC_TOPIC, TOKENS, assignments=ASSIGNMENTS, n_terms=3)


def test_sizes_and_shares(found: TopicDescription) -> None:
    assert found.main.topic.tolist() == [0, 1, 1, -1, 0]
    assert found.size.tolist() == [2, 2]
    assert found.share.tolist() == [5 / 10, 5 / 10]


def test_terms_and_names(found: TopicDescription) -> None:
    assert [[TERMS[t] if t >= 0 else "" for t in row] for row in found.terms.term_ids] == [
        ["boat", "bank", ""],
        ["judge", "jury", "bank"],
    ]
    phi = np.array([[3.1, 2.1, np.nan], [2.1, 2.1, 1.1]]) / 5.4
    np.testing.assert_allclose(found.terms.probability, phi, rtol=1e-12)
    np.testing.assert_allclose(found.terms.lift[0, :2], phi[0, :2] / [0.3, 0.3], rtol=1e-12)
    assert found.labels == ("boat, bank", "judge, jury, bank")


def test_scores(found: TopicDescription) -> None:
    # boat and bank: 2 and 3 of 5 documents, together in 2
    one = log(2 / 5 / (2 / 5 * 3 / 5)) / -log(2 / 5)
    # judge and jury always together: 1; bank with each of them in 1
    two = (log(2 / 5 / (2 / 5 * 2 / 5)) / -log(2 / 5) + 2 * log(1 / 5 / (2 / 5 * 3 / 5)) / -log(1 / 5)) / 3
    np.testing.assert_allclose(found.npmi, [one, two], rtol=1e-12)
    np.testing.assert_allclose(found.exclusivity, [(1 + 2 / 3) / 2, (1 + 1 + 1 / 3) / 3], rtol=1e-12)
    assert found.diversity == 4 / 5
    assert found.diagnostics.tokens.tolist() == [5, 5]


def test_representatives(found: TopicDescription) -> None:
    # θ of topic 0: 3.5/4, 1.5/4, –, –, 1.5/3; of topic 1: –, 2.5/4, 2.5/3, –, 1.5/3
    assert found.representatives.tolist() == [[0, 4, 1], [2, 1, 4]]


def test_a_topic_that_is_the_main_one_of_no_document_has_no_representative() -> None:
    documents = sparse.csr_array(np.array([[3, 1], [3, 1], [2, 0], [0, 0], [2, 1]], np.int32))
    alone = describe_topics(MODEL, documents, TOKENS)
    assert alone.size.tolist() == [4, 0]
    assert alone.share[1] > 0
    assert alone.representatives[1].tolist() == [-1] * REPRESENTATIVES


def test_given_names_stay() -> None:
    given = describe_topics(MODEL, DOC_TOPIC, TOKENS, names=("water", ""))
    assert given.labels == ("water", "judge, jury, bank")
    assert describe_topics(MODEL, DOC_TOPIC, TOKENS, names=("water",)).labels == given.labels


def test_lambda_moves_relevance_alone(found: TopicDescription) -> None:
    other = describe_topics(MODEL, DOC_TOPIC, TOKENS, assignments=ASSIGNMENTS, n_terms=3, relevance_lambda=1.0)
    np.testing.assert_allclose(other.terms.relevance, np.log(other.terms.probability))
    assert not np.allclose(found.terms.relevance, other.terms.relevance, equal_nan=True)
    np.testing.assert_array_equal(found.terms.frex, other.terms.frex)


def test_a_topic_without_tokens() -> None:
    model = MixtureModel(TERMS, sparse.csr_array(np.array([[3, 3, 2, 2], [0, 0, 0, 0]], np.int32)), np.ones(2), 0.1)
    documents = sparse.csr_array(np.array([[3, 0], [3, 0], [2, 0], [0, 0], [2, 0]], np.int32))
    alone = describe_topics(model, documents, TOKENS)
    assert (alone.size.tolist(), alone.share.tolist()) == ([4, 0], [1, 0])
    assert alone.labels[1] == "topic 1"
    assert (alone.terms.term_ids[1] == -1).all()
    assert np.isnan([alone.npmi[1], alone.exclusivity[1]]).all()
    assert alone.representatives[1].tolist() == [-1] * REPRESENTATIVES
    assert alone.diversity == 1


def test_a_term_that_only_a_fixed_topic_holds() -> None:
    counts = sparse.csr_array(np.array([[2, 3, 0, 0, 4], [1, 0, 2, 2, 0]], np.int32))
    model = MixtureModel((*TERMS, "ferry"), counts, MODEL.alpha, MODEL.eta)
    tokens = TokenTable(TOKENS.offsets, TOKENS.term_ids, model.terms)
    found = describe_topics(model, DOC_TOPIC, tokens, assignments=ASSIGNMENTS)
    assert found.terms.term_ids[0, 0] == 4
    assert found.terms.lift[0, 0] == pytest.approx(4.1 / 9.5 / (1 / 11))
    assert found.terms.lift[1, 0] == pytest.approx(2.1 / 5.5 / (2 / 11))


def slow_typical(doc_topic: np.ndarray, alpha: np.ndarray, n: int) -> list[list[int]]:
    theta = (doc_topic + alpha) / (doc_topic.sum(axis=1, keepdims=True) + alpha.sum())
    rows = []
    for k in range(doc_topic.shape[1]):
        holding = [d for d in range(len(doc_topic)) if doc_topic[d, k] > 0]
        best = sorted(holding, key=lambda d: (-theta[d, k], d))[:n]
        rows.append(best + [-1] * (n - len(best)))
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_typical_documents_with_many_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (60, 4)) * (rng.random((60, 4)) < 0.7)
    counts[:, 3] = 0
    counts[7, 3] = 1
    alpha = np.array([0.5, 0.25, 1.0, 0.5])
    found = typical_documents(sparse.csr_array(counts.astype(np.int32)), alpha, 3)
    assert found.tolist() == slow_typical(counts, alpha, 3)


def test_the_order_of_the_documents_is_of_no_matter() -> None:
    corpus = planted([12, 9, 6], seed=1)
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, len(corpus.tokens.term_ids)).astype(np.int32)
    order = rng.permutation(corpus.tokens.n_docs)
    offsets = corpus.tokens.offsets
    rows = [corpus.tokens.term_ids[offsets[d] : offsets[d + 1]] for d in range(len(order))]
    topics = [z[offsets[d] : offsets[d + 1]] for d in range(len(order))]

    def counts(documents: list[IntArray], width: int) -> CsrMatrix:
        return sparse.csr_array(np.stack([np.bincount(x, minlength=width) for x in documents]).astype(np.int32))

    V = len(corpus.tokens.terms)
    n_kv = counts([corpus.tokens.term_ids[z == k] for k in range(3)], V)
    model = MixtureModel(corpus.tokens.terms, n_kv, np.full(3, 0.3), 0.1)
    first = describe_topics(model, counts(topics, 3), corpus.tokens, assignments=z)
    shuffled = token_table([rows[d] for d in order], list(corpus.tokens.terms))
    moved = [topics[d] for d in order]
    second = describe_topics(model, counts(moved, 3), shuffled, assignments=np.concatenate(moved))
    assert first.main.topic[order].tolist() == second.main.topic.tolist()
    assert (first.labels, first.size.tolist()) == (second.labels, second.size.tolist())
    np.testing.assert_allclose(first.npmi, second.npmi, rtol=1e-12)
