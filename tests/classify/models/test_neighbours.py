"""Neighbours and centroids: scikit-learn's votes and classes, ties, and documents that are like none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from nlpkit.classify.models.neighbours import fit_centroids, fit_neighbours


def corpus(dense: bool) -> tuple[Any, np.ndarray, Any]:
    """Return 600 documents, their classes, and 300 others: more than one block of rows."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 900).astype(np.int32)
    X = rng.normal(rng.normal(0, 0.6, (3, 24))[y], 1.0)
    if not dense:
        X = np.where(X > 0.4, X, 0.0)
        X[:, 0] = 0.01  # no empty rows: their neighbours are scikit-learn's own choice
    X = X.astype(np.float32) if dense else sparse.csr_array(X)
    return X[:600], y[:600], X[600:]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("vote", ["similarity", "uniform"])
@pytest.mark.parametrize("k", [1, 15])
def test_votes_equal_scikit_learn(dense: bool, vote: Any, k: int) -> None:
    X, y, new = corpus(dense)
    weights = "uniform" if vote == "uniform" else lambda distance: np.maximum(1 - distance, 0)
    peer = KNeighborsClassifier(k, metric="cosine", weights=weights).fit(X.astype(np.float64), y)
    model = fit_neighbours(X, y[:, None] == np.arange(3), k=k, vote=vote)
    expected = peer.predict_proba(new.astype(np.float64))
    assert model.probabilities(new) == pytest.approx(expected, abs=1e-5)
    assert (model.decision(new).argmax(axis=1) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_ties_empty_documents_and_more_neighbours_than_documents(form: Any) -> None:
    X = form(np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]))
    labels = np.array([0, 1, 1, 1])[:, None] == np.arange(2)
    new = form(np.array([[2.0, 0, 0], [0, 0, 0], [0, 0, 1], [3, 4, 0]]))
    one = fit_neighbours(X, labels, k=1).probabilities(new)
    assert one.tolist() == [[1, 0], [0.25, 0.75], [0.25, 0.75], [0, 1]]  # of two equally near ones the first
    uniform = fit_neighbours(X, labels, k=2, vote="uniform").probabilities(new)
    assert uniform.tolist() == [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75], [0, 1]]
    every = fit_neighbours(X, labels, k=99).probabilities(new)
    assert every[3] == pytest.approx([0.6 / 2.8, 2.2 / 2.8])


def test_a_document_alone_finds_what_it_finds_among_others() -> None:
    for dense in (True, False):
        X, y, new = corpus(dense)
        model = fit_neighbours(X, y[:, None] == np.arange(3), k=5, threads=2)
        assert (model.decision(new)[7:8] == model.decision(new[7:8])).all()


def test_labels_of_the_neighbours() -> None:
    X = np.eye(3)
    Y = np.array([[True, True], [True, False], [False, False]])
    model = fit_neighbours(X, Y, k=2, multi_label=True)
    near = np.array([[2.0, 1.0, 0.0]])
    assert model.probabilities(near) == pytest.approx(np.array([[1.0, 2 / 3]]))
    assert model.decision(near) == pytest.approx(np.array([[0.5, 1 / 6]]))


@pytest.mark.parametrize("dense", [True, False])
def test_centroids_equal_scikit_learn_on_unit_vectors(dense: bool) -> None:
    X, y, new = corpus(dense)
    model = fit_centroids(X, y, 3)

    def unit(Z: Any) -> np.ndarray:
        rows = np.asarray(Z.todense() if sparse.issparse(Z) else Z, np.float64)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    peer = NearestCentroid().fit(unit(X), y)
    squares = ((unit(new)[:, None] - peer.centroids_) ** 2).sum(axis=2)
    assert 1 - model.decision(new) == pytest.approx(squares, abs=1e-6)
    assert (model.decision(new).argmax(axis=1) == peer.predict(unit(new))).all()
    assert model.probabilities(new) is None
    assert np.isfinite(model.decision(new * 0)).all()
