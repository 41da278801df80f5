"""MALLET's diagnostics: by hand, and against loops over the tokens that follow its definitions word by word."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import UsageError
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base import diagnostics
from nlpkit.topics.base.diagnostics import DIAGNOSTICS, TopicDiagnostics, topic_diagnostics
from tests.strategies import repeatable

TERMS = ("a", "bb", "ccc", "dddd", "eeeee")


def corpus(*documents: list[tuple[int, int]]) -> tuple[TokenTable, Any]:
    """Documents of (term, topic) pairs."""
    offsets = np.cumsum([0, *map(len, documents)])
    pairs = np.array([pair for d in documents for pair in d], np.int32).reshape(-1, 2)
    return TokenTable(offsets, pairs[:, 0].copy(), TERMS), pairs[:, 1].copy()


def diagnose(
    tokens: TokenTable, z: Any, K: int, alpha: Any = 0.5, eta: float = 0.1, **options: Any
) -> TopicDiagnostics:
    docs = np.repeat(np.arange(tokens.n_docs), np.diff(tokens.offsets))
    ones = np.ones(len(z), np.int32)
    topic_term = sparse.csr_array((ones, (z, tokens.term_ids)), shape=(K, tokens.n_terms))
    doc_topic = sparse.csr_array((ones, (docs, z)), shape=(tokens.n_docs, K))
    given_alpha = np.broadcast_to(np.asarray(alpha, float), (K,))
    return topic_diagnostics(topic_term, doc_topic, tokens, alpha=given_alpha, eta=eta, **options)


def by_loops(
    tokens: TokenTable, z: Any, K: int, alpha: Any, eta: float, n: int, *, assigned: bool
) -> dict[str, list[float]]:
    """The definitions, token by token, as MALLET's program counts (a topic of fewer words judged by those it has)."""
    V, N = tokens.n_terms, len(z)
    documents = [
        list(zip(tokens.term_ids[a:b].tolist(), z[a:b].tolist(), strict=True)) for a, b in pairwise(tokens.offsets)
    ]
    n_kv = [Counter(v for d in documents for v, t in d if t == k) for k in range(K)]
    cf = Counter(tokens.term_ids.tolist())
    n_k = [sum(c.values()) for c in n_kv]
    phi = [[(n_kv[k][v] + eta) / (n_k[k] + V * eta) for v in range(V)] for k in range(K)]
    scores: dict[str, list[float]] = {name: [] for name in DIAGNOSTICS}
    for k in range(K):
        if not n_k[k]:
            for name in DIAGNOSTICS:
                scores[name].append(0.0 if name == "tokens" else math.nan)
            continue
        top = sorted(n_kv[k], key=lambda v: (-n_kv[k][v], v))[:n]
        n_dk = [sum(t == k for _, t in d) for d in documents]
        holds = [{v for v, t in d if t == k or not assigned} for d in documents]
        own = [d for d in range(len(documents)) if n_dk[d]]
        first = [d for d in own if min(c := Counter(t for _, t in documents[d]), key=lambda t: (-c[t], t)) == k]
        theta = {d: (n_dk[d] + alpha[k]) / (len(documents[d]) + sum(alpha)) for d in own}
        p = {v: n_kv[k][v] / n_k[k] for v in n_kv[k]}
        co = {(u, v): sum(u in h and v in h for h in holds) for u in top for v in top}
        words = [n_kv[k][v] / sum(n_kv[k][u] for u in top) for v in top]
        docs = [co[v, v] / sum(co[u, u] for u in top) for v in top]
        scores["tokens"].append(n_k[k])
        scores["document_entropy"].append(-sum(n_dk[d] / n_k[k] * math.log(n_dk[d] / n_k[k]) for d in own))
        scores["word_length"].append(sum(len(tokens.terms[v]) for v in top) / len(top))
        scores["coherence"].append(
            sum(
                math.log((co[top[i], top[j]] + eta) / (co[top[j], top[j]] + eta))
                for i in range(len(top))
                for j in range(i)
            )
        )
        scores["uniform_dist"].append(sum(p[v] * math.log(p[v] * V) for v in p))
        scores["corpus_dist"].append(sum(p[v] * math.log(p[v] / (cf[v] / N)) for v in p))
        scores["eff_num_words"].append(1 / sum(p[v] ** 2 for v in p))
        scores["token_doc_diff"].append(
            sum(
                a / 2 * math.log(a / ((a + b) / 2)) + b / 2 * math.log(b / ((a + b) / 2))
                for a, b in zip(words, docs, strict=True)
            )
        )
        scores["rank_1_docs"].append(len(first) / len(own))
        two_percent = sum(theta[d] >= 0.02 for d in own)
        scores["allocation_ratio"].append(sum(theta[d] >= 0.5 for d in own) / two_percent if two_percent else math.nan)
        scores["allocation_count"].append(sum(theta[d] >= 0.3 for d in own) / len(own))
        scores["exclusivity"].append(sum(phi[k][v] / sum(phi[t][v] for t in range(K)) for v in top) / len(top))
    return scores


def test_by_hand() -> None:
    # topic 0: a a a b in documents 0 and 1; topic 1: b c in document 1
    tokens, z = corpus([(0, 0), (0, 0), (1, 0)], [(0, 0), (1, 1), (2, 1)], [])
    found = diagnose(tokens, z, 2, alpha=[0.5, 0.25], eta=0.5, assignments=z)
    assert found.tokens.tolist() == [4, 2]
    np.testing.assert_allclose(
        found.document_entropy, [-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)), 0.0], atol=1e-15
    )
    np.testing.assert_allclose(found.word_length, [1.5, 2.5])
    # a is in two documents of topic 0, a and bb in one of them; bb and ccc in the one document of topic 1
    np.testing.assert_allclose(found.coherence, [math.log(1.5 / 2.5), math.log(1.5 / 1.5)], atol=1e-15)
    np.testing.assert_allclose(found.uniform_dist[0], 0.75 * math.log(0.75 * 5) + 0.25 * math.log(0.25 * 5))
    np.testing.assert_allclose(found.corpus_dist[0], 0.75 * math.log(0.75 / (3 / 6)) + 0.25 * math.log(0.25 / (2 / 6)))
    np.testing.assert_allclose(found.eff_num_words, [1 / (9 / 16 + 1 / 16), 2.0])
    # words (3/4, 1/4), documents (2/3, 1/3)
    middle = (3 / 4 + 2 / 3) / 2
    expected = 3 / 4 * math.log(3 / 4 / middle) + 2 / 3 * math.log(2 / 3 / middle)
    expected += 1 / 4 * math.log(1 / 4 / (1 - middle)) + 1 / 3 * math.log(1 / 3 / (1 - middle))
    np.testing.assert_allclose(found.token_doc_diff, [expected / 2, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.rank_1_docs, [1 / 2, 1.0])
    # θ = 3.5/3.75 and 1.5/3.75 of topic 0, 2.25/3.75 of topic 1
    np.testing.assert_allclose(found.allocation_ratio, [1 / 2, 1.0])
    np.testing.assert_allclose(found.allocation_count, [1.0, 1.0])
    # φ_0 = (3.5, 1.5, 0.5, …)/6.5, φ_1 = (0.5, 1.5, 1.5, …)/4.5
    a, bb = 3.5 / 6.5 / (3.5 / 6.5 + 0.5 / 4.5), 1.5 / 6.5 / (1.5 / 6.5 + 1.5 / 4.5)
    np.testing.assert_allclose(found.exclusivity[0], (a + bb) / 2)


def test_without_assignments_a_document_holds_all_its_words() -> None:
    # bb stands beside a in both documents, though in the second one it belongs to topic 1
    tokens, z = corpus([(0, 0), (0, 0), (1, 0)], [(0, 0), (1, 1), (2, 1)])
    assert diagnose(tokens, z, 2, eta=0.5).coherence[0] == pytest.approx(math.log(2.5 / 2.5))
    assert diagnose(tokens, z, 2, eta=0.5, assignments=z).coherence[0] == pytest.approx(math.log(1.5 / 2.5))


def test_ties_for_the_first_topic_of_a_document_go_to_the_lower_one() -> None:
    tokens, z = corpus([(0, 1), (1, 0)])
    assert diagnose(tokens, z, 2).rank_1_docs.tolist() == [1.0, 0.0]


def test_an_empty_topic_has_no_score_and_changes_none() -> None:
    tokens, z = corpus([(0, 0), (1, 0)], [(2, 2), (1, 2)])
    found = diagnose(tokens, z, 3)
    for name in DIAGNOSTICS:
        assert np.isfinite(getattr(found, name)[[0, 2]]).all(), name
        assert getattr(found, name)[1] == 0 if name == "tokens" else np.isnan(getattr(found, name)[1]), name


@repeatable
@given(st.data())
def test_all_are_those_of_the_loops(data: st.DataObject) -> None:
    K = data.draw(st.integers(1, 4))
    token = st.tuples(st.integers(0, len(TERMS) - 1), st.integers(0, K - 1))
    documents = data.draw(st.lists(st.lists(token, max_size=8), min_size=1, max_size=7))
    alpha = data.draw(st.lists(st.sampled_from([0.1, 0.7, 3.0]), min_size=K, max_size=K))
    eta, n = data.draw(st.sampled_from([0.01, 1.0])), data.draw(st.integers(2, 6))
    assigned = data.draw(st.booleans())
    tokens, z = corpus(*documents)
    expected = by_loops(tokens, z, K, alpha, eta, n, assigned=assigned)
    found = diagnose(tokens, z, K, alpha, eta, n=n, assignments=z if assigned else None)
    for name in DIAGNOSTICS:
        np.testing.assert_allclose(getattr(found, name), expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("share", [0.01, 0.9])  # words of few documents are counted among these alone
@pytest.mark.parametrize("assigned", [True, False])
def test_many_documents(share: float, assigned: bool) -> None:
    rng = np.random.default_rng(7)
    documents = [
        [(int(v), int(k)) for v, k in rng.integers(0, [4, 2], (3, 2))] if rng.random() < share else []
        for _ in range(300)
    ]
    documents += [[(4, 1)] * 2] * 100
    tokens, z = corpus(*documents)
    expected = by_loops(tokens, z, 2, [0.1, 0.1], 0.1, 4, assigned=assigned)
    found = diagnose(tokens, z, 2, 0.1, n=4, assignments=z if assigned else None)
    for name in DIAGNOSTICS:
        np.testing.assert_allclose(getattr(found, name), expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("block", [1, 3, 7])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    documents = [[(int(v), int(k)) for v, k in rng.integers(0, [5, 3], (m, 2))] for m in (4, 0, 9, 1, 0, 0, 6)]
    tokens, z = corpus(*documents)
    whole = [diagnose(tokens, z, 3, assignments=assignments) for assignments in (z, None)]
    monkeypatch.setattr(diagnostics, "_BLOCK", block)
    for before, assignments in zip(whole, (z, None), strict=True):
        after = diagnose(tokens, z, 3, assignments=assignments)
        for name in DIAGNOSTICS:
            np.testing.assert_allclose(getattr(after, name), getattr(before, name), rtol=1e-13, err_msg=name)


def test_coherence_is_that_of_gensim() -> None:
    """gensim's u_mass is the mean over the pairs, with 1e-12 · D in place of η in the numerator and none below."""
    coherencemodel = pytest.importorskip("gensim.models.coherencemodel")
    dictionary = pytest.importorskip("gensim.corpora.dictionary")
    rng = np.random.default_rng(5)
    documents = [[(int(v), 0) for v in rng.integers(0, 5, 4)] for _ in range(30)]
    tokens, z = corpus(*documents)
    texts = [[TERMS[v] for v, _ in d] for d in documents]
    words = dictionary.Dictionary(texts)
    top = [TERMS[v] for v in np.argsort(-np.bincount(tokens.term_ids), kind="stable")]
    model = coherencemodel.CoherenceModel(
        topics=[top], corpus=[words.doc2bow(t) for t in texts], dictionary=words, coherence="u_mass", processes=1
    )
    found = diagnose(tokens, z, 1, eta=1e-9)
    assert found.coherence[0] == pytest.approx(10 * model.get_coherence(), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": -1.0}, "`eta=-1.0`"),
        ({"n": 1}, "at least 2"),
        ({"alpha": np.ones(3)}, "alpha"),
        ({"assignments": np.zeros(1, np.int32)}, "assignments"),
    ],
)
def test_what_does_not_belong_together(options: Any, message: str) -> None:
    tokens, _ = corpus([(0, 0), (1, 1)])
    counts = sparse.csr_array(np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]))
    with pytest.raises(UsageError, match=message):
        topic_diagnostics(counts, sparse.csr_array([[1, 1]]), tokens, **{"alpha": np.ones(2), "eta": 0.1, **options})
