"""Neural topic models: the bound by torch's own distributions and by hand, numpy against torch, planted topics, the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from nlpkit.errors import InputError, MissingError, UsageError
from nlpkit.platform.options import Execution
from nlpkit.topics.neural import points
from nlpkit.topics.neural.ctm import CtmFitter, fit_ctm
from nlpkit.topics.neural.embedded import ctm_phi, ctm_theta, etm_phi, etm_theta
from nlpkit.topics.neural.etm import EtmFitter, fit_etm
from nlpkit.topics.neural.options import CtmOptions, EtmOptions
from nlpkit.topics.neural.points import documents_of
from nlpkit.weights.dtm import count_terms
from tests.refusals import refuses
from tests.strategies import token_table
from tests.topics.test_gsdmm import short_texts

torch = pytest.importorskip("torch")
TOKENS, LABELS = short_texts(D=240)
CTM = {"hidden": 20, "batch_size": 16, "rate": 0.005, "iterations": 80}
ETM = {"hidden": 30, "batch_size": 24, "rate": 0.01, "iterations": 60}


def embedded(labels: Any, E: int = 8) -> np.ndarray:
    """Embeddings around one point for each label."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(4, E))
    return (points[labels] + 0.2 * rng.normal(size=(len(labels), E))).astype(np.float32)


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    vectors = embedded(LABELS)
    return {
        **{
            name: fit_ctm(TOKENS, 4, CtmOptions(inference=name, **CTM), embeddings=vectors)
            for name in ("zeroshot", "combined", "bow")
        },
        "etm": fit_etm(TOKENS, 4, EtmOptions(**ETM)),
        "random": fit_etm(
            TOKENS, 4, EtmOptions(vectors="random", dimensions=20, hidden=30, batch_size=12, rate=0.02, iterations=40)
        ),
    }


def test_kl_is_that_of_torch() -> None:
    from nlpkit.topics.neural.training import kl_of_normals

    rng = np.random.default_rng(0)
    m, lv = (torch.from_numpy(rng.normal(size=(3, 5))) for _ in range(2))
    pm, plv = (torch.from_numpy(rng.normal(size=5)) for _ in range(2))
    q, p = torch.distributions.Normal(m, torch.exp(lv / 2)), torch.distributions.Normal(pm, torch.exp(plv / 2))
    expected = torch.distributions.kl_divergence(q, p).sum(dim=1)
    torch.testing.assert_close(kl_of_normals(m, lv, pm, plv), expected)


def test_the_prior_is_the_laplace_approximation_of_a_dirichlet() -> None:
    """Its variance is that of Srivastava & Sutton, equation 6: (1 - 2/K) / α_k + Σ_j 1/α_j / K²."""
    from nlpkit.topics.neural.training import ProdLda

    for K, alpha in ((2, 1.0), (7, 0.02), (30, 3.0)):
        network = ProdLda(np.random.default_rng(0), inference="bow", V=5, E=0, K=K, hidden=3, alpha=alpha)
        expected = (1 - 2 / K) / alpha + K / alpha / K**2
        np.testing.assert_allclose(np.exp(network.weights["prior_log_variance"].numpy()), expected, rtol=1e-5)
        assert not network.weights["prior_mean"].numpy().any()


def test_the_bounds_of_two_documents_are_those_by_hand() -> None:
    from nlpkit.topics.neural.training import Etm, ProdLda

    rng = np.random.default_rng(1)
    bow, x = np.array([[2, 0, 1], [0, 3, 1]], np.float32), rng.normal(size=(2, 4)).astype(np.float32)
    noise = rng.normal(size=(2, 2)).astype(np.float32)
    network = ProdLda(np.random.default_rng(2), inference="zeroshot", V=3, E=4, K=2, hidden=5, alpha=1.0)
    w = {name: value.numpy().astype(float) for name, value in network.weights.items()}
    h = np.log1p(np.exp(x @ w["input.weight"] + w["input.bias"]))
    h = np.log1p(np.exp(h @ w["hidden.weight"] + w["hidden.bias"]))
    scale = np.sqrt(1 + 1e-5)  # batch normalisation by its first averages, 0 and 1
    m, lv = ((h @ w[f"{n}.weight"] + w[f"{n}.bias"]) / scale for n in ("mean", "log_variance"))
    delta = m + np.exp(lv / 2) * noise
    theta = np.exp(delta) / np.exp(delta).sum(axis=1, keepdims=True)
    logits = theta @ w["beta"] / scale
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    prior = 0.5  # (1 - 1/2) / 1
    kl = 0.5 * (np.exp(lv) / prior + m**2 / prior - 1 + np.log(prior) - lv).sum(axis=1)
    got = network.loss(torch.from_numpy(bow), torch.from_numpy(x), None, torch.from_numpy(noise)).numpy()
    np.testing.assert_allclose(got, kl - (bow * log_p).sum(axis=1), rtol=1e-5)

    vectors = rng.normal(size=(3, 2)).astype(np.float32)
    other = Etm(np.random.default_rng(4), vectors=vectors, tune=False, K=2, hidden=5)
    w = {name: value.numpy().astype(float) for name, value in other.weights.items()}
    h = np.maximum(bow / bow.sum(axis=1, keepdims=True) @ w["input.weight"] + w["input.bias"], 0)
    h = np.maximum(h @ w["hidden.weight"] + w["hidden.bias"], 0)
    m, lv = (h @ w[f"{n}.weight"] + w[f"{n}.bias"] for n in ("mean", "log_variance"))
    delta = m + np.exp(lv / 2) * noise
    theta = np.exp(delta) / np.exp(delta).sum(axis=1, keepdims=True)
    phi = np.exp(w["topics"] @ vectors.T)
    phi /= phi.sum(axis=1, keepdims=True)
    kl = 0.5 * (np.exp(lv) + m**2 - 1 - lv).sum(axis=1)
    got = other.loss(torch.from_numpy(bow), None, None, torch.from_numpy(noise)).numpy()
    np.testing.assert_allclose(got, kl - (bow * np.log(theta @ phi + 1e-6)).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("name", ["zeroshot", "combined", "bow", "etm", "random"])
def test_planted_topics_come_back(name: str, fits: dict[str, Any]) -> None:
    fit = fits[name]
    assert adjusted_rand_score(LABELS, fit.doc_topic.toarray().argmax(axis=1)) > 0.8
    top = np.argsort(-fit.model.phi, axis=1)[:, :6]
    assert sorted({row[0] // 10 for row in top.tolist()}) == [0, 1, 2, 3]
    assert np.mean([v // 10 == row[0] // 10 for row in top.tolist() for v in row]) > 0.9
    np.testing.assert_allclose(fit.model.phi.sum(axis=1), 1)
    assert fit.trace[-1].held_out_loss < fit.trace[0].held_out_loss
    best = min(fit.trace, key=lambda point: point.held_out_loss)
    assert (fit.numbers["best_epoch"], fit.numbers["bound_per_token"]) == (
        best.epoch, round(-best.held_out_loss, 6)
    )  # fmt: skip


def test_numpy_gives_what_torch_gives(fits: dict[str, Any]) -> None:
    """θ and φ by the networks themselves, with the stored weights."""
    from nlpkit.topics.neural.training import layer

    dtm, vectors = count_terms(TOKENS), torch.from_numpy(embedded(LABELS))
    bow = torch.from_numpy(dtm.toarray().astype(np.float32))
    for name, x in (("zeroshot", vectors), ("combined", None), ("bow", bow)):
        w = {n: torch.from_numpy(array) for n, array in fits[name].weights.items()}
        x = torch.cat([bow, layer(w, "adapt", vectors)], 1) if x is None else x
        h = torch.nn.functional.softplus(layer(w, "hidden", torch.nn.functional.softplus(layer(w, "input", x))))
        mean = torch.nn.functional.batch_norm(layer(w, "mean", h), w["mean.average"], w["mean.variance"])
        theta = ctm_theta(fits[name].weights, dtm, None if name == "bow" else vectors.numpy())
        np.testing.assert_allclose(theta, torch.softmax(mean, 1), atol=1e-5)
        np.testing.assert_allclose(ctm_phi(fits[name].weights), torch.softmax(w["beta"], 1), rtol=1e-4)
    w = {n: torch.from_numpy(array) for n, array in fits["etm"].weights.items()}
    h = torch.relu(layer(w, "hidden", torch.relu(layer(w, "input", bow / bow.sum(1, keepdim=True)))))
    np.testing.assert_allclose(etm_theta(fits["etm"].weights, dtm), torch.softmax(layer(w, "mean", h), 1), atol=1e-5)
    np.testing.assert_allclose(
        etm_phi(fits["etm"].weights), torch.softmax(w["topics"] @ w["words"].T, 1), rtol=1e-3, atol=1e-7
    )


def test_topics_are_in_the_order_of_their_size_and_theta_in_that_of_the_weights(fits: dict[str, Any]) -> None:
    dtm, lengths = count_terms(TOKENS), np.diff(TOKENS.offsets)
    for name, vectors in (("bow", None), ("zeroshot", embedded(LABELS))):
        theta = ctm_theta(fits[name].weights, dtm, vectors)
        np.testing.assert_allclose(fits[name].doc_topic.toarray(), theta * lengths[:, None], atol=1e-5)
    counts = np.bincount(fits["etm"].doc_topic.toarray().argmax(axis=1), minlength=4)
    assert list(counts) == sorted(counts, reverse=True)
    model, infer = EtmFitter(EtmOptions()).inference(fits["etm"], 0, 1)
    np.testing.assert_allclose(
        infer(TOKENS.offsets[5:9], TOKENS.term_ids), etm_theta(fits["etm"].weights, dtm)[5:8], atol=1e-6
    )
    assert model.eta > 0
    smooth, fold = CtmFitter(CtmOptions()).inference(fits["bow"], 0, 1)
    assert fold(TOKENS.offsets, TOKENS.term_ids).shape == (240, 4)
    assert smooth.phi.min() > 0


@pytest.mark.parametrize("kind", ["ctm", "etm"])
def test_the_seed_decides_and_threads_do_not(kind: str) -> None:
    def weights(seed: int, threads: int) -> dict[str, Any]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            few = {"iterations": 2, "hidden": 30, "batch_size": 30}
            fit: Any = (
                fit_ctm(TOKENS, 3, CtmOptions(inference="bow", **few), Execution(seed, threads))
                if kind == "ctm"
                else fit_etm(TOKENS, 3, EtmOptions(**few), Execution(seed, threads))
            )
            assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        return dict(fit.weights)

    a, b, c = weights(1, 1), weights(1, 3), weights(2, 1)
    assert all(a[name].tobytes() == b[name].tobytes() for name in a)
    assert any(a[name].tobytes() != c[name].tobytes() for name in a)


def test_words_that_are_fixed_stay_and_others_are_learned() -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    known = np.arange(40) != 7
    few = {"iterations": 1, "hidden": 5}
    fixed = fit_etm(TOKENS, 2, EtmOptions(**few), vectors=vectors, known=known).weights["words"]
    np.testing.assert_array_equal(fixed[known], vectors[known])
    assert (fixed[7] != vectors[7]).all()
    tuned = fit_etm(TOKENS, 2, EtmOptions(tune=True, **few), vectors=vectors).weights["words"]
    assert (tuned != vectors).any()


def test_documents_without_words_have_no_topic() -> None:
    tokens = token_table([[], *[[0, 1, d % 3] for d in range(12)], []], ["a", "b", "c"])
    fit = fit_ctm(tokens, 2, CtmOptions(inference="bow", iterations=1))
    np.testing.assert_allclose(fit.doc_topic.sum(axis=1), np.diff(tokens.offsets), atol=1e-5)
    none = sparse.csr_array((0, 3), dtype=np.int32)
    assert ctm_theta(fit.weights, none, None).shape == (0, 2)


def test_what_cannot_be_fitted_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="10 documents with words or more"):
        documents_of(token_table([[0, 1]] * 9, ["a", "b"]), 2)
    for K in (0, 21):
        with pytest.raises(UsageError, match="from 1 to 20 topics on a corpus of 20 tokens"):
            documents_of(token_table([[0, 1]] * 10, ["a", "b"]), K)
    with refuses("inference"):
        CtmOptions(inference="bert")
    with refuses("alpha"):
        CtmOptions(alpha=0.0)
    with refuses("rate"):
        EtmOptions(rate=-1.0)
    monkeypatch.setattr(points, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"nlpkit etm needs the extra 'neural'.*pip install"):
        fit_etm(TOKENS, 2)


def test_a_rate_that_is_too_high_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the loss diverged in pass"):
        fit_etm(TOKENS, 3, EtmOptions(rate=1e6, vectors="random", dimensions=20))
    with pytest.raises(UsageError, match=r"rate=1e\+06.*the loss diverged"):
        fit_ctm(TOKENS, 3, CtmOptions(rate=1e6, inference="bow"), embeddings=embedded(LABELS))
