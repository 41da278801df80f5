"""Numbers of R itself: stm 1.3.7, lda 1.4.2, ldaPrototype 0.3.1, rollinglda 0.1.3, tosca 0.3-4 under R 4.2.2.

They lie in r_reference beside the public corpora, with a README that tells how each was made.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from nlpkit.metrics.topics.significance import frex, frex_exclusivity, semantic_coherence, top_words
from nlpkit.metrics.topics.stability import pairwise_sclop, prune_topics
from nlpkit.platform.options import Execution
from nlpkit.platform.types import CsrMatrix, FloatArray
from nlpkit.topics.base.heldout import dirichlet_multinomial
from nlpkit.topics.base.prototype import choose_prototype, cosine, jaccard, jensen_shannon, rank_biased_overlap
from nlpkit.topics.effects.design import fit_design
from nlpkit.topics.effects.formula import parse_formula
from nlpkit.topics.effects.regression import compared_rows, regress_draws
from nlpkit.topics.lda.fit import fit_lda
from nlpkit.topics.lda.options import LdaOptions
from nlpkit.topics.lda.priors import residual_dispersion
from nlpkit.topics.over_time.prevalence import Membership, correlations
from nlpkit.topics.rolling.options import RollingOptions
from nlpkit.topics.rolling.plan import fit_rolling
from nlpkit.topics.stm import content_kernels as poisson_lasso
from nlpkit.topics.stm.content import PATH
from nlpkit.topics.stm.fit import StmFit, fit_stm
from nlpkit.topics.stm.model import Prior, StmModel, as_counts, draw_thetas, infer_posteriors, softmax
from nlpkit.topics.stm.options import StmOptions
from nlpkit.topics.stm.start import anchor_sets, anchor_start, anchor_terms, recovered
from nlpkit.weights.ctfidf import importance
from nlpkit.weights.dtm import count_terms
from tests.peer_data import PEER_DATA
from tests.strategies import token_table
from tests.topics.rolling.test_rolling import Corpus

FIT, SCORES, PROTOTYPE = "stm_gadarian_fit", "stm_gadarian_scores", "ldaprototype"
MEASURES = {
    "jaccard": jaccard,
    "jaccard_abs5_atleast5": lambda counts: jaccard(counts, limit_abs=5, at_least=5),
    "cosine": cosine,
    "jensen_shannon": jensen_shannon,
    "rbo_12_09": lambda counts: rank_biased_overlap(counts, depth=12, p=0.9),
}


def of_r(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.peer_data(*(f"r_reference/{name}.json" for name in names))


@cache
def read(name: str) -> Any:
    return json.loads((PEER_DATA / "r_reference" / f"{name}.json").read_text(encoding="utf-8"))


def survey() -> tuple[CsrMatrix, FloatArray, dict[str, FloatArray]]:
    """Counts of gadarian, the start of R's fit, and the covariates."""
    data = read(FIT)
    dense = np.zeros((len(data["documents"]), data["n_terms"]))
    for row, document in zip(dense, data["documents"], strict=True):
        terms, counts = (np.atleast_1d(each) for each in document)
        row[terms - 1] = counts
    start = np.array(data["start_beta"])
    covariates = {name: np.array(data[name], float) for name in ("treatment", "pid_rep")}
    return as_counts(sparse.csr_array(dense)), start / start.sum(axis=1, keepdims=True), covariates


def of_survey(counts: CsrMatrix) -> Any:
    docs = [
        np.repeat(row.indices, row.data.astype(int)).tolist() for row in (counts[[d]] for d in range(counts.shape[0]))
    ]
    return token_table(docs, [f"w{v}" for v in range(counts.shape[1])])


@cache
def fitted() -> tuple[StmFit, StmModel]:
    """The fit from R's start, and its model with the topics in R's order."""
    counts, start, covariates = survey()
    X = fit_design(parse_formula("treatment*s(pid_rep)"), covariates).matrix(covariates)
    fit = fit_stm(of_survey(counts), 3, StmOptions(), X=X, phi=start)
    likeness = np.sqrt(start) @ np.sqrt(fit.model.phi).T
    return fit, fit.model.renumbered(likeness.argmax(axis=1))


@of_r(FIT)
def test_stm_takes_the_steps_of_r() -> None:
    fit, model = fitted()
    data, n_tokens = read(FIT), survey()[0].sum()
    assert len(fit.trace) == len(data["bound"]) == 339
    np.testing.assert_allclose([point.bound * n_tokens for point in fit.trace], data["bound"], rtol=1e-5)
    assert fit.bound == pytest.approx(data["bound"][-1], rel=5e-7)
    np.testing.assert_allclose(model.eta, data["eta"], atol=0.01)
    np.testing.assert_allclose(softmax(model.eta), softmax(np.array(data["eta"])), atol=0.001)
    np.testing.assert_allclose(model.prior.covariance, data["sigma"], rtol=5e-4)
    np.testing.assert_allclose(model.gamma, data["gamma"], atol=6e-4)


@of_r(FIT, SCORES)
def test_scores_of_stm() -> None:
    _, model = fitted()
    counts = survey()[0]
    data, phi = read(SCORES), model.phi
    for row, terms, weights in zip(phi, data["top20_terms_1based"], data["beta_of_top20"], strict=True):
        assert np.argsort(-row, kind="stable")[:20].tolist() == [term - 1 for term in terms]
        np.testing.assert_allclose(np.sort(row)[::-1][:20], weights, rtol=1e-3)
    np.testing.assert_allclose(semantic_coherence(top_words(phi, 10), counts), data["semanticCoherence"], atol=1e-9)
    np.testing.assert_allclose(frex_exclusivity(phi), data["exclusivity"], atol=0.01)
    theta = Membership(sparse.csr_array(softmax(np.array(read(FIT)["eta"]))), np.zeros(counts.shape[0], bool))
    np.testing.assert_allclose(correlations(theta), data["topicCorr"], atol=1e-6)
    residuals = residual_dispersion(counts, lambda rows: theta.weights[rows].toarray(), phi, as_stm=True)
    assert residuals.dispersion == pytest.approx(data["checkResiduals"]["dispersion"], rel=1e-3)
    assert residuals.degrees == pytest.approx(data["checkResiduals"]["df"], abs=20)


@of_r(FIT)
def test_scores_of_stm_on_the_same_words() -> None:
    """semanticCoherence, exclusivity and calcfrex (with word counts, as labelTopics calls it) of R, of the start of the fit."""
    counts, start, _ = survey()
    coherence = [-99.1185920044281, -125.7841296168632, -104.3305405364312]
    np.testing.assert_allclose(semantic_coherence(top_words(start, 10), counts), coherence, rtol=1e-12)
    np.testing.assert_allclose(
        frex_exclusivity(start), [9.71021137792571, 9.27165353247116, 8.29330403259632], rtol=1e-12
    )
    words = [
        [497, 45, 1079, 713, 174, 334, 225, 840, 593, 718],
        [846, 1069, 757, 44, 270, 320, 337, 628, 114, 182],
        [431, 669, 598, 883, 340, 858, 899, 417, 351, 88],
    ]
    assert top_words(frex(start, cf=np.asarray(counts.sum(axis=0)).ravel()), 10).tolist() == words


@of_r(FIT, SCORES)
def test_words_by_frex_of_stm() -> None:
    """labelTopics of the fit: all of its FREX words that have a number there (those that are among the most probable)."""
    _, model = fitted()
    data = read(SCORES)
    number = {
        w: t - 1
        for row in zip(data["vocab_of_top"], data["top20_terms_1based"], strict=True)
        for w, t in zip(*row, strict=True)
    }
    ours = top_words(frex(model.phi, cf=np.asarray(survey()[0].sum(axis=0)).ravel()), 10)
    for words, row in zip(data["frex10"], ours.tolist(), strict=True):
        known = [number[word] for word in words if word in number]
        assert len(known) >= 5
        assert [v for v in row if v in known] == known


@of_r(FIT, SCORES)
def test_new_documents_of_stm() -> None:
    """fitNewDocuments of the first 40 documents, with the average prior and with the one of their covariates."""
    _, model = fitted()
    counts = as_counts(survey()[0][:40])
    priors = {"average": model.average_prior(), "covariate": Prior(model.prior.mean[:40], model.prior.covariance)}
    for name, prior in priors.items():
        theta = softmax(infer_posteriors(counts, model.phi, prior).eta)
        np.testing.assert_allclose(theta, read(SCORES)[f"fitNewDocuments_{name}_first40"], atol=1e-3)


@of_r(FIT, SCORES)
def test_effects_of_stm() -> None:
    """Estimates agree within the draws; standard errors are up to 16 % larger, as γ is drawn too and variances may differ."""
    _, model = fitted()
    *_, covariates = survey()
    design = fit_design(parse_formula("treatment*pid_rep"), covariates)
    of_fit = fit_design(parse_formula("treatment*s(pid_rep)"), covariates).matrix(covariates)
    draws = draw_thetas(model.eta, model.noise, model.prior.covariance, of_fit, np.random.default_rng(0), 200)
    effects = regress_draws(draws, design.matrix(covariates), tuple(design.names))
    for k, row in enumerate(read(SCORES)["estimateEffect_Global"]):
        estimate, errors = np.array(row["estimate"]), np.array(row["std_error"])
        assert (np.abs(effects.coefficients[k] - estimate) < errors / 4).all()
        ratio = effects.errors[k] / errors
        assert 0.9 < ratio.min() < ratio.max() < 1.3


@of_r(FIT, SCORES)
def test_the_effect_of_the_treatment_by_lda() -> None:
    """LDA knows no treatment, and has other topics (likeness 0.6 to 0.75); the one most like R's first has its effect, with its sign."""
    _, model = fitted()
    counts, _, covariates = survey()
    design = fit_design(parse_formula("treatment*pid_rep"), covariates)
    pair = compared_rows(design, "treatment", "1", "0")
    expected = np.subtract(*pair) @ np.array(read(SCORES)["estimateEffect_Global"][0]["estimate"])
    assert 0.05 < expected < 0.1
    for seed in range(3):
        fit = fit_lda(of_survey(counts), LdaOptions(3, sweeps=500), Execution(seed))
        shape = fit.doc_topic.toarray() + fit.model.alpha
        rng = np.random.default_rng(seed)
        drawn = (rng.standard_gamma(shape) for _ in range(25))
        draws = (each / each.sum(axis=1, keepdims=True) for each in drawn)
        effects = regress_draws(draws, design.matrix(covariates), tuple(design.names))
        k = int((np.sqrt(model.phi[0]) @ np.sqrt(fit.model.phi).T).argmax())
        difference = effects.between(pair[:1], pair[1:])
        assert 0.05 < difference.low[0, k] < difference.mean[0, k] < 0.3


@of_r(FIT)
def test_anchors_of_stm() -> None:
    """R's anchors are three words that occur once, and most weights do not converge: the start of short answers is arbitrary."""
    counts = survey()[0]
    terms = anchor_terms(counts, 3)
    _, anchor = next(anchor_sets(terms, 3))
    assert terms.frequency[anchor].tolist() == [1, 1, 1]
    assert anchor_start(counts, 3).arbitrary > 0.5 * len(terms.ids)
    assert recovered(terms, anchor, exact=True).arbitrary == 0


@of_r("stm_mnreg")
def test_words_at_levels_of_stm() -> None:
    """One M-step of mnreg. glmnet ends its path early, so a few deviations near 0 differ; the criterion is lower here."""
    data = read("stm_mnreg")
    counts = np.array(data["counts"])  # level, topic, term
    A, K, V = counts.shape
    best = poisson_lasso.Effects(np.zeros((V, K)), np.zeros((V, A)), np.zeros((V, A * K)))
    cells, totals = np.ascontiguousarray(counts.reshape(A * K, V).T), np.array(data["totals"]).ravel()
    baseline = np.exp(np.array(data["log_share"]))
    poisson_lasso.fit_terms(cells, baseline, totals, PATH, 0, V, best)
    ours, kappa = np.vstack([best.topic.T, best.level.T, best.cell.T]), np.array(data["kappa"])
    assert ((ours != 0) == (kappa != 0)).mean() > 0.95

    def criterion(kappa: FloatArray) -> float:
        effects = np.tile(kappa[:K], (A, 1)) + np.repeat(kappa[K : K + A], K, axis=0) + kappa[K + A :]
        log_rate = np.log(totals)[:, None] + np.log(baseline) + effects
        return float(2 * (np.exp(log_rate) - cells.T * log_rate).sum() + 2 * np.count_nonzero(kappa))

    assert criterion(ours) < criterion(kappa) + 1


@of_r(PROTOTYPE)
@pytest.mark.parametrize("name", MEASURES)
def test_ldaprototype(name: str) -> None:
    data = read(PROTOTYPE)
    runs, wanted = [sparse.csr_array(np.array(run)) for run in data["topics"]], data[name]
    sizes = [run.shape[0] for run in runs]
    similarity = MEASURES[name](sparse.csr_array(sparse.vstack(runs)))
    N = len(similarity)
    lower = [similarity[i, j] for j in range(N) for i in range(j + 1, N)]
    np.testing.assert_allclose(lower, wanted["similarity_lower"], atol=1e-11)
    pairs = np.array(wanted["sclop_pairwise"], float)
    np.testing.assert_allclose(pairwise_sclop(similarity, sizes), pairs, atol=1e-12)
    pruning = prune_topics(similarity, sizes)
    assert pruning.sclop == pytest.approx(wanted["sclop"], abs=1e-12)
    found: dict[int, set[str]] = {}
    for i, group in enumerate(pruning.groups.tolist()):
        found.setdefault(group, set()).add(f"LDARep{i // data['K'] + 1}.{i % data['K'] + 1}")
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, wanted["clusters"]))
    if name == "jaccard":
        assert choose_prototype(runs).run == data["prototype_1based"] - 1


@of_r(PROTOTYPE)
def test_lda_log_likelihoods_and_importance() -> None:
    data = read(PROTOTYPE)["lda"]
    topics, documents = (sparse.csr_array(np.array(data[name])) for name in ("topics", "document_sums"))
    words = dirichlet_multinomial(topics, data["eta"])
    assert words == pytest.approx(data["log_likelihood_words"], rel=1e-12)
    joint = words + dirichlet_multinomial(sparse.csr_array(documents.T), data["alpha"])
    assert joint == pytest.approx(data["log_likelihood_joint"], rel=1e-12)
    np.testing.assert_allclose(importance(topics).toarray()[:, :6], data["importance_top"], atol=1e-11)


@of_r("rollinglda_chunks")
@pytest.mark.peer_data("rollinglda_economy/economy_tokenised.jsonl")
@pytest.mark.parametrize("setting", range(3))
def test_rollinglda_chunks(setting: int) -> None:
    """Chunk tables do not depend on the sampler, so one sweep will do."""
    wanted = read("rollinglda_chunks")[setting]
    path = PEER_DATA / "rollinglda_economy/economy_tokenised.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    corpus = Corpus(*((row["date"][:10], row["text"]) for row in rows))
    options = RollingOptions(k=10, init=wanted["init"], chunks=wanted["chunks"], memory=wanted["memory"], sweeps=1)
    chunks = fit_rolling(corpus.tokens, corpus.dates, corpus.ids, options).state.chunks
    names = {
        "chunk.id": "chunk_id", "start.date": "first_date", "end.date": "last_date", "memory": "memory", "n": "n",
        "n.discarded": "n_discarded", "n.memory": "n_memory", "n.vocab": "n_vocab",
    }  # fmt: skip
    found = [{r: getattr(chunk, name) for r, name in names.items()} for chunk in chunks]
    assert [{r: str(v) for r, v in row.items()} for row in found] == [
        {r: str(v) for r, v in row.items()} for row in wanted["table"]
    ]


@pytest.mark.peer_data("poliblog5k/poliblog5k_stemmed_bow.jsonl.gz")
@pytest.mark.slow
def test_the_start_of_poliblog5k_is_taken_that_is_best_in_the_end() -> None:
    """20 topics, rating * s(day): final bounds of the four sets are -6,935,504 (R -6,935,484), -6,936,985, -6,936,557, -6,936,247."""
    path = PEER_DATA / "poliblog5k/poliblog5k_stemmed_bow.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    corpus = Corpus(*((row["date"][:10], row["text"]) for row in rows))
    covariates: dict[str, Any] = {"rating": [row["label"] for row in rows], "day": corpus.dates.astype(float)}
    X = fit_design(parse_formula("rating*s(day)"), covariates).matrix(covariates)
    fit = fit_stm(corpus.tokens, 20, StmOptions(), X=X)
    assert fit.choice is not None
    assert fit.choice.start.name == "anchors among all words"
    assert count_terms(corpus.tokens).shape == (5000, 2632)
    assert len(fit.trace) == 20
    assert fit.bound == pytest.approx(-6_935_484, rel=1e-5)
