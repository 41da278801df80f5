"""The hierarchical Dirichlet process: its sweep by gamma functions, its posterior by enumeration, planted topics, tomotopy."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.by_term import words_of
from nlpkit.topics.base.heldout import infer_topics, perplexity
from nlpkit.topics.base.model import MixtureModel, select_documents
from nlpkit.topics.hdp import kernels as kernel
from nlpkit.topics.hdp import model as hdp
from nlpkit.topics.hdp.model import fit_hdp
from nlpkit.topics.hdp.options import HdpOptions
from tests.reference import hdp as plain
from tests.refusals import refuses
from tests.strategies import token_table


def planted(K: int, D: int = 400, V: int = 200, N: int = 60, seed: int = 0) -> tuple[TokenTable, Any]:
    """Documents of LDA with K sparse topics, and phi (K, V)."""
    rng = np.random.default_rng(seed)
    phi, theta = rng.dirichlet(np.full(V, 0.05), K), rng.dirichlet(np.full(K, 0.1), D)
    docs = [[int(rng.choice(V, p=phi[k])) for k in rng.choice(K, N, p=row)] for row in theta]
    return token_table(docs, [f"w{v}" for v in range(V)]), phi


@pytest.mark.parametrize("start", ["placed", "nowhere"])
def test_a_sweep_is_that_of_the_plain_version(start: str) -> None:
    rng, V, C, eta = np.random.default_rng(4), 6, 64, 0.2
    tokens = token_table([rng.integers(0, V, n).tolist() for n in (9, 0, 14, 1, 6)], [f"w{v}" for v in range(V)])
    docs = np.repeat(np.arange(5), np.diff(tokens.offsets))
    z = rng.integers(0, 3, len(docs)).astype(np.int32) if start == "placed" else np.full(len(docs), -1, np.int32)
    K = 3 if start == "placed" else 0
    beta = np.zeros(C + 1)
    beta[[*range(K), C]] = 1 / (K + 1)
    n_vk = np.zeros((V, C), np.int32)
    np.add.at(n_vk, (tokens.term_ids[z >= 0], z[z >= 0]), 1)
    n_k = n_vk.sum(axis=0, dtype=np.int64)
    topics = kernel.Topics(n_k, n_vk, beta[:C].copy(), 1 / (n_k + V * eta), beta[C:].copy())
    scratch = kernel.Scratch(np.zeros(C, np.int64), np.zeros(C), np.zeros(C), np.zeros(C // kernel.BLOCK))
    expected, shares = plain.sweep(docs, tokens.term_ids, z, beta, 1.5, 2.0, eta, V, 11)
    with np.errstate(over="ignore"):
        done = kernel.sweep(
            tokens.offsets, tokens.term_ids, z, 0, 0, K, topics, scratch, 1.5, 2.0, eta, np.uint64(11), False
        )
    assert done[:2] == (5, len(docs))
    np.testing.assert_array_equal(z, expected)
    np.testing.assert_allclose([*topics.beta, *topics.rest], shares, atol=1e-12)
    np.testing.assert_array_equal(n_k, np.bincount(z, minlength=C))
    assert n_vk.sum() == len(z)
    assert not scratch.n_dk.any()
    np.testing.assert_allclose(
        kernel.log_likelihood(n_k, n_vk, eta), plain.log_words(tokens.term_ids, z, eta, V), rtol=1e-9
    )


def test_states_are_as_frequent_as_enumeration_says() -> None:
    """All seatings of two documents of two and three tokens: births, shares and tables together."""
    documents = [[0, 1], [0, 0, 1]]
    exact = plain.posterior(documents, 0.8, 1.5, 0.3, 2)
    options = HdpOptions(alpha=0.8, gamma=1.5, eta=0.3, initial_topics=1)
    state = hdp._State(token_table(documents, ["a", "b"]), options, 3)
    seen: Counter[tuple[int, ...]] = Counter()
    for n in range(6000):
        state.sweep(n)
        first: dict[int, int] = {}
        seen[tuple(first.setdefault(k, len(first)) for k in state.z.tolist())] += 1
    assert set(seen) <= set(exact)
    distance = sum(abs(p - seen[z] / 6000) for z, p in exact.items()) / 2
    assert distance < 0.05  # of 52 divisions; that of independent draws is about 0.025


@pytest.mark.parametrize("alpha", [0.3, 4.0])
def test_tables_have_antoniaks_mean(alpha: float) -> None:
    z, beta = np.array([0] * 12 + [1] + [0] * 3, np.int32), np.array([0.6, 0.3])
    offsets, drawn = np.array([0, 13, 16]), np.zeros(2)
    for key in range(3000):
        m_k = np.zeros(2, np.int64)
        with np.errstate(over="ignore"):
            kernel.tables(offsets, z, beta, alpha, np.uint64(key), np.zeros(2, np.int64), m_k)
        drawn += m_k
    a = alpha * 0.6
    mean = sum(a / (a + j) for n in (12, 3) for j in range(n))
    np.testing.assert_allclose(drawn / 3000, [mean, 1], rtol=0.03)


def test_concentrations_have_their_posterior() -> None:
    """Means of long chains with the tables as they are, against integrals of Teh et al.'s appendix A on a grid."""
    tokens, _ = planted(5, D=40, N=20)
    state = hdp._State(tokens, HdpOptions(initial_topics=7), 1)
    state.m_k = np.zeros(hdp.STEP, np.int64)
    state.m_k[:7] = [40, 30, 9, 8, 2, 1, 1]
    draws = []
    for _ in range(4000):
        state._draw_concentrations()
        draws.append((state.gamma, state.alpha))
    grid = np.linspace(1e-3, 60, 60_000)
    gamma = -0.1 * grid + 7 * np.log(grid) + gammaln(grid) - gammaln(grid + 91)
    alpha = -grid + 91 * np.log(grid) + 40 * (gammaln(grid) - gammaln(grid + 20))
    for logs, got in ((gamma, [g for g, _ in draws]), (alpha, [a for _, a in draws])):
        p = np.exp(logs - logs.max())
        assert np.isclose(np.mean(got), (grid * p).sum() / p.sum(), rtol=0.04)


SLOW = pytest.mark.slow  # other draws for the same


@pytest.mark.parametrize(
    ("K", "start", "seed"),
    [(4, 100, 1), (10, 30, 2), pytest.param(4, 100, 2, marks=SLOW), pytest.param(10, 30, 1, marks=SLOW)],
)
def test_a_planted_number_of_topics_comes_back(K: int, start: int, seed: int) -> None:
    tokens, phi = planted(K)
    fit = fit_hdp(tokens, HdpOptions(iterations=120, initial_topics=start), Execution(seed))
    assert fit.model.n_topics == K
    distance = np.abs(fit.model.phi[:, None] - phi).sum(axis=2) / 2
    assert sorted(distance.argmin(axis=1)) == list(range(K))
    assert distance.min(axis=1).max() < 0.12
    assert [point.sweep for point in fit.trace] == list(range(1, 121))
    sizes = np.asarray(fit.doc_topic.sum(axis=0)).ravel()
    np.testing.assert_array_equal(np.bincount(fit.assignments, minlength=K), sizes)


def test_held_out_words_are_as_probable_as_under_tomotopy() -> None:
    """tomotopy's Chinese restaurant franchise on the same tokens; both infer topics of the held-out halves in the same way."""
    tomotopy = pytest.importorskip("tomotopy")
    tokens, _ = planted(6, D=330)
    train, test = select_documents(tokens, np.arange(300)), select_documents(tokens, np.arange(300, 330))
    ours = fit_hdp(train, HdpOptions(iterations=150), Execution(1)).model
    peer = tomotopy.HDPModel(initial_k=20, alpha=0.1, gamma=0.1, eta=0.1, seed=1)
    for d in range(300):
        peer.add_doc([f"w{v}" for v in train.term_ids[train.offsets[d] : train.offsets[d + 1]]])
    peer.train(150, workers=1)
    n_kv = np.zeros((peer.k, tokens.n_terms), np.int32)
    place = np.array([int(word[1:]) for word in peer.used_vocabs])
    for document in peer.docs:
        np.add.at(n_kv, (document.topics, place[np.array(document.words)]), 1)
    n_kv = n_kv[n_kv.sum(axis=1) > 0]
    theirs = MixtureModel(tokens.terms, sparse.csr_array(n_kv), ours.alpha.sum() * n_kv.sum(axis=1) / n_kv.sum(), 0.1)
    scores = [
        perplexity(model, test, seed=1, infer=partial(infer_topics, words_of(model), seed=1)).perplexity
        for model in (ours, theirs)
    ]
    assert scores[0] < 1.02 * scores[1]
    assert ours.n_topics == 6 <= len(n_kv)  # tomotopy keeps topics of a few tokens; from 2 topics on it stays at 2


def test_small_topics_are_left_out_and_counted() -> None:
    tokens, _ = planted(6, D=80)
    everything, large = (
        fit_hdp(tokens, HdpOptions(iterations=5, min_share=share), Execution(1)) for share in (0.0, 0.05)
    )
    assert everything.numbers["topics_left_out"] == everything.numbers["tokens_moved"] == 0
    assert everything.model.n_topics == everything.trace[-1].topics
    assert large.model.n_topics == everything.model.n_topics - large.numbers["topics_left_out"]
    n_k = everything.model.topic_totals
    assert large.numbers["tokens_moved"] == n_k[n_k < 0.05 * len(tokens.term_ids)].sum() > 0
    assert large.model.topic_totals.sum() == len(tokens.term_ids)
    assert fit_hdp(tokens, HdpOptions(iterations=2, min_share=1.0)).model.n_topics == 1
    assert (large.model.alpha > 0).all()


def test_more_topics_than_slots() -> None:
    """Every token has a word of its own and topics are very pure: more topics begin than there were slots."""
    tokens = token_table([[v] for v in range(150)], [f"w{v}" for v in range(150)])
    options = HdpOptions(alpha=50.0, gamma=500.0, eta=1e-6, iterations=3, initial_topics=1, min_share=0)
    fit = fit_hdp(tokens, options)
    assert fit.model.n_topics > hdp.STEP
    assert fit.model.topic_totals.sum() == 150


def test_the_seed_decides_and_threads_do_not() -> None:
    tokens, _ = planted(4, D=60)
    a, b, c = (
        fit_hdp(tokens, HdpOptions(iterations=10), Execution(seed, threads))
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    np.testing.assert_array_equal(a.assignments, b.assignments)
    np.testing.assert_array_equal(a.model.alpha, b.model.alpha)
    assert a.trace == b.trace != c.trace


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_hdp(token_table([[]], ["a"]))
    for name in ("alpha", "gamma", "eta"):
        with refuses(name):
            HdpOptions(**{name: 0.0})
