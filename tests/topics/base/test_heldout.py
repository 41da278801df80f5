"""Perplexity: by hand, against a dense sum, unigrams at K = 1; halves and held-out documents drawn the same again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlpkit.errors import InputError, UsageError
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base import heldout
from nlpkit.topics.base.heldout import hold_out, in_sample_perplexity, infer_topics, perplexity, split_documents
from nlpkit.topics.base.model import MixtureModel
from nlpkit.topics.lda.sampler import GibbsSampler
from tests.reference import gibbs_infer as plain
from tests.refusals import refuses
from tests.strategies import planted, repeatable, token_table


def random_model(seed: int, K: int, V: int) -> MixtureModel:
    rng = np.random.default_rng(seed)
    counts = sparse.csr_array(rng.poisson(1.0, (K, V)).astype(np.int32))
    return MixtureModel(tuple(f"w{v}" for v in range(V)), counts, rng.gamma(1.0, 0.5, K) + 0.05, 0.2)


def random_tokens(seed: int, n_docs: int, V: int, longest: int = 12) -> TokenTable:
    rng = np.random.default_rng(seed)
    documents = [rng.integers(0, V, n) for n in rng.integers(0, longest + 1, n_docs)]
    return token_table(documents, [f"w{v}" for v in range(V)])


def documents_of(tokens: TokenTable) -> list[list[int]]:
    return [tokens.term_ids[a:b].tolist() for a, b in pairwise(tokens.offsets)]


def test_in_sample_by_hand() -> None:
    # phi (3 + 1)/(4 + 2), 2/6 | 1/5, 4/5; theta (2 + 1)/(3 + 2), 2/5 | (1 + 1)/4, 2/4
    model = MixtureModel(("a", "b"), sparse.csr_array(np.array([[3, 1], [0, 3]])), np.ones(2), 1.0)
    doc_topic = sparse.csr_array(np.array([[2, 1], [1, 1]]))
    p = [0.6 * 4 / 6 + 0.4 / 5, 0.6 * 2 / 6 + 0.4 * 4 / 5, 0.5 * 4 / 6 + 0.5 / 5]
    expected = (p[0] ** 2 * p[1] * p[2] ** 2) ** (-1 / 5)
    tokens = token_table([[0, 1, 0], [0, 0]], ["a", "b"])
    assert in_sample_perplexity(model, doc_topic, tokens) == pytest.approx(expected, rel=1e-12)
    dtm = sparse.csr_array(np.array([[2, 1], [2, 0]], np.int32))
    assert in_sample_perplexity(model, doc_topic, dtm) == pytest.approx(expected, rel=1e-12)


def test_completion_of_one_token_by_hand() -> None:
    # p(z = 0 | "a") = 0.5 · 2/3 / (0.5 · 2/3 + 1.5 · 1/4) = 8/17, theta = (8/17 + 0.5)/3; scored is the other "a"
    model = MixtureModel(("a", "b"), sparse.csr_array(np.array([[3, 1], [0, 2]])), np.array([0.5, 1.5]), 1.0)
    found = perplexity(model, token_table([[0, 0], [1], []], ["a", "b"]), seed=3)
    theta = (8 / 17 + 0.5) / 3
    p = theta * 4 / 6 + (1 - theta) / 4
    assert found.perplexity == pytest.approx(1 / p, rel=1e-6)
    assert found.log_likelihood_per_token == pytest.approx(np.log(p), rel=1e-6)
    assert (found.n_docs, found.n_tokens, found.n_short, found.n_unknown) == (1, 1, 2, 0)


@pytest.mark.parametrize("method", ["completion", "left-to-right"])
def test_one_topic_is_the_unigram_model(method: heldout.Method) -> None:
    model, tokens = random_model(1, 1, 9), random_tokens(2, 40, 9)
    found = perplexity(model, tokens, seed=1, method=method, particles=2)
    kept, scored = split_documents(tokens, 1)
    term_ids = scored.term_ids if method == "completion" else tokens.term_ids
    assert kept.n_docs < tokens.n_docs
    mean = np.log(model.phi_of(term_ids)[0]).mean()
    assert found.log_likelihood_per_token == pytest.approx(mean, rel=1e-6)
    assert found.n_tokens == len(term_ids)


def test_completion_is_a_dense_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heldout, "BLOCK", 7)
    model, tokens = random_model(3, 5, 30), random_tokens(4, 60, 30)
    observed, scored = split_documents(tokens, 9)
    theta = infer_topics(model, observed.offsets, observed.term_ids, seed=9, sweeps=30, chains=2)
    logs = plain.log_probs(theta.tolist(), documents_of(scored), model.phi_of(np.arange(30)).tolist())
    found = perplexity(model, tokens, seed=9, sweeps=30, chains=2)
    assert found.perplexity == pytest.approx(np.exp(-np.mean(logs)), rel=1e-9)
    assert found == perplexity(model, tokens, seed=9, sweeps=30, chains=2, threads=3)
    assert found != perplexity(model, tokens, seed=8, sweeps=30, chains=2)


def test_left_to_right_is_near_the_exact_probability() -> None:
    model, tokens = random_model(5, 3, 6), random_tokens(6, 30, 6, longest=6)
    phi = model.phi_of(np.arange(6)).tolist()
    exact = sum(plain.exactly(words, phi, model.alpha.tolist())[0] for words in documents_of(tokens))
    found = perplexity(model, tokens, seed=1, method="left-to-right", particles=300)
    assert found.log_likelihood_per_token == pytest.approx(exact / len(tokens.term_ids), abs=0.005)
    assert found == perplexity(model, tokens, seed=1, method="left-to-right", particles=300, threads=2)


def test_in_sample_is_a_dense_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heldout, "BLOCK", 7)
    tokens = random_tokens(7, 50, 20)
    sampler = GibbsSampler(tokens, n_topics=4, alpha=0.3, eta=0.2, seed=1)
    sampler.run(10)
    model = MixtureModel(tokens.terms, sampler.topic_term(), sampler.alpha, sampler.eta)
    theta = sampler.doc_topic().toarray() + 0.3
    theta /= theta.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(50), np.diff(tokens.offsets))
    counts = np.zeros((50, 20))
    np.add.at(counts, (rows, tokens.term_ids), 1)
    expected = np.exp(-(counts * np.log(theta @ model.phi_of(np.arange(20)))).sum() / counts.sum())
    for documents in (tokens, sparse.csr_array(counts)):
        assert in_sample_perplexity(model, sampler.doc_topic(), documents) == pytest.approx(expected, rel=1e-12)


def test_a_fitted_model_predicts_better_than_unigrams() -> None:
    corpus = planted([60, 50, 40], seed=1)
    mask = hold_out(150, 0.2, seed=1)
    rows = np.arange(150)
    documents = documents_of(corpus.tokens)
    train, test = (token_table([documents[d] for d in rows[m]], list(corpus.tokens.terms)) for m in (~mask, mask))
    sampler = GibbsSampler(train, n_topics=3, alpha=0.2, eta=0.1, seed=2)
    sampler.run(100)
    model = MixtureModel(train.terms, sampler.topic_term(), sampler.alpha, sampler.eta)
    one = MixtureModel(train.terms, sparse.csr_array(model.topic_term.sum(axis=0)[None, :]), np.ones(1), 0.1)
    for method in ("completion", "left-to-right"):
        found, unigram = (perplexity(m, test, seed=1, method=method) for m in (model, one))
        # a document has words of its 12 and the 20 of all, not of all 56
        assert found.perplexity < 0.75 * unigram.perplexity
        assert found.n_docs == 30


def test_words_are_matched_by_name_and_unknown_ones_counted() -> None:
    model, tokens = random_model(8, 3, 8), random_tokens(9, 30, 8)
    order = np.random.default_rng(0).permutation(8)
    terms = np.array(tokens.terms)[order].tolist()
    renamed = token_table([np.argsort(order)[words] for words in documents_of(tokens)], terms)
    assert perplexity(model, renamed, seed=1) == perplexity(model, tokens, seed=1)
    more = token_table([[*words, 8] for words in documents_of(tokens)], [*tokens.terms, "new"])
    found, before = (perplexity(model, t, seed=1) for t in (more, tokens))
    assert found.n_unknown == 30
    assert found.perplexity == before.perplexity


@repeatable
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_halves_of_documents(seed: int, n_docs: int) -> None:
    tokens = random_tokens(seed, n_docs, 6)
    observed, scored = split_documents(tokens, seed)
    whole = [words for words in documents_of(tokens) if len(words) > 1]
    halves = list(zip(documents_of(observed), documents_of(scored), strict=True))
    assert [len(a) - len(b) for a, b in halves] == [len(words) % 2 for words in whole]
    assert [sorted(a + b) for a, b in halves] == [sorted(words) for words in whole]


def test_every_token_is_scored_as_often() -> None:
    tokens = token_table([list(range(7))], [f"w{v}" for v in range(7)])
    times = np.zeros(7)
    for seed in range(2000):
        times[split_documents(tokens, seed)[1].term_ids] += 1
    assert times.sum() == 3 * 2000
    assert np.abs(times - 2000 * 3 / 7).max() < 4 * np.sqrt(2000 * 3 / 7 * 4 / 7)


def test_hold_out() -> None:
    mask = hold_out(1000, 0.1, seed=1)
    assert mask.sum() == 100
    assert np.array_equal(mask, hold_out(1000, 0.1, seed=1))
    assert 1 <= (mask & hold_out(1000, 0.1, seed=2)).sum() <= 30
    assert not (mask & ~hold_out(1000, 0.3, seed=1)).any()  # a larger share holds the smaller one
    assert [hold_out(7, share, seed=1).sum() for share in (0, 0.5, 1)] == [0, round(3.5), 7]
    assert len(hold_out(0, 0.5, seed=1)) == 0
    with refuses("share"):
        hold_out(10, 1.5, seed=1)


def test_bad_input() -> None:
    model, tokens = random_model(1, 2, 5), random_tokens(1, 10, 5)
    options: dict[str, Any]
    for options in ({"method": "bound"}, {"method": "left-to-right", "particles": 0}, {"sweeps": 0}, {"chains": 0}):
        with pytest.raises(UsageError, match=str(next(reversed(options.values())))):
            perplexity(model, tokens, seed=1, **options)
    with pytest.raises(InputError):
        perplexity(model, token_table([[0, 0], [0, 1]], ["?", "w1"]), seed=1)
    with pytest.raises(InputError):
        perplexity(model, token_table([[], []], ["w1"]), seed=1)
    doc_topic = sparse.csr_array(np.ones((10, 2)))
    with pytest.raises(InputError):
        in_sample_perplexity(model, doc_topic, random_tokens(1, 9, 5))
    with pytest.raises(InputError):
        in_sample_perplexity(model, doc_topic, token_table([[]] * 10, list(model.terms)))
