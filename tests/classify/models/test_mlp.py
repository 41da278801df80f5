"""The small network: what no line can part, scikit-learn's scores, one thread or two."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from nlpkit.classify.models import sklearn_models as mlp
from nlpkit.classify.models.sklearn_models import fit_label_mlp, fit_mlp
from nlpkit.errors import MissingError


def xor(D: int = 400) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(-1, 1, (D, 2)).astype(np.float32)
    return X, ((X[:, 0] > 0) != (X[:, 1] > 0)).astype(np.int32)


def test_it_learns_xor() -> None:
    X, y = xor()
    model = fit_mlp(X * 3, y, 2, hidden=32, epochs=300, seed=0)
    p = model.probabilities(X * 3)
    assert (p.argmax(axis=1) == y).mean() > 0.95
    assert p.sum(axis=1) == pytest.approx(np.ones(len(y)))


@pytest.mark.parametrize("J", [2, 3])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_probabilities_are_those_of_scikit_learn(J: int, sparse_rows: bool) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 8)), np.arange(120, dtype=np.int32) % J
    rows = sparse.csr_array(X) if sparse_rows else X
    model = fit_mlp(rows, y, J, hidden=7, epochs=5, seed=4)
    with threadpool_limits(1), pytest.warns(UserWarning, match="Maximum iterations"):
        peer = MLPClassifier((7,), batch_size=16, alpha=0.01, max_iter=5, random_state=4).fit(X, y)
    assert model.probabilities(rows) == pytest.approx(peer.predict_proba(X), abs=1e-7)
    assert model.converged  # few documents: the last epoch is where it is meant to end
    many = fit_mlp(rng.normal(size=(2000, 2)), np.arange(2000, dtype=np.int32) % 2, 2, hidden=2, epochs=1, seed=4)
    assert not many.converged


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(600, 64)).astype(np.float32), rng.integers(0, 3, 600).astype(np.int32)
    models = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            models.append(fit_mlp(X, y, 3, hidden=32, epochs=8, seed=0))
    for name, array in models[0].arrays().items():
        assert (array == models[1].arrays()[name]).all(), name
    with threadpool_limits(2):
        two = models[0].decision(X)
    assert (models[0].decision(X) == two).all()


def test_a_class_of_one_document_stops_nothing() -> None:
    X, _ = xor()
    y = np.zeros(len(X), np.int32)
    y[0] = 1
    assert fit_mlp(X, y, 2, hidden=4, epochs=3, seed=0).n_classes == 2


def test_many_documents_stop_early() -> None:
    X, y = xor(2400)
    model = fit_mlp(X * 3, y, 2, hidden=16, epochs=300, seed=0)
    assert model.converged
    assert (model.decision(X * 3).argmax(axis=1) == y).mean() > 0.95


def test_labels_have_a_sigmoid_each() -> None:
    X, y = xor()
    Y = np.stack([y == 1, X[:, 0] > 0], axis=1)
    model = fit_label_mlp(X * 3, Y, hidden=32, epochs=300, seed=0)
    assert ((model.decision(X * 3) > 0) == Y).mean() > 0.93
    one = fit_label_mlp(X * 3, Y[:, 1:], hidden=8, epochs=100, seed=0)
    assert ((one.probabilities(X * 3) > 0.5) == Y[:, 1:]).mean() > 0.93


def test_balanced_finds_the_rare_class() -> None:
    rng = np.random.default_rng(3)
    y = (np.arange(300) < 15).astype(np.int32)
    X = rng.normal(y[:, None], 1.0, (300, 2))
    if "sample_weight" not in inspect.signature(MLPClassifier.fit).parameters:
        with pytest.raises(MissingError, match="scikit-learn"):
            fit_mlp(X, y, 2, hidden=8, epochs=30, balanced=True, seed=0)
        return
    plain, balanced = (fit_mlp(X, y, 2, hidden=8, epochs=60, balanced=b, seed=0) for b in (False, True))
    recall = [(m.decision(X).argmax(axis=1)[y == 1] == 1).mean() for m in (plain, balanced)]
    assert recall[1] > recall[0]


def test_an_old_scikit_learn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = xor()
    monkeypatch.setattr(mlp.inspect, "signature", lambda _: inspect.Signature())
    with pytest.raises(MissingError):
        fit_mlp(X, y, 2, hidden=4, epochs=3, balanced=True, seed=0)
