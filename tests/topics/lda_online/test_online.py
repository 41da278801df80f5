"""LDA by variational Bayes: its kernels against scipy, fits against scikit-learn and gensim, planted topics, new documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import psi

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.platform.types import TokenTable
from nlpkit.topics.base.arguments import stream_key
from nlpkit.topics.lda import kernels
from nlpkit.topics.lda.variational import CLOSE, STEPS, Batch
from nlpkit.topics.lda_online.model import RATE, SHAPE, LdaOnlineFitter, Topics, fit_lda_online
from nlpkit.topics.lda_online.options import LdaOnlineOptions
from nlpkit.weights.dtm import count_terms
from tests.reference import variational as plain
from tests.refusals import refuses
from tests.strategies import token_table


def mixed_texts(K: int = 3, D: int = 200, seed: int = 0) -> TokenTable:
    """Texts of 5 to 40 words, each of one or two of K themes of eight words, and some empty ones."""
    rng = np.random.default_rng(seed)
    docs = []
    for d in range(D):
        themes = rng.choice(K, 1 + d % 2, replace=False)
        n = 0 if d % 50 == 7 else int(rng.integers(5, 41))
        docs.append((8 * rng.choice(themes, n) + rng.integers(0, 8, n)).tolist())
    return token_table(docs, [f"w{v}" for v in range(8 * K)])


def test_digamma_is_that_of_scipy() -> None:
    x = np.concatenate([np.geomspace(1e-8, 1e8, 20001), np.linspace(1.3, 1.6, 1001)])
    out = np.empty_like(x)
    kernels.digammas(x, out)
    np.testing.assert_allclose(out, psi(x), rtol=1e-13, atol=1e-14)


def test_the_posterior_of_a_document_is_that_of_the_plain_version() -> None:
    rng = np.random.default_rng(1)
    counts = sparse.csr_array(rng.poisson(0.7, (20, 9)).astype(np.int32))
    lam, alpha = rng.gamma(0.4, 1, (4, 9)) + 1e-3, np.array([0.02, 0.3, 1.0, 0.1])
    topics = Topics(np.ascontiguousarray(lam.T - 1e-3), 1e-3)
    batch = Batch(counts)
    words, peaks = topics.expected(batch.rows, 1)
    posterior = batch.infer(words, peaks, alpha, 1)
    expected = np.zeros((4, 9))
    expected[:, batch.rows] = batch.sums(posterior, words, 1).T
    ours = [plain.infer(row, plain.expectations(lam), alpha, STEPS, CLOSE) for row in counts.toarray()]
    np.testing.assert_allclose(posterior.gamma, [gamma for gamma, _, _ in ours], rtol=1e-8)
    np.testing.assert_allclose(expected, sum(sums for _, sums, _ in ours), rtol=1e-6, atol=1e-9)
    assert posterior.bound == pytest.approx(sum(bound for _, _, bound in ours), rel=1e-10)
    assert topics.bound(1) == pytest.approx(plain.topic_bound(lam, 1e-3), rel=1e-10)


def scikit_fit(tokens: TokenTable, K: int, options: LdaOnlineOptions, seed: int) -> Any:
    """scikit-learn's model after one pass, from the λ, the γ and in the order of documents of `fit_lda_online`."""
    from sklearn.decomposition import LatentDirichletAllocation, _lda

    counts = count_terms(tokens)
    counts = sparse.csr_array(counts[np.flatnonzero(np.diff(counts.indptr))]).astype(float)
    rng = np.random.Generator(np.random.Philox(key=stream_key(seed, "lda-online")))
    start = rng.gamma(SHAPE, 1 / RATE, (tokens.n_terms, K)).T + 1 / K
    size = options.documents_of_batch

    class FromOne(LatentDirichletAllocation):  # γ begins at 1, not at random
        def _e_step(self, X: Any, cal_sstats: bool, random_init: bool, parallel: Any = None) -> Any:
            return super()._e_step(X, cal_sstats, False, parallel)

    model = FromOne(
        K, learning_decay=options.kappa, learning_offset=options.tau0 - 1, max_doc_update_iter=STEPS, mean_change_tol=CLOSE
    )  # fmt: skip
    model._init_latent_vars(tokens.n_terms, dtype=np.float64)
    model.components_, model.exp_dirichlet_component_ = start, np.exp(_lda._dirichlet_expectation_2d(start))
    rows = np.arange(counts.shape[0]) if size is None else rng.permutation(counts.shape[0])
    for begin in range(0, len(rows), size or len(rows)):
        part = counts[rows[begin : begin + (size or len(rows))]]
        model._em_step(part, total_samples=len(rows), batch_update=size is None)
    gamma, _ = model._e_step(counts, False, False)
    return model, model._approx_bound(counts, gamma, False), counts


@pytest.mark.parametrize(
    "options", [{"batch_size": 32, "tau0": 11}, {"batch_size": 64, "kappa": 1.0}, {"batch_size": "all"}]
)
def test_a_pass_is_that_of_scikit_learn(options: dict[str, Any]) -> None:
    tokens, chosen = mixed_texts(), LdaOnlineOptions(iterations=1, start="random", **{"tau0": 2, **options})
    fit = fit_lda_online(tokens, 3, chosen, Execution(5, 2))
    model, bound, _ = scikit_fit(tokens, 3, chosen, 5)
    ours = fit.model.topic_term.toarray() + fit.model.eta
    rows = linear_sum_assignment(((ours[:, None] - model.components_) ** 2).sum(axis=2))[1]
    np.testing.assert_allclose(ours, model.components_[rows], rtol=1e-6, atol=2e-6)
    assert fit.numbers["bound"] == pytest.approx(bound, rel=1e-7)


def test_the_bound_is_that_of_gensim() -> None:
    from gensim.models import LdaModel

    tokens, K = mixed_texts(), 3
    fit = fit_lda_online(tokens, K, LdaOnlineOptions(batch_size=64, iterations=5))
    counts = count_terms(tokens)
    corpus = [
        list(zip(counts.indices[a:b].tolist(), counts.data[a:b].tolist(), strict=True))
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
        if b > a
    ]
    other = LdaModel(
        id2word=dict(enumerate(tokens.terms)), num_topics=K, alpha=fit.model.alpha, eta=fit.model.eta, dtype=np.float64, iterations=200,
        gamma_threshold=1e-6, random_state=1,
    )  # fmt: skip
    other.state.sstats = fit.model.topic_term.toarray()
    other.sync_state()
    assert fit.numbers["bound"] == pytest.approx(other.bound(corpus), rel=1e-4)
    per_word = other.log_perplexity(corpus, total_docs=len(corpus))  # log₂ of its perplexity, of which the bound is all
    assert fit.numbers["bound_per_token"] == pytest.approx(per_word, rel=1e-4)


def test_the_bound_of_the_whole_corpus_does_not_fall() -> None:
    fit = fit_lda_online(mixed_texts(), 4, LdaOnlineOptions(batch_size=0, iterations=30, tolerance=0, start="random"))
    bounds = np.array([point.bound for point in fit.trace])
    assert np.diff(bounds).min() > -1e-5  # γ ends 1e-3 away from where it would go
    assert fit.numbers["bound_per_token"] >= bounds[-1] - 1e-6
    assert fit_lda_online(mixed_texts(), 4, LdaOnlineOptions(batch_size="all")).numbers["converged"]


@pytest.mark.parametrize("batch_size", [50, "all"])
def test_planted_topics_come_back(batch_size: int | str) -> None:
    tokens = mixed_texts()
    fit = fit_lda_online(tokens, 3, LdaOnlineOptions(batch_size=batch_size), Execution(1, 1))
    best = np.argsort(-fit.model.phi, axis=1)[:, :8]
    assert sorted(sorted(row.tolist()) for row in best) == [list(range(8 * k, 8 * k + 8)) for k in range(3)]
    lengths = np.diff(tokens.offsets)
    np.testing.assert_allclose(np.asarray(fit.doc_topic.sum(axis=1)).ravel(), lengths, atol=1e-4)
    assert fit.model.topic_term.sum() == pytest.approx(lengths.sum(), rel=0.05)


def test_new_documents_have_the_topics_of_the_fit() -> None:
    tokens = mixed_texts()
    fit = fit_lda_online(tokens, 3, LdaOnlineOptions(batch_size=50))
    model, infer = LdaOnlineFitter(LdaOnlineOptions()).inference(fit, 0, 2)
    assert model is fit.model
    theta = infer(tokens.offsets, tokens.term_ids)
    counts = fit.doc_topic.toarray() + model.alpha
    np.testing.assert_allclose(theta, counts / counts.sum(axis=1, keepdims=True), atol=1e-3)
    np.testing.assert_array_equal(infer(tokens.offsets[20:31], tokens.term_ids), theta[20:30])


def test_the_seed_decides_and_threads_do_not() -> None:
    tokens = mixed_texts()
    one, same, other = (
        fit_lda_online(tokens, 4, LdaOnlineOptions(batch_size=100, iterations=3), Execution(seed, threads)).model.phi
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_small_priors_leave_no_word_without_a_topic() -> None:
    """exp ψ(x) of x = 1e-4 is 0."""
    fit = fit_lda_online(mixed_texts(), 5, LdaOnlineOptions(alpha=1e-4, eta=1e-4, batch_size=20, iterations=4))
    assert np.isfinite(fit.numbers["bound"])
    np.testing.assert_allclose(fit.model.phi.sum(axis=1), 1)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_lda_online(token_table([[]], ["a"]), 2)
    for name, value in (("alpha", 0.0), ("eta", -1.0), ("kappa", 0.5), ("tau0", 0.5), ("batch_size", "some")):
        with refuses(name):
            LdaOnlineOptions(**{name: value})
    with refuses("k"):
        fit_lda_online(token_table([[0]], ["a"]), 2)
