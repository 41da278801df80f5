"""NMF: what scikit-learn factorises, read as topics; new documents by least squares; bad numbers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfVectorizer

from nlpkit.errors import UsageError
from nlpkit.platform.options import Execution
from nlpkit.topics.base.model import theta_of
from nlpkit.topics.matrix.nmf import NmfFitter, fit_nmf
from nlpkit.topics.matrix.options import NmfOptions
from nlpkit.weights.dtm import count_terms
from tests.refusals import refuses
from tests.strategies import token_table
from tests.topics.matrix.test_plsa import drawn


def test_the_factors_are_those_of_scikit_learn() -> None:
    tokens = drawn(1)
    texts = [
        " ".join(tokens.terms[v] for v in tokens.term_ids[a:b])
        for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)
    ]
    vectors = TfidfVectorizer(vocabulary=list(tokens.terms))
    X = vectors.fit_transform(texts)
    nmf = NMF(4, init="nndsvd", max_iter=400, random_state=42)
    W, H = nmf.fit_transform(X), nmf.components_
    fit = fit_nmf(tokens, 4, execution=Execution(42))
    np.testing.assert_allclose(fit.arrays["idf"], vectors.idf_)
    mine, theirs = fit.model.phi, H / H.sum(axis=1, keepdims=True)
    order = [int(np.abs(theirs - row).sum(axis=1).argmin()) for row in mine]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(mine, theirs[order], atol=1e-6)
    theta = (W * H.sum(axis=1))[:, order]
    np.testing.assert_allclose(
        theta_of(fit.doc_topic, fit.model.alpha, slice(None)), theta / theta.sum(axis=1, keepdims=True), atol=1e-5
    )
    assert fit.numbers["reconstruction_error"] == pytest.approx(nmf.reconstruction_err_, abs=1e-5)


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
@pytest.mark.parametrize("weights", [None, "tfidf", "counts"])
def test_planted_topics_come_back(loss: str, weights: str | None) -> None:
    fit = fit_nmf(drawn(2, D=400), 4, NmfOptions(loss=loss, weights=weights))
    owner = fit.model.phi.reshape(4, 4, 12).sum(axis=2)
    assert sorted(owner.argmax(axis=1)) == [0, 1, 2, 3]
    assert owner.max(axis=1).min() > 0.9


@pytest.mark.parametrize("options", [NmfOptions(), NmfOptions(loss="kullback-leibler"), NmfOptions(weights="counts")])
def test_documents_of_the_fit_get_their_topics_again(options: NmfOptions) -> None:
    tokens = drawn(2, D=150)
    fit = fit_nmf(tokens, 4, options)
    _, infer = NmfFitter(options).inference(fit, 1, 2)
    theta = infer(tokens.offsets, tokens.term_ids)
    assert np.abs(theta - theta_of(fit.doc_topic, fit.model.alpha, slice(None))).sum(axis=1).mean() < 0.05
    np.testing.assert_array_equal(infer(tokens.offsets[30:51], tokens.term_ids), theta[30:50])


def test_new_documents_are_solved_as_scikit_learn_does() -> None:
    tokens = drawn(2, D=150)
    options = NmfOptions(weights="counts")
    fit = fit_nmf(tokens, 4, options)
    nmf = NMF(4, init="nndsvd", max_iter=5000, tol=1e-12, random_state=0)
    nmf.components_, nmf.n_components_ = fit.model.phi, 4
    nmf.fit(count_terms(tokens).toarray().astype(float))
    nmf.components_ = fit.model.phi
    W = nmf.transform(count_terms(tokens).toarray().astype(float))
    _, infer = NmfFitter(options).inference(fit, 1, 1)
    np.testing.assert_allclose(infer(tokens.offsets, tokens.term_ids), W / W.sum(axis=1, keepdims=True), atol=1e-3)


def test_the_same_bytes_on_any_number_of_threads() -> None:
    one, many = (fit_nmf(drawn(), 5, execution=Execution(7, threads)) for threads in (1, 4))
    np.testing.assert_array_equal(one.model.topic_term.toarray(), many.model.topic_term.toarray())
    np.testing.assert_array_equal(one.doc_topic.toarray(), many.doc_topic.toarray())


def test_documents_without_words() -> None:
    tokens = token_table([[], [0, 1, 1], [1, 2, 2], [0, 2, 0], []], ["a", "b", "c", "unused"])
    fit = fit_nmf(tokens, 2)
    assert fit.doc_topic[[0]].nnz == 0
    _, infer = NmfFitter(NmfOptions()).inference(fit, 0, 1)
    np.testing.assert_array_equal(infer(np.array([0, 0, 1]), np.array([3], np.int32)), np.full((2, 2), 0.5))


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(UsageError, match="no tokens"):
        fit_nmf(token_table([[]], ["a"]), 1)
    with refuses("k"):
        fit_nmf(token_table([[0, 1], [1, 0]], ["a", "b"]), 3)
    for name in ("loss", "weights"):
        with refuses(name):
            partial(NmfOptions, **{name: "counted"})()


def test_a_topic_without_words_has_no_probabilities_and_does_not_hinder_new_documents() -> None:
    """The corpus has two different documents, and the matrix two topics."""
    corpus = token_table([[0, 1, 2] if d % 2 else [3, 4, 5] for d in range(12)], list("abcdef"))
    fit = fit_nmf(corpus, 3)
    assert min(fit.model.topic_totals) == 0
    assert fit.model.phi.sum(axis=1).tolist() == pytest.approx([1, 1, 0])
    _, infer = NmfFitter(NmfOptions()).inference(fit, 1, 1)
    np.testing.assert_allclose(infer(np.array([0, 2]), np.array([0, 1], np.int32)).sum(), 1, atol=1e-6)
